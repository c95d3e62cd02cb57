"""The failure that a hint is found for: exception, failing expression, steps so far, visible names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from functools import cached_property
from types import FrameType
from typing import Any, NamedTuple

import msgspec

from safeexec.common.identity import read_getset, read_member
from safeexec.hints.objects import MAX_NAMES, MISSING, attribute_of, is_module, library_class
from safeexec.protocol.plan import LanguagePlan

_UNPARSABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)
_LONGEST = 40
"""Characters of source text that a sentence repeats."""
_PARSED = 1 << 18
"""Characters of steps that are parsed for one look: 0.4 s. Of the 4 MiB that are kept a NameError became a timeout."""


class ErrorPlace(NamedTuple):
    """The place where guest code failed. `frame` is alive only while the hint is looked for."""

    frame: FrameType
    filename: str
    line: int


class Failure(msgspec.Struct, kw_only=True, dict=True):
    """One exception of guest code. `release` it when the hint is found: it holds frames."""

    exc: BaseException
    message: str
    place: ErrorPlace | None
    segment: str
    """Source text of the expression that failed."""
    rest_of_line: str
    """The text behind the expression in its line."""
    libraries: list[FrameType]
    """The frames that the expression called into, outermost first."""
    sources: dict[str, str]
    namespace: dict[str, Any]
    plan: LanguagePlan
    lost_names: Container[str] = ()
    workspace_files: Callable[[], list[str]] = list

    def release(self) -> None:
        """Let go of the frames and of what was found in them."""
        self.place = None
        self.libraries = []
        self.__dict__.clear()

    @property
    def kind(self) -> type[BaseException]:
        """The class of the exception."""
        return type(self.exc)

    @cached_property
    def argument(self) -> Any:
        """The exception's first argument, or None."""
        args = read_getset(BaseException.__dict__["args"], self.exc)
        return args[0] if args else None

    def said_by_exception(self, field: str) -> Any:
        """Return an attribute that the interpreter itself gives its exceptions: ``name``, ``errno``, ``filename``."""
        for kind in (NameError, AttributeError, ImportError, OSError):
            if issubclass(self.kind, kind) and field in kind.__dict__:
                return read_member(kind.__dict__[field], self.exc)
        return None

    # what was written

    @cached_property
    def expression(self) -> ast.expr | None:
        """The failing expression as a tree; of a statement its value, ``x + 1`` of ``x += 1``."""
        text = self.segment.strip()
        try:
            return ast.parse(f"({text}\n)", mode="eval").body if text else None
        except _UNPARSABLE:
            return _value_of_statement(text)

    @property
    def call(self) -> ast.Call | None:
        """The failing expression if it is a call (or the ``await`` of one)."""
        tree = self.expression.value if isinstance(self.expression, ast.Await) else self.expression
        return tree if isinstance(tree, ast.Call) else None

    @property
    def function(self) -> ast.expr | None:
        """The expression that the failing one calls, or None."""
        return self.call.func if self.call else None

    @property
    def called(self) -> str:
        """The last name of what the failing expression calls; empty where it has none."""
        return name_of(self.function)

    @cached_property
    def callee(self) -> Any:
        """The object that the failing expression calls, or `MISSING`."""
        found = self.resolve(self.function)
        if found is MISSING and isinstance(self.function, ast.Attribute) and isinstance(self.function.value, ast.Call):
            kind = self.resolve(self.function.value.func)
            found = attribute_of(kind, self.called) if issubclass(type(kind), type) else MISSING
        return found

    @property
    def line(self) -> str:
        """The line that failed, without its indentation."""
        lines = self.source.split("\n")
        return lines[self.place.line - 1].strip() if self.place and 0 < self.place.line <= len(lines) else ""

    @property
    def source(self) -> str:
        """The text of the step that failed."""
        return self.sources.get(self.place.filename, "") if self.place else ""

    @property
    def is_looped_over(self) -> bool:
        """Return whether the failing expression is what a loop or a comprehension goes through."""
        looped = (ast.For, ast.AsyncFor, ast.comprehension)
        loops = (tree.iter for tree in walk(self.source) if isinstance(tree, looped))
        said = self.expression
        return said is not None and any(_alike(loop, said) for loop in loops)

    def operands(self) -> Iterator[ast.expr]:
        """Yield the parts of the failing expression that may be the wrong value."""
        match self.expression:
            case ast.BinOp(left=left, right=right):
                yield from (left, right)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[container]):
                yield container
            case ast.Compare(left=left, comparators=others):
                yield from (left, *others)
            case ast.GeneratorExp(generators=[loop, *_]):
                yield loop.iter
            case (
                ast.Attribute(value=value)
                | ast.Subscript(value=value)
                | ast.Starred(value=value)
                | ast.UnaryOp(operand=value)
            ):
                yield value
            case ast.Call(func=function, args=args):
                if isinstance(function, ast.Attribute) and not is_module(self.resolve(function.value)):
                    yield function.value
                for arg in args:
                    yield arg.generators[0].iter if isinstance(arg, ast.GeneratorExp) else arg
                yield function
            case ast.expr() as tree:
                yield tree

    def nodes(self, *texts: str) -> Iterator[tuple[str, ast.AST]]:
        """Yield file name and node of the steps so far that have one of `texts` in them and can be parsed: the last of
        them, of `_PARSED` characters together.
        """
        chosen, left = [], _PARSED
        for filename, source in reversed(self.sources.items()):
            if any(text in source for text in texts):
                left -= len(source)
                if left < 0:
                    break
                chosen.append((filename, source))
        for filename, source in reversed(chosen):
            yield from ((filename, node) for node in walk(source))

    def text_of(self, tree: ast.AST | None, default: str = "x") -> str:
        """Return the source text of an expression if it is short enough for a sentence."""
        try:
            text = ast.unparse(tree) if tree is not None else default
        except (ValueError, AttributeError, RecursionError):
            return default
        return text if len(text) <= _LONGEST and "\n" not in text else default

    def rewritten(self, args: list[ast.expr], keywords: list[ast.keyword], default: str) -> str:
        """Return the failing call with other arguments, as text."""
        called = self.function or ast.Name(self.called)
        return self.text_of(ast.Call(func=called, args=args, keywords=keywords), default)

    # what it stands for

    @cached_property
    def locals(self) -> dict[str, Any]:
        """The local variables of the innermost guest frame."""
        return dict(self.place.frame.f_locals) if self.place else {}

    @property
    def builtins(self) -> dict[str, Any]:
        """The builtins that the guest has."""
        return self.place.frame.f_builtins if self.place else {}

    def visible_names(self) -> list[str]:
        """Return the names of the frame and of the session, without private ones, and the host's tools."""
        every = dict.fromkeys([*self.locals, *self.namespace, *self.plan.tools])
        return [name for name in every if type(name) is str and not name.startswith("__")][:MAX_NAMES]

    def lookup(self, name: str) -> Any:
        """Return the object that a name stands for in the frame, or `MISSING`."""
        for scope in (self.locals, self.place.frame.f_globals if self.place else {}, self.namespace, self.builtins):
            if name in scope:
                return scope[name]
        return MISSING

    def visible_modules(self) -> Iterator[tuple[str, Any]]:
        """Yield the modules that the program has imported, each with its name in the program."""
        for text in self.visible_names():
            if is_module(found := self.lookup(text)):
                yield text, found

    def resolve(self, tree: ast.AST | None) -> Any:
        """Return the object of an expression of names, attributes, literals and constant indexes, or `MISSING`."""
        match tree:
            case ast.Name(id=name):
                return self.lookup(name)
            case ast.Constant(value=value):
                return value
            case ast.Attribute(value=value, attr=name):
                return attribute_of(self.resolve(value), name)
            case ast.Subscript(value=value, slice=index):
                owner, key = self.resolve(value), self.resolve(index)
                if type(owner) is dict and type(key) in (str, int) and key in owner:
                    return owner[key]
                if type(owner) is library_class("DataFrame") and type(key) is str and key in owner.columns:
                    return owner[key]
                if type(owner) in (list, tuple) and type(key) is int and -len(owner) <= key < len(owner):
                    return owner[key]
            case ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.UnaryOp():
                try:
                    return ast.literal_eval(tree)
                except _UNPARSABLE:
                    return MISSING
        return MISSING


