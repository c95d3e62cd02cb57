r"""Formulas of one notation: closed forms (`\frac{-1 \pm \sqrt{5}}{2}`, `2**(1/3)`, `ln 2`, `1 ± 2i`) and what they are
worth, to 50 digits; formulas of variables (`3x²`, `\frac{x^3}{3} + C`, `2*x*exp(-x)`) and whether two of them are the
same function.

Pure. Both are read within bounds, by one reader that evaluates the tokens as it reads them: a closed form once, as
exact numbers; a formula with floats, at a few points. What cannot be read for certain is neither.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, NamedTuple
from unicodedata import name as name_of

from safeexec.agent.tokens import SUPERSCRIPTS, WORDS, Token, tokens, written

_MAX_TOKENS = 150
_MAX_DEPTH = 12
_MAX_BITS = 8_000
_MAX_POWER = 20
_MAX_CANDIDATES = 60
_DIGITS = Context(prec=50)
_POINTS = (0.7310585786, 1.6180339887, 2.7951084972, 0.2876820724, -1.2020569032, 3.3598856662, -0.4636476090)
_SAME = 1e-9
_ROUNDED = 0.03
"""Part by which a formula with decimals may differ from one with exact numbers and still be that one, rounded."""
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sqrt": cmath.sqrt, "exp": cmath.exp, "ln": cmath.log, "log": cmath.log, "sin": cmath.sin, "cos": cmath.cos,
    "tan": cmath.tan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "asin": cmath.asin,
    "acos": cmath.acos, "atan": cmath.atan, "arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan,
    "asinh": cmath.asinh, "acosh": cmath.acosh, "atanh": cmath.atanh, "abs": abs, "Abs": abs,
    "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x), "cot": lambda x: cmath.cos(x) / cmath.sin(x),
}  # fmt: skip
TAKEN = frozenset(("pi", "E", "I", *_FUNCTIONS))
"""Names that stand for no variable in a formula that code wrote."""
_CLOSER = {"(": ")", "{": "}", "[": "]", "|": "|"}
_FACTORS = frozenset({"FRAC", "√", "function", "constant", "name", "(", "{"})
"""Kinds of tokens that may follow a factor without a sign between them."""
_OPERANDS = _FACTORS | {"NUMBER", "-", "|"}
SIGNS = frozenset("+-±*/^√()[]{}|") | {"NUMBER", "RAISED", "FRAC"}


class _NoFormula(Exception):
    """The text is no formula that can be read for certain."""


@dataclass(frozen=True, slots=True)
class Exact:
    """A complex number of two fractions. `rooted`: a root, a logarithm or π is in it, to 50 digits."""

    real: Fraction
    imaginary: Fraction = Fraction(0)
    rooted: bool = False

    @property
    def parts(self) -> tuple[Fraction, Fraction]:
        return self.real, self.imaginary

    def __neg__(self) -> Exact:
        return Exact(-self.real, -self.imaginary, self.rooted)

    def __add__(self, other: Exact) -> Exact:
        return Exact(self.real + other.real, self.imaginary + other.imaginary, self.rooted or other.rooted)

    def __mul__(self, other: Exact) -> Exact:
        real = self.real * other.real - self.imaginary * other.imaginary
        imaginary = self.real * other.imaginary + self.imaginary * other.real
        return Exact(real, imaginary, self.rooted or other.rooted)

    def __truediv__(self, other: Exact) -> Exact:
        size = other.real**2 + other.imaginary**2
        return self * Exact(other.real / size, -other.imaginary / size, other.rooted)

    def __pow__(self, other: Exact) -> Exact:
        """Raise to a power: a whole one, or of a real number a root; the square root of a negative one is imaginary.
        Raises ArithmeticError for what is not a bounded number.
        """
        exponent = other.real
        if exponent.denominator == 1 and not other.imaginary and not self.imaginary:
            bits = max(self.real.numerator.bit_length(), self.real.denominator.bit_length())
            if bits * abs(exponent) > _MAX_BITS:
                raise ArithmeticError("too long")
            return Exact(self.real**exponent.numerator, rooted=self.rooted)
        if other.imaginary or abs(exponent) > _MAX_POWER:
            raise ArithmeticError("no exponent that is read")
        if exponent.denominator == 1:
            made = Exact(Fraction(1))
            for _ in range(abs(exponent.numerator)):
                made = _bounded(operator.mul, made, self)
            return made if exponent >= 0 else Exact(Fraction(1)) / made
        is_square = exponent == Fraction(1, 2)
        if self.imaginary or (self.real < 0 and not is_square):
            raise ArithmeticError("no root that is read")
        number = _decimal(abs(self.real))
        root = Fraction(number.sqrt(_DIGITS) if is_square else _DIGITS.power(number, _decimal(exponent)))
        return Exact(root, rooted=True) if self.real >= 0 else Exact(Fraction(0), root, rooted=True)


class ClosedForm(NamedTuple):
    """`values`: one, two where there is a ±, none where nothing is read for certain. The tokens go on at `end`."""

    values: tuple[Exact, ...]
    terms: list[Token]
    end: int

    def has(self, *kinds: str) -> bool:
        """Return True if one of these kinds of tokens is in it."""
        return any(term.kind in kinds for term in self.terms)


class ReadFormula(NamedTuple):
    """A formula that was read: its tokens, and the names in it."""

    terms: list[Token]
    names: frozenset[str]

    def value(self, place: Mapping[str, float]) -> complex:
        """Return the value where its names have these values; nan where it has none."""
        value: complex = _Reader(self.terms, _FLOATS, place).total()
        return value


def closed(found: Sequence[Token], at: int) -> ClosedForm:
    """Return the closed form that begins here: numbers, signs, roots, π, e, logarithms and `i`. `log` is natural."""
    reader = _Reader(_exact_terms(found, at), _EXACTLY, {"±": Exact(Fraction(1))})
    values: list[Exact] = []
    try:
        values.append(reader.total())
        if any(term.kind == "±" for term in reader.taken):
            values.append(_Reader(reader.taken, _EXACTLY, {"±": Exact(Fraction(-1))}).total())
    except (_NoFormula, ArithmeticError):
        values = []
    return ClosedForm(tuple(values), reader.taken, at + len(reader.taken))


def of_number(found: Sequence[Token], at: int, number: int) -> ClosedForm:
    """Return the number of one token as a closed form, with the sign before it, if there is one."""
    value = written(found[number].text).value
    exact = () if value is None else (Exact(-value if number > at else value),)
    return ClosedForm(exact, [*found[at : number + 1]], number + 1)


def read(text: str, names: frozenset[str] = frozenset()) -> ReadFormula | None:
    """Return the formula that all of `text` is; None where it is none. `names`: those that are one name and no
    product.
    """
    return _read(tokens(text), names)


def _read(found: Sequence[Token], names: frozenset[str]) -> ReadFormula | None:
    try:
        terms = [*_named_terms(found[:_MAX_TOKENS], names)]
        variables = frozenset(term.text for term in terms if term.kind == "name")
        reader = _Reader(terms, _FLOATS, dict.fromkeys(variables, 1.0))
        reader.total()
    except _NoFormula:
        return None
    return None if reader.kind or len(found) > _MAX_TOKENS else ReadFormula(terms, variables)


def compare(said: ReadFormula, computed: ReadFormula) -> Literal["same", "other", "unknown"]:
    """Compare them wherever both have a value: one function, or another? Of other variables nobody knows."""
    if not said.names - computed.names <= {"C", "c", "K"}:
        return "unknown"
    compared, worst = 0, 0.0
    names = sorted(computed.names)
    has_bars = any(term.kind == "|" for term in said.terms)  # ln|x| is the integral that others write as log(x)
    for first in range(len(_POINTS)):
        place = {name: _POINTS[(first + 2 * position) % len(_POINTS)] for position, name in enumerate(names)}
        if has_bars and min(place.values(), default=1.0) < 0:
            continue
        one, other = said.value(place | dict.fromkeys(said.names - place.keys(), 0.0)), computed.value(place)
        try:
            sizes, apart = (abs(one), abs(other)), abs(one - other)
        except OverflowError:  # of complex numbers
            continue
        if all(map(math.isfinite, sizes)):
            compared += 1
            worst = max(worst, apart / max(sizes) if max(sizes) > _SAME else 0.0)
    if compared < 3:
        return "unknown"
    if worst <= _SAME:
        return "same"
    return "unknown" if _is_rounded(said.terms) and worst <= _ROUNDED else "other"


def _is_rounded(terms: list[Token]) -> bool:
    return any(term.kind == "NUMBER" and "." in term.text for term in terms)


# How they are read


def _exact_terms(found: Sequence[Token], at: int) -> Iterator[Token]:
    """Yield the tokens from here on, up to what is none of a closed form: letters are those of numbers alone."""
    for place in range(at, min(len(found), at + _MAX_TOKENS)):
        token, before = found[place], found[place - 1].kind if place > at else ""
        after = found[place + 1].kind if place + 1 < len(found) else ""
        name = token.text.removeprefix("\\")
        is_called = after == "(" or name == "ln" or (name == "log" and name != token.text)
        if token.kind in SIGNS:
            yield token
        elif name in _EXACTLY.functions and is_called:
            yield token._replace(kind="function", text=name)
        elif name in _EXACTLY.constants and (name not in "eE" or token.gap or after == "^" or before != "NUMBER"):
            yield token._replace(kind="constant", text=name)
        else:
            return


def _named_terms(found: Sequence[Token], names: frozenset[str]) -> Iterator[Token]:
    """Yield the tokens of a formula: a word that is no name and no function is a name for each letter. Raises
    _NoFormula for what is none of one.
    """
    for token in found:
        name = token.text.removeprefix("\\")
        if len(name) == 1 and not name.isascii() and name != "π" and name.isalpha():
            name = name_of(name).rsplit(maxsplit=1)[-1].lower()
        is_whole = name in names or name in _FUNCTIONS or name in _FLOATS.constants
        if token.kind in SIGNS:
            yield token
        elif is_whole or (token.kind == "WORD" and len(name) <= 4 and name.isalpha()):
            for one in [name] if is_whole else name:
                is_known = one not in names and (one in _FUNCTIONS or one in _FLOATS.constants)
                kind = "name" if not is_known else "function" if one in _FUNCTIONS else "constant"
                yield token._replace(kind=kind, text=one)
        else:
            raise _NoFormula


class _Arithmetic(NamedTuple):
    """The numbers of one kind: exact ones, or floats."""

    number: Callable[[Fraction], Any]
    constants: dict[str, Any]
    functions: Mapping[str, Callable[[Any], Any]]
    apply: Callable[..., Any]
    """Returns what an operation or a function gives for its operands, if that is a number within bounds."""


class _Reader:
    """Evaluates tokens by their grammar, looking two ahead. `taken` are those that it has read."""

    def __init__(self, terms: Iterable[Token], numbers: _Arithmetic, place: Mapping[str, Any]) -> None:
        self.taken: list[Token] = []
        self._terms = iter(terms)
        self._ahead = [*islice(self._terms, 2)]
        self._numbers = numbers
        self._apply = numbers.apply
        self._place = place

    @property
    def kind(self) -> str:
        """The kind of the next token; empty at the end, and before a bracket that is apart from a number."""
        if not self._ahead:
            return ""
        kind, is_exact = self._ahead[0].kind, self._numbers is _EXACTLY
        is_apart = is_exact and kind == "(" and self._ahead[0].gap and bool(self.taken)
        return "" if is_apart and self.taken[-1].kind in ("NUMBER", ")", "}", "RAISED") else kind

    def _is_operator(self, *kinds: str) -> bool:
        """Return True before one of these signs that has an operand."""
        return self.kind in kinds and len(self._ahead) > 1 and self._ahead[1].kind in _OPERANDS

    def _take(self, wanted: str = "") -> str:
        if not self._ahead or (wanted and self.kind != wanted):
            raise _NoFormula
        self.taken.append(self._ahead.pop(0))
        self._ahead += islice(self._terms, 1)
        return self.taken[-1].text

    def total(self, depth: int = 0) -> Any:
        """Return the value of a sum."""
        total = None
        while total is None or self._is_operator("+", "-", "±"):
            sign = self.kind
            if sign in ("+", "-", "±"):
                self._take()
            term = self._product(depth)
            if sign == "-":
                term = -term
            elif sign == "±":
                if sign not in self._place:
                    raise _NoFormula
                term = self._apply(operator.mul, self._place[sign], term)
            total = term if total is None else self._apply(operator.add, total, term)
        return total

    def _product(self, depth: int) -> Any:
        value = self._power(depth)
        while self._is_operator("*", "/") or self.kind in _FACTORS:
            operation = operator.truediv if self.kind == "/" else operator.mul
            if self.kind not in _FACTORS:
                self._take()
            value = self._apply(operation, value, self._power(depth))
        return value

    def _power(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _NoFormula
        if self.kind == "-":  # of an exponent, or behind a sign
            self._take()
            return -self._power(depth + 1)
        return self._raised(self._atom(depth), self._exponent(depth))

    def _raised(self, value: Any, exponent: Any) -> Any:
        return value if exponent is None else self._apply(operator.pow, value, exponent)

    def _exponent(self, depth: int) -> Any:
        """Return the exponent that comes next; None where there is none."""
        if self.kind == "RAISED":
            return self._numbers.number(Fraction(self._take().translate(SUPERSCRIPTS)))
        if not self._is_operator("^"):
            return None
        self._take()
        return self._power(depth + 1)

    def _group(self, depth: int) -> Any:
        closer = _CLOSER.get(self.kind)
        if closer is None or depth >= _MAX_DEPTH:
            raise _NoFormula
        self._take()
        value = self.total(depth + 1)
        self._take(closer)
        return self._call("abs", value) if closer == "|" else value

    def _call(self, name: str, value: Any) -> Any:
        if name not in self._numbers.functions:
            raise _NoFormula
        return self._apply(self._numbers.functions[name], value)

    def _atom(self, depth: int) -> Any:
        kind = self.kind
        if kind in _CLOSER:
            return self._group(depth)
        text = self._take()
        if kind == "NUMBER" and (value := written(text).value) is not None:
            return self._numbers.number(value)
        if kind == "constant":
            return self._numbers.constants[text]
        if kind == "name":
            return complex(self._place[text])
        if kind == "FRAC":
            return self._apply(operator.truediv, self._group(depth), self._group(depth))
        if kind == "√":
            degree = self._group(depth) if self.kind == "[" else self._numbers.number(Fraction(2))
            radicand = self._power(depth + 1) if self.kind in ("√", "-") else self._atom(depth)
            exponent = self._apply(operator.truediv, self._numbers.number(Fraction(1)), degree)
            return self._apply(operator.pow, radicand, exponent)
        if kind != "function":
            raise _NoFormula
        exponent = self._exponent(depth)  # sin^2 x
        return self._raised(self._call(text, self._argument(depth)), exponent)

    def _argument(self, depth: int) -> Any:
        """Return the argument of a function, which may have no brackets: `2x` of `sin 2x`."""
        if self.kind in _CLOSER:
            return self._group(depth)
        value = self._power(depth + 1)
        while self.kind in ("name", "constant"):
            value = self._apply(operator.mul, value, self._power(depth + 1))
        return value


# Their values


def _decimal(value: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _logarithm(value: Exact) -> Exact:
    if value.imaginary or not 0 < value.real <= _MAX_POWER**4:
        raise _NoFormula
    return Exact(Fraction(_DIGITS.ln(_decimal(value.real))), rooted=True)


def _exponential(value: Exact) -> Exact:
    if value.imaginary or abs(value.real) > 10 * _MAX_POWER:
        raise _NoFormula
    return Exact(Fraction(_DIGITS.exp(_decimal(value.real))), rooted=True)


def _bounded(operation: Callable[..., Exact], *operands: Exact) -> Exact:
    """Return an exact value. Raises _NoFormula for one that is too long."""
    value = operation(*operands)
    if any(max(part.numerator.bit_length(), part.denominator.bit_length()) > _MAX_BITS for part in value.parts):
        raise _NoFormula
    return value


def _defined(operation: Callable[..., Any], *operands: Any) -> complex:
    """Return a value of floats; nan where there is none."""
    try:
        return complex(operation(*operands))
    except (ArithmeticError, ValueError):
        return complex(math.nan)


_PI = Exact(Fraction("3.14159265358979323846264338327950288419716939937510"), rooted=True)
_E = Exact(Fraction(_DIGITS.exp(1)), rooted=True)
_EXACTLY = _Arithmetic(
    Exact,
    {"pi": _PI, "π": _PI, **dict.fromkeys("eE", _E), **dict.fromkeys("iIj", Exact(Fraction(0), Fraction(1)))},
    {"ln": _logarithm, "log": _logarithm, "exp": _exponential, "sqrt": lambda value: value ** Exact(Fraction(1, 2))},
    _bounded,
)
_FLOATS = _Arithmetic(
    lambda value: _defined(float, value),
    {"pi": cmath.pi, "π": cmath.pi, "e": cmath.e, "E": cmath.e, "I": 1j},
    _FUNCTIONS,
    _defined,
)


# In the words of an answer

_CLAIMS = frozenset(("=", "≈", "is", "equals", "gives", "as", "to", "are", ":", "becomes", "get"))
_STOPS = frozenset(("\n", ",", ";", ":", ".", "=", "≈"))
_PROSE = frozenset().union(*(WORDS[name] for name in ("claim", "opener", "list", "mention", "harmless", "doubt")))


def stated(text: str, names: frozenset[str]) -> list[ReadFormula]:
    """Return the formulas that `text` claims, in order: behind a sign of equality or a verb, or all of it."""
    marks = ("$", "BOLD", "`")
    found = [token for token in tokens(text) if token.kind not in marks and token.text != "\\boxed"]
    formulas: list[ReadFormula] = []
    start, before = 0, ""
    for at, token in enumerate([*found, None]):
        stop = "" if token is None else token.word
        if token is not None and not (token.kind in _STOPS or (token.kind == "WORD" and _is_prose(token, names))):
            continue
        piece = found[start:at]
        if (
            piece
            and (before in _CLAIMS or (not before and not stop.strip("\n.,;")))
            and len(formulas) < _MAX_CANDIDATES
        ):
            formula = _read(piece, names)
            if formula is not None and formula.names:
                formulas.append(formula)
        start, before = at + 1, stop if piece or stop.strip() else before
    return formulas


def _is_prose(token: Token, names: frozenset[str]) -> bool:
    is_name = token.text in names or token.word in TAKEN or token.text == "I"
    return not is_name and (len(token.text) > 4 or token.word in _PROSE)
