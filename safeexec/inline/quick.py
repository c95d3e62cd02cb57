"""The first evaluation of an expression: a walk over its tree, which is cheaper than compiling it.

It knows the plain nodes and runs every operator and call through its guard. Whatever it does not know, and whatever
fails, ends in `Unfinished`: the expression is then compiled, evaluated again from its beginning, and reported on from
there. So this walk has no errors of its own, and it calls no function of the caller's, which might have effects.
What it would pass over, the other branch of a condition, the grammar judges too: that ends in `Unfinished` unless it is
a name or a constant.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms

from safeexec.inline.costs import admit
from safeexec.inline.fuel import Fuel
from safeexec.inline.functions import BUILTINS, CONSTANTS, MODULES
from safeexec.inline.operators import GUARDS
from safeexec.inline.subscripts import item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    Walk = Callable[[Any, Mapping[str, Any], Fuel], Any]


class Unfinished(Exception):
    """The expression needs the compiler, or failed."""


def walk(tree: ast.expr, names: Mapping[str, Any], max_steps: int) -> Any:
    """The value of a checked or unchecked tree; raises `Unfinished` for all that is not plain or goes wrong."""
    try:
        return _WALKS[type(tree)](tree, names, [max_steps])
    except Exception as error:
        raise Unfinished from error


_IDENTITY = frozenset({ast.Is, ast.IsNot})
_CONSTANTS = frozenset({int, float, complex, bool, str, type(None)})


def _constant(node: ast.Constant, names: Mapping[str, Any], fuel: Fuel) -> Any:
    if type(node.value) not in _CONSTANTS:
        raise Unfinished
    return node.value


def _name(node: ast.Name, names: Mapping[str, Any], fuel: Fuel) -> Any:
    return admit(names[node.id])


def _attribute(node: ast.Attribute, names: Mapping[str, Any], fuel: Fuel) -> Any:
    return CONSTANTS[node.value.id][node.attr]  # type: ignore[attr-defined]


def _binary(node: ast.BinOp, names: Mapping[str, Any], fuel: Fuel) -> Any:
    left, right = node.left, node.right
    return GUARDS[type(node.op)](fuel, _WALKS[type(left)](left, names, fuel), _WALKS[type(right)](right, names, fuel))


def _unary(node: ast.UnaryOp, names: Mapping[str, Any], fuel: Fuel) -> Any:
    value = _WALKS[type(node.operand)](node.operand, names, fuel)
    return not value if type(node.op) is ast.Not else GUARDS[type(node.op)](fuel, value)


def _passed_over(nodes: Sequence[ast.expr], names: Mapping[str, Any]) -> None:
    """What will not be evaluated: a refusal of it must not wait for the second evaluation."""
    for node in nodes:
        if (
            not (type(node) is ast.Constant and type(node.value) in _CONSTANTS)
            and getattr(node, "id", None) not in names
        ):
            raise Unfinished


def _boolean(node: ast.BoolOp, names: Mapping[str, Any], fuel: Fuel) -> Any:
    until = type(node.op) is ast.Or
    value = None
    for place, operand in enumerate(node.values):
        value = _WALKS[type(operand)](operand, names, fuel)
        if bool(value) is until:
            _passed_over(node.values[place + 1 :], names)
            break
    return value


def _conditional(node: ast.IfExp, names: Mapping[str, Any], fuel: Fuel) -> Any:
    chosen, other = node.body, node.orelse
    if not _WALKS[type(node.test)](node.test, names, fuel):
        chosen, other = other, chosen
    _passed_over((other,), names)
    return _WALKS[type(chosen)](chosen, names, fuel)


def _compare(node: ast.Compare, names: Mapping[str, Any], fuel: Fuel) -> Any:
    left = _WALKS[type(node.left)](node.left, names, fuel)
    result: Any = True
    for place, (operator, operand) in enumerate(zip(node.ops, node.comparators, strict=True), 1):
        right = _WALKS[type(operand)](operand, names, fuel)
        if type(operator) in _IDENTITY:
            raise Unfinished  # which operands it may have is for the grammar to say
        result = GUARDS[type(operator)](fuel, left, right)
        if not result:
            _passed_over(node.comparators[place:], names)
            break
        left = right
    return result


def _sequence(node: ast.List | ast.Tuple, names: Mapping[str, Any], fuel: Fuel) -> Any:
    values = [_WALKS[type(element)](element, names, fuel) for element in node.elts]
    return values if type(node) is ast.List else tuple(values)


def _subscript(node: ast.Subscript, names: Mapping[str, Any], fuel: Fuel) -> Any:
    index = node.slice
    return item(fuel, _WALKS[type(node.value)](node.value, names, fuel), _WALKS[type(index)](index, names, fuel))


def _call(node: ast.Call, names: Mapping[str, Any], fuel: Fuel) -> Any:
    if node.keywords:
        raise Unfinished
    callee: Any = node.func
    guard = BUILTINS[callee.id] if type(callee) is ast.Name else MODULES[callee.value.id][callee.attr]
    return guard(fuel, *[_WALKS[type(arg)](arg, names, fuel) for arg in node.args])


_WALKS: dict[type[ast.AST], Walk] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Compare: _compare,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
