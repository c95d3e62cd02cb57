r"""What a closed form is worth: `\frac{-1 \pm \sqrt{5}}{2}`, `-1/2 + sqrt(3)*I/2`, `2**(1/3)`, `1 ± 2i`, `ln 2`, `e^2`.

Pure, to 50 digits. Time is bounded: a form has at most so many characters, tokens and digits, and so deep a nesting.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import NamedTuple

_PI = Fraction("3.14159265358979323846264338327950288419716939937510")
_DIGITS = Context(prec=50)
_E = Fraction(_DIGITS.exp(1))
_MAX_CHARACTERS = 300
_MAX_DEPTH = 12
_MAX_BITS = 4_000
_MAX_POWER = 20
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d{1,30}+(?>(?:\.\d{1,30}+)?))|(?P<frac>\\[dt]?frac)|(?P<root>√|\\sqrt|sqrt(?=\s?\())"
    r"|(?P<log>\\?ln(?![A-Za-z])|log(?=\()|\\log(?![A-Za-z_]))|(?P<exp>exp(?=\())|(?P<e>(?:(?<!\d)[eE]|e(?=\^|\*\*))(?![A-Za-z]))"
    r"|(?P<pi>π|\\pi(?![A-Za-z])|pi\b)|(?P<imaginary>[iIj](?![A-Za-z]))|(?P<both>±|\\pm(?![A-Za-z]))|(?P<power>\*\*|\^)|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})"
    r"|(?P<times>[*·×]|\\cdot|\\times)|(?P<minus>[-−])|(?P<sign>[+/(){}\[\]]))"
)
_PLAIN_DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_CLOSER = {"(": ")", "{": "}", "[": "]"}
_BEGINS = frozenset({"number", "frac", "root", "log", "exp", "e", "pi", "imaginary", "(", "{"})


class ClosedForm(NamedTuple):
    """`values` are pairs of real and imaginary part: one, two where there is a ±, none where nothing could be read for
    certain. The text goes on at `end`.
    """

    values: tuple[tuple[Fraction, Fraction], ...]
    end: int


class _NoForm(Exception):
    """The text is no closed form that can be read for certain."""


def read(text: str, begin: int) -> ClosedForm:
    """The closed form that begins here: with a root, π, e, a logarithm or `i` in it, or with a ±. `log` is natural.
    One with decimals is a rounded number wherever no root makes it exact: it is none.
    """
    first = _Reader(text, begin, -1)
    try:
        values = [first.total(0)]
        goes_on = first.kind() in ("times", "power", "raised", "minus", "both", "+", "/", *_BEGINS)
        if goes_on or not (first.rooted or (first.whole and (first.both or first.unreal))):
            values = []
        elif first.both:
            values.append(_Reader(text, begin, 1).total(0))
    except (_NoForm, ArithmeticError):
        values = []
    return ClosedForm(tuple(values), first.last)


class _Reader:
    """Reads from a place on, one token ahead. `sign` is what ± stands for."""

    def __init__(self, text: str, begin: int, sign: int) -> None:
        self._text = text
        self._stop = begin + _MAX_CHARACTERS
        self._sign = sign
        self._next = begin
        self.last = begin
        """Where the last token ended."""
        self.rooted = self.both = self.unreal = False
        self.whole = True
        """Whether no number in it is a decimal."""
        self._token = self._scan()

    def _scan(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self._next, self._stop)

    def kind(self) -> str:
        """Of the next token: its group, or the sign itself; empty at the end."""
        if self._token is None:
            return ""
        return self._token["sign"] or str(self._token.lastgroup)

    def _take(self, wanted: str = "") -> str:
        token = self._token
        if token is None or (wanted and self.kind() != wanted):
            raise _NoForm
        self.last = self._next = token.end()
        self._token = self._scan()
        return token.group().strip()

    def total(self, depth: int) -> tuple[Fraction, Fraction]:
        """A sum."""
        if depth > _MAX_DEPTH:
            raise _NoForm
        real = imaginary = Fraction(0)
        first = True
        while first or self.kind() in ("+", "minus", "both"):
            sign = 1
            if (kind := self.kind()) in ("+", "minus", "both"):
                self._take()
                self.both = self.both or kind == "both"
                sign = {"+": 1, "minus": -1, "both": self._sign}[kind]
            part = self._product(depth)
            real, imaginary = _bounded((real + sign * part[0], imaginary + sign * part[1]))
            first = False
        return real, imaginary

    def _product(self, depth: int) -> tuple[Fraction, Fraction]:
        value = self._power(depth)
        while (kind := self.kind()) in ("times", "/") or (kind in _BEGINS and kind != "number"):
            if kind in ("times", "/"):
                self._take()
            other = self._power(depth)
            if kind == "/":
                size = other[0] ** 2 + other[1] ** 2
                if not size:
                    raise _NoForm
                other = other[0] / size, -other[1] / size
            value = _times(value, other)
        return value

    def _power(self, depth: int) -> tuple[Fraction, Fraction]:
        value = self._atom(depth)
        if self.kind() == "raised":
            return self._to_the(value, Fraction(self._take().translate(_PLAIN_DIGITS)))
        if self.kind() != "power":
            return value
        self._take()
        negative = self.kind() == "minus" and bool(self._take())
        exponent, imaginary = self._atom(depth)
        if imaginary:
            raise _NoForm
        return self._to_the(value, -exponent if negative else exponent)

    def _to_the(self, value: tuple[Fraction, Fraction], exponent: Fraction) -> tuple[Fraction, Fraction]:
        if abs(exponent) > _MAX_POWER:
            raise _NoForm
        if exponent.denominator > 1:
            return self._root(value, exponent)
        made = Fraction(1), Fraction(0)
        for _ in range(abs(exponent.numerator)):
            made = _times(made, value)
        if exponent < 0:
            size = made[0] ** 2 + made[1] ** 2
            if not size:
                raise _NoForm
            made = made[0] / size, -made[1] / size
        return made

    def _atom(self, depth: int) -> tuple[Fraction, Fraction]:
        kind = self.kind()
        if kind in _CLOSER:
            self._take()
            value = self.total(depth + 1)
            self._take(_CLOSER[kind])
            return value
        self._take() if kind in ("frac", "root") else None
        if kind == "frac":
            over, under = self._group(depth), self._group(depth)
            size = under[0] ** 2 + under[1] ** 2
            if not size:
                raise _NoForm
            return _times(over, (under[0] / size, -under[1] / size))
        if kind == "root":
            degree = Fraction(2)
            if self.kind() == "[":
                degree = self._atom(depth)[0]
            if not degree:
                raise _NoForm
            return self._root(self._atom(depth), 1 / degree)
        if kind == "number":
            text = self._take()
            self.whole = self.whole and "." not in text
            return Fraction(text), Fraction(0)
        if kind in ("log", "exp"):
            self._take()
            return self._function(kind, self._power(depth + 1))
        if kind in ("pi", "e"):
            self._take()
            self.rooted = True
            return (_PI if kind == "pi" else _E), Fraction(0)
        self._take("imaginary")
        self.unreal = True
        return Fraction(0), Fraction(1)

    def _function(self, kind: str, value: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        """The logarithm or the exponential of a real number."""
        self.rooted = True
        if value[1] or abs(value[0]) > _MAX_POWER**4 or (kind == "log" and value[0] <= 0):
            raise _NoForm
        number = _DIGITS.divide(Decimal(value[0].numerator), Decimal(value[0].denominator))
        if kind == "exp" and abs(number) > 10 * _MAX_POWER:
            raise _NoForm
        return _bounded((Fraction(_DIGITS.ln(number) if kind == "log" else _DIGITS.exp(number)), Fraction(0)))

    def _group(self, depth: int) -> tuple[Fraction, Fraction]:
        if self.kind() != "{":
            raise _NoForm
        return self._atom(depth)

    def _root(self, value: tuple[Fraction, Fraction], exponent: Fraction) -> tuple[Fraction, Fraction]:
        """Of a real number; the square root of a negative one is imaginary."""
        self.rooted = True
        if value[1] or (value[0] < 0 and exponent != Fraction(1, 2)) or abs(exponent) > _MAX_POWER:
            raise _NoForm
        number = _DIGITS.divide(Decimal(abs(value[0].numerator)), Decimal(value[0].denominator))
        if exponent == Fraction(1, 2):
            root = Fraction(number.sqrt(_DIGITS))
            return (root, Fraction(0)) if value[0] >= 0 else (Fraction(0), root)
        power = _DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        return _bounded((Fraction(_DIGITS.power(number, power)), Fraction(0)))


def _times(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return _bounded((a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]))


def _bounded(value: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    if any(max(part.numerator.bit_length(), part.denominator.bit_length()) > _MAX_BITS for part in value):
        raise _NoForm
    return value
