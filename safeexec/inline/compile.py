"""Compiled expressions: parsed once, checked once, a function that is called with the names.

Nothing depends on the values of the names, so an `Expression` never changes and threads may share it.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import warnings

from safeexec.common.typed import TYPE_CHECKING
from safeexec.errors import ExpressionError
from safeexec.inline.costs import PLAIN, Refused, leaves
from safeexec.inline.functions import CONSTANTS, OF_COMPLEX
from safeexec.inline.grammar import Builder
from safeexec.inline.report import FILENAME, at_node, at_syntax_error, called, described, failed, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    Names = Mapping[str, object]
    Functions = Mapping[str, Callable[..., object]]

MAX_SOURCE = 4096
"""The longest expression, in characters: the parser of the host's interpreter reads it."""
_ONLY_AST = 0x400
_NO_NAMES: dict[str, object] = {}


def parse(source: str) -> ast.expr:
    """Return the tree of one expression, still unchecked."""
    if type(source) is not str:
        raise TypeError(f"an expression must be a str, not {type(source).__name__}")
    if len(source) > MAX_SOURCE:
        raise failure(f"the expression has {len(source)} characters; the limit is {MAX_SOURCE}", source[:60], 1, 59, 60)
    if not source.isascii():
        from safeexec.untrusted.source_text import has_many_marks  # it imports re, for few expressions

        if has_many_marks(source):
            raise failure("the expression has too many combining marks on one letter", source[:60], 1, 0, 1)
    _hush()
    try:
        tree: ast.Expression = compile(source.lstrip(" \t"), FILENAME, "eval", _ONLY_AST)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise at_syntax_error(error, source.lstrip(" \t")) from None
    return tree.body


class _OurFile:
    """Matches the module or, since CPython 3.15, the file that a warning is about; stands for a pattern of `re`."""

    def match(self, text: str, *_: object) -> bool:
        return text == FILENAME


_SILENCE = ("ignore", None, Warning, _OurFile(), 0)


def _hush() -> None:
    r"""Keep what the parser says about `'\d'` or `1if x else 2` off the host's stderr, and out of its error filters.

    A filter for this file name only, ahead of the host's own. `warnings.catch_warnings` would put back, in one thread,
    the filters that another thread has changed meanwhile.
    """
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    if not filters or filters[0] is not _SILENCE:
        try:
            filters.remove(_SILENCE)
        except ValueError:  # it was not there, or another thread was quicker
            pass
        filters.insert(0, _SILENCE)


def _spelt(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the same under names as the parser gives them."""
    from safeexec.common.text import spelt  # with `re`, for few expressions

    names = {name: spelt(name) for name in given if isinstance(name, str)}
    if all(name == spelling for name, spelling in names.items()):
        return given
    return {names.get(name, name): value for name, value in given.items()}


class Expression:
    """A compiled expression: call it with the names it needs. `names` are those names, `source` its text.

    Raises `ExpressionError`, with column and caret, for what is refused and for what fails; `__cause__` is then the
    ZeroDivisionError, KeyError, TypeError … that Python raised.
    """

    __slots__ = ("__call__", "_bare", "_nodes", "_places", "names", "source")

    __call__: Callable[..., object]
    names: tuple[str, ...]

    def __init__(
        self,
        source: str,
        functions: Functions | str | None,
        max_steps: int,
        withheld: frozenset[str] = frozenset(),
        mathematics: bool = False,
    ) -> None:
        if isinstance(functions, str):
            if functions != "mathematics":
                raise ValueError(f'functions is a mapping or "mathematics", not {functions!r}')
            functions, mathematics = None, True
        self.source = source
        self._bare = mathematics
        tree = parse(source)
        plain = source.isascii()
        if functions and not plain:
            functions = _spelt(functions)
        builder = Builder(source.lstrip(" \t"), functions or {}, withheld, mathematics)
        try:
            run = builder.compiled(tree)
        except RecursionError:
            raise failure("the expression is nested too deeply", source, 1, 0, 1) from None
        self.names = tuple(builder.names)
        self._nodes = builder.names
        self._places = builder.places

        def evaluate(names: Names | None = None) -> object:
            if names and not plain:
                names = _spelt(names)
            fuel = [max_steps, {}]
            try:
                value = run(_NO_NAMES if names is None else names, fuel)
                if type(value) in PLAIN or (names and any(value is given for given in names.values())):
                    return value
                return leaves(fuel, value)
            except Exception as error:
                self._fail(error, names)

        self.__call__ = evaluate

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def _fail(self, error: Exception, names: Names | None) -> NoReturn:
        if isinstance(error, ExpressionError):
            raise error
        source = self.source.lstrip(" \t")
        node, at_once = failed(error, self._places)
        if at_once and isinstance(error, KeyError) and error.args and error.args[0] in self._nodes:
            (missing,) = error.args
            given = ", ".join(sorted(map(str, names or ()))[:12]) or "none"
            meant = "pi" if missing == "π" else missing
            if meant in CONSTANTS["math"]:
                known = f"write {'' if self._bare else 'math.'}{meant}"
            elif meant in ("i", "j"):
                known = "the imaginary unit is 1j"
            else:
                known = f"names are: {given}"
            raise at_node(f"the name {missing} is not given; {known}", source, self._nodes[missing]) from None
        if isinstance(error, Refused):
            raise at_node(str(error), source, node) from None
        if at_once and isinstance(error, TypeError) and isinstance(node, ast.Call):
            # The guard was never entered: Python's words would be about its parameters.
            raise at_node(
                f"TypeError: {called(node)}() cannot be called with these arguments: too many, too few or misnamed",
                source,
                node,
            ) from None
        message = described(error)
        if self._bare and isinstance(node, ast.Call) and called(node) in OF_COMPLEX and isinstance(error, ValueError):
            message += f"; a complex result wants a complex argument, {called(node)}(x + 0j)"
        raise at_node(message, source, node) from error
