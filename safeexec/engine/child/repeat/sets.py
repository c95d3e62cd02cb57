"""What the sets of a program can hold, and whether it only compares identities, as far as its text tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from safeexec.common.own import ast

_SETS: Final = ("set", "frozenset")
_GIVE_VALUES: Final = frozenset(["ascii", "bin", "bool", "chr", "float", "hex", "int", "len", "ord", "repr", "str"])
"""Builtins whose results hash by what they are, whatever they are given."""
_OF_SETS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
_NAMED: Final = (*_SETS, "type")
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CAPTURES: Final = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_DISPLAYS: Final = (ast.Set, ast.SetComp)
_OPERATIONS: Final = (ast.BinOp, ast.AugAssign)
_ASSIGNMENTS: Final = (ast.Assign, ast.NamedExpr, ast.AnnAssign)
_VIEWS: Final[tuple[type, ...]] = (type({}.keys()), type({}.items()))


def makes_sets_of_anything(source: str, namespace: Mapping[str, Any]) -> bool:
    """Tell whether a set that the program makes may hold something else than numbers and texts. On the safe side: what
    is not plain to see counts as anything, also instances of a class with a hash of its own, which may be made of
    others.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    nodes = _nodes(tree)
    if not any(map(_may_make_sets, nodes)):
        return False
    taken = {*namespace, *_bound(nodes)}
    harmless: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "isinstance" and node.func.id not in taken:
                harmless.update(map(id, _nodes(node)))
            elif node.func.id in _SETS:
                harmless.add(id(node.func))
        elif isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
            harmless.update(map(id, _nodes(node.value)))
        elif isinstance(node, ast.Compare):
            harmless.update(id(part.func) for part in (node.left, *node.comparators) if isinstance(part, ast.Call))

    views = {name for name, value in namespace.items() if type(value) in _VIEWS}
    calls_views = any(map(_is_view_call, nodes))
    for node in nodes if calls_views else ():
        if isinstance(node, _ASSIGNMENTS) and any(map(_is_view_call, ast.walk(node))):
            views.update(_bound(_nodes(node)))
    has_views = bool(views) or calls_views

    def is_view(node: ast.expr) -> bool:
        """Tell whether it is a view of a dict, of which an operator makes a set."""
        return _is_view_call(node) or (isinstance(node, ast.Name) and node.id in views)

    def is_value(node: ast.expr) -> bool:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True
        if isinstance(node, ast.Tuple):
            return all(map(is_value, node.elts))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        return node.func.id in _GIVE_VALUES and node.func.id not in taken

    def has_values(node: ast.expr) -> bool:
        """Tell whether all that it gives when it is iterated are values."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return all(map(is_value, node.elts))
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return is_value(node.elt)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id in taken:
            return False
        if node.func.id == "map":
            return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id in _GIVE_VALUES - taken
        return node.func.id == "range"

    for node in nodes:
        if isinstance(node, _DISPLAYS) and not has_values(node):
            return True
        if isinstance(node, ast.Call) and id(node.func) in harmless and isinstance(node.func, ast.Name):
            if node.func.id in _SETS and not all(map(has_values, node.args)):
                return True
        elif (isinstance(node, ast.Name) and node.id in _NAMED and id(node) not in harmless) or (
            isinstance(node, ast.Attribute) and node.attr == "__class__" and id(node) not in harmless
        ):
            return True
        elif isinstance(node, _OPERATIONS) and isinstance(node.op, _OF_SETS):
            parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            if any(map(is_view, parts)) or (has_views and not isinstance(node.op, ast.Sub)):
                return True
    return False


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """Return what `ast.walk` gives, less the contexts of names: in a third of its time."""
    found = [tree]
    for node in found:
        for value in vars(node).values():
            if type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


def _may_make_sets(node: ast.AST) -> bool:
    """Tell whether a program without such a node makes no set."""
    kind = type(node)
    if kind is ast.Name:
        return node.id in _NAMED  # type: ignore[attr-defined]
    if kind is ast.BinOp or kind is ast.AugAssign:
        return isinstance(node.op, _OF_SETS)  # type: ignore[attr-defined]
    return kind is ast.Set or kind is ast.SetComp or (kind is ast.Attribute and node.attr == "__class__")  # type: ignore[attr-defined]


def only_compares(source: str, name: str) -> bool:
    """Tell whether the program uses `name`, which is `id` or `hash`, for nothing but to ask whether two things that it
    holds have the same: that comes out the same wherever they lie.
    """
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    compared: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Compare) and all(isinstance(how, ast.Eq | ast.NotEq) for how in node.ops):
            calls = [part for part in (node.left, *node.comparators) if isinstance(part, ast.Call)]
            if len(calls) == 1 + len(node.comparators) and all(_is_of_held(call, name) for call in calls):
                compared.update(id(call.func) for call in calls)
    return all(id(node) in compared for node in nodes if isinstance(node, ast.Name) and node.id == name)


def _is_of_held(call: ast.Call, name: str) -> bool:
    function, arguments = call.func, call.args
    return (
        isinstance(function, ast.Name)
        and function.id == name
        and len(arguments) == 1
        and not call.keywords
        and isinstance(arguments[0], ast.Name)
    )


def _is_view_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """The names that these bind."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, _DEFINITIONS):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, _CAPTURES) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest
