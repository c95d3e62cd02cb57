# ruff: noqa: E501 (one sentence, one line)
"""Hints for values of another type than the program takes them for: None, coroutines, functions, hidden builtins."""

from __future__ import annotations

import ast
import builtins
import re
from types import CoroutineType, FunctionType, ModuleType
from typing import TYPE_CHECKING

from safeexec.hints.failure import (
    MISSING,
    attribute_names,
    attribute_of,
    called_name,
    library_kind,
    module_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from safeexec.hints.failure import Failure

_IN_PLACE = (
    "sort", "reverse", "append", "extend", "insert", "remove", "clear", "update", "add", "discard", "shuffle", "heapify", "heappush", "insort", "setdefaults", "writerow",
)  # fmt: skip
_MAYBE_NONE = {
    "match": "`re.match(...)` is None when nothing matches",
    "search": "`re.search(...)` is None when nothing matches",
    "fullmatch": "`re.fullmatch(...)` is None when the text does not match",
    "get": "`.get(key)` is None when the key is missing",
    "getenv": "`getenv` is None when the variable is missing",
    "find": "`.find(...)` is None when nothing is found",
}


def none_or_coroutine(failure: Failure) -> str | None:
    """Why a value is None, or a coroutine that nobody awaited; None if it is neither."""
    if "'coroutine'" in failure.message or re.search(r"\bcoroutine\b.*(not|unsupported)", failure.message):
        return _coroutine(failure)
    if "NoneType" not in failure.message:
        return None
    for tree in _operands(failure):
        if failure.resolve(tree) is None and not isinstance(tree, ast.Constant):
            return _why_none(failure, tree)
        if isinstance(tree, ast.Call) and (reason := _returns_none(failure, tree)):
            return reason
    return "A value here is None: print it, and check the function or assignment that it comes from; a function without `return` returns None."


def _operands(failure: Failure) -> Iterator[ast.expr]:
    """The parts of the failing expression that may be the wrong value."""
    tree = failure.expression
    match tree:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case (
            ast.Attribute(value=value)
            | ast.Subscript(value=value)
            | ast.Starred(value=value)
            | ast.UnaryOp(operand=value)
        ):
            yield value
        case ast.Call(func=function, args=args):
            if isinstance(function, ast.Attribute):
                yield function.value
            yield from args
            yield function
        case ast.expr():
            yield tree


def _coroutine(failure: Failure) -> str:
    for tree in _operands(failure):
        made = failure.resolve(tree)
        if type(made) is CoroutineType:
            return f"`{failure.text_of(tree)}` is a coroutine that was not awaited: {_await(failure, failure.text_of(tree))}."
    return f"A coroutine was not awaited: {_await(failure, 'f()')}."


def _await(failure: Failure, text: str) -> str:
    if failure.frame is not None and failure.frame.frame.f_code.co_flags & 0x80:  # CO_COROUTINE
        return f"write `await {text}` (for several: `await asyncio.gather(*coroutines)`)"
    return f"write `await {text}` inside an `async def`, or `asyncio.run({text})` outside of one"


def _why_none(failure: Failure, tree: ast.expr) -> str:
    text = failure.text_of(tree)
    assigned = _last_assignment(failure, text)
    if assigned is not None and (reason := _returns_none(failure, assigned, text)):
        return reason
    return f"`{text}` is None here: check it with `if {text} is not None:`, or mend the assignment that it comes from."


def _returns_none(failure: Failure, tree: ast.expr, text: str = "") -> str | None:
    """Why a call gave None, if it is one of those that do."""
    if isinstance(tree, ast.Await):
        tree = tree.value
    if not isinstance(tree, ast.Call):
        return None
    if any(keyword.arg == "inplace" for keyword in tree.keywords):
        kept = [keyword for keyword in tree.keywords if keyword.arg != "inplace"]
        call = failure.text_of(ast.Call(func=tree.func, args=tree.args, keywords=kept), "df.method(...)")
        return f"A method with `inplace=True` returns None: leave `inplace=True` out and assign the result, `{text or 'result'} = {call}`."
    name = called_name(tree)
    if name == "print":
        return "`print(...)` returns None: assign the value itself and print it in a line of its own."
    function = failure.resolve(tree.func)
    if type(function) is FunctionType and (reason := _without_return(failure, name)):
        return reason
    if name in _IN_PLACE:
        owner = failure.text_of(tree.func.value, "values") if isinstance(tree.func, ast.Attribute) else "values"
        better = f", or use `sorted({owner})`" if name == "sort" else ""
        return f"`.{name}(...)` changes the object in place and returns None: call it in a line of its own and go on with `{owner}`{better}."
    if name in _MAYBE_NONE:
        return f"{_MAYBE_NONE[name]}: check it first, `if {text or 'value'} is not None:`."
    return None


def _without_return(failure: Failure, name: str) -> str | None:
    """A function of the guest that has no ``return`` with a value, or not on every path."""
    definition = None
    for _, node in failure.nodes_of_steps(f"def {name}"):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            definition = node
    if definition is None:
        return None
    if any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(definition)):
        return f"`{name}` returned None: one path through it ends without a `return` of a value."
    return f"`{name}` has no `return`, so it returns None: end it with `return {_result_name(definition)}`."


