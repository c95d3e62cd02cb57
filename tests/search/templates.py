"""Which templates of `str.format` are made of literals alone, as far as a file tells.

A name is, if all that its scope binds to it is; so is what joins, chooses from or cuts such text. What a caller gives
is not, nor is an attribute of an object: a program may have stored it there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
USES = (ast.Return, ast.Lambda, ast.Assign, ast.IfExp, ast.BoolOp, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Call)
"""Where a method may stand that is not called at once."""
CUT = frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "replace", "join", "format", "ljust", "rjust", "split",
                 "dedent", "cleandoc", "indent", "dict", "min", "max", "str"})  # fmt: skip
"""What makes text of text, as a method or as a function."""
ADDING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
NUMBERS = frozenset({"len", "int"})
OTHERS = re.compile(r"%(?!%|[-+ #0]*[\d.]*[diouxXeEfFgG])")
"""What puts more than a number into a template of ``%``."""


class Templates:
    """The templates of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._asked: set[tuple[int, str]] = set()
        self._method: ast.expr | None = None

    def is_open(self, method: ast.Attribute, above: ast.AST) -> bool:
        """May the template, of which `method` is ``template.format``, be another than a literal? What is called with
        nothing is no template, and what is only compared or tested is no method.
        """
        if isinstance(method.value, ast.Constant) or getattr(method.value, "id", "") == "self":
            return False  # a method of the object's own
        if isinstance(above, ast.Call) and above.func is method:
            if not (above.args or above.keywords):
                return False  # nothing can be looked up
        elif not isinstance(above, USES):
            return False
        self._method = method
        return not self._fixed(method.value, self._scopes[method])

    @cached_property
    def _scopes(self) -> dict[ast.AST, tuple[Scope, ...]]:
        """Where each node stands: the scopes that it is in, the innermost first."""
        found: dict[ast.AST, tuple[Scope, ...]] = {}
        pending: list[tuple[ast.AST, tuple[Scope, ...]]] = [(self._tree, (self._tree,))]
        while pending:
            node, scopes = pending.pop()
            found[node] = scopes
            inner = (node, *scopes) if isinstance(node, Scope) and node is not self._tree else scopes
            pending += [(child, inner) for child in ast.iter_child_nodes(node)]
        return found

    @cached_property
    def _bound(self) -> dict[tuple[Scope, str], list[ast.expr | None]]:
        """What each scope binds to each name; None is what the file does not tell."""
        found: dict[tuple[Scope, str], list[ast.expr | None]] = {}
        for node, scopes in self._scopes.items():
            for name, value in _bindings(node):
                found.setdefault((scopes[0], name), []).append(value)
        return found

    @cached_property
    def _added(self) -> dict[str, list[tuple[ast.expr | None, tuple[Scope, ...]]]]:
        """What is put into a list or dict of this name, and where; None is what the file does not tell."""
        found: dict[str, list[tuple[ast.expr | None, tuple[Scope, ...]]]] = {}
        for node, scopes in self._scopes.items():
            match node:
                case ast.Assign([ast.Subscript(ast.Name(name))], value):
                    found.setdefault(name, []).append((value, scopes))
                case ast.Global(bound) | ast.Nonlocal(bound):
                    for name in bound:
                        found.setdefault(name, []).append((None, scopes))
                case ast.Call(ast.Attribute(ast.Name(name), method), values) if method in ADDING:
                    found.setdefault(name, []).extend((value, scopes) for value in values)
        return found

    def _fixed(self, value: ast.expr | None, scopes: tuple[Scope, ...]) -> bool:
        """Is `value` made of literals and numbers alone, or a tuple, list or dict of such text?"""
        fixed = lambda *values: all(self._fixed(item, scopes) for item in values)  # noqa: E731
        match value:
            case ast.Constant():
                return True
            case ast.JoinedStr(values):
                return fixed(*values)
            case ast.FormattedValue(item, _, spec):
                return fixed(item) and (spec is None or fixed(spec))
            case ast.BinOp(ast.Constant(str(text)), ast.Mod()) if not OTHERS.search(text):
                return True
            case ast.BinOp(ast.Constant(str()), ast.Mult()) | ast.BinOp(_, ast.Mult(), ast.Constant(str())):
                return True
            case ast.BinOp(left, _, right):
                return fixed(left, right)
            case ast.IfExp(_, body, other):
                return fixed(body, other)
            case ast.BoolOp(_, values) | ast.Tuple(values) | ast.List(values) | ast.Set(values):
                return fixed(*values)
            case ast.Dict(_, values):
                return fixed(*values)
            case ast.ListComp(item) | ast.GeneratorExp(item):
                return fixed(item)
            case ast.Subscript(item) | ast.Starred(item):
                return fixed(item)
            case ast.Call(method) if method is self._method:
                return not self._is_in_loop(value)  # text = text.format(…)
            case ast.Call(ast.Name(name), arguments, keywords) if name in CUT | NUMBERS:
                return name in NUMBERS or fixed(*arguments, *(item.value for item in keywords))
            case ast.Call(ast.Attribute(owner, name), arguments, keywords) if name in CUT:
                is_module = isinstance(owner, ast.Name) and owner.id in ("textwrap", "inspect")
                return fixed(*arguments, *(item.value for item in keywords)) and (is_module or fixed(owner))
            case ast.Attribute(ast.Name(name), "__doc__"):  # while the module is made
                return isinstance(scopes[0], ast.Module | ast.ClassDef)
            case ast.Attribute(ast.Name(name), attribute):
                owners = [item for item in self._tree.body if isinstance(item, ast.ClassDef) and item.name == name]
                return bool(owners) and self._is_fixed_name(attribute, (owners[0],))
            case ast.Name(name):
                return self._is_fixed_name(name, scopes)
        return False

    def _is_in_loop(self, value: ast.expr) -> bool:
        loops = (node for node in ast.walk(self._tree) if isinstance(node, ast.For | ast.AsyncFor | ast.While))
        return any(node is value for loop in loops for node in ast.walk(loop))

    def _is_fixed_name(self, name: str, scopes: tuple[Scope, ...]) -> bool:
        for position, scope in enumerate(scopes):
            values = self._bound.get((scope, name))
            if values is None or (isinstance(scope, ast.ClassDef) and position):
                continue
            if (id(scope), name) in self._asked:
                return True  # text + more of it: what is added decides
            self._asked.add((id(scope), name))
            try:
                return all(self._fixed(item, scopes[position:]) for item in values) and all(
                    self._fixed(item, where) for item, where in self._added.get(name, ())
                )
            finally:
                self._asked.discard((id(scope), name))
        return False


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a node binds in the scope where it stands, and to what; those of a function's parameters stand in
    the function, as they do themselves.
    """
    match node:
        case ast.Assign(targets, value):
            yield from _named(targets, value)
        case ast.AnnAssign(target, _, ast.expr() as value) | ast.NamedExpr(target, value):
            yield from _named([target], value)
        case ast.AugAssign(target, _, value) | ast.For(target, value) | ast.comprehension(target, value):
            yield from _named([target], value)
        case ast.arg(name) | ast.ExceptHandler(name=str(name)):
            yield name, None
        case ast.withitem(_, ast.expr() as target) | ast.AsyncFor(target):
            yield from _named([target], None)
        case ast.Import(aliases) | ast.ImportFrom(_, aliases):
            yield from ((alias.asname or alias.name.partition(".")[0], None) for alias in aliases)
        case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
            yield name, None


def _named(targets: list[ast.expr], value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    for node in chain.from_iterable(map(ast.walk, targets)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, value
