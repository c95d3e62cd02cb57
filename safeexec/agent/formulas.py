r"""Whether two formulas are the same function: `3x²`, `\frac{x^3}{3} + C`, `2*x*exp(-x)`.

Pure. A formula is read within bounds and evaluated at a few points; what cannot be read for certain is no formula.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

_MAX_CHARACTERS = 300
_MAX_DEPTH = 12
_MAX_TOKENS = 120
_MAX_CANDIDATES = 60
_POINTS = (0.7310585786, 1.6180339887, 2.7951084972, 0.2876820724, -1.2020569032, 3.3598856662, -0.4636476090)
_SAME = 1e-9
_ROUNDED = 0.03
"""How far a formula with decimals may be from one with exact numbers and still be that one, rounded."""
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sqrt": cmath.sqrt, "exp": cmath.exp, "ln": cmath.log, "log": cmath.log, "sin": cmath.sin, "cos": cmath.cos,
    "tan": cmath.tan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "asin": cmath.asin,
    "acos": cmath.acos, "atan": cmath.atan, "arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan,
    "asinh": cmath.asinh, "acosh": cmath.acosh, "atanh": cmath.atanh, "abs": abs, "Abs": abs,
    "sec": lambda x: 1 / cmath.cos(x), "csc": lambda x: 1 / cmath.sin(x), "cot": lambda x: cmath.cos(x) / cmath.sin(x),
}  # fmt: skip
_GREEK_TEXT = "alpha beta gamma delta epsilon theta lambda mu nu rho sigma tau phi omega"
_GREEK = _GREEK_TEXT.split()
_SIGNS = dict(zip("αβγδεθλμνρστφω", _GREEK, strict=True))
_CONSTANTS = {"pi": cmath.pi, "E": cmath.e, "e": cmath.e, "I": 1j}
TAKEN = frozenset(("pi", "E", "I", *_FUNCTIONS))
"""Names that stand for no variable in a formula that code wrote."""
_SUPERSCRIPTS = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,15}(?:\.\d{1,15})?)|(?P<frac>\\[dt]?frac)|(?P<root>√|\\sqrt)|(?P<power>\*\*|\^)"
    r"|(?P<times>[*·×]|\\cdot|\\times)|(?P<minus>[-−])|(?P<word>\\?[A-Za-z]+(?:_?\d{1,3})?)|(?P<sign>[+/(){}\[\]|!]))"
)
_CLOSER = {"(": ")", "{": "}", "[": "]", "|": "|"}
_BEGINS = frozenset({"number", "frac", "root", "word", "(", "{", "["})

Place = dict[str, float]
_Value = Callable[[Place], complex]


class ReadFormula(NamedTuple):
    """A formula that was read: the names in it, whether a number in it is a decimal, and its value at a place."""

    names: frozenset[str]
    rounded: bool
    bars: bool
    """Whether it has an absolute value in bars: `ln|x|` is the integral that others write as log(x)."""
    value: _Value


class _NoFormula(Exception):
    """The text is no formula that can be read for certain."""


def read(text: str, names: frozenset[str] = frozenset()) -> ReadFormula | None:
    """The formula that all of `text` is; None where it is none. `names`: those that are one name and no product."""
    text = _SUPERSCRIPTS.sub(lambda found: f"^({found.group().translate(_PLAIN_DIGITS)})", text).strip()
    for sign, name in _SIGNS.items():
        text = text.replace(sign, f" {name} ")
    text = re.sub(r"\\left|\\right|\\[,;! ]", " ", text.replace("π", " pi "))
    if not 0 < len(text) <= _MAX_CHARACTERS:
        return None
    try:
        reader = _FormulaReader(text, names)
        value = reader.total(0)
        if reader.kind():
            return None
    except _NoFormula:
        return None
    return ReadFormula(frozenset(reader.names), reader.rounded, reader.bars, value)


def compare(said: ReadFormula, computed: ReadFormula) -> Literal["same", "other", "unknown"]:
    """Return whether they are one function, wherever both have a value. Of other variables nobody knows."""
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


class _FormulaReader:
    """Reads one formula, a token ahead."""

    def __init__(self, text: str, known: frozenset[str]) -> None:
        self.names: set[str] = set()
        self.rounded = self.bars = False
        self._known = known
        self._tokens: list[tuple[str, str]] = list(self._split(text))
        self._next = 0

    def _split(self, text: str) -> Iterator[tuple[str, str]]:
        position = count = 0
        while position < len(text.rstrip()):
            token = _TOKEN.match(text, position)
            if token is None or count > _MAX_TOKENS:
                raise _NoFormula
            position, count = token.end(), count + 1
            kind = str(token.lastgroup)
            if kind == "word":
                yield from self._words(token["word"])
            else:
                yield (token["sign"] if kind == "sign" else kind), token.group().strip()

    def _words(self, word: str) -> Iterator[tuple[str, str]]:
        """A name or a function as it is; else one name for each letter."""
        bare = word.removeprefix("\\")
        if bare in _FUNCTIONS or bare in self._known or bare in _CONSTANTS or bare in _GREEK:
            yield "word", bare
        elif word.startswith("\\") or len(bare) > 4 or not bare.isalpha():
            raise _NoFormula
        else:
            for letter in bare:
                yield "word", letter

    def kind(self) -> str:
        """Of the next token; empty at the end."""
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        if self._next >= len(self._tokens) or (wanted and self.kind() != wanted):
            raise _NoFormula
        self._next += 1
        return self._tokens[self._next - 1][1]

    def total(self, depth: int) -> _Value:
        """A sum."""
        if depth > _MAX_DEPTH:
            raise _NoFormula
        parts: list[tuple[int, _Value]] = []
        while not parts or self.kind() in ("+", "minus"):
            sign = 1
            if self.kind() in ("+", "minus"):
                sign = -1 if self.kind() == "minus" else 1
                self._take()
            parts.append((sign, self._product(depth)))
        return lambda place: sum((sign * part(place) for sign, part in parts), 0j)

    def _product(self, depth: int) -> _Value:
        value = self._power(depth)
        while (kind := self.kind()) in ("times", "/") or kind in _BEGINS:
            if kind == "number":
                raise _NoFormula  # "x 2"
            if kind in ("times", "/"):
                self._take()
            value = _quotient(value, self._power(depth)) if kind == "/" else _times(value, self._power(depth))
        return value

    def _power(self, depth: int) -> _Value:
        if self.kind() == "minus":  # of an exponent, or behind a sign
            self._take()
            negated = self._power(depth + 1) if depth < _MAX_DEPTH else self.total(depth + 1)
            return lambda place: -negated(place)
        base = self._atom(depth)
        if self.kind() == "!":
            raise _NoFormula
        if self.kind() != "power":
            return base
        self._take()
        if depth > _MAX_DEPTH:
            raise _NoFormula
        exponent = self._power(depth + 1)
        return lambda place: base(place) ** exponent(place)

    def _group(self, depth: int) -> _Value:
        closer = _CLOSER.get(self.kind())
        if closer is None:
            raise _NoFormula
        bars = self._take() == "|"
        value = self.total(depth + 1)
        self._take(closer)
        self.bars = self.bars or bars
        return (lambda place: complex(abs(value(place)))) if bars else value

    def _atom(self, depth: int) -> _Value:
        kind = self.kind()
        if kind in _CLOSER:
            return self._group(depth)
        text = self._take()
        if kind == "number":
            self.rounded = self.rounded or "." in text
            number = float(text)
            return lambda place: complex(number)
        if kind == "frac":
            return _quotient(self._group(depth), self._group(depth))
        if kind == "root":
            if self.kind() == "[":
                raise _NoFormula
            under = self._group(depth) if self.kind() in _CLOSER else self._atom(depth)
            return lambda place: cmath.sqrt(under(place))
        if kind != "word":
            raise _NoFormula
        if text in _FUNCTIONS and text not in self._known:
            return self._call(text, depth)
        if text in _CONSTANTS and text not in self._known:
            constant = complex(_CONSTANTS[text])
            return lambda place: constant
        self.names.add(text)
        return lambda place: complex(place[text])

    def _call(self, name: str, depth: int) -> _Value:
        function, exponent = _FUNCTIONS[name], None
        if self.kind() == "power":  # sin^2 x
            self._take()
            exponent = self._atom(depth)
        if depth > _MAX_DEPTH:
            raise _NoFormula
        argument = self._group(depth) if self.kind() in _CLOSER else self._argument(depth + 1)
        if exponent is None:
            return lambda place: function(argument(place))
        return lambda place: function(argument(place)) ** exponent(place)

    def _argument(self, depth: int) -> _Value:
        """Return what a function without brackets is of: `2x` of `sin 2x`."""
        value = self._power(depth)
        while self.kind() == "word" and self._tokens[self._next][1] not in _FUNCTIONS:
            value = _times(value, self._power(depth))
        return value


def _times(one: _Value, other: _Value) -> _Value:
    return lambda place: one(place) * other(place)


def _quotient(one: _Value, other: _Value) -> _Value:
    return lambda place: one(place) / other(place)


# In the words of an answer

_PART = re.compile(
    r"(?P<stop>\n|[,;:](?=\s|$)|\.(?=\s|$)|=|≈|\b(?:is|are|equals|gives|as|to|and|or|so|of|for|by|the|where|with|at|in"
    r"|we|get|thus|hence|therefore|simplifies|becomes|answer|derivative|integral|function|result|that|then|it|this|if"
    r"|be|on|an?|has|have)\b|\\(?:approx|quad|qquad|text\{[^{}]*\})|[A-Za-zÀ-ÿ]{5,}(?![a-z({\[]))"
)
_CLAIMS = frozenset(("=", "≈", "\\approx", "is", "equals", "gives", "as", "to", "are", ":", "becomes", "get"))


def stated(text: str, names: frozenset[str]) -> list[ReadFormula]:
    """The formulas that `text` claims, in order: behind a sign of equality or a verb, or all of it."""
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
