"""Have the sets of a program show what they hold while it runs, also those that no variable keeps.

An expression that makes a set is rewritten to pass it to a builtin, which gives it back; where sets are filled, what is
iterated over, too. That is done for the steps that make or fill sets, or pass on a view of a dict. No other step is
parsed for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from safeexec.common.own import ast
from safeexec.engine.child.repeat.tables import VIEW_NAMES, VIEW_USERS
from safeexec.engine.policy.names import GUARD_SET

_SETS: Final = ("set", "frozenset")
_MERGE: Final = ("union", "symmetric_difference")
"""Methods of a set that take items from any other object."""
_OPERATORS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor)
_ANNOTATIONS: Final = ("annotation", "returns")
_CLASS_TEXTS: Final = ("__name__", "__qualname__")
_WRITERS: Final = ("print", "str", "repr")
"""Builtins that make a text of a class."""


def rewrite(*trees: ast.AST, reads: bool = False) -> bool:
    """Rewrite, in place, each expression that makes a set, or a view of a dict of which an operator may make one;
    with `reads` also what is iterated over, or returned.
    Returns False if a set may be made in another way: by a class of sets that is passed on.
    """
    nodes = _nodes(trees)
    harmless = _harmless(nodes)

    def makes(node: Any) -> bool:
        kind = type(node)
        if kind is ast.Call:
            function = node.func
            if isinstance(function, ast.Attribute):
                passed_on = function.attr in VIEW_NAMES and id(node) not in harmless
                return passed_on or function.attr in _MERGE or function.attr == "__class__"
            return (isinstance(function, ast.Name) and function.id in _SETS) or _is_class(function)
        if kind is ast.BinOp:
            return isinstance(node.op, _OPERATORS) or _is_view(node.left) or _is_view(node.right)
        if kind is ast.Set:  # one of constants is made once, when it is compiled
            return not all(isinstance(item, ast.Constant) for item in node.elts)
        return kind is ast.SetComp

    shown = True
    for node in nodes:
        if reads:
            _show_read(node)
        if id(node) in harmless:
            pass
        elif isinstance(node, ast.Name):
            shown = shown and node.id not in (*_SETS, "type")
        elif isinstance(node, ast.Attribute):
            shown = shown and node.attr != "__class__"
        for name, value in vars(node).items():
            if name in _ANNOTATIONS:
                continue
            if type(value) is list:
                for index, part in enumerate(value):
                    if makes(part):
                        value[index] = _shown(part)
            elif makes(value):
                setattr(node, name, _shown(value))
    return shown


def _nodes(trees: Iterable[ast.AST]) -> list[ast.AST]:
    """Return these and all below, parents first, less the contexts of names and the annotations, which stay as they
    are written: in a third of the time of `ast.walk`.
    """
    found = [*trees]
    for node in found:
        for name, value in vars(node).items():
            if type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif name not in _ANNOTATIONS and isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


def _harmless(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the identities of names and classes that make no set where they stand, or one that is shown, and of views
    that are used up at once.
    """
    harmless: set[int] = set()
    for node in nodes:
        classes: list[Any] = []
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            if called == "isinstance":
                harmless.update(map(id, _nodes(node.args[1:])))
            if called in VIEW_USERS:
                harmless.update(id(thing) for thing in node.args if _is_view(thing))
            classes = [node.func, *(node.args if called in _WRITERS else ())]
            if "defaultdict" in (called, getattr(node.func, "attr", "")):  # the sets that it makes are empty
                harmless.update(map(id, node.args))
        elif isinstance(node, ast.keyword) and node.arg == "default_factory":
            harmless.add(id(node.value))
        elif isinstance(node, ast.FormattedValue) or (isinstance(node, ast.Attribute) and node.attr in _CLASS_TEXTS):
            classes = [node.value]
        elif isinstance(node, ast.Compare):
            classes = [node.left, *node.comparators]
            harmless.update(map(id, classes))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            harmless.add(id(node.iter))
        for thing in classes:
            if isinstance(thing, ast.Name) and thing.id in _SETS:
                harmless.add(id(thing))
            elif _is_class(thing):
                harmless.update((id(thing), id(getattr(thing, "func", None))))
    return harmless


def _show_read(node: Any) -> None:
    """Rewrite what is iterated over, or returned: a set that was filled after it was made was not looked at then. To
    look at each item that is added would cost a search of a graph as much again.
    """
    kind = type(node)
    if kind is ast.For or kind is ast.comprehension:
        node.iter = _if_held(node.iter)
    elif kind is ast.Return or (kind is ast.Starred and type(node.ctx) is ast.Load):
        node.value = _if_held(node.value)
    elif kind is ast.Call and isinstance(node.func, ast.Name) and node.func.id in VIEW_USERS:
        node.args = [_if_held(part) for part in node.args]


def _if_held(node: Any) -> Any:
    return _shown(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else node


def _shown(node: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(GUARD_SET, ast.Load()), [node], [])
    for part in (call, call.func):
        ast.copy_location(part, node)
    return call


def _is_class(node: ast.expr) -> bool:
    """Return whether it gives the class of an object."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _is_view(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEW_NAMES
