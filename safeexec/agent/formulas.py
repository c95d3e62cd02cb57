r"""Formulas of one notation: closed forms (`\frac{-1 \pm \sqrt{5}}{2}`, `2**(1/3)`, `ln 2`, `1 ± 2i`) and what they are
worth, to 50 digits; formulas of variables (`3x²`, `\frac{x^3}{3} + C`, `2*x*exp(-x)`) and whether two of them are the
same function.

Pure. Both are read within bounds, as one tree. A closed form is a number exactly; a formula is evaluated at a few
points. What cannot be read for certain is neither.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple
from unicodedata import numeric

_MAX_CHARACTERS = 300
_MAX_DEPTH = 12
_MAX_BITS = 4_000
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
_GREEK_TEXT = "alpha beta gamma delta epsilon theta lambda mu nu rho sigma tau phi omega"
_GREEK = _GREEK_TEXT.split()
_SIGNS = dict(zip("αβγδεθλμνρστφωπ", [*_GREEK, "pi"], strict=True))
_CONSTANTS = {"pi": "pi", "E": "e", "e": "e", "I": "I"}
TAKEN = frozenset(("pi", "E", "I", *_FUNCTIONS))
"""Names that stand for no variable in a formula that code wrote."""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
VULGAR = {sign: Fraction(numeric(sign)).limit_denominator(10) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_TOKENS = (
    r"(?P<number>\d{1,30}+(?>(?:\.\d{1,30}+)?))|(?P<frac>\\[dt]?frac)|(?P<power>\*\*|\^)|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
    r"|(?P<times>[*·×]|\\cdot|\\times)|(?P<minus>[-−])"
)
_OF_NUMBERS = re.compile(
    rf"\s*(?:{_TOKENS}|(?P<root>√|\\sqrt|sqrt(?=\s?\())|(?P<ln>\\?ln(?![A-Za-z])|log(?=\()|\\log(?![A-Za-z_]))"
    r"|(?P<exp>exp(?=\())|(?P<e>(?:(?<!\d)[eE]|e(?=\^|\*\*))(?![A-Za-z]))|(?P<pi>π|\\pi(?![A-Za-z])|pi\b)"
    r"|(?P<I>[iIj](?![A-Za-z]))|(?P<both>±|\\pm(?![A-Za-z]))|(?P<sign>[+/(){}\[\]]))"
)
_OF_NAMES = re.compile(
    rf"\s*(?:{_TOKENS}|(?P<root>√|\\sqrt)|(?P<word>\\?[A-Za-z]+(?:_?\d{{1,3}})?)|(?P<sign>[+/(){{}}\[\]|!]))"
)
_CLOSER = {"(": ")", "{": "}", "[": "]", "|": "|"}
_BEGINS = frozenset({"number", "frac", "root", "function", "constant", "name", "(", "{"})
_GOES_ON = _BEGINS | {"times", "power", "raised", "minus", "both", "+", "/"}

Place = dict[str, float]
_Tree = tuple[Any, ...]
"""An operation and its operands: ("over", ("number", "1"), ("name", "x"))."""
_Token = tuple[str, str, int]
"""Its kind, or the sign itself; its text; where it ends."""


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
        """Raise to a power. Raises ArithmeticError for what is not a bounded number."""
        exponent = other.real
        if other.imaginary or abs(exponent) > _MAX_POWER:
            raise ArithmeticError("no exponent that is read")
        if exponent.denominator > 1:
            return self._root(exponent)
        made = Exact(Fraction(1))
        for _ in range(abs(exponent.numerator)):
            made = _bounded(made * self)
        return made if exponent >= 0 else Exact(Fraction(1)) / made

    def _root(self, exponent: Fraction) -> Exact:
        """Return a root of a real number; the square root of a negative one is imaginary."""
        is_square = exponent == Fraction(1, 2)
        if self.imaginary or (self.real < 0 and not is_square):
            raise ArithmeticError("no root that is read")
        number = _decimal(abs(self.real))
        root = Fraction(number.sqrt(_DIGITS) if is_square else _DIGITS.power(number, _decimal(exponent)))
        return Exact(root, rooted=True) if self.real >= 0 else Exact(Fraction(0), root, rooted=True)


class ClosedForm(NamedTuple):
    """`values`: one, two where there is a ±, none where nothing is read for certain. The text goes on at `end`."""

    values: tuple[Exact, ...]
    end: int


class ReadFormula(NamedTuple):
    """A formula that was read: the names in it, whether a number in it is a decimal, and its value at a place."""

    names: frozenset[str]
    rounded: bool
    bars: bool
    """It has an absolute value in bars: `ln|x|` is the integral that others write as log(x)."""
    value: Callable[[Place], complex]


class _NoFormula(Exception):
    """The text is no formula that can be read for certain."""


def closed(text: str, begin: int) -> ClosedForm:
    """Return the closed form that begins here: with a root, π, e, a logarithm or `i` in it, or with a ±. `log` is
    natural. One with decimals is a rounded number wherever no root makes it exact: it is none.
    """
    reader = _Reader(_tokens_of_numbers(text, begin), begin)
    values: list[Exact] = []
    try:
        tree = reader.total(0)
        if reader.kind() not in _GOES_ON:
            values = [_worth(tree, _EXACT, sign=sign) for sign in ((-1, 1) if reader.both else (1,))]
        is_exact = not reader.rounded and (reader.both or reader.unreal)
        if not (is_exact or any(value.rooted for value in values)):
            values = []
    except (_NoFormula, ArithmeticError):
        values = []
    return ClosedForm(tuple(values), reader.last)


def read(text: str, names: frozenset[str] = frozenset()) -> ReadFormula | None:
    """Return the formula that all of `text` is; None where it is none. `names`: those that are one name and no
    product.
    """
    for sign, name in _SIGNS.items():
        text = text.replace(sign, f" {name} ")
    text = re.sub(rf"(?<!\d)[{''.join(VULGAR)}]", lambda found: f"({VULGAR[found[0]]})", text)
    text = re.sub(r"\\left|\\right|\\[,;! ]", " ", text).strip()
    if not 0 < len(text) <= _MAX_CHARACTERS:
        return None
    try:
        reader = _Reader(_tokens_of_names(text, names), 0)
        tree = reader.total(0)
        if reader.kind():
            return None
    except _NoFormula:
        return None
    return ReadFormula(frozenset(reader.names), reader.rounded, reader.bars, lambda place: _worth(tree, _FLOATS, place))


def compare(said: ReadFormula, computed: ReadFormula) -> Literal["same", "other", "unknown"]:
    """Compare them wherever both have a value: one function, or another? Of other variables nobody knows."""
    if not said.names - computed.names <= {"C", "c", "K"}:
        return "unknown"
    compared, worst = 0, 0.0
    names = sorted(computed.names)
    for first in range(len(_POINTS)):
        place = {name: _POINTS[(first + 2 * position) % len(_POINTS)] for position, name in enumerate(names)}
        if said.bars and min(place.values(), default=1.0) < 0:
            continue
        here = place | dict.fromkeys(said.names - place.keys(), 0.0)
        try:
            one, other = said.value(here), computed.value(place)
        except (ArithmeticError, ValueError, KeyError):
            continue
        size = max(abs(one), abs(other))
        if not math.isfinite(size):
            continue
        compared += 1
        worst = max(worst, abs(one - other) / size if size > _SAME else 0.0)
    if compared < 3:
        return "unknown"
    if worst <= _SAME:
        return "same"
    return "unknown" if said.rounded and worst <= _ROUNDED else "other"


# How they are read


def _tokens_of_numbers(text: str, begin: int) -> Iterator[_Token]:
    """Yield the tokens from here on, up to what is none."""
    stop, position = begin + _MAX_CHARACTERS, begin
    while token := _OF_NUMBERS.match(text, position, stop):
        position, kind = token.end(), str(token.lastgroup)
        if kind in ("ln", "exp"):
            yield "function", kind, position
        elif kind in _EXACT.constants:
            yield "constant", kind, position
        else:
            yield token["sign"] or kind, token.group().strip(), position


def _tokens_of_names(text: str, known: frozenset[str]) -> Iterator[_Token]:
    """Yield the tokens of all of the text. A word that is no name and no function is a name for each letter."""
    position = 0
    while position < len(text):
        token = _OF_NAMES.match(text, position)
        if token is None:
            raise _NoFormula
        position = token.end()
        if token["word"] is None:
            yield token["sign"] or str(token.lastgroup), token.group().strip(), position
            continue
        word = token["word"]
        bare = word.removeprefix("\\")
        whole = bare in _FUNCTIONS or bare in known or bare in _CONSTANTS or bare in _GREEK
        if not whole and (word.startswith("\\") or len(bare) > 4 or not bare.isalpha()):
            raise _NoFormula
        for name in [bare] if whole else bare:
            if name in known or not (name in _FUNCTIONS or name in _CONSTANTS):
                yield "name", name, position
            else:
                yield ("function", name, position) if name in _FUNCTIONS else ("constant", _CONSTANTS[name], position)


class _Reader:
    """Makes a tree of tokens, looking one ahead."""

    def __init__(self, tokens: Iterator[_Token], begin: int) -> None:
        self._tokens = tokens
        self.last = begin
        """The end of the last token."""
        self.names: set[str] = set()
        self.both = self.unreal = self.rounded = self.bars = False
        self._token = next(tokens, None)

    def kind(self) -> str:
        """Return the kind of the next token; empty at the end."""
        return self._token[0] if self._token else ""

    def _take(self, wanted: str = "") -> str:
        if self._token is None or (wanted and self.kind() != wanted):
            raise _NoFormula
        _, text, self.last = self._token
        self._token = next(self._tokens, None)
        return text

    def total(self, depth: int) -> _Tree:
        """Return a sum."""
        parts: list[tuple[int, _Tree]] = []
        while not parts or self.kind() in ("+", "minus", "both"):
            sign = 1
            if (kind := self.kind()) in ("+", "minus", "both"):
                self._take()
                self.both = self.both or kind == "both"
                sign = {"+": 1, "minus": -1, "both": 0}[kind]
            parts.append((sign, self._product(depth)))
        return "sum", parts

    def _product(self, depth: int) -> _Tree:
        value = self._power(depth)
        while (kind := self.kind()) in ("times", "/") or (kind in _BEGINS and kind != "number"):
            if kind in ("times", "/"):
                self._take()
            value = "over" if kind == "/" else "times", value, self._power(depth)
        return value

    def _power(self, depth: int) -> _Tree:
        if depth > _MAX_DEPTH:
            raise _NoFormula
        if self.kind() == "minus":  # of an exponent, or behind a sign
            self._take()
            return "sum", [(-1, self._power(depth + 1))]
        base = self._atom(depth)
        exponent = self._exponent(depth)
        return base if exponent is None else ("power", base, exponent)

    def _exponent(self, depth: int) -> _Tree | None:
        if self.kind() == "raised":
            return "number", self._take().translate(SUPERSCRIPTS)
        if self.kind() != "power":
            return None
        self._take()
        return self._power(depth + 1)

    def _group(self, depth: int) -> _Tree:
        closer = _CLOSER.get(self.kind())
        if closer is None or depth >= _MAX_DEPTH:
            raise _NoFormula
        bars = self._take() == "|"
        value = self.total(depth + 1)
        self._take(closer)
        self.bars = self.bars or bars
        return ("call", "abs", value) if bars else value

    def _atom(self, depth: int) -> _Tree:
        kind = self.kind()
        if kind in _CLOSER:
            return self._group(depth)
        text = self._take()
        if kind == "number":
            self.rounded = self.rounded or "." in text
        elif kind == "frac":
            return "over", self._group(depth), self._group(depth)
        elif kind == "root":
            degree = self._group(depth) if self.kind() == "[" else ("number", "2")
            return "power", self._atom(depth), ("over", ("number", "1"), degree)
        elif kind == "function":
            return self._call(text, depth)
        elif kind == "constant":
            self.unreal = self.unreal or text == "I"
        elif kind == "name":
            self.names.add(text)
        else:
            raise _NoFormula
        return kind, text

    def _call(self, name: str, depth: int) -> _Tree:
        exponent = self._exponent(depth)  # sin^2 x
        value = self._group(depth) if self.kind() in _CLOSER else self._argument(depth + 1)
        return ("call", name, value) if exponent is None else ("power", ("call", name, value), exponent)

    def _argument(self, depth: int) -> _Tree:
        """Return the argument of a function without brackets: `2x` of `sin 2x`."""
        value = self._power(depth)
        while self.kind() in ("name", "constant"):
            value = "times", value, self._power(depth)
        return value


# Their values


class _Arithmetic(NamedTuple):
    """The numbers of one kind: exact ones, or floats."""

    number: Callable[[str], Any]
    constants: dict[str, Any]
    call: Callable[[str, Any], Any]
    bounded: Callable[[Any], Any] = complex


def _function(name: str, value: Exact) -> Exact:
    """Return the logarithm or the exponential of a real number."""
    if value.imaginary or abs(value.real) > _MAX_POWER**4 or (name == "ln" and value.real <= 0):
        raise _NoFormula
    number = _decimal(value.real)
    if name == "exp" and abs(number) > 10 * _MAX_POWER:
        raise _NoFormula
    return Exact(Fraction(_DIGITS.ln(number) if name == "ln" else _DIGITS.exp(number)), rooted=True)


def _decimal(value: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _bounded(value: Exact) -> Exact:
    if any(max(part.numerator.bit_length(), part.denominator.bit_length()) > _MAX_BITS for part in value.parts):
        raise _NoFormula
    return value


_PI = Exact(Fraction("3.14159265358979323846264338327950288419716939937510"), rooted=True)
_E = Exact(Fraction(_DIGITS.exp(1)), rooted=True)
_EXACT = _Arithmetic(
    lambda text: Exact(Fraction(text)), {"pi": _PI, "e": _E, "I": Exact(Fraction(0), Fraction(1))}, _function, _bounded
)
_FLOATS = _Arithmetic(
    lambda text: complex(float(text)),
    {"pi": cmath.pi, "e": cmath.e, "I": 1j},
    lambda name, value: _FUNCTIONS[name](value),
)


def _worth(tree: _Tree, kind: _Arithmetic, place: Place | None = None, *, sign: int = 1) -> Any:
    """Return the value of a tree where its names have these values. `sign` is what ± stands for."""
    what, *parts = tree
    if what == "number":
        return kind.number(parts[0])
    if what == "constant":
        return kind.constants[parts[0]]
    if what == "name":
        return complex((place or {})[parts[0]])
    if what == "sum":
        value = kind.number("0")
        for one, part in parts[0]:
            added = _worth(part, kind, place, sign=sign)
            value += added if (one or sign) > 0 else -added
    elif what == "call":
        value = kind.call(parts[0], _worth(parts[1], kind, place, sign=sign))
    else:
        first, second = (_worth(part, kind, place, sign=sign) for part in parts)
        value = first * second if what == "times" else first / second if what == "over" else first**second
    return kind.bounded(value)


# In the words of an answer

_PART = re.compile(
    r"(?P<stop>\n|[,;:](?=\s|$)|\.(?=\s|$)|=|≈|\b(?:is|are|equals|gives|as|to|and|or|so|of|for|by|the|where|with|at|in"
    r"|we|get|thus|hence|therefore|simplifies|becomes|answer|derivative|integral|function|result|that|then|it|this|if"
    r"|be|on|an?|has|have)\b|\\(?:approx|quad|qquad|text\{[^{}]*\})|[A-Za-zÀ-ÿ]{5,}(?![a-z({\[]))"
)
_CLAIMS = frozenset(("=", "≈", "\\approx", "is", "equals", "gives", "as", "to", "are", ":", "becomes", "get"))


def stated(text: str, names: frozenset[str]) -> list[ReadFormula]:
    """Return the formulas that `text` claims, in order: behind a sign of equality or a verb, or all of it."""
    text = re.sub(r"\$|\\[()\[\]]|\\boxed|`|\\displaystyle", " ", text)
    text = re.sub(r"\*\*(?=[^*\n]*\*\*)([^*\n]*)\*\*", r" \1 ", text) if text.count("**") % 2 == 0 else text
    found: list[ReadFormula] = []
    start, before = 0, ""
    places = [(match.start(), match.end(), match.group()) for match in _PART.finditer(text)]
    for begin, end, stop in [*places[: 10 * _MAX_CANDIDATES], (len(text), len(text), "")]:
        piece = text[start:begin].strip(" \t.,;:!")
        word = before.strip().lower()
        claimed = word in _CLAIMS or (not before and not stop.strip("\n.,;"))
        if piece and claimed and len(found) < _MAX_CANDIDATES:
            formula = read(piece, names)
            if formula is not None and formula.names:
                found.append(formula)
        if stop:
            start, before = end, stop if piece or stop.strip() else before
    return found
