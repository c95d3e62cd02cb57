# ruff: noqa: E501 (one sentence, one line)
"""Rules for calls with the wrong arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from safeexec.common.identity import class_name
from safeexec.common.matching import TYPING_ERRORS, misspelt, nearest, quoted
from safeexec.hints import facts
from safeexec.hints.failure import Failure
from safeexec.hints.objects import (
    CO_VARARGS,
    CO_VARKEYWORDS,
    MISSING,
    attribute_of,
    bases_of,
    is_module,
    members_of,
    parameters,
)
from safeexec.hints.rules import HintRule
from safeexec.hints.tables.libraries import ARGUMENTS, KEYWORDS
from safeexec.hints.tables.messages import OF_CALLS

# A name is looked for from its first letter alone, `(?<!…)`: a message with one of 7,000 letters took 5 s.
_UNEXPECTED = (
    r"(?:(?<![\w.<>])([\w.<>]+)\(\) )?got an unexpected keyword argument '(\w+)'"
    r"|'(\w+)' is an invalid keyword argument for (?:this function|(\w+)\(\))"
)
_MISSING = (
    r"(?<![\w.<>])([\w.<>]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)"
    r"|(?:(?<![\w.])([\w.]+)\(\)|function) missing required argument ('\w+') \(pos \d+\)"
)
_TAKES = r"(?<![\w.<>])([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given"
_EXPECTED = r"(?<![\w.])([\w.]+)(?:\(\))? (?:expected|takes) (?:at (?:most|least) |exactly )?(\d+|one|no) (?:positional )?arguments?(?:,? (?:got |\()(\d+)(?: given\))?)?"
_MOST_ARGUMENTS = 20
"""Names of arguments that one sentence lists."""
_ORDERED = ("sorted", "sort", "min", "max")
_ONE_SEQUENCE = (
    "sum", "len", "any", "all", "list", "set", "tuple", "sorted", "choice", "shuffle", "mean", "fmean", "median", "mode",
    "multimode", "stdev", "pstdev", "variance", "pvariance", "geometric_mean", "harmonic_mean", "fsum", "prod", "join",
    "Counter", "deque", "OrderedDict", "heapify",
)  # fmt: skip
"""Functions of one sequence."""


def _function_second(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    args = failure.call.args if failure.call else []
    if len(args) >= 2 and _is_function(failure, args[1]):
        swapped = failure.rewritten([args[1], args[0], *args[2:]], [], f"{failure.called}(function, values)")
        yield f"Give the function first: `{swapped}`."


def _is_function(failure: Failure, tree: ast.expr) -> bool:
    kinds = (FunctionType, type(len), type(str.lower), type)
    return isinstance(tree, ast.Lambda) or type(failure.resolve(tree)) in kinds


def _other_keyword(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Name the argument that was meant, or those there are."""
    said, keyword = match[1] or match[4] or "", match[2] or match[3]
    raiser = said.split(".")[0] if said.endswith("__init__") else said.rpartition(".")[2]
    for table in (ARGUMENTS.get(failure.called, {}), ARGUMENTS.get(raiser, {})):
        slips = () if keyword in KEYWORDS else nearest(keyword, table, worst=TYPING_ERRORS)
        for known in (keyword, *slips):
            if known in table:
                yield table[known]
    names = [name for name in _keywords(failure, said) if name != keyword]  # else what passes it on
    plain = keyword.removeprefix("n_")  # n_tree= is one of the `trees`
    words = (keyword, plain, f"{plain}s", *misspelt(keyword, KEYWORDS))
    known = [name for word in words for name in KEYWORDS.get(word, ()) if name in names]
    # labels= of a box plot is `tick_labels`, and no plural of `label`
    parts = [name for name in names if keyword in name.split("_")]
    begun = [name for name in names if len(name) > 2 and keyword.startswith(name)]  # location= is `loc`
    plural = [name for name in names if name == f"{keyword}s"]
    for found in plural or known or (parts if len(parts) == 1 else nearest(keyword, names, worst=0.72) or begun):
        yield f"The argument is called `{found}`: write `{found}=`."
    target = failure.called or raiser or "the function"
    code = failure.callee.__code__ if type(failure.callee) is FunctionType else None
    given = failure.call.keywords if failure.call and not failure.call.args else []
    values = [one.value for one in given if one.arg not in (*names, None)]
    if values and code and code.co_flags & CO_VARARGS:  # plt.plot(x=[1, 2], y=[3, 4])
        yield f"It takes its values by position: `{failure.rewritten(values, [one for one in given if one.arg in names], f'{target}(a, b)')}`."
    if names:
        yield f"`{target}` takes {quoted(names, _MOST_ARGUMENTS)}; leave `{keyword}=` out or use one of these."
    others = dict.fromkeys(other for word in words for other in KEYWORDS.get(word, ()) if other != keyword)
    meant = quoted(others, _MOST_ARGUMENTS)
    maybe = f"what is meant is often called {meant}" if meant else "leave it out"
    yield f"`{target}` has no argument `{keyword}`: {maybe}, or give the value by position."


