# ruff: noqa: E501 (one sentence, one line)
"""Hints for calls with the wrong arguments."""

from __future__ import annotations

import ast
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any

from safeexec.hints.failure import MISSING, attribute_of, library_kind, parameters
from safeexec.hints.matching import TYPING_ERRORS, nearest, quoted

if TYPE_CHECKING:
    from safeexec.hints.failure import Failure

_UNEXPECTED = re.compile(
    r"(?:([\w.<>]+)\(\) )?got an unexpected keyword argument '(\w+)'|'(\w+)' is an invalid keyword argument for (?:this function|(\w+)\(\))"
)
_MISSING = re.compile(r"([\w.<>]+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.+)")
_MISSING_PLACE = re.compile(r"(?:([\w.]+)\(\)|function) missing required argument '(\w+)' \(pos \d+\)")
_TAKES = re.compile(r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional arguments? but (\d+) (?:was|were) given")
_EXPECTED = re.compile(
    r"([\w.]+)(?:\(\))? (?:expected|takes) (?:at (?:most|least) |exactly )?(\d+|one|no) (?:positional )?arguments?(?:,? (?:got |\()(\d+)(?: given\))?)?"
)


def hint(failure: Failure) -> str | None:
    """For a TypeError about arguments: the right name, place or number."""
    message = failure.message
    if text := _shape_or_list(failure):
        return text
    if match := _UNEXPECTED.search(message):
        return _unexpected(failure, match.group(1) or match.group(4) or "", match.group(2) or match.group(3))
    if "takes no keyword arguments" in message:
        return _positional(failure)
    if match := _MISSING.search(message):
        return _missing(failure, match.group(1), match.group(2))
    if match := _MISSING_PLACE.search(message):
        return _missing(failure, match.group(1) or _called(failure)[0], f"'{match.group(2)}'")
    if match := _TAKES.search(message):
        return _too_many(failure, match.group(1), int(match.group(2)), int(match.group(3)))
    if re.search(r"\w+\(\) takes no arguments|object\.__init__\(\) takes exactly one argument", message):
        return "The class has no `__init__` with parameters: define `def __init__(self, ...):` (two underscores on each side), or call it without arguments."
    if match := _EXPECTED.search(message):
        return _wrong_count(failure, match.group(1), match.group(2))
    if "multiple values for argument" in message:
        return "Give this argument once: by position or by name, not both."
    return None


def _called(failure: Failure) -> tuple[str, Any]:
    """Name and object of what the failing expression calls."""
    call = failure.call
    if call is None:
        return "", MISSING
    function = call.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    found = failure.resolve(function)
    if found is MISSING and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        kind = failure.resolve(function.value.func)
        found = attribute_of(kind, name) if issubclass(type(kind), type) else MISSING
    return name, found


def _unexpected(failure: Failure, said: str, keyword: str) -> str | None:
    from safeexec.hints.tables.libraries import ARGUMENTS, KEYWORDS

    name, function = _called(failure)
    raiser = said.split(".")[0] if said.endswith("__init__") else said.rpartition(".")[2]
    for key in dict.fromkeys((name, raiser)):
        table = ARGUMENTS.get(key, {})
        if text := table.get(keyword) or next(
            (table[near] for near in nearest(keyword, table, worst=TYPING_ERRORS)), ""
        ):
            return text
    names = _parameters_of(failure, function, said)
    for frame in failure.libraries[:3]:
        names += frame.f_code.co_varnames[: frame.f_code.co_argcount + frame.f_code.co_kwonlyargcount]
    names = [
        other
        for other in dict.fromkeys(names)
        if other not in ("self", "cls", "args", "kwargs", keyword) and not other.startswith("_")
    ]
    found = [other for other in KEYWORDS.get(keyword, ()) if other in names] or nearest(keyword, names)
    if found:
        return f"The argument is called `{found[0]}`: write `{found[0]}=`."
    target = name or raiser or "the function"
    if names:
        return f"`{target}` takes {quoted(names, 12)}; leave `{keyword}=` out or use one of these."
    return f"`{target}` has no argument `{keyword}`: leave it out, or give the value by position."


def _parameters_of(failure: Failure, function: Any, said: str) -> list[str]:
    """The parameters of what is called; if the expression does not tell what it is, of ``Class.method`` in the message."""
    owner, _, method = said.rpartition(".")
    if function is MISSING and owner.isidentifier():
        function = attribute_of(failure.lookup(owner), method)
    return parameters(function) if function is not MISSING else []


def _positional(failure: Failure) -> str:
    """The same call with its keyword arguments by position."""
    call = failure.call
    if call is not None and call.keywords and all(keyword.arg for keyword in call.keywords):
        rewritten = ast.Call(
            func=call.func, args=[*call.args, *(keyword.value for keyword in call.keywords)], keywords=[]
        )
        text = failure.text_of(rewritten, "")
        if text:
            return f"It takes its arguments by position only: `{text}`."
    return "It takes its arguments by position only: write the values without their names."


def _missing(failure: Failure, said: str, missing: str) -> str:
    names = re.findall(r"'(\w+)'", missing)
    if said == "dump" and names == ["fp"]:
        return "`dump` writes to an open file: use `json.dumps(value)` for a text, or `json.dump(value, file)`."
    if names and names[0] == "self":
        kind = said.rpartition(".")[0] or "Kind"
        return f"Call it on an instance, not on the class: `{kind}().{said.rpartition('.')[2]}(...)`, with `{kind}(...)` made first."
    name, function = _called(failure)
    if name in _TAKE_ONE_SEQUENCE and failure.call is not None and not failure.call.args:
        return f"Give it the values: `{failure.text_of(failure.call.func, name)}(values)`."
    every = _parameters_of(failure, function, said)
    if not _is_called(failure, function, said):
        return f"The function given here needs {quoted(names)} too: it is called with fewer arguments."
    given = f"; its parameters are ({', '.join(every)})" if every and len(every) <= 12 else ""
    target = name if said.endswith(".__call__") and name else said.removesuffix(".__init__")
    return f"Call `{target}` with {quoted(names)} too{given}."


def _too_many(failure: Failure, said: str, takes: int, given: int) -> str | None:
    owner, _, name = said.rpartition(".")
    _, function = _called(failure)
    call = failure.call
    method = attribute_of(failure.lookup(owner), name) if owner and "<" not in owner else function
    if (
        owner
        and name != "__new__"
        and type(method) is FunctionType
        and given == takes + 1
        and not _first_is_self(method)
        and (call is None or len(call.args) < given)
    ):
        return f"Add `self` as the first parameter of the method: `def {name}(self, ...)`."
    if not _is_called(failure, function, said):
        return (
            f"The function given here takes {takes} argument{'' if takes == 1 else 's'}, and it is called with {given}."
        )
    if said in ("sort", "list.sort"):
        return "Give the function by name: `values.sort(key=lambda item: ...)`."
    if listed := _as_one_list(failure, name):
        return listed
    names = _parameters_of(failure, function, said)
    if by_name := _by_name(function):
        return f"Give {quoted(by_name)} by name: `{name or said}(..., {by_name[0]}=...)`."
    if library_kind(attribute_of(function, "__self__")) or failure.libraries:
        return f"Give the arguments after the first ones by name: `{name or said}(..., name=value)`."
    shown = f": its parameters are ({', '.join(names)})" if names and len(names) <= 12 else ""
    count = takes - 1 if owner and takes and names and len(names) == takes - 1 else takes
    return f"`{said.removesuffix('.__new__')}` takes {count} argument{'' if count == 1 else 's'}{shown}; call it with these."


def _is_called(failure: Failure, function: Any, said: str) -> bool:
    """Is it what the expression calls that the message speaks of, and not a function that was given to it?"""
    name = said.rpartition(".")[2]
    if name == "<lambda>":
        return type(function) is FunctionType and function.__code__.co_name == name
    if name.startswith("__") or not failure.segment or re.search(rf"\b{re.escape(name)}\s*\(", failure.segment):
        return True
    return bool(failure.libraries) and type(failure.lookup(name)) is not FunctionType


def _by_name(function: Any) -> list[str]:
    """The parameters of a function that can only be given by name."""
    if type(function) is not FunctionType:
        return []
    code = function.__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def _as_one_list(failure: Failure, name: str) -> str | None:
    """The values as one list, for the functions that take one sequence and were given its items."""
    call = failure.call
    if call is None or name not in _TAKE_ONE_SEQUENCE or len(call.args) < 2:
        return None
    if name == "join" and not (isinstance(call.func, ast.Attribute) and type(failure.resolve(call.func.value)) is str):
        return None
    rewritten = ast.Call(func=call.func, args=[ast.List(elts=list(call.args), ctx=ast.Load())], keywords=call.keywords)
    return f"Pass the values as one list: `{failure.text_of(rewritten, f'{name}([a, b])')}`."


_TAKE_ONE_SEQUENCE = (
    "sum", "len", "any", "all", "list", "set", "tuple", "sorted", "choice", "shuffle", "mean", "fmean", "median", "mode",
    "multimode", "stdev", "pstdev", "variance", "pvariance", "geometric_mean", "harmonic_mean", "fsum", "prod", "join",
    "Counter", "deque", "OrderedDict", "heapify",
)  # fmt: skip
"""Functions of one sequence."""


def _first_is_self(method: FunctionType) -> bool:
    code = method.__code__
    return code.co_argcount > 0 and code.co_varnames[0] in ("self", "cls")


def _wrong_count(failure: Failure, said: str, takes: str) -> str | None:
    call = failure.call
    name = said.rpartition(".")[2]
    if call is not None and name in ("sorted", "sort", "min", "max"):
        function = next((arg for arg in call.args if _is_function(failure, arg)), None)
        flag = next((arg for arg in call.args[1:] if isinstance(arg, ast.Constant) and type(arg.value) is bool), None)
        if function is None and flag is not None and name in ("sorted", "sort"):
            return f"Give it by name: `{failure.text_of(call.func)}(values, reverse={flag.value!r})`."
        if function is not None:
            rest = [arg for arg in call.args if arg is not function]
            rewritten = ast.Call(func=call.func, args=rest, keywords=[ast.keyword(arg="key", value=function)])
            return f"Give the function by name: `{failure.text_of(rewritten, 'sorted(values, key=function)')}`."
    if name == "append":
        return "`append` adds one item: use `.extend([a, b])` for several, or `.append((a, b))` for a pair."
    if name in ("min", "max") and call is not None and not call.args:
        return f"Give it the values: `{name}(values)`, or `{name}(values, key=function)`."
    if name in _SIZED and call is not None and len(call.args) > 1:
        kept, sizes = call.args[: _SIZED[name]], call.args[_SIZED[name] :]
        size = ast.keyword(arg="size", value=ast.Tuple(elts=list(sizes), ctx=ast.Load()))
        text = failure.text_of(ast.Call(func=call.func, args=list(kept), keywords=[size]), f"{name}(..., size=(3, 3))")
        return f"The shape is one tuple: `{text}`."
    if name == "add" and said.startswith("set"):
        return "`add` adds one item: use `.update([a, b])` for several."
    if name in _USAGE:
        return f"Call it so: `{_USAGE[name]}`."
    if listed := _as_one_list(failure, name):
        return listed
    function = failure.resolve(call.func) if call is not None else MISSING
    names = _parameters_of(failure, function, said)
    if names and len(names) <= 6:
        return f"Call `{name}` with its parameters: ({', '.join(names)})."
    count = {"one": "one argument", "1": "one argument", "no": "no argument"}.get(takes, f"{takes} arguments")
    return (
        f"Call `{name}` with {count}."
        if name != "range"
        else "Call it so: `range(stop)` or `range(start, stop, step)`."
    )


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
    "hypot": "math.hypot(x, y)",
    "next": "next(iterator, default)",
    "divmod": "divmod(a, b)",
    "zip": "zip(a, b)",
    "insert": "values.insert(index, item)",
    "dict": "dict(a=1, b=2)",
    "update": "mapping.update({'key': value})",
    "input": "value = 7",
}
"""How functions without a signature of their own are called."""

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


