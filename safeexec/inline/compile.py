"""Compiled expressions: a function per combination of kinds of names, entered through one check of the names.

The first code is made for small integers and floats. Its entry reads the names, checks their exact types and
magnitudes, and then runs the operators as CPython would. Values of other kinds lead to `_dispatch`, which compiles the
expression for them (at most MAX_VARIANTS times, then once for any values) and makes that code the entry.

    def expression(names=None):
        try:
            x = names["x"]
            if not (type(x) is int and -2**63 < x < 2**63 or type(x) is float):
                return dispatch(names)
            return 2 * (3 + x)
        except Exception as error:
            fail(error, names)

A subscript of a name by a constant, as in `order["total"]`, is read and checked there like a name.

Guards and fuel are globals and locals of that function under names with a `<`, which no expression can spell.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import sys
import warnings

from safeexec.errors import ExpressionError
from safeexec.inline.costs import WEIGHTS, admit, bounded_numbers
from safeexec.inline.fuel import SMALL, Refused
from safeexec.inline.grammar import FUEL, Translator
from safeexec.inline.kinds import NAME_BITS, NAME_TEXT, Numbers, Text
from safeexec.inline.report import FILENAME, at_node, at_runtime, at_syntax_error, described, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from safeexec.inline.grammar import Part
    from safeexec.inline.kinds import Kind

    Names = Mapping[str, object]
    Functions = Mapping[str, Callable[..., object]]

MAX_SOURCE = 4096
"""The longest expression, in characters: the parser of the host's interpreter reads it."""
MAX_VARIANTS = 4
COMPACT = (1 << 30) - 1
"""CPython compares integers of one digit faster than wider ones; the entry tries these bounds first."""
_ONLY_AST = 0x400
_OF_NUMBERS, _OF_TEXT = Numbers(NAME_BITS), Text(NAME_TEXT)


def parse(source: str) -> ast.expr:
    """The tree of one expression, still unchecked."""
    if type(source) is not str:
        raise TypeError(f"an expression must be a str, not {type(source).__name__}")
    if len(source) > MAX_SOURCE:
        raise failure(f"the expression has {len(source)} characters; the limit is {MAX_SOURCE}", source[:60], 1, 59, 60)
    _hush()
    try:
        tree: ast.Expression = compile(source.lstrip(" \t"), FILENAME, "eval", _ONLY_AST)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise at_syntax_error(error, source.lstrip(" \t")) from None
    return tree.body


_SILENCE = ("ignore", None, Warning, FILENAME, 0)


def _hush() -> None:
    r"""Keeps what the parser says about `'\d'` or `1if x else 2` off the host's stderr, and out of its error filters.

    A filter for this file name only, ahead of the host's own. `warnings.catch_warnings` would put back, in one thread,
    the filters that another thread has changed meanwhile.
    """
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    if not filters or filters[0] is not _SILENCE:
        if _SILENCE in filters:
            filters.remove(_SILENCE)
        filters.insert(0, _SILENCE)


def kind_of(value: object, scanned: bool) -> Kind:
    """What the entry of compiled code can check about a value; scanned: the expression visits all its items anyway."""
    if type(value) is int:
        return NAME_BITS if -SMALL < value < SMALL else None
    if type(value) is float:
        return NAME_BITS
    if type(value) is str:
        return _OF_TEXT if len(value) <= NAME_TEXT else None
    if scanned and type(value) in (list, tuple) and bounded_numbers(value):  # type: ignore[arg-type]
        return _OF_NUMBERS
    admit(value)
    return None


def kind_of_part(container: object, index: int | str) -> Kind:
    """The kind of `container[index]`, None where the entry may not read it: a look-up of a text, an item of a list."""
    if type(container) not in ((dict,) if type(index) is str else (list, tuple)):
        return None
    try:
        value = container[index]  # type: ignore[index]
    except LookupError:
        return None
    return kind_of(value, False) if type(value) in WEIGHTS else None