def name_of(tree: ast.AST | None) -> str:
    """Return the last name of an expression: ``read_csv`` of ``pd.read_csv``."""
    match tree:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def walk(source: str) -> Iterator[ast.AST]:
    """Yield the nodes of a text; none if it cannot be parsed."""
    try:
        yield from ast.walk(ast.parse(source))
    except _UNPARSABLE:
        return


def _alike(one: ast.AST, other: ast.AST) -> bool:
    """Return whether two trees are written alike. Takes no longer than to where they differ, though one is large."""
    return all(_own_part(a) == _own_part(b) for a, b in zip(ast.walk(one), ast.walk(other), strict=False))


def _own_part(tree: ast.AST) -> list[Any]:
    """Return the class of a node, and what it holds itself: of nodes in a list their number."""
    held = (part for _, part in ast.iter_fields(tree) if not isinstance(part, ast.AST))
    return [type(tree), *(len(part) if isinstance(part, list) else part for part in held)]


def _value_of_statement(text: str) -> ast.expr | None:
    try:
        body = ast.parse(text).body
    except _UNPARSABLE:
        return None
    match body:
        case [ast.AugAssign(target=target, op=op, value=value)]:
            return ast.BinOp(left=target, op=op, right=value)
        case [ast.Assign(value=value)] | [ast.Return(value=ast.expr() as value)]:
            return value
        case [ast.For(iter=iterable)] | [ast.AsyncFor(iter=iterable)]:
            return iterable
        case [ast.Assert(test=condition)]:  # 3.12.1 marks the statement, others the condition
            return condition
    return None