def unexpected_property(failure: Failure, keyword: str) -> str:
    """For an argument that matplotlib passed on to a line, a figure or another artist."""
    from safeexec.hints.tables.libraries import ARGUMENTS, ARTIST_PROPERTIES

    name, _ = _called(failure)
    if text := ARGUMENTS.get(name, {}).get(keyword):
        return text
    found = nearest(keyword, ARTIST_PROPERTIES)
    if found:
        return f"The argument is called `{found[0]}`: write `{found[0]}=`."
    return f"There is no argument `{keyword}`: leave it out, or use `color=`, `linewidth=`, `linestyle=`, `marker=`, `label=` or `alpha=`."


def _is_function(failure: Failure, tree: ast.expr) -> bool:
    return isinstance(tree, ast.Lambda) or type(failure.resolve(tree)) in (
        FunctionType,
        type(len),
        type(str.lower),
        type,
    )


def _shape_or_list(failure: Failure) -> str | None:
    """Functions of numpy and pandas that take one list or tuple and were given its items."""
    call = failure.call
    if call is None:
        return None
    name, _ = _called(failure)
    message = failure.message
    function = failure.text_of(call.func, name)
    if name in ("zeros", "ones", "empty", "full") and re.search(r"data type|interpret", message) and len(call.args) > 1:
        shape = ast.Tuple(elts=list(call.args), ctx=ast.Load())
        text = failure.text_of(ast.Call(func=call.func, args=[shape], keywords=call.keywords), f"{function}((3, 4))")
        return f"The shape is one tuple: `{text}`."
    if name in _TAKE_ONE_LIST and len(call.args) > 1 and re.search(r"takes|iterable|scalar|axis|interpret", message):
        rewritten = ast.Call(
            func=call.func, args=[ast.List(elts=list(call.args), ctx=ast.Load())], keywords=call.keywords
        )
        return f"Give them as one list: `{failure.text_of(rewritten, f'{function}([a, b])')}`."
    if name in ("gather", "wait") and "unhashable" in message:
        return f"Spread the list with a star: `{failure.text_of(call.func, 'asyncio.gather')}(*coroutines)`."
    if name in ("map", "filter", "reduce") and len(call.args) > 1 and _is_function(failure, call.args[1]):
        swapped = ast.Call(func=call.func, args=[call.args[1], call.args[0], *call.args[2:]], keywords=call.keywords)
        return f"Give the function first: `{failure.text_of(swapped, f'{name}(function, values)')}`."
    if name in ("rand", "randn") and "tuple" in message:
        return f"Give the sizes as separate numbers: `{function}(2, 3)`."
    if name == "range" and "only integer scalar arrays" in message:
        return "Loop over the number of rows: `range(len(a))`, or over the rows themselves: `for row in a:`."
    if name in ("concat", "concatenate") and "iterable" in message:
        return f"Give them as one list: `{function}([a, b])`."
    if name == "sum" and "'str'" in message:
        return "Turn the items into numbers first: `sum(float(x) for x in values)`; texts are joined with `''.join(parts)`."
    if name == "linspace" and re.search(r"integer|float", message):
        return "The third argument of `linspace` is the number of points, `num=5`; for a step use `np.arange(start, stop, step)`."
    return None


_TAKE_ONE_LIST = ("concatenate", "vstack", "hstack", "stack", "dstack", "column_stack", "concat", "block", "array")