class Expression:
    """A compiled expression: call it with the names it needs. `names` are those names, `source` its text.

    Raises `ExpressionError`, with column and caret, for what is refused and for what fails; `__cause__` is then the
    ZeroDivisionError, KeyError, TypeError … that Python raised.
    """

    __slots__ = (
        "__call__", "_functions", "_mathematics",
        "_max_steps", "_parts", "_scanned", "_variants", "_withheld", "names", "source",
    )  # fmt: skip

    __call__: Callable[..., object]
    names: tuple[str, ...]

    def __init__(
        self,
        source: str,
        functions: Functions | str | None,
        max_steps: int,
        withheld: frozenset[str] = frozenset(),
        sample: Names | None = None,
        mathematics: bool = False,
    ) -> None:
        self.source = source
        if isinstance(functions, str) and functions != "mathematics":
            raise ValueError(f'functions is a mapping or "mathematics", not {functions!r}')
        self._mathematics = mathematics or isinstance(functions, str)
        self._functions = {} if isinstance(functions, str) else dict(functions or {})
        self._max_steps = max_steps
        self._withheld = withheld
        self._variants: dict[tuple[Kind, ...] | None, Callable[..., object]] = {}
        kinds: dict[str, Kind] = {}
        if sample is not None:
            try:
                kinds = {name: kind_of(value, True) for name, value in sample.items()}
            except Refused:
                kinds = {}  # said with a column when the expression runs
        self._scanned: set[str] = set()
        self._parts: dict[str, Part] = {}
        self.names, function = self._compile(kinds, NAME_BITS)
        if kinds and sample and self._parts:
            kinds |= self._kinds_of_parts(kinds, sample)
            _, function = self._compile(kinds, NAME_BITS)
        self._variants[(*[kinds.get(name, NAME_BITS) for name in self.names], *map(kinds.get, self._parts))] = function
        self.__call__ = function

    def _kinds_of_parts(self, kinds: Mapping[str, Kind], names: Names) -> dict[str, Kind]:
        return {
            part: kind_of_part(names[name], index) if kinds.get(name, NAME_BITS) is None else None
            for part, (name, index) in self._parts.items()
        }

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def _compile(self, kinds: Mapping[str, Kind], default: Kind) -> tuple[tuple[str, ...], Callable[..., object]]:
        source = self.source.lstrip(" \t")
        translator = Translator(source, kinds, default, self._functions, self._withheld, self._mathematics)
        try:
            body, _ = translator.visit(parse(self.source))
            definition = _entry(body, translator, self._max_steps)
            code = compile(ast.Module([definition], []), FILENAME, "exec")
        except RecursionError:
            raise failure("the expression is nested too deeply", source, 1, 0, 1) from None
        except (SyntaxError, ValueError) as error:
            if isinstance(error, ExpressionError):
                raise
            raise at_syntax_error(error, source) from None
        scope: dict[str, Any] = {
            "__builtins__": {"Exception": Exception},
            "<type>": type,
            "<int>": int,
            "<float>": float,
            "<str>": str,
            "<mapping>": dict,
            "<indexed>": frozenset({list, tuple}),
            "<LookupError>": LookupError,
            "<len>": len,
            "<known>": WEIGHTS,
            "<numbers>": _is_numbers,
            "<dispatch>": self._dispatch,
            "<fail>": self._fail,
            **{f"<host {name}>": function for name, function in self._functions.items()},
            **translator.globals,
        }
        exec(code, scope)
        self._scanned |= translator.scanned
        self._parts = translator.parts
        return tuple(translator.names), scope["<expression>"]

    def _dispatch(self, names: Names) -> object:
        """Runs the code for the kinds of these values, and makes it the entry for the next ones."""
        by_name = {name: kind_of(names[name], name in self._scanned) for name in self.names}
        by_name |= self._kinds_of_parts(by_name, names)
        kinds = tuple(by_name.values())
        function = self._variants.get(kinds)
        if function is None and len(self._variants) < MAX_VARIANTS:
            _, function = self._compile(by_name, None)
            self._variants[kinds] = function
        elif function is None:
            function = self._variants.get(None)
            if function is None:
                _, function = self._compile({}, None)
                self._variants[None] = function
        self.__call__ = function
        return function(names)

    def _fail(self, error: Exception, names: Names | None) -> NoReturn:
        source = self.source.lstrip(" \t")
        if isinstance(error, ExpressionError):
            raise error
        missing = [name for name in self.names if names is None or name not in names]
        if missing:
            checked = Translator(source, {}, None, self._functions, self._withheld, self._mathematics)
            checked.visit(parse(self.source))
            given = ", ".join(sorted(map(str, names or ()))[:12]) or "none"
            node = checked.names[missing[0]]
            raise at_node(f"the name {missing[0]} is not given; names are: {given}", source, node) from None
        if isinstance(error, Refused):
            raise at_runtime(error, str(error), source) from None
        raise at_runtime(error, described(error), source) from error


def _is_numbers(value: object) -> bool:
    return type(value) in (list, tuple) and bounded_numbers(value)  # type: ignore[arg-type]


_LOAD, _STORE = ast.Load(), ast.Store()
_HERE: dict[str, Any] = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


def _name(name: str) -> ast.Name:
    return ast.Name(name, _LOAD, **_HERE)


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, _STORE, **_HERE)], value, **_HERE)