def _keywords(failure: Failure, said: str) -> list[str]:
    """Return the names of arguments that the call takes, and those of the functions that it leads to."""
    names = _parameters(failure, said)
    if failure.callee is not MISSING and (other := _complaining(failure, said)) is not MISSING:
        names += parameters(other)  # of a line that plt.plot([1, 2], colour='red') draws
    if type(failure.callee) is type(len):  # max([1], keys=len)
        names += re.findall(r"(\w+)=", str(failure.callee.__doc__).partition("\n\n")[0])
    for frame in failure.libraries[:3]:
        if not str(frame.f_globals.get("__name__", "")).startswith("safeexec."):  # ours carries the call of a tool
            names += frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    skipped = ("self", "cls", "args", "kwargs")
    return [name for name in dict.fromkeys(names) if name not in skipped and not name.startswith("_")]


def _parameters(failure: Failure, said: str) -> list[str]:
    """Return the parameters of what is called; if the expression does not say what it is, of ``Class.method`` in the
    message.
    """
    function = failure.callee
    if function is MISSING:
        function = _complaining(failure, said)
    return parameters(function) if function is not MISSING else []


def _complaining(failure: Failure, said: str) -> Any:
    """Return what complains of its arguments, ``Class.method`` in the message: of the program, or called by a library."""
    owner, _, method = said.rpartition(".")
    found = attribute_of(failure.lookup(owner), method) if owner.isidentifier() else MISSING
    for frame in failure.libraries[::-1][:4] if found is MISSING and owner.isidentifier() else ():
        kinds = {class_name(base): base for base in bases_of(frame.f_locals.get("self"))}
        homes = [value for value in [*frame.f_globals.values()] if is_module(value)]
        scopes = (
            kinds.get(owner, MISSING),
            frame.f_globals.get(owner, MISSING),
            *(attribute_of(home, owner) for home in homes),
        )
        kind = next((kind for kind in scopes if kind is not MISSING), MISSING)
        if (found := attribute_of(kind, method)) is not MISSING:
            break
    return found


