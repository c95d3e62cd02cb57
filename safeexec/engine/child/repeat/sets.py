"""Have the sets of a program show what they hold while it runs, also those that no variable keeps.

An expression that makes a set is rewritten to pass it to a builtin, which gives it back. That is done for the steps
that make sets once the session has a class: the sets before held no instance of one. No other step is parsed for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from safeexec.common.own import ast
from safeexec.engine.policy.names import GUARD_SET

_SETS: Final = ("set", "frozenset")
_MERGE: Final = ("union", "symmetric_difference")
"""Methods of a set that take items from any other object."""
_OPERATORS: Final = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Sub)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_ANNOTATED: Final = (*_FUNCTIONS, ast.arg, ast.AnnAssign)
_CLASS_TEXTS: Final = ("__name__", "__qualname__")


def instrument_sets(views: Collection[str], *trees: ast.AST) -> bool:
    """Rewrite, in place, each expression that makes a set. Returns False if a set may be made in another way: by a
    class of sets that is passed on, or by an assignment to a view of a dict. `views`: variables that hold such views.
    """
    nodes = _nodes(trees)
    views = {*views, *_bound_to_views(nodes)}

    def may_be_view(node: ast.expr) -> bool:
        return _is_view(node) or (isinstance(node, ast.Name) and node.id in views)

    def makes(node: Any) -> bool:
        kind = type(node)
        if kind is ast.Call:
            function = node.func
            if isinstance(function, ast.Attribute):
                return function.attr in _MERGE or function.attr == "__class__"
            return (isinstance(function, ast.Name) and function.id in _SETS) or _is_class(function)
        if kind is ast.BinOp:
            # A difference is seldom one of sets: it is watched where a view is plain to see.
            plain = not isinstance(node.op, ast.Sub) or may_be_view(node.left) or may_be_view(node.right)
            return isinstance(node.op, _OPERATORS) and plain
        return kind is ast.Set or kind is ast.SetComp

    harmless = _harmless(nodes)
    shown = True
    for node in nodes:
        if id(node) in harmless:
            pass
        elif isinstance(node, ast.Name):
            shown = shown and node.id not in (*_SETS, "type")
        elif isinstance(node, ast.Attribute):
            shown = shown and node.attr != "__class__"
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, _OPERATORS):
            shown = shown and not (may_be_view(node.target) or may_be_view(node.value))
        for name, value in vars(node).items():
            if type(value) is list:
                for index, part in enumerate(value):
                    if makes(part):
                        value[index] = _shown(part)
            elif makes(value):
                setattr(node, name, _shown(value))
    return shown


def _nodes(trees: Iterable[ast.AST]) -> list[ast.AST]:
    """Return these and all below, parents first, less the contexts of names: in a third of the time of `ast.walk`."""
    found = [*trees]
    for node in found:
        for value in vars(node).values():
            if type(value) is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


def _bound_to_views(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign) and _is_view(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _harmless(nodes: Iterable[ast.AST]) -> set[int]:
    """Return the identities of names and classes that make no set where they stand, or one that is shown."""
    harmless: set[int] = set()
    for node in nodes:
        classes: list[Any] = []
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                harmless.update(map(id, _nodes(node.args[1:])))
            classes = [node.func]
        elif isinstance(node, ast.Attribute) and node.attr in _CLASS_TEXTS:
            classes = [node.value]
        elif isinstance(node, ast.Compare):
            classes = [node.left, *node.comparators]
        elif isinstance(node, _ANNOTATED):
            annotation = node.returns if isinstance(node, _FUNCTIONS) else node.annotation
            harmless.update(map(id, _nodes([annotation] if annotation is not None else [])))
        for thing in classes:
            if isinstance(thing, ast.Name) and thing.id in _SETS:
                harmless.add(id(thing))
            elif _is_class(thing):
                harmless.update((id(thing), id(getattr(thing, "func", None))))
    return harmless


def _shown(node: ast.expr) -> ast.expr:
    call = ast.Call(ast.Name(GUARD_SET, ast.Load()), [node], [])
    for part in (call, call.func):
        ast.copy_location(part, node)
    return call


def _is_class(node: ast.expr) -> bool:
    """Tell whether it gives the class of an object."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _is_view(node: Any) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")


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