def _call(function: str, *args: str) -> ast.Call:
    return ast.Call(_name(function), [_name(arg) for arg in args], [], **_HERE)


def _compare(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [operator], [right], **_HERE)


def _between(low: int, name: str, high: int) -> ast.expr:
    above = _compare(ast.Constant(low, **_HERE), ast.Lt(), _name(name))
    return ast.BoolOp(ast.And(), [above, _compare(_name(name), ast.Lt(), ast.Constant(high, **_HERE))], **_HERE)


def _check(name: str, kind: Kind) -> ast.expr:
    """The test of the entry: whether the value of the name is of this kind."""
    if isinstance(kind, Numbers):
        return _call("<numbers>", name)
    kind_of_value = _call("<type>", name)
    if isinstance(kind, Text):
        short = _compare(_call("<len>", name), ast.LtE(), ast.Constant(kind.length, **_HERE))
        return ast.BoolOp(ast.And(), [_compare(kind_of_value, ast.Is(), _name("<str>")), short], **_HERE)
    if kind is None:
        return _compare(kind_of_value, ast.In(), _name("<known>"))
    bounded = ast.BoolOp(ast.Or(), [_between(-COMPACT, name, COMPACT), _between(-SMALL, name, SMALL)], **_HERE)
    integer = ast.BoolOp(ast.And(), [_compare(kind_of_value, ast.Is(), _name("<int>")), bounded], **_HERE)
    return ast.BoolOp(ast.Or(), [integer, _compare(kind_of_value, ast.Is(), _name("<float>"))], **_HERE)


def _entry(body: ast.expr, translator: Translator, max_steps: int) -> ast.FunctionDef:
    """The definition of `<expression>` around the checked tree."""
    steps: list[ast.stmt] = []
    for name in translator.names:
        key = ast.Constant(name, **_HERE)
        steps.append(_assign(name, ast.Subscript(_name("<names>"), key, _LOAD, **_HERE)))
    parts = {part: found for part, found in translator.parts.items() if translator.kinds.get(part) is not None}
    containers = {name: type(index) for name, index in parts.values()}
    if parts:
        steps.append(_unless([_check_container(name, index) for name, index in containers.items()]))
        steps.append(_read(parts))
    names = [name for name in translator.names if name not in containers]
    if names or parts:
        kinds = {name: translator.kinds.get(name, translator.default) for name in (*names, *parts)}
        steps.append(_unless([_check(name, kind) for name, kind in kinds.items()]))
    if translator.metered:
        steps.append(_assign(FUEL, ast.List([ast.Constant(max_steps, **_HERE)], _LOAD, **_HERE)))
    steps.append(ast.Return(body, **_HERE))
    fail = ast.Expr(_call("<fail>", "<error>", "<names>"), **_HERE)
    handler = ast.ExceptHandler(_name("Exception"), "<error>", [fail], **_HERE)
    guarded = ast.Try(steps, [handler], [], [], **_HERE)
    parameters = ast.arguments([], [ast.arg("<names>", **_HERE)], None, [], [], None, [ast.Constant(None, **_HERE)])
    definition: dict[str, Any] = {"decorator_list": [], **_HERE}
    if sys.version_info >= (3, 12):
        definition["type_params"] = []
    return ast.FunctionDef("<expression>", parameters, [guarded], **definition)


def _unless(checks: list[ast.expr]) -> ast.stmt:
    """Leaves for `_dispatch` unless all checks hold."""
    fits = checks[0] if len(checks) == 1 else ast.BoolOp(ast.And(), checks, **_HERE)
    leave = ast.Return(_call("<dispatch>", "<names>"), **_HERE)
    return ast.If(ast.UnaryOp(ast.Not(), fits, **_HERE), [leave], [], **_HERE)


def _check_container(name: str, index: type) -> ast.expr:
    if index is str:
        return _compare(_call("<type>", name), ast.Is(), _name("<mapping>"))
    return _compare(_call("<type>", name), ast.In(), _name("<indexed>"))


def _read(parts: Mapping[str, Part]) -> ast.stmt:
    """Reads the parts; one that is missing leaves None, which no check of the entry accepts."""
    reads: list[ast.stmt] = [
        _assign(part, ast.Subscript(_name(name), ast.Constant(index, **_HERE), _LOAD, **_HERE))
        for part, (name, index) in parts.items()
    ]
    nothing: list[ast.stmt] = [_assign(part, ast.Constant(None, **_HERE)) for part in parts]
    return ast.Try(reads, [ast.ExceptHandler(_name("<LookupError>"), None, nothing, **_HERE)], [], [], **_HERE)
