# ruff: noqa: E501 (one sentence, one line)
"""Rules for values of another type than the program takes them for: None, coroutines, functions, hidden builtins;
and for numbers that a function of `math` is not defined for.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from types import CoroutineType, FunctionType

from safeexec.common.identity import class_name
from safeexec.common.matching import quoted
from safeexec.hints.choice import choose
from safeexec.hints.failure import Failure, name_of, walk
from safeexec.hints.objects import (
    CO_COROUTINE,
    MISSING,
    attribute_names,
    attribute_of,
    enum_members,
    is_module,
    is_of_guest,
    library_kind,
    module_name,
)
from safeexec.hints.rules import HintRule
from safeexec.hints.tables.foreign import NAMES

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
    "fetchone": "`.fetchone()` is None when there is no row",
    "find": "`.find(...)` is None when nothing is found",
}


def _not_awaited(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    made = next((tree for tree in failure.operands() if type(failure.resolve(tree)) is CoroutineType), None)
    text = failure.text_of(made, "f()")
    subject = f"`{text}` is a coroutine that" if made else "A coroutine"
    if failure.place is not None and failure.place.frame.f_code.co_flags & CO_COROUTINE:
        yield f"{subject} was not awaited: write `await {text}` (for several: `await asyncio.gather(*coroutines)`)."
    yield f"{subject} was not awaited: write `await {text}` inside an `async def`; outside of one `asyncio.run({text})` runs it."


def _none(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    if "returned non-" in failure.message:  # by a method that Python calls: another rule says what it is to return
        return
    if "not supported between instances of" in failure.message and isinstance(failure.expression, ast.Call):
        yield "One of the values is None: leave it out first, `[x for x in values if x is not None]`."
    for tree in failure.operands():
        if failure.resolve(tree) is None and not isinstance(tree, ast.Constant):
            text = failure.text_of(tree)
            yield _returns_none(failure, _last_assignment(failure, text), text)
            yield from (_without_return(failure, name) for name in _decorators(failure, text))
            yield f"`{text}` is None here: check it with `if {text} is not None:`, or mend the assignment that it comes from."
        if isinstance(tree, ast.Call):
            yield _returns_none(failure, tree)
    yield "A value here is None: print it, and check the function or assignment that it comes from; a function without `return` returns None."


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
    if name == "get_ipython":
        return choose(NAMES[name], failure.plan)
    if type(failure.resolve(call.func)) is FunctionType and (reason := _without_return(failure, name)):
        return reason
    if name in _IN_PLACE:
        owner = "values"
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name | ast.Attribute):
            is_argument = is_module(failure.resolve(call.func.value)) and call.args  # random.shuffle(values)
            owner = failure.text_of(call.args[0] if is_argument else call.func.value, "values")
        better = f", or use `sorted({owner})`" if name == "sort" else ""
        return f"`.{name}(...)` changes the object in place and returns None: call it in a line of its own and go on with `{owner}`{better}."
    if name == "get" and len(call.args) == 1:
        instead = ast.Call(func=call.func, args=[*call.args, ast.Dict(keys=[], values=[])], keywords=[])
        return f"{_MAYBE_NONE[name]}: give what stands in its place, `{failure.text_of(instead, 'd.get(key, {})')}`, or check it first, `if {text or 'value'} is not None:`."
    return f"{_MAYBE_NONE[name]}: check it first, `if {text or 'value'} is not None:`." if name in _MAYBE_NONE else None


def _without_return(failure: Failure, name: str) -> str | None:
    """Return a hint for a function of the guest that has no ``return`` with a value, or not on every path."""
    found = [
        node
        for _, node in failure.nodes(f"def {name}")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    ]
    if not found:
        return None
    if any(isinstance(node, ast.Return) and node.value is not None for node in _of_function(found[-1])):
        return f"`{name}` returned None: one path through it ends without a `return` of a value."
    result = "..."
    match found[-1].body[-1]:
        case (
            ast.Assign(targets=[ast.Name(id=result)])
            | ast.FunctionDef(name=result)
            | ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Name(id=result)]))
        ):
            pass
    return f"`{name}` has no `return`, so it returns None: end it with `return {result}`."


def _of_function(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function that are of no function in it."""
    for node in ast.iter_child_nodes(function):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from _of_function(node)


def _decorators(failure: Failure, name: str) -> Iterator[str]:
    """Yield the functions of the guest that stand above the definition of `name`."""
    for _, node in failure.nodes(f"def {name}"):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            yield from (name_of(tree.func if isinstance(tree, ast.Call) else tree) for tree in node.decorator_list)


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


