"""What the sets of a program can hold, as far as its text tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any, Final

from safeexec.common.own import ast

_SETS: Final = ("set", "frozenset")
_GIVE_VALUES: Final = frozenset(["ascii", "bin", "bool", "chr", "float", "hex", "int", "len", "ord", "repr", "str"])
"""Builtins whose results hash by what they are, whatever they are given."""
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def makes_sets_of_anything(source: str, namespace: Mapping[str, Any]) -> bool:
    """Tell whether a set that the program makes may hold something else than numbers, texts, and instances of the
    session's classes that have a hash of their own. On the safe side: what is not plain to see counts as anything.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    nodes = [*ast.walk(tree)]
    inside = {id(node) for function in nodes if isinstance(function, _FUNCTIONS) for node in ast.walk(function)}
    taken = {*namespace, *_bound(nodes)}
    harmless: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "isinstance" and node.func.id not in taken:
                harmless.update(map(id, ast.walk(node)))
            elif node.func.id in _SETS:
                harmless.add(id(node.func))

    def is_value(node: ast.expr) -> bool:
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True
        if isinstance(node, ast.Tuple):
            return all(map(is_value, node.elts))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        name = node.func.id
        if name in _GIVE_VALUES and name not in taken:
            return True
        kind = namespace.get(name)
        # In a function another class may have that name when it is called.
        return isinstance(kind, type) and type(kind.__hash__) is FunctionType and id(node) not in inside

    def has_values(node: ast.expr) -> bool:
        """Whether all that it gives when it is iterated are values."""
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
        if isinstance(node, ast.Set | ast.SetComp) and not has_values(node):
            return True
        if isinstance(node, ast.Call) and id(node.func) in harmless and isinstance(node.func, ast.Name):
            if node.func.id in _SETS and not all(map(has_values, node.args)):
                return True
        elif isinstance(node, ast.Name) and node.id in _SETS and id(node) not in harmless:
            return True
    return False


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """The names that these bind."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name is not None:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest is not None:
            yield node.rest