def _by_position(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    call = failure.call
    named = call.keywords if call and all(keyword.arg for keyword in call.keywords) else []
    values = [*call.args, *(keyword.value for keyword in named)] if call and named else []
    if text := failure.rewritten(values, [], "") if values else "":
        yield f"It takes its arguments by position only: `{text}`."
    yield "It takes its arguments by position only: write the values without their names."


def _no_instance(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    kind, _, method = match[1].rpartition(".")
    if _is_static(failure.lookup(kind), method):
        yield "A static method is given no object: remove `@staticmethod`, or the parameter `self`."
    kind = kind or "Kind"
    if method == "__init__":
        yield f"Give the object first, `{kind}.__init__(self, ...)`, or write `super().__init__(...)`."
    yield f"Call it on an instance, not on the class: `{kind}().{method}(...)`, with `{kind}(...)` made first."


def _is_static(kind: object, method: str) -> bool:
    return issubclass(type(kind), type) and type(members_of(kind).get(method)) is staticmethod  # type: ignore[arg-type]


def _date_of_text(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    args = failure.call.args if failure.call else []
    if "missing" not in match[0] or (args and type(failure.resolve(args[0])) is not int):
        name = failure.called
        yield f"Give numbers, `{name}(2024, 1, 31)`, or read a text with `{name}.fromisoformat(text)`."


def _missing(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    said, names = match[1] or match[3] or failure.called, re.findall(r"'(\w+)'", match[2] or match[4])
    if failure.called in _ONE_SEQUENCE and failure.call is not None and not failure.call.args:
        yield f"Give it the values: `{failure.text_of(failure.function, failure.called)}(values)`."
    of_class = isinstance(failure.function, ast.Attribute) and failure.resolve(failure.function.value)
    kind, _, method = said.rpartition(".")
    if (
        (issubclass(type(of_class), type) or _is_static(failure.lookup(kind), method))
        and type(failure.callee) is FunctionType
        and failure.callee.__code__.co_varnames[:1] == ("self",)
    ):
        yield from _no_instance(failure, match)
    names_of, args = _parameters(failure, said), failure.call.args if failure.call else []
    items = failure.resolve(args[0]) if len(args) == 1 else MISSING
    if type(items) is tuple and len(items) == len(names_of):
        yield f"Spread it with a star, so that each parameter has one item: `{failure.rewritten([ast.Starred(args[0])], [], 'f(*values)')}`."
    outer = said.partition(".<locals>")[0]
    if outer != said and type(failure.callee) is FunctionType and failure.called not in ("", said.rpartition(".")[2]):
        yield f"`{failure.called}` is what `{outer}` returned: a decorator with arguments is called, `@{outer}(...)`; without them it takes the function itself."
    if not _is_called(failure, said):
        yield f"The function given here needs {quoted(names)} too: it is called with fewer arguments."
    target = re.sub(r"\.__(?:init|new|call)__$", "", said)
    if failure.called in (target.rpartition(".")[2], "__init__") or (failure.called and said.endswith(".__call__")):
        target = failure.text_of(failure.function, failure.called)
    yield f"Call `{target}` with {quoted(names)} too{_listed('; its', _parameters(failure, said))}."


def _listed(start: str, names: list[str]) -> str:
    return f"{start} parameters are ({', '.join(names)})" if names and len(names) <= 12 else ""


def _is_called(failure: Failure, said: str) -> bool:
    """Return whether the message speaks of what the expression calls, and not of a function that was given to it."""
    name = said.rpartition(".")[2]
    if name == "<lambda>":
        return type(failure.callee) is FunctionType and failure.callee.__code__.co_name == name
    if name.startswith("__") or not failure.segment or re.search(rf"\b{re.escape(name)}\s*\(", failure.segment):
        return True
    return bool(failure.libraries) and type(failure.lookup(name)) is not FunctionType


def _takes_fewer(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a method without `self`, and for a function that is given to another one: A().m()"""
    said, takes, given = match[1], int(match[2]), int(match[3])
    owner, _, name = said.rpartition(".")
    method = attribute_of(failure.lookup(owner), name) if owner and "<" not in owner else failure.callee
    if owner and name != "__new__" and type(method) is FunctionType and given == takes + 1:
        code = method.__code__
        has_self = code.co_argcount and code.co_varnames[0] in ("self", "cls")
        if not has_self and (failure.call is None or len(failure.call.args) < given):
            yield f"Add `self` as the first parameter of the method: `def {name}(self, ...)`."
    if not _is_called(failure, said):
        yield f"The function given here takes {_count(takes)}, and it is called with {given}."


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


def _as_one_list(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Write the call with one list, for functions that take one sequence and were given its items: sum(1, 2, 3)"""
    call, name = failure.call, failure.called
    if call is None or len(call.args) < 2 or name in _ORDERED:
        return
    if name == "join" and not (isinstance(call.func, ast.Attribute) and type(failure.resolve(call.func.value)) is str):
        return
    if type(failure.resolve(call.args[0])) in (list, tuple, dict, set) or isinstance(
        call.args[0], ast.List | ast.Tuple
    ):
        return  # random.choice([1, 2, 3], 2)
    items: ast.expr = ast.List(elts=list(call.args), ctx=ast.Load())
    yield f"Pass the values as one list: `{failure.rewritten([items], call.keywords, f'{name}([a, b])')}`."


def _too_many(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    made = attribute_of(failure.callee, "__init__") if issubclass(type(failure.callee), type) else failure.callee
    code = made.__code__ if type(made) is FunctionType else None
    if code is not None and (code.co_kwonlyargcount or code.co_flags & CO_VARKEYWORDS):
        named = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        yield f"Give {quoted(named, 8) or 'the others'} by name: `{failure.called or match[1]}(..., {named[0] if named else 'name'}=...)`."
    yield facts.given(failure)
    takes = int(match[2]) - match[1].endswith(".__init__")
    yield f"`{failure.called or match[1]}` takes {_count(takes)}, and is called with {takes + int(match[3]) - int(match[2])}."


def _by_name(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for the function or the order of a sort, which are given by name."""
    args = failure.call.args if failure.call else []
    for arg in args:
        if _is_function(failure, arg):
            rest = [other for other in args if other is not arg]
            key = [ast.keyword(arg="key", value=arg)]
            yield f"Give the function by name: `{failure.rewritten(rest, key, 'sorted(values, key=function)')}`."
        if isinstance(arg, ast.Constant) and type(arg.value) is bool:
            yield f"Give it by name: `{failure.text_of(failure.function)}(values, reverse={arg.value!r})`."


def _wrong_count(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    yield facts.given(failure)
    yield f"Call `{match[1].rpartition('.')[2]}` with {match[2]} argument{'' if match[2] in ('1', 'one') else 's'}."


_NO_MONTH = r"'str' object cannot be interpreted as an integer|date(?:time)?\(\) missing required argument 'month'"
RULES = (
    *OF_CALLS,
    HintRule("TypeError", "", _function_second, ("map", "filter", "reduce")),
    HintRule("KeyError", "", lambda failure, _: facts.choices(failure, in_braces=True)),
    HintRule("TypeError AttributeError", _UNEXPECTED, _other_keyword),
    HintRule("TypeError", "takes no keyword arguments", _by_position),
    HintRule(
        "TypeError", r"(?<![\w.<>])([\w.<>]+)\(\) missing \d+ required positional arguments?: 'self'", _no_instance
    ),
    HintRule("TypeError", _NO_MONTH, _date_of_text, ("date", "datetime")),
    HintRule("TypeError", _MISSING, _missing),
    HintRule("TypeError", _TAKES, _takes_fewer),
    HintRule("TypeError", rf"{_TAKES}|{_EXPECTED}", _as_one_list, _ONE_SEQUENCE),
    HintRule("TypeError", _TAKES, _too_many),
    HintRule("TypeError", _EXPECTED, _by_name, _ORDERED),
    HintRule("TypeError", _EXPECTED, _wrong_count),
)
