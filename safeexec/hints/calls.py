# ruff: noqa: E501 (one sentence, one line)
"""Rules for calls with the wrong arguments."""

from __future__ import annotations

import ast
import re
from types import FrameType, FunctionType

from safeexec.common.matching import TYPING_ERRORS, nearest, quoted
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, attribute_of, parameters
from safeexec.hints.rules import HintRules
from safeexec.hints.tables.libraries import ARGUMENTS, ARTIST_PROPERTIES, KEYWORDS
from safeexec.hints.tables.messages import OF_CALLS

RULES = HintRules(OF_CALLS)
_UNEXPECTED = (
    r"(?:([\w.<>]+)\(\) )?got an unexpected keyword argument '(\w+)'"
    r"|'(\w+)' is an invalid keyword argument for (?:this function|(\w+)\(\))"
)
_MISSING = (
    r"([\w.<>]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)"
    r"|(?:([\w.]+)\(\)|function) missing required argument ('\w+') \(pos \d+\)"
)
_TAKES = r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given"
_EXPECTED = r"([\w.]+)(?:\(\))? (?:expected|takes) (?:at (?:most|least) |exactly )?(\d+|one|no) (?:positional )?arguments?(?:,? (?:got |\()(\d+)(?: given\))?)?"
_MOST_ARGUMENTS = 20
"""Names of arguments that one sentence lists."""
_ORDERED = ("sorted", "sort", "min", "max")
_ONE_SEQUENCE = (
    "sum", "len", "any", "all", "list", "set", "tuple", "sorted", "choice", "shuffle", "mean", "fmean", "median", "mode",
    "multimode", "stdev", "pstdev", "variance", "pvariance", "geometric_mean", "harmonic_mean", "fsum", "prod", "join",
    "Counter", "deque", "OrderedDict", "heapify",
)  # fmt: skip
"""Functions of one sequence."""
_SIZED = {
    "normal": 2,
    "uniform": 2,
    "random": 0,
    "standard_normal": 0,
    "integers": 2,
    "randint": 2,
    "binomial": 2,
    "poisson": 1,
}
"""Functions of numpy's generators → how many arguments stand before the size."""
_USAGE = {
    "isinstance": "isinstance(x, int)",
    "issubclass": "issubclass(Kind, Base)",
    "strptime": "datetime.strptime('2024-01-31', '%Y-%m-%d')",
    "sleep": "time.sleep(1)",
    "getattr": "getattr(obj, 'name', default)",
    "setattr": "setattr(obj, 'name', value)",
    "hasattr": "hasattr(obj, 'name')",
    "pow": "pow(base, exponent)",
    "atan2": "math.atan2(y, x)",
    "next": "next(iterator, default)",
    "divmod": "divmod(a, b)",
    "insert": "values.insert(index, item)",
    "dict": "dict(a=1, b=2)",
    "update": "mapping.update({'key': value})",
    "min": "min(values)` or `min(values, key=function)",
    "max": "max(values)` or `max(values, key=function)",
    "add": "values.add(item)`, and for several `values.update([a, b])",
    "range": "range(stop)` or `range(start, stop, step)",
}
"""How functions without a signature of their own are called."""


@RULES.when("TypeError", calls=("map", "filter", "reduce"))  # list(map([1, 2], str))
def _function_second(failure: Failure, match: re.Match[str]) -> str | None:
    args = failure.call.args if failure.call else []
    if len(args) < 2 or not _is_function(failure, args[1]):
        return None
    swapped = failure.rewritten([args[1], args[0], *args[2:]], [], f"{failure.called}(function, values)")
    return f"Give the function first: `{swapped}`."


def _is_function(failure: Failure, tree: ast.expr) -> bool:
    kinds = (FunctionType, type(len), type(str.lower), type)
    return isinstance(tree, ast.Lambda) or type(failure.resolve(tree)) in kinds


@RULES.when("TypeError", _UNEXPECTED)  # f(alhpa=1); print('a', separator='')
def _other_keyword(failure: Failure, match: re.Match[str]) -> str | None:
    """Name the argument that was meant, or those there are."""
    said, keyword = match[1] or match[4] or "", match[2] or match[3]
    raiser = said.split(".")[0] if said.endswith("__init__") else said.rpartition(".")[2]
    for table in (ARGUMENTS.get(failure.called, {}), ARGUMENTS.get(raiser, {})):
        for known in (keyword, *nearest(keyword, table, worst=TYPING_ERRORS)):
            if known in table:
                return table[known]
    names = [name for name in _keywords(failure, said) if name != keyword]
    found = [name for name in KEYWORDS.get(keyword, ()) if name in names] or nearest(keyword, names)
    if found:
        return f"The argument is called `{found[0]}`: write `{found[0]}=`."
    target = failure.called or raiser or "the function"
    if names:
        return f"`{target}` takes {quoted(names, _MOST_ARGUMENTS)}; leave `{keyword}=` out or use one of these."
    return f"`{target}` has no argument `{keyword}`: leave it out, or give the value by position."