def _not_callable(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    if class_name(type(failure.callee)) != match[1]:  # list = [1]; list(map(str, list))
        yield _argument_called(failure, match[1])
    name, owner = failure.called, failure.resolve(failure.function)
    if isinstance(failure.function, ast.Tuple | ast.List | ast.Dict | ast.Set):  # [(1, 2) (3, 4)]
        yield f"A comma is missing behind `{failure.text_of(failure.function, '(...)')}`: with parentheses after it, it is called."
    plain = name if isinstance(failure.function, ast.Name) else ""
    if plain in failure.builtins or plain in _BUILTIN_NAMES:  # max = 3; max(1, 2)
        what = "tool" if name in failure.plan.tools else "builtin"
        if failure.place and plain in failure.place.frame.f_code.co_varnames:
            yield f"`{name}` is a variable of this function, of type `{match[1]}`, which hides the {what}: give the variable or parameter another name."
        yield f"`{name}` was assigned a value of type `{match[1]}`, which hides the {what}: rename that variable, and `del {name}` to have the {what} back."
    if owner is not MISSING and is_module(owner):  # datetime(2024, 1, 1)
        if name in attribute_names(owner):
            yield f"`{name}` is the module: call `{failure.text_of(failure.function)}.{name}(...)`, or import it with `from {module_name(owner)} import {name}`."
        yield f"`{name}` is a module: call a function in it, `{name}.function(...)`."
    assigned = _last_assignment(failure, plain)
    if assigned and any(isinstance(part, ast.Name) and part.id == plain for part in ast.walk(assigned)):
        yield f"`{name}` was reassigned to a value of type `{match[1]}`, which hides what it was before: give that variable another name."
    yield from _value_called(failure, match[1])


def _argument_called(failure: Failure, kind: str) -> str | None:
    """Return a hint for a function that calls one of its arguments: a builtin, a method, or a function of a library."""
    call, name = failure.call, failure.called
    if call and name in ("sorted", "min", "max", "sort") and any(keyword.arg == "key" for keyword in call.keywords):
        return "`key=` must be a function: `key=lambda item: item['name']`."
    inner = (node.func for node in walk(failure.segment.strip()) if isinstance(node, ast.Call))
    names = {tree.id for tree in inner if isinstance(tree, ast.Name)}
    for builtin in names & {"map", "filter"}:
        if failure.lookup(builtin) is failure.builtins.get(builtin, 0):
            return f"Give a function first: `{builtin}(function, values)`, for example `{builtin}(lambda x: x * 2, values)`."
    is_builtin = name in names and failure.lookup(name) is failure.builtins.get(name, 0)
    is_method = isinstance(failure.function, ast.Attribute) and (
        failure.libraries or type(failure.callee) in _METHODS[1:]
    )
    if not is_builtin and not is_method:
        return None
    return f"`{failure.text_of(failure.function)}` calls one of its arguments, which is a `{kind}`: give a function there, or a dict to rename with, `{{'old': 'new'}}`."


def _value_called(failure: Failure, kind: str) -> Iterator[str]:
    """Yield hints for a number, a container or an attribute that is called."""
    function, call = failure.function, failure.call
    text, owner = failure.text_of(function), function.value if isinstance(function, ast.Attribute) else None
    if owner is None and kind in ("int", "float"):
        if len(text) > 2 and text.isidentifier():  # no factor: a name that a function had, or was thought to have
            yield f"`{text}` is a number, assigned before this line, and no function: give that variable another name, and define or import the function again."
        yield f"`{text}` is a number: write the multiplication sign, `{text} * (...)`, or rename the variable if a function of that name was meant."
    takes_items = attribute_of(type(failure.callee), "__getitem__") is not MISSING
    if (kind in _CONTAINERS or takes_items) and (owner is None or not call or call.args or call.keywords):
        yield f"`{text}` is a `{kind}`: use square brackets, `{text}[...]`, to take items; if a function of that name was meant, rename the variable."
    if isinstance(function, ast.Attribute):
        if FunctionType in (type(failure.callee), type(attribute_of(type(failure.resolve(owner)), function.attr))):
            yield f"The object has a value `{function.attr}`, which hides the method of its class: give one of them another name."
        if attribute_of(failure.resolve(owner), f"set_{function.attr}") is not MISSING:
            yield f"`{text}` is a value, not a method: use `{failure.text_of(owner)}.set_{function.attr}(...)`."
        yield f"`{text}` is a value, not a method: use it without parentheses."
    calls = f", or define `__call__` in `{kind}`" if is_of_guest(failure.lookup(kind)) else ""
    yield f"`{text}` is a value of type `{kind}`, not a function: use it without parentheses{calls}."


_CONTAINERS = ("list", "dict", "tuple", "DataFrame", "Series", "ndarray", "numpy.ndarray", "str")


def _function_as_value(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a function that is not called: 'a b'.split[0]; f + 1"""
    taken_apart = re.search("object is not (?:subscriptable|iterable)", failure.message)
    if re.search(">>: '.*' and '_io", failure.message) or (match[0][1:-1] == "type" and not taken_apart):
        return  # `print >> file` of Python 2; a class is a value
    trees = list(failure.operands())
    called = trees[:1] if taken_apart else [tree for tree in trees if type(failure.resolve(tree)) in _METHODS[:2]]
    for tree in called:
        text = failure.text_of(tree, "f")
        yield f"`{text}` is a function: call it with parentheses, `{text}(...)`."
    method = next((tree for tree in trees if isinstance(tree, ast.Attribute)), None)
    yield f"One of the values is a function: call it with parentheses, `{failure.text_of(method, 'f')}()`."


# values of a loop, operands and arguments of another kind


def _loop_variable(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a loop that gives something else than it is taken for: names of columns, keys, pairs of rows."""
    tree = failure.expression
    name = name_of(tree.value) if isinstance(tree, ast.Subscript) else ""
    line, loop = failure.place.line if failure.place else 0, None
    for node in walk(failure.source):  # the innermost around the line that runs over `name`
        match node:
            case ast.For(target=ast.Name(id=variable), lineno=first) if variable == name:
                loop = node.iter if first <= line <= (node.end_lineno or line) else loop
    text, called = failure.text_of(loop, "values"), name_of(loop.func) if isinstance(loop, ast.Call) else ""
    if called in ("iterrows", "items"):
        yield f"`{text}` gives pairs: write `for {'index' if called == 'iterrows' else 'key'}, {name} in {text}:`."
    if called in ("enumerate", "zip"):
        yield f"`{called}` gives tuples: write `for i, {name} in {text}:`."
    found = failure.resolve(loop)
    if library_kind(found) == "pandas.DataFrame":
        yield f"A loop over a DataFrame gives the names of its columns: write `for _, {name} in {text}.iterrows():`, or `for {name} in {text}.itertuples():`."
    if isinstance(loop, ast.Dict) or issubclass(type(found), dict):
        yield f"A loop over a dict gives its keys: write `for key, {name} in {text}.items():`, or take `{text}[{name}]`."


def _no_integer(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a text or a container where a whole number belongs; of several nobody knows which one it was."""
    call = failure.call
    given = [*call.args, *(keyword.value for keyword in call.keywords)] if call else []
    if failure.called == "int" and len(given) > 1:
        yield "The base is a whole number: `int(text, 16)` for hexadecimal, `int(text, 2)` for binary text."
    values = [(tree, failure.resolve(tree)) for tree in given]
    found = [one for one in values if match[1] in (class_name(type(one[1])), type(one[0]).__name__.lower())]  # [1]
    value = found[0][1] if len(found) == 1 else None
    numeric = type(value) is str and re.fullmatch(r"\s*[-+]?\d+\s*", value)
    if match[1] == "str" and (numeric or len(found) > 1):
        yield f"Turn the text into a number first: `int({failure.text_of(found[0][0]) if numeric else 'text'})`."
    if len(found) == 1 and failure.called != "range":
        yield f"A whole number belongs there, and `{failure.text_of(found[0][0])}` is a {match[1]}."


def _text_and_number(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a text in a sum: one of the arguments of a library, or one that holds a number."""
    for arg in failure.call.args if failure.call and failure.libraries else ():
        if type(failure.resolve(arg)) is str:
            yield f"Turn the texts into numbers first: `int({failure.text_of(arg)})`."
    tree = failure.expression
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub) and "'str' and 'str'" in failure.message:
        left, right = failure.resolve(tree.left), failure.resolve(tree.right)
        if type(left) is type(right) is str and not (left + right).strip().isdigit():
            yield f"Texts are not subtracted: `{failure.text_of(tree.left)}.replace({failure.text_of(tree.right)}, '')` leaves a part out."
    if isinstance(tree, ast.BinOp) and failure.message.startswith(match[0]):
        left, right = failure.resolve(tree.left), failure.resolve(tree.right)
        if type(left) is str and type(right) in (int, float) and re.fullmatch(r"\s*[-+]?\d+(\.\d*)?\s*", left):
            kind = "float" if "." in left else "int"
            yield f"The text holds a number: to add, convert it, `{kind}({failure.text_of(tree.left)})`; to join texts use `str({failure.text_of(tree.right)})`."


def _other_operands(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for values that have no order among them, and for a member of an Enum."""
    if match[1] and isinstance(failure.expression, ast.Call):  # sorted([3, 'a', 1])
        yield "The values are of several types: convert them to one type first, or give `key=str`; None is left out with `[x for x in values if x is not None]`."
    for tree in failure.operands():
        value = failure.resolve(tree)
        if value is not MISSING and enum_members(value):
            text = failure.text_of(tree)
            yield f"`{text}` is a member of an Enum: use `{text}.value`, or make the class an `IntEnum`."


def _used_up(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for an iterator that gave its items before: sum(g); max(g)"""
    for tree in failure.call.args[:1] if failure.call else ():
        if attribute_of(type(failure.resolve(tree)), "__next__") is not MISSING:
            text = failure.text_of(tree, "values")
            yield f"`{text}` gives its items once: it had none, or they are used up; keep them in a list first, `values = list({text})`."


def _hidden_type(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    name = name_of(failure.call.args[-1]) if failure.call and failure.call.args else ""
    if name in _BUILTIN_NAMES:  # list = [1]; isinstance([2], list)
        yield f"`{name}` was assigned a value, which hides the builtin type: rename that variable, and `del {name}`."
    yield "The second argument must be a type or a tuple of types: `isinstance(x, (int, float))`."


def _by_member(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for the name of a member where its value belongs, and for a value that none has: Color('RED')"""
    members = enum_members(failure.callee) if failure.callee is not MISSING else []
    if match[1] in members:
        yield f"A member by its name is `{failure.text_of(failure.function)}[{match[1]!r}]`."
    if members:
        yield f"The members are {quoted(members, 10)}: by name `{failure.text_of(failure.function)}[{members[0]!r}]`."


def _domain(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Say which numbers a function of `math` takes."""
    name = failure.called
    if name.startswith("log"):
        yield f"`{name}` takes numbers greater than 0: check the value first; `cmath.log` takes negative ones too."
    if name in ("sqrt", "isqrt"):
        yield f"`{name}` takes no negative numbers: check the value first, or use `cmath.sqrt`."
    if name in ("asin", "acos", "atanh"):
        yield f"`{name}` takes numbers between -1 and 1: clip the value, `max(-1, min(1, x))`, if rounding took it outside."
    yield "The function is not defined for this number: check its sign or range first (`cmath` computes roots and logarithms of negative numbers)."


_OF_FUNCTIONS = r"""['"](?:method|function|builtin_function_or_method|type)['"]|object (?:function|method) can't"""
_NO_ORDER = (
    r"'[<>]=?' not supported between instances of (?!.*'complex')'(\w+)' and '(?!\1')\w+'|^unsupported operand|^'[<>]'"
)
_OUTSIDE = "math domain error|expected a (?:nonnegative|positive) input|expected a number in range"
RULES = (
    HintRule("TypeError AttributeError", r"'coroutine'|\bcoroutine\b.*(not|unsupported)|got coroutine", _not_awaited),
    HintRule("TypeError AttributeError", "NoneType(?! can't be used in 'await')", _none),
    HintRule("TypeError", r"'([\w.]+)' object is not callable", _not_callable),
    HintRule("TypeError", _OF_FUNCTIONS, _function_as_value),
    HintRule("TypeError", "indices must be integers", _loop_variable),
    HintRule("TypeError", r"'(str|list|tuple|dict|set)' object cannot be interpreted as an integer", _no_integer),
    HintRule("TypeError", "can only concatenate str|operand type.* for -: 'str' and 'str'", _text_and_number),
    HintRule("TypeError", _NO_ORDER, _other_operands),
    HintRule("ValueError StatisticsError", "empty|at least one", _used_up),
    HintRule("ValueError", r"(?m)^'?(.*?)'? is not a valid ", _by_member),
    HintRule("TypeError", r"(?:isinstance|issubclass)\(\) arg 2", _hidden_type),
    HintRule("ValueError", _OUTSIDE, _domain),
)
