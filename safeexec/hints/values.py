# ruff: noqa: E501 (one sentence, one line)
"""Rules for values of another type than the program takes them for: None, coroutines, functions, hidden builtins;
and for numbers that a function of `math` is not defined for.
"""

from __future__ import annotations

import ast
import builtins
import re
from types import CoroutineType, FunctionType
from typing import Any

from safeexec.common.text import short_repr
from safeexec.hints.failure import Failure, name_of, walk
from safeexec.hints.objects import (
    MISSING,
    attribute_names,
    attribute_of,
    enum_members,
    is_module,
    library_kind,
    module_name,
)
from safeexec.hints.rules import HintRules

RULES = HintRules()
_BUILTIN_NAMES = frozenset(name for name in dir(builtins) if name.islower() and not name.startswith("_"))
_METHODS = (FunctionType, type(len), type(str.join))
_IN_PLACE = (
    "sort", "reverse", "append", "extend", "insert", "remove", "clear", "update", "add", "discard", "shuffle", "heapify", "heappush", "insort", "writerow",
)  # fmt: skip
_MAYBE_NONE = {
    "match": "`re.match(...)` is None when nothing matches",
    "search": "`re.search(...)` is None when nothing matches",
    "fullmatch": "`re.fullmatch(...)` is None when the text does not match",
    "get": "`.get(key)` is None when the key is missing",
    "getenv": "`getenv` is None when the variable is missing",
    "find": "`.find(...)` is None when nothing is found",
}


@RULES.when("TypeError AttributeError", r"'coroutine'|\bcoroutine\b.*(not|unsupported)")  # x = f(); x + 1
def _not_awaited(failure: Failure, match: re.Match[str]) -> str | None:
    made = next((tree for tree in failure.operands() if type(failure.resolve(tree)) is CoroutineType), None)
    text = failure.text_of(made, "f()")
    subject = f"`{text}` is a coroutine that" if made else "A coroutine"
    if failure.place is not None and failure.place.frame.f_code.co_flags & 0x80:  # CO_COROUTINE
        return f"{subject} was not awaited: write `await {text}` (for several: `await asyncio.gather(*coroutines)`)."
    return f"{subject} was not awaited: write `await {text}` inside an `async def`, or `asyncio.run({text})` outside of one."


@RULES.when("TypeError", "not supported between instances of .*'NoneType'")  # sorted([1, None])
def _none_among_values(failure: Failure, match: re.Match[str]) -> str | None:
    if not isinstance(failure.expression, ast.Call):
        return None
    return "One of the values is None: leave it out first, `[x for x in values if x is not None]`."


@RULES.when("TypeError AttributeError", "NoneType")  # x = [2, 1].sort(); x.pop()
def _none(failure: Failure, match: re.Match[str]) -> str | None:
    for tree in failure.operands():
        if failure.resolve(tree) is None and not isinstance(tree, ast.Constant):
            text = failure.text_of(tree)
            reason = _returns_none(failure, _last_assignment(failure, text), text)
            plainly = f"`{text}` is None here: check it with `if {text} is not None:`, or mend the assignment that it comes from."
            return reason or plainly
        if isinstance(tree, ast.Call) and (reason := _returns_none(failure, tree)):
            return reason
    return "A value here is None: print it, and check the function or assignment that it comes from; a function without `return` returns None."


def _returns_none(failure: Failure, tree: ast.expr | None, text: str = "") -> str | None:
    """Return why a call gave None, if it is one of those that do."""
    call = tree.value if isinstance(tree, ast.Await) else tree
    if not isinstance(call, ast.Call):
        return None
    name = name_of(call.func)
    if any(keyword.arg == "inplace" for keyword in call.keywords):
        kept = [keyword for keyword in call.keywords if keyword.arg != "inplace"]
        better = failure.text_of(ast.Call(func=call.func, args=call.args, keywords=kept), "df.method(...)")
        return f"A method with `inplace=True` returns None: leave `inplace=True` out and assign the result, `{text or 'result'} = {better}`."
    if name == "print":
        return "`print(...)` returns None: assign the value itself and print it in a line of its own."
    if type(failure.resolve(call.func)) is FunctionType and (reason := _without_return(failure, name)):
        return reason
    if name in _IN_PLACE:
        owner = failure.text_of(call.func.value, "values") if isinstance(call.func, ast.Attribute) else "values"
        better = f", or use `sorted({owner})`" if name == "sort" else ""
        return f"`.{name}(...)` changes the object in place and returns None: call it in a line of its own and go on with `{owner}`{better}."
    return f"{_MAYBE_NONE[name]}: check it first, `if {text or 'value'} is not None:`." if name in _MAYBE_NONE else None