def _result_name(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    match definition.body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Name(id=name)])):
            return name
    return "..."


def _last_assignment(failure: Failure, text: str) -> ast.expr | None:
    """The value that was assigned to a name last before the failing line, in the steps so far."""
    if not text.isidentifier() or failure.frame is None:
        return None
    found: ast.expr | None = None
    for filename, node in failure.nodes_of_steps(f"{text} =", f"{text}=", f"{text}:"):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                if name == text and (filename != failure.frame.filename or node.lineno <= failure.frame.line):
                    found = value
    return found


def hint(failure: Failure) -> str | None:
    """For a TypeError about the type of a value."""
    message = failure.message
    if match := re.search(r"'([\w.]+)' object is not callable", message):
        return _not_callable(failure, match.group(1))
    if match := re.search(
        r"'(method|function|builtin_function_or_method|type)' object is not (subscriptable|iterable)", message
    ):
        tree = next(iter(_operands(failure)), None)
        text = failure.text_of(tree, "f")
        return f"`{text}` is a function: call it with parentheses, `{text}(...)`."
    if looped := _loop_variable(failure):
        return looped
    if taken := _wrong_kind(failure):
        return taken
    if re.search(r"'(method|function|builtin_function_or_method)'", message):
        for tree in _operands(failure):
            if type(failure.resolve(tree)) in (FunctionType, type(len)):
                return f"`{failure.text_of(tree)}` is a function: call it with parentheses, `{failure.text_of(tree)}(...)`."
        method = next((tree for tree in _operands(failure) if isinstance(tree, ast.Attribute)), None)
        text = failure.text_of(method, "f")
        return f"One of the values is a function: call it with parentheses, `{text}()`."
    if message.startswith("can only concatenate str") and (converted := _number_in_text(failure)):
        return converted
    if "isinstance() arg 2" in message or "issubclass() arg 2" in message:
        return _hidden_type(failure)
    return None


def _loop_variable(failure: Failure) -> str | None:
    """The variable of a loop that gives something else than it is taken for: names of columns, keys, pairs of rows."""
    tree = failure.expression
    if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name) or failure.frame is None:
        return None
    if not re.search(r"indices must be integers", failure.message):
        return None
    name, line, loop = tree.value.id, failure.frame.line, None
    try:
        module = ast.parse(failure.sources.get(failure.frame.filename, ""))
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(module):
        match node:
            case ast.For(target=ast.Name(id=variable), lineno=first) if variable == name:
                loop = node.iter if first < line <= (node.end_lineno or line) else loop
    if loop is None:
        return None
    text = failure.text_of(loop, "values")
    if (
        isinstance(loop, ast.Call)
        and isinstance(loop.func, ast.Attribute)
        and loop.func.attr in ("iterrows", "items", "enumerate")
    ):
        other = "index" if loop.func.attr == "iterrows" else "key"
        return f"`{text}` gives pairs: write `for {other}, {name} in {text}:`."
    if isinstance(loop, ast.Call) and isinstance(loop.func, ast.Name) and loop.func.id in ("enumerate", "zip"):
        return f"`{loop.func.id}` gives tuples: write `for i, {name} in {text}:`."
    found = failure.resolve(loop)
    if library_kind(found) == "pandas.DataFrame":
        return f"A loop over a DataFrame gives the names of its columns: write `for _, {name} in {text}.iterrows():`, or `for {name} in {text}.itertuples():`."
    if issubclass(type(found), dict):
        return (
            f"A loop over a dict gives its keys: write `for key, {name} in {text}.items():`, or take `{text}[{name}]`."
        )
    return None


