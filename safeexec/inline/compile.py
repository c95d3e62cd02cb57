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

Guards and fuel are globals and locals of that function under names with a `<`, which no expression can spell.
"""

from __future__ import annotations

import _ast as ast  # the node classes alone: `ast` itself imports re, enum and contextlib, 3 ms
import sys

from safeexec.errors import ExpressionError
from safeexec.inline.costs import SMALL, WEIGHTS, Refused, admit, bounded_numbers
from safeexec.inline.grammar import FUEL, Translator
from safeexec.inline.kinds import NAME_BITS, NAME_TEXT, Numbers, Text
from safeexec.inline.report import FILENAME, at_node, at_runtime, at_syntax_error, described, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from safeexec.inline.kinds import Kind

    Names = Mapping[str, object]
    Functions = Mapping[str, Callable[..., object]]

MAX_SOURCE = 4096
"""The longest expression, in characters: the parser of the host's interpreter reads it."""
MAX_VARIANTS = 4
_ONLY_AST = 0x400
_OF_NUMBERS, _OF_TEXT = Numbers(NAME_BITS), Text(NAME_TEXT)


def parse(source: str) -> ast.expr:
    """The tree of one expression, still unchecked."""
    if type(source) is not str:
        raise TypeError(f"an expression must be a str, not {type(source).__name__}")
    if len(source) > MAX_SOURCE:
        raise failure(f"the expression has {len(source)} characters; the limit is {MAX_SOURCE}", source[:60], 1, 59, 60)
    try:
        tree: ast.Expression = compile(source.lstrip(" \t"), FILENAME, "eval", _ONLY_AST)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise at_syntax_error(error, source.lstrip(" \t")) from None
    return tree.body


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


class Expression:
    """A compiled expression: call it with the names it needs. `names` are those names, `source` its text.

    Raises `ExpressionError`, with column and caret, for what is refused and for what fails; `__cause__` is then the
    ZeroDivisionError, KeyError, TypeError … that Python raised.
    """

    __slots__ = ("__call__", "_functions", "_max_steps", "_scanned", "_variants", "_withheld", "names", "source")

    __call__: Callable[..., object]
    names: tuple[str, ...]

    def __init__(
        self,
        source: str,
        functions: Functions | None,
        max_steps: int,
        withheld: frozenset[str] = frozenset(),
        sample: Names | None = None,
    ) -> None:
        self.source = source
        self._functions = dict(functions or {})
        self._max_steps = max_steps
        self._withheld = withheld
        self._variants: dict[tuple[Kind, ...] | None, Callable[..., object]] = {}
        kinds = None
        if sample is not None:
            try:
                kinds = {name: kind_of(value, True) for name, value in sample.items()}
            except Refused:
                kinds = None  # said with a column when the expression runs
        self._scanned: set[str] = set()
        self.names, function = self._compile(kinds or {}, NAME_BITS)
        self._variants[tuple((kinds or {}).get(name, NAME_BITS) for name in self.names)] = function
        self.__call__ = function

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def _compile(self, kinds: Mapping[str, Kind], default: Kind) -> tuple[tuple[str, ...], Callable[..., object]]:
        source = self.source.lstrip(" \t")
        translator = Translator(source, kinds, default, self._functions, self._withheld)
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
        return tuple(translator.names), scope["<expression>"]

    def _dispatch(self, names: Names) -> object:
        """Runs the code for the kinds of these values, and makes it the entry for the next ones."""
        kinds = tuple(kind_of(names[name], name in self._scanned) for name in self.names)
        function = self._variants.get(kinds)
        if function is None and len(self._variants) < MAX_VARIANTS:
            _, function = self._compile(dict(zip(self.names, kinds, strict=True)), None)
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
            checked = Translator(source, {}, None, self._functions, self._withheld)
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
    low, high = ast.Constant(-SMALL, **_HERE), ast.Constant(SMALL, **_HERE)
    bounded = ast.Compare(low, [ast.Lt(), ast.Lt()], [_name(name), high], **_HERE)
    integer = ast.BoolOp(ast.And(), [_compare(kind_of_value, ast.Is(), _name("<int>")), bounded], **_HERE)
    return ast.BoolOp(ast.Or(), [integer, _compare(kind_of_value, ast.Is(), _name("<float>"))], **_HERE)


def _entry(body: ast.expr, translator: Translator, max_steps: int) -> ast.FunctionDef:
    """The definition of `<expression>` around the checked tree."""
    steps: list[ast.stmt] = []
    for name in translator.names:
        key = ast.Constant(name, **_HERE)
        steps.append(_assign(name, ast.Subscript(_name("<names>"), key, _LOAD, **_HERE)))
    if translator.names:
        checks = [_check(name, translator.kinds.get(name, translator.default)) for name in translator.names]
        fits = checks[0] if len(checks) == 1 else ast.BoolOp(ast.And(), checks, **_HERE)
        leave = ast.Return(_call("<dispatch>", "<names>"), **_HERE)
        steps.append(ast.If(ast.UnaryOp(ast.Not(), fits, **_HERE), [leave], [], **_HERE))
    if translator.metered:
        steps.append(_assign(FUEL, ast.List([ast.Constant(max_steps, **_HERE)], _LOAD, **_HERE)))
    steps.append(ast.Return(body, **_HERE))
    fail = ast.Expr(_call("<fail>", "<error>", "<names>"), **_HERE)
    handler = ast.ExceptHandler(_name("Exception"), "<error>", [fail], **_HERE)
    guarded = ast.Try(steps, [handler], [], [], **_HERE)
    names = ast.arguments([], [ast.arg("<names>", **_HERE)], None, [], [], None, [ast.Constant(None, **_HERE)])
    definition: dict[str, Any] = {"decorator_list": [], **_HERE}
    if sys.version_info >= (3, 12):
        definition["type_params"] = []
    return ast.FunctionDef("<expression>", names, [guarded], **definition)