def _keywords(failure: Failure, said: str) -> list[str]:
    """Return the keywords that the called function and what it calls itself take."""
    names = _parameters(failure, said)
    for code in (frame.f_code for frame in failure.libraries[:3] if not _of_sandbox(frame)):
        names += code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    skipped = ("self", "cls", "args", "kwargs")
    return [name for name in dict.fromkeys(names) if name not in skipped and not name.startswith("_")]


def _of_sandbox(frame: FrameType) -> bool:
    """Tell whether a frame is ours: what carries the call of a tool to the host has parameters of its own."""
    return str(frame.f_globals.get("__name__", "")).startswith("safeexec.")


def _parameters(failure: Failure, said: str) -> list[str]:
    """Return the parameters of what is called; if the expression does not tell what it is, of ``Class.method`` in the
    message.
    """
    owner, _, method = said.rpartition(".")
    function = failure.callee
    if function is MISSING and owner.isidentifier():
        function = attribute_of(failure.lookup(owner), method)
    return parameters(function) if function is not MISSING else []


@RULES.when("AttributeError", r"\.set\(\) got an unexpected keyword argument '(\w+)'")  # plt.plot([1, 2], colour='red')
def _artist_property(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for an argument that the artists of matplotlib do not have."""
    if text := ARGUMENTS.get(failure.called, {}).get(match[1]):
        return text
    if found := nearest(match[1], ARTIST_PROPERTIES):
        return f"The argument is called `{found[0]}`: write `{found[0]}=`."
    return f"There is no argument `{match[1]}`: leave it out, or use `color=`, `linewidth=`, `linestyle=`, `marker=`, `label=` or `alpha=`."


@RULES.when("TypeError", "takes no keyword arguments")  # math.log(100, base=10)
def _by_position(failure: Failure, match: re.Match[str]) -> str | None:
    call = failure.call
    named = call.keywords if call and all(keyword.arg for keyword in call.keywords) else []
    values = [*call.args, *(keyword.value for keyword in named)] if call and named else []
    if text := failure.rewritten(values, [], "") if values else "":
        return f"It takes its arguments by position only: `{text}`."
    return "It takes its arguments by position only: write the values without their names."


@RULES.when("TypeError", r"([\w.<>]+)\(\) missing \d+ required positional arguments?: 'self'")  # A.m()
def _no_instance(failure: Failure, match: re.Match[str]) -> str | None:
    kind, _, method = match[1].rpartition(".")
    return f"Call it on an instance, not on the class: `{kind or 'Kind'}().{method}(...)`, with `{kind or 'Kind'}(...)` made first."


@RULES.when(
    "TypeError",
    r"'str' object cannot be interpreted as an integer|date(?:time)?\(\) missing required argument 'month'",
    calls=("date", "datetime"),
)  # datetime.date('2024-01-31')
def _date_of_text(failure: Failure, match: re.Match[str]) -> str | None:
    name = failure.called
    if "missing" in match[0] and (
        not failure.call or not failure.call.args or type(failure.resolve(failure.call.args[0])) is int
    ):
        return None
    return f"Give numbers, `{name}(2024, 1, 31)`, or read a text with `{name}.fromisoformat(text)`."


@RULES.when("TypeError", _MISSING)  # f(1); re.compile('a').sub('b')
def _missing(failure: Failure, match: re.Match[str]) -> str | None:
    said, names = match[1] or match[3] or failure.called, re.findall(r"'(\w+)'", match[2] or match[4])
    if failure.called in _ONE_SEQUENCE and failure.call is not None and not failure.call.args:
        return f"Give it the values: `{failure.text_of(failure.function, failure.called)}(values)`."
    if not _is_called(failure, said):
        return f"The function given here needs {quoted(names)} too: it is called with fewer arguments."
    every = _parameters(failure, said)
    target = failure.called if said.endswith(".__call__") and failure.called else said.removesuffix(".__init__")
    return f"Call `{target}` with {quoted(names)} too{_listed('; its', every)}."


def _listed(start: str, names: list[str]) -> str:
    return f"{start} parameters are ({', '.join(names)})" if names and len(names) <= 12 else ""


def _is_called(failure: Failure, said: str) -> bool:
    """Tell whether the message speaks of what the expression calls, and not of a function that was given to it."""
    name = said.rpartition(".")[2]
    if name == "<lambda>":
        return type(failure.callee) is FunctionType and failure.callee.__code__.co_name == name
    if name.startswith("__") or not failure.segment or re.search(rf"\b{re.escape(name)}\s*\(", failure.segment):
        return True
    return bool(failure.libraries) and type(failure.lookup(name)) is not FunctionType


@RULES.when("TypeError", _TAKES)  # A().m()
def _no_self(failure: Failure, match: re.Match[str]) -> str | None:
    owner, _, name = match[1].rpartition(".")
    method = attribute_of(failure.lookup(owner), name) if owner and "<" not in owner else failure.callee
    if not owner or name == "__new__" or type(method) is not FunctionType or int(match[3]) != int(match[2]) + 1:
        return None
    code = method.__code__
    if code.co_argcount and code.co_varnames[0] in ("self", "cls"):
        return None
    if failure.call is not None and len(failure.call.args) >= int(match[3]):
        return None
    return f"Add `self` as the first parameter of the method: `def {name}(self, ...)`."


@RULES.when("TypeError", _TAKES)  # sorted([2, 1], key=lambda: 1)
def _given_function_takes(failure: Failure, match: re.Match[str]) -> str | None:
    if _is_called(failure, match[1]):
        return None
    return f"The function given here takes {_count(int(match[2]))}, and it is called with {match[3]}."


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


@RULES.when("TypeError", rf"{_TAKES}|{_EXPECTED}", calls=_ONE_SEQUENCE)  # sum(1, 2, 3)
def _as_one_list(failure: Failure, match: re.Match[str]) -> str | None:
    """Write the call with one list, for functions that take one sequence and were given its items."""
    call, name = failure.call, failure.called
    if call is None or len(call.args) < 2 or name in _ORDERED:
        return None
    if name == "join" and not (isinstance(call.func, ast.Attribute) and type(failure.resolve(call.func.value)) is str):
        return None
    items: ast.expr = ast.List(elts=list(call.args), ctx=ast.Load())
    return f"Pass the values as one list: `{failure.rewritten([items], call.keywords, f'{name}([a, b])')}`."


@RULES.when("TypeError", _TAKES)  # f(1, 2)
def _keyword_only(failure: Failure, match: re.Match[str]) -> str | None:
    made = attribute_of(failure.callee, "__init__") if issubclass(type(failure.callee), type) else failure.callee
    if type(made) is not FunctionType:
        return None
    code = made.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return f"Give {quoted(names, 8)} by name: `{failure.called or match[1]}(..., {names[0]}=...)`." if names else None


@RULES.when("TypeError", _TAKES)  # f(1, 2)
def _too_many(failure: Failure, match: re.Match[str]) -> str | None:
    names, takes = _parameters(failure, match[1]), int(match[2])
    count = takes - 1 if "." in match[1] and len(names) == takes - 1 else takes
    return f"`{match[1].removesuffix('.__new__')}` takes {_count(count)}{_listed(': its', names)}; call it with these."


@RULES.when("TypeError", _EXPECTED, calls=_ORDERED)  # sorted([1], lambda x: -x); sorted([1, 2], True)
def _by_name(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for the function or the order of a sort, which are given by name."""
    args = failure.call.args if failure.call else []
    for arg in args:
        if _is_function(failure, arg):
            rest = [other for other in args if other is not arg]
            key = [ast.keyword(arg="key", value=arg)]
            return f"Give the function by name: `{failure.rewritten(rest, key, 'sorted(values, key=function)')}`."
        if isinstance(arg, ast.Constant) and type(arg.value) is bool:
            return f"Give it by name: `{failure.text_of(failure.function)}(values, reverse={arg.value!r})`."
    return None


@RULES.when(
    "TypeError", rf"{_TAKES}|{_EXPECTED}|as a data type", calls=tuple(_SIZED)
)  # np.random.default_rng().normal(0, 1, 3, 3)
def _size_as_tuple(failure: Failure, match: re.Match[str]) -> str | None:
    args, before = failure.call.args if failure.call else [], _SIZED[failure.called]
    if len(args) < before + 2:
        return None
    size = ast.keyword(arg="size", value=ast.Tuple(elts=list(args[before:]), ctx=ast.Load()))
    text = failure.rewritten(list(args[:before]), [size], f"{failure.called}(..., size=(3, 3))")
    return f"The shape is one tuple: `{text}`."


@RULES.when("TypeError", _EXPECTED)  # isinstance(3)
def _wrong_count(failure: Failure, match: re.Match[str]) -> str | None:
    name = match[1].rpartition(".")[2]
    if name in _USAGE:
        return f"Call it so: `{_USAGE[name]}`."
    names = _parameters(failure, match[1])
    if names and len(names) <= 6:
        return f"Call `{name}` with its parameters: ({', '.join(names)})."
    count = {"one": "one argument", "1": "one argument", "no": "no argument"}.get(match[2], f"{match[2]} arguments")
    return f"Call `{name}` with {count}."