def _wrong_kind(failure: Failure) -> str | None:
    """A text where a number is needed, a member of an Enum that is taken for its value, a shape that is called."""
    tree = failure.expression
    if isinstance(tree, ast.Call) and "'str' object cannot be interpreted as an integer" in failure.message:
        wrong = next(
            (arg for arg in [*tree.args, *(k.value for k in tree.keywords)] if type(failure.resolve(arg)) is str), None
        )
        name = called_name(tree)
        if name in ("date", "datetime"):
            return f"Give numbers, `{name}(2024, 1, 31)`, or read a text with `{name}.fromisoformat(text)`."
        if name == "int" and len(tree.args) + len(tree.keywords) > 1:
            return "The base is a whole number: `int(text, 16)` for hexadecimal, `int(text, 2)` for binary text."
        if wrong is not None:
            return f"Turn the text into a number first: `int({failure.text_of(wrong)})`."
    if re.search(
        r"'[<>]=?' not supported between instances of '(\w+)' and '(?!\1')\w+'", failure.message
    ) and isinstance(tree, ast.Call):
        return "The values are of several types: convert them to one type first, or give `key=str`; None is left out with `[x for x in values if x is not None]`."
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
        if "slice indices" in failure.message and tree.func.attr in ("startswith", "endswith"):
            return f"Give several texts as one tuple: `{failure.text_of(tree.func)}(('a', 'b'))`."
        wrong_kind = re.search(r"'(list|tuple|dict|set)' object cannot be interpreted as an integer", failure.message)
        if wrong_kind:
            return f"`{tree.func.attr}` needs a whole number where it was given a `{wrong_kind[1]}`: give the numbers separately, or check the order of the arguments."
    if failure.libraries and isinstance(tree, ast.Call) and "can only concatenate str" in failure.message:
        texts = [arg for arg in tree.args if type(failure.resolve(arg)) is str]
        if texts:
            return f"Turn the texts into numbers first: `int({failure.text_of(texts[0])})`."
    if failure.message.startswith(("unsupported operand", "'<'", "'>'")):
        for part in _operands(failure):
            value = failure.resolve(part)
            if value is not MISSING and "_member_names_" in type.__dict__["__dict__"].__get__(type(value)):
                text = failure.text_of(part)
                return f"`{text}` is a member of an Enum: use `{text}.value`, or make the class an `IntEnum`."
    if "bad operand type for unary +" in failure.message and re.search(r"=\+", _line_of(failure)):
        return "`=+` assigns a positive value: to add write `+=`."
    return None


def _line_of(failure: Failure) -> str:
    if failure.frame is None:
        return ""
    lines = failure.sources.get(failure.frame.filename, "").split("\n")
    return lines[failure.frame.line - 1] if 0 < failure.frame.line <= len(lines) else ""


def _number_in_text(failure: Failure) -> str | None:
    """``'36' + 1``: the text holds a number, so a sum was meant rather than a longer text."""
    tree = failure.expression
    if not isinstance(tree, ast.BinOp):
        return None
    left, right = failure.resolve(tree.left), failure.resolve(tree.right)
    if type(left) is str and type(right) in (int, float) and re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", left):
        name = "float" if "." in left else "int"
        return (
            f"The text holds a number: to add, convert it, `{name}({failure.text_of(tree.left)})`; to join texts use"
            f" `str({failure.text_of(tree.right)})`."
        )
    return None


