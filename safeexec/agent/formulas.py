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
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
_LETTERS = str.maketrans({sign: f" {name} " for sign, name in zip("αβγδεθλμνρστφωπ", [*_GREEK, "pi"], strict=True)})
_CONSTANTS = {"pi": "pi", "E": "e", "e": "e", "I": "I"}
TAKEN = frozenset(("pi", "E", "I", *_FUNCTIONS))
"""Names that stand for no variable in a formula that code wrote."""
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
VULGAR = {sign: Fraction(numeric(sign)).limit_denominator(10) for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_TOKEN = (
    r"\s*(?:(?P<number>\d{1,30}+(?>(?:\.\d{1,30}+)?))|(?P<frac>\\[dt]?frac)|(?P<power>\*\*|\^)"
    r"|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})|(?P<times>[*·×]|\\cdot|\\times)|(?P<minus>[-−])|(?P<root>√|\\sqrt)|(?P<word>WORD)"
    r"|(?P<both>±|\\pm(?![A-Za-z]))|(?P<sign>[+/(){}\[\]|!]))"
)
_NAMES = re.compile(_TOKEN.replace("WORD", r"\\?[A-Za-z]+(?:_?\d{1,3})?"))
_NUMBERS = re.compile(
    _TOKEN.replace(
        "WORD",
        r"sqrt(?=\s?\()|\\?ln(?![A-Za-z])|(?:log|exp)(?=\()|\\log(?![A-Za-z_])|(?:(?<!\d)[eE]|e(?=\^|\*\*))(?![A-Za-z])"
        r"|π|\\pi(?![A-Za-z])|pi\b|[iIj](?![A-Za-z])",
    )
)
_CLOSER = {"(": ")", "{": "}", "[": "]", "|": "|"}
_FACTORS = frozenset({"frac", "root", "function", "constant", "name", "(", "{"})
"""Kinds of tokens that may follow a factor without a sign between them."""
_GOES_ON = _FACTORS | {"number", "times", "power", "raised", "minus", "both", "+", "/"}


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
    """`values`: one, two where there is a ±, none where nothing is read for certain. The text goes on at `end`."""

    values: tuple[Exact, ...]
    end: int


class _Token(NamedTuple):
    """`kind` is its group, what a word stands for, or the sign itself; `end` is where it ends in the text."""

    kind: str
    text: str
    end: int


class ReadFormula(NamedTuple):
    """A formula that was read: its tokens, and the names in it."""

    tokens: list[_Token]
    names: frozenset[str]

    def value(self, place: Mapping[str, float]) -> complex:
        """Return the value where its names have these values; nan where it has none."""
        value: complex = _Reader(self.tokens, _FLOATS, place).total()
        return value


def closed(text: str, begin: int) -> ClosedForm:
    """Return the closed form that begins here: with a root, π, e, a logarithm or `i` in it, or with a ±. `log` is
    natural. One with decimals is a rounded number wherever no root makes it exact: it is none.
    """
    reader = _Reader(_tokens(text, begin), _EXACTLY, {"±": Exact(Fraction(-1))})
    values: list[Exact] = []
    try:
        value = reader.total()
        both = any(token.kind == "both" for token in reader.taken)
        is_exact = (both or any(token.text in ("i", "I", "j") for token in reader.taken)) and not _is_rounded(
            reader.taken
        )
        if reader.kind not in _GOES_ON and (is_exact or value.rooted):
            values = [value]
            if both:
                values.append(_Reader(reader.taken, _EXACTLY, {"±": Exact(Fraction(1))}).total())
    except (_NoFormula, ArithmeticError):
        values = []
    return ClosedForm(tuple(values), reader.taken[-1].end if reader.taken else begin)


def read(text: str, names: frozenset[str] = frozenset()) -> ReadFormula | None:
    """Return the formula that all of `text` is; None where it is none. `names`: those that are one name and no
    product.
    """
    text = re.sub(rf"(?<!\d)[{''.join(VULGAR)}]", lambda found: f"({VULGAR[found[0]]})", text.translate(_LETTERS))
    text = re.sub(r"\\left|\\right|\\[,;! ]", " ", text).strip()
    if not 0 < len(text) <= _MAX_CHARACTERS:
        return None
    tokens = list(_tokens(text, 0, names))
    found = frozenset(token.text for token in tokens if token.kind == "name")
    reader = _Reader(tokens, _FLOATS, dict.fromkeys(found, 1.0))
    try:
        reader.total()
    except _NoFormula:
        return None
    return ReadFormula(tokens, found) if not reader.kind and tokens[-1].end == len(text) else None


def compare(said: ReadFormula, computed: ReadFormula) -> Literal["same", "other", "unknown"]:
    """Compare them wherever both have a value: one function, or another? Of other variables nobody knows."""
    if not said.names - computed.names <= {"C", "c", "K"}:
        return "unknown"
    compared, worst = 0, 0.0
    names = sorted(computed.names)
    has_bars = any(token.kind == "|" for token in said.tokens)  # ln|x| is the integral that others write as log(x)
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
    return "unknown" if _is_rounded(said.tokens) and worst <= _ROUNDED else "other"


def _is_rounded(tokens: list[_Token]) -> bool:
    return any(token.kind == "number" and "." in token.text for token in tokens)


# How they are read


def _tokens(text: str, begin: int, names: frozenset[str] | None = None) -> Iterator[_Token]:
    """Yield the tokens from here on, up to what is none. Without `names` letters are those of numbers alone; with them
    a word that is no name and no function is a name for each letter.
    """
    pattern, position = _NUMBERS if names is None else _NAMES, begin
    while token := pattern.match(text, position, begin + _MAX_CHARACTERS):
        position, kind = token.end(), str(token.lastgroup)
        if kind != "word":
            yield _Token(token["sign"] or kind, token.group().strip(), position)
            continue
        word = token["word"]
        bare = word.removeprefix("\\")
        whole = names is None or bare in names or bare in _FUNCTIONS or bare in _CONSTANTS or bare in _GREEK
        if not whole and (word.startswith("\\") or len(bare) > 4 or not bare.isalpha()):
            return
        for name in [bare] if whole else bare:
            if name in _FUNCTIONS and name not in (names or ()):
                yield _Token("function", name, position)
            else:
                is_constant = names is None or (name in _CONSTANTS and name not in names)
                yield _Token("constant" if is_constant else "name", name, position)


class _Arithmetic(NamedTuple):
    """The numbers of one kind: exact ones, or floats."""

    number: Callable[[str], Any]
    constants: dict[str, Any]
    functions: Mapping[str, Callable[[Any], Any]]
    apply: Callable[..., Any]
    """Returns what an operation or a function gives for its operands, if that is a number within bounds."""


class _Reader:
    """Evaluates tokens by their grammar, looking one ahead. `taken` are those that it has read."""

    def __init__(self, tokens: Iterable[_Token], numbers: _Arithmetic, place: Mapping[str, Any]) -> None:
        self.taken: list[_Token] = []
        self._tokens = iter(tokens)
        self._next = next(self._tokens, None)
        self._numbers = numbers
        self._apply = numbers.apply
        self._place = place

    @property
    def kind(self) -> str:
        """The kind of the next token; empty at the end."""
        return self._next.kind if self._next else ""

    def _take(self, wanted: str = "") -> str:
        if self._next is None or (wanted and self.kind != wanted):
            raise _NoFormula
        self.taken.append(self._next)
        self._next = next(self._tokens, None)
        return self.taken[-1].text

    def total(self, depth: int = 0) -> Any:
        """Return the value of a sum."""
        total = None
        while total is None or self.kind in ("+", "minus", "both"):
            sign = self.kind
            if sign in ("+", "minus", "both"):
                self._take()
            if sign == "both" and "±" not in self._place:
                raise _NoFormula
            term = self._product(depth)
            if sign == "minus":
                term = -term
            elif sign == "both":
                term = self._apply(operator.mul, self._place["±"], term)
            total = term if total is None else self._apply(operator.add, total, term)
        return total

    def _product(self, depth: int) -> Any:
        value = self._power(depth)
        while self.kind in ("times", "/") or self.kind in _FACTORS:
            operation = operator.truediv if self.kind == "/" else operator.mul
            if self.kind not in _FACTORS:
                self._take()
            value = self._apply(operation, value, self._power(depth))
        return value

    def _power(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _NoFormula
        if self.kind == "minus":  # of an exponent, or behind a sign
            self._take()
            return -self._power(depth + 1)
        return self._raised(self._atom(depth), self._exponent(depth))

    def _raised(self, value: Any, exponent: Any) -> Any:
        return value if exponent is None else self._apply(operator.pow, value, exponent)

    def _exponent(self, depth: int) -> Any:
        """Return the exponent that comes next; None where there is none."""
        if self.kind == "raised":
            return self._numbers.number(self._take().translate(SUPERSCRIPTS))
        if self.kind != "power":
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
        if kind == "number":
            return self._numbers.number(text)
        if kind == "constant":
            return self._numbers.constants[text]
        if kind == "name":
            return complex(self._place[text])
        if kind == "frac":
            return self._apply(operator.truediv, self._group(depth), self._group(depth))
        if kind == "root":
            degree = self._group(depth) if self.kind == "[" else self._numbers.number("2")
            exponent = self._apply(operator.truediv, self._numbers.number("1"), degree)
            return self._apply(operator.pow, self._atom(depth), exponent)
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


def _defined(operation: Callable[..., complex], *operands: complex) -> complex:
    """Return a value of floats; nan where there is none."""
    try:
        return complex(operation(*operands))
    except (ArithmeticError, ValueError):
        return complex(math.nan)


_PI = Exact(Fraction("3.14159265358979323846264338327950288419716939937510"), rooted=True)
_E = Exact(Fraction(_DIGITS.exp(1)), rooted=True)
_EXACTLY = _Arithmetic(
    lambda text: Exact(Fraction(text)),
    {"pi": _PI, "π": _PI, **dict.fromkeys("eE", _E), **dict.fromkeys("iIj", Exact(Fraction(0), Fraction(1)))},
    {"ln": _logarithm, "log": _logarithm, "exp": _exponential, "sqrt": lambda value: value ** Exact(Fraction(1, 2))},
    _bounded,
)
_FLOATS = _Arithmetic(
    lambda text: complex(float(text)), {"pi": cmath.pi, "e": cmath.e, "E": cmath.e, "I": 1j}, _FUNCTIONS, _defined
)


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