def _without_return(failure: Failure, name: str) -> str | None:
    """Answer for a function of the guest that has no ``return`` with a value, or not on every path."""
    found = [
        node
        for _, node in failure.nodes(f"def {name}")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    if not found:
        return None
    if any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(found[-1])):
        return f"`{name}` returned None: one path through it ends without a `return` of a value."
    result = "..."
    match found[-1].body[-1]:
        case (
            ast.Assign(targets=[ast.Name(id=result)])
            | ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Name(id=result)]))
        ):
            pass
    return f"`{name}` has no `return`, so it returns None: end it with `return {result}`."


def _last_assignment(failure: Failure, text: str) -> ast.expr | None:
    """Return the value that was assigned to a name last before the failing line, in the steps so far."""
    found: ast.expr | None = None
    if not text.isidentifier() or failure.place is None:
        return None
    for filename, node in failure.nodes(f"{text} =", f"{text}=", f"{text}:"):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name == text and (filename != failure.place.filename or node.lineno <= failure.place.line):
                found = value
    return found


# what is called and is no function

_NOT_CALLABLE = r"'([\w.]+)' object is not callable"


@RULES.when("TypeError", _NOT_CALLABLE)  # sorted([{'a': 1}], key='a'); list(map('a', [1, 2])); df['n'].apply(5)
def _argument_called(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a function that calls one of its arguments: a builtin, a method, or a function of a library."""
    call, name = failure.call, failure.called
    if call and name in ("sorted", "min", "max", "sort") and any(keyword.arg == "key" for keyword in call.keywords):
        return "`key=` must be a function: `key=lambda item: item['name']`."
    inner = (node.func for node in walk(failure.segment.strip()) if isinstance(node, ast.Call))
    names = {tree.id for tree in inner if isinstance(tree, ast.Name)}
    for builtin in names & {"map", "filter"}:
        if failure.lookup(builtin) is failure.builtins.get(builtin, 0):
            return f"Give a function first: `{builtin}(function, values)`, for example `{builtin}(lambda x: x * 2, values)`."
    is_builtin = name in names and failure.lookup(name) is failure.builtins.get(name, 0)
    is_method = isinstance(failure.function, ast.Attribute) and (failure.libraries or type(failure.callee) in _METHODS)
    if not is_builtin and not is_method:
        return None
    return f"`{failure.text_of(failure.function)}` calls one of its arguments, which is a `{match[1]}`: give a function there, or a dict to rename with, `{{'old': 'new'}}`."


@RULES.when("TypeError", _NOT_CALLABLE)  # max = 3; max(1, 2)
def _hidden_builtin(failure: Failure, match: re.Match[str]) -> str | None:
    name = failure.function.id if isinstance(failure.function, ast.Name) else ""
    if name not in failure.builtins and name not in _BUILTIN_NAMES:
        return None
    what = "tool" if name in failure.plan.tools else "builtin"
    return f"`{name}` was assigned a value of type `{match[1]}`, which hides the {what}: rename that variable, and `del {name}` to have the {what} back."


@RULES.when("TypeError", _NOT_CALLABLE)  # datetime(2024, 1, 1)
def _module_called(failure: Failure, match: re.Match[str]) -> str | None:
    name, owner = failure.called, failure.resolve(failure.function)
    if owner is MISSING or not is_module(owner):
        return None
    if name in attribute_names(owner):
        return f"`{name}` is the module: call `{name}.{name}(...)`, or import it with `from {module_name(owner)} import {name}`."
    return f"`{name}` is a module: call a function in it, `{name}.function(...)`."


@RULES.when("TypeError", _NOT_CALLABLE)  # area = area(2); area(3)
def _hidden_function(failure: Failure, match: re.Match[str]) -> str | None:
    name = failure.function.id if isinstance(failure.function, ast.Name) else ""
    assigned = _last_assignment(failure, name)
    if assigned is None or not any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(assigned)):
        return None
    return f"`{name}` was reassigned to a value of type `{match[1]}`, which hides what it was before: give that variable another name."


@RULES.when("TypeError", _NOT_CALLABLE)  # area = 3(r + 1); items = [1]; items(0); ax.title('x'); df.shape()
def _value_called(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a number, a container or an attribute that is called."""
    function, kind, call = failure.function, match[1], failure.call
    text, owner = failure.text_of(function), function.value if isinstance(function, ast.Attribute) else None
    if owner is None and kind in ("int", "float"):
        if len(text) > 2 and text.isidentifier():  # no factor: a name that a function had, or was thought to have
            return f"`{text}` is a number, assigned before this line, and no function: give that variable another name, and define or import the function again."
        return f"`{text}` is a number: write the multiplication sign, `{text} * (...)`, or rename the variable if a function of that name was meant."
    if kind in _CONTAINERS and (owner is None or not call or call.args or call.keywords):
        return f"`{text}` is a `{kind}`: use square brackets, `{text}[...]`, to take items; if a function of that name was meant, rename the variable."
    if isinstance(function, ast.Attribute):
        if attribute_of(failure.resolve(owner), f"set_{function.attr}") is not MISSING:
            return f"`{text}` is a value, not a method: use `{failure.text_of(owner)}.set_{function.attr}(...)`."
        return f"`{text}` is a value, not a method: use it without parentheses."
    return f"`{text}` is a value of type `{kind}`, not a function: use it without parentheses."


_CONTAINERS = ("list", "dict", "tuple", "DataFrame", "Series", "ndarray", "numpy.ndarray", "str")

# what is a function and is not called


@RULES.when("TypeError", r"'(?:method|function|builtin_function_or_method|type)'")  # 'a b'.split[0]; f + 1
def _function_as_value(failure: Failure, match: re.Match[str]) -> str | None:
    taken_apart = re.search("object is not (?:subscriptable|iterable)", failure.message)
    if ">>: 'builtin" in failure.message or (match[0] == "'type'" and not taken_apart):
        return None  # `print >> file` of Python 2; a class is a value
    trees = list(failure.operands())
    called = trees[:1] if taken_apart else [tree for tree in trees if type(failure.resolve(tree)) in _METHODS[:2]]
    if called:
        text = failure.text_of(called[0], "f")
        return f"`{text}` is a function: call it with parentheses, `{text}(...)`."
    method = next((tree for tree in trees if isinstance(tree, ast.Attribute)), None)
    return f"One of the values is a function: call it with parentheses, `{failure.text_of(method, 'f')}()`."


# values of a loop, arguments of another kind


@RULES.when("TypeError", "indices must be integers")  # for row in {'a': {'n': 1}}: row['n']
def _loop_variable(failure: Failure, match: re.Match[str]) -> str | None:
    """Answer for a loop that gives something else than it is taken for: names of columns, keys, pairs of
    rows.
    """
    tree = failure.expression
    name = name_of(tree.value) if isinstance(tree, ast.Subscript) else ""
    loop = _loop_over(failure, name)
    text, called = failure.text_of(loop, "values"), name_of(loop.func) if isinstance(loop, ast.Call) else ""
    if called in ("iterrows", "items"):
        return f"`{text}` gives pairs: write `for {'index' if called == 'iterrows' else 'key'}, {name} in {text}:`."
    if called in ("enumerate", "zip"):
        return f"`{called}` gives tuples: write `for i, {name} in {text}:`."
    found = failure.resolve(loop)
    if library_kind(found) == "pandas.DataFrame":
        return f"A loop over a DataFrame gives the names of its columns: write `for _, {name} in {text}.iterrows():`, or `for {name} in {text}.itertuples():`."
    if isinstance(loop, ast.Dict) or issubclass(type(found), dict):
        return (
            f"A loop over a dict gives its keys: write `for key, {name} in {text}.items():`, or take `{text}[{name}]`."
        )
    return None


def _loop_over(failure: Failure, name: str) -> ast.expr | None:
    """Return what the loop around the failing line runs over, if `name` is its variable."""
    line, loop = failure.place.line if failure.place else 0, None
    for node in walk(failure.source):
        match node:
            case ast.For(target=ast.Name(id=variable), lineno=first) if variable == name:
                loop = node.iter if first < line <= (node.end_lineno or line) else loop
    return loop


@RULES.when("TypeError", "'str' object cannot be interpreted as an integer")  # range('3')
def _text_for_integer(failure: Failure, match: re.Match[str]) -> str | None:
    call = failure.call
    given = [*call.args, *(keyword.value for keyword in call.keywords)] if call else []
    if failure.called == "int" and len(given) > 1:
        return "The base is a whole number: `int(text, 16)` for hexadecimal, `int(text, 2)` for binary text."
    wrong = next((arg for arg in given if type(failure.resolve(arg)) is str), None)
    return f"Turn the text into a number first: `int({failure.text_of(wrong)})`." if wrong is not None else None


@RULES.when("TypeError", r"'[<>]=?' not supported between instances of '(\w+)' and '(?!\1')\w+'")  # sorted([3, 'a', 1])
def _mixed_types(failure: Failure, match: re.Match[str]) -> str | None:
    if not isinstance(failure.expression, ast.Call):
        return None
    return "The values are of several types: convert them to one type first, or give `key=str`; None is left out with `[x for x in values if x is not None]`."


@RULES.when("TypeError", "can only concatenate str")  # random.randint(1, '6')
def _sum_of_texts(failure: Failure, match: re.Match[str]) -> str | None:
    texts = [arg for arg in (failure.call.args if failure.call else []) if type(failure.resolve(arg)) is str]
    return (
        f"Turn the texts into numbers first: `int({failure.text_of(texts[0])})`."
        if failure.libraries and texts
        else None
    )


@RULES.when("TypeError", "^can only concatenate str")  # age = '36'; age + 1
def _number_in_text(failure: Failure, match: re.Match[str]) -> str | None:
    """``'36' + 1``: the text holds a number, so a sum was meant rather than a longer text."""
    tree = failure.expression
    if not isinstance(tree, ast.BinOp):
        return None
    left, right = failure.resolve(tree.left), failure.resolve(tree.right)
    if type(left) is not str or type(right) not in (int, float) or not re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", left):
        return None
    kind = "float" if "." in left else "int"
    return f"The text holds a number: to add, convert it, `{kind}({failure.text_of(tree.left)})`; to join texts use `str({failure.text_of(tree.right)})`."


@RULES.when("TypeError", "^(?:unsupported operand|'<'|'>')")  # Level.LOW + 1
def _member_of_enum(failure: Failure, match: re.Match[str]) -> str | None:
    for tree in failure.operands():
        value = failure.resolve(tree)
        if value is not MISSING and enum_members(value):
            text = failure.text_of(tree)
            return f"`{text}` is a member of an Enum: use `{text}.value`, or make the class an `IntEnum`."
    return None


@RULES.when("TypeError", r"(?:isinstance|issubclass)\(\) arg 2")  # isinstance([2], list)
def _hidden_type(failure: Failure, match: re.Match[str]) -> str | None:
    name = name_of(failure.call.args[-1]) if failure.call and failure.call.args else ""
    if name in _BUILTIN_NAMES:
        return f"`{name}` was assigned a value, which hides the builtin type: rename that variable, and `del {name}`."
    return "The second argument must be a type or a tuple of types: `isinstance(x, (int, float))`."


@RULES.when(
    "ValueError", "math domain error|expected a (?:nonnegative|positive) input|expected a number in range"
)  # math.sqrt(-1)
def _domain(failure: Failure, match: re.Match[str]) -> str | None:
    """Say which numbers a function of `math` takes."""
    name = failure.called
    if name.startswith("log"):
        return f"`{name}` takes numbers greater than 0: check the value first; `cmath.log` takes negative ones too."
    if name in ("sqrt", "isqrt"):
        return f"`{name}` takes no negative numbers: check the value first, or use `cmath.sqrt`."
    if name in ("asin", "acos", "atanh"):
        return f"`{name}` takes numbers between -1 and 1: clip the value, `max(-1, min(1, x))`, if rounding took it outside."
    return "The function is not defined for this number: check its sign or range first (`cmath` computes roots and logarithms of negative numbers)."


_SHOWN, _ITEMS = 60, 20
"""Characters of a value, and items of a container, that a sentence may have."""
_SCALARS = frozenset({bool, int, float, complex, str, bytes, type(None)})


@RULES.when("AssertionError")  # assert total == sum(parts)
def _asserted(failure: Failure, match: re.Match[str]) -> str | None:
    """Tell the values that the failed condition was about, of plain data alone: no code of the program runs for it."""
    tree = failure.expression
    if tree is None or failure.libraries:
        return None
    seen: dict[str, str] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            value = failure.resolve(part)
            text = _plain(value)
            if text is not None:
                seen.setdefault(failure.text_of(part), text)
    if not seen:
        return None
    return "When it failed, " + ", ".join(f"`{name}` was {value}" for name, value in [*seen.items()][:4]) + "."


def _plain(value: Any) -> str | None:
    """Return a value as Python writes it, if it is plain data; of a container that holds other data or much, its size."""
    if type(value) in _SCALARS:
        return short_repr(value, _SHOWN)
    if type(value) not in (list, tuple, set, frozenset, dict):
        return None
    items = [*value, *(value.values() if type(value) is dict else ())] if len(value) <= _ITEMS else [value]
    return (
        short_repr(value, _SHOWN)
        if _SCALARS.issuperset(map(type, items))
        else f"a {type(value).__name__} of {len(value)}"
    )