def _not_callable(failure: Failure, kind: str) -> str | None:
    call = failure.call
    function = call.func if call is not None else None
    text = failure.text_of(function, "x")
    if isinstance(function, ast.Name):
        name = function.id
        owner = failure.lookup(name)
        if owner is not MISSING and owner is failure.builtins.get(name):
            return _argument_not_callable(failure, name, kind)
        if name in failure.builtins or name in _BUILTIN_NAMES:
            return f"`{name}` was assigned a value of type `{kind}`, which hides the builtin: rename that variable, and `del {name}` to have the builtin back."
        if issubclass(type(owner), ModuleType) and owner is not MISSING:
            module = module_name(owner)
            if name in attribute_names(owner):
                return f"`{name}` is the module: call `{name}.{name}(...)`, or import it with `from {module} import {name}`."
            return f"`{name}` is a module: call a function in it, `{name}.function(...)`."
        if type(owner) is CoroutineType:
            return f"`{name}` is a coroutine: write `await {name}`."
    if isinstance(function, ast.Attribute) and type(failure.resolve(function)) in (
        FunctionType,
        type(len),
        type(str.join),
    ):
        return f"`{text}` calls one of its arguments, which is a `{kind}`: give a function there, or a dict to rename with, `{{'old': 'new'}}`."
    assigned = _last_assignment(failure, function.id) if isinstance(function, ast.Name) else None
    if assigned is not None and any(isinstance(part, ast.Name) and part.id == text for part in ast.walk(assigned)):
        return f"`{text}` was reassigned to a value of type `{kind}`, which hides what it was before: give that variable another name."
    if (
        isinstance(function, ast.Attribute)
        and call is not None
        and not call.args
        and not call.keywords
        and kind in ("tuple", "list", "str", "dict", "ndarray", "numpy.ndarray")
    ):
        return f"`{text}` is a value, not a method: use it without parentheses."
    if isinstance(function, ast.Constant) or (kind in ("int", "float") and not isinstance(function, ast.Attribute)):
        return f"`{text}` is a number: write the multiplication sign, `{text} * (...)`, or rename the variable if a function of that name was meant."
    if kind in ("list", "dict", "tuple", "DataFrame", "Series", "ndarray", "numpy.ndarray", "str"):
        return f"`{text}` is a `{kind}`: use square brackets, `{text}[...]`, to take items; if a function of that name was meant, rename the variable."
    if kind == "NoneType":
        return f"`{text}` is None: check the assignment or the decorator that it comes from; a decorator must return a function."
    if isinstance(function, ast.Attribute):
        if attribute_of(failure.resolve(function.value), f"set_{function.attr}") is not MISSING:
            return (
                f"`{text}` is a value, not a method: use `{failure.text_of(function.value)}.set_{function.attr}(...)`."
            )
        return f"`{text}` is a value, not a method: use it without parentheses."
    return f"`{text}` is a value of type `{kind}`, not a function: use it without parentheses."


def _argument_not_callable(failure: Failure, name: str, kind: str) -> str:
    """A builtin that was given something else than a function where it needs one: ``sorted(rows, key='name')``."""
    if name in ("sorted", "min", "max"):
        return "`key=` must be a function: `key=lambda item: item['name']`."
    if name in ("map", "filter"):
        return f"Give a function first: `{name}(function, values)`, for example `{name}(lambda x: x * 2, values)`."
    return f"`{name}` calls one of its arguments, which is a `{kind}`: give a function there."


def _hidden_type(failure: Failure) -> str | None:
    call = failure.call
    if call is None or len(call.args) != 2:
        return None
    if isinstance(call.args[1], ast.Name) and call.args[1].id in _BUILTIN_NAMES:
        name = call.args[1].id
        return f"`{name}` was assigned a value, which hides the builtin type: rename that variable, and `del {name}`."
    return "The second argument must be a type or a tuple of types: `isinstance(x, (int, float))`."


_BUILTIN_NAMES = frozenset(name for name in dir(builtins) if name.islower() and not name.startswith("_"))
