r"""Formulas of one notation: closed forms (`\frac{-1 \pm \sqrt{5}}{2}`, `2**(1/3)`, `ln 2`, `1 ± 2i`) and what they are
worth; formulas of variables (`3x²`, `\frac{x^3}{3} + C`, `2*x*exp(-x)`) and whether two of them are the
same function.

Pure. Both are read within bounds, by one reader that evaluates the tokens as it reads them: a closed form once, as a
fraction, or where a root, a logarithm, π, e or i is in it as a float, to 15 digits; a formula at a few points. What
cannot be read for certain is neither.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, NamedTuple
from unicodedata import name as name_of

from safeexec.agent.tokens import SUPERSCRIPTS, WORDS, Token, tokens, written

_MAX_TOKENS = 150
_MAX_DEPTH = 12
_MAX_BITS = 8_000
_MAX_CANDIDATES = 60
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
_EXACT = frozenset(("ln", "log", "exp", "sqrt"))
"""Functions of a closed form."""
_CONSTANTS = {"pi": math.pi, "π": math.pi, "e": math.e, "E": math.e, "I": 1j, "i": 1j, "j": 1j}
_NAMED_CONSTANTS = frozenset(("pi", "π", "e", "E", "I"))
_I = frozenset("iIj")
TAKEN = frozenset(("pi", "E", "I", *_FUNCTIONS))
"""Names that stand for no variable in a formula that code wrote."""
_CLOSER = {"(": ")", "{": "}", "[": "]", "|": "|"}
_FACTORS = frozenset({"FRAC", "√", "function", "constant", "name", "(", "{"})
"""Kinds of tokens that may follow a factor without a sign between them."""
_OPERANDS = _FACTORS | {"NUMBER", "-", "|"}
SIGNS = frozenset("+-±*/^√()[]{}|") | {"NUMBER", "RAISED", "FRAC"}


class _NoFormula(Exception):
    """The text is no formula that can be read for certain."""


Number = Fraction | complex
"""A rational number, or one with a root, a logarithm, π, e or i in it."""


def parts(value: Number) -> tuple[Fraction, Fraction]:
    """Return the real and the imaginary part of a number."""
    if isinstance(value, Fraction):
        return value, Fraction(0)
    return Fraction(value.real), Fraction(value.imag)


class ClosedForm(NamedTuple):
    """`values`: one, two where there is a ±, none where nothing is read for certain. The tokens go on at `end`."""

    values: tuple[Number, ...]
    terms: list[Token]
    end: int

    @property
    def is_rooted(self) -> bool:
        """Return True where its value is no rational number, apart from i."""
        return any(
            term.kind in ("√", "function") or (term.kind == "constant" and term.text not in _I) for term in self.terms
        )

    def has(self, *kinds: str) -> bool:
        """Return True if one of these kinds of tokens is in it."""
        return any(term.kind in kinds for term in self.terms)


class ReadFormula(NamedTuple):
    """A formula that was read: its tokens, and the names in it."""

    terms: list[Token]
    names: frozenset[str]

    def value(self, place: Mapping[str, float]) -> complex:
        """Return the value where its names have these values; nan where it has none."""
        try:
            return complex(_Reader(self.terms, place).total())
        except OverflowError:
            return complex(math.nan)


def closed(found: Sequence[Token], at: int) -> ClosedForm:
    """Return the closed form that begins here: numbers, signs, roots, π, e, logarithms and `i`. `log` is natural."""
    reader = _Reader(_exact_terms(found, at), {"±": 1})
    values: list[Number] = []
    try:
        values.append(reader.total())
        if any(term.kind == "±" for term in reader.taken):
            values.append(_Reader(reader.taken, {"±": -1}).total())
    except _NoFormula:
        values = []
    is_read = all(isinstance(value, Fraction) or cmath.isfinite(value) for value in values)
    return ClosedForm(tuple(values) if is_read else (), reader.taken, at + len(reader.taken))


def read(text: str, names: frozenset[str] = frozenset()) -> ReadFormula | None:
    """Return the formula that all of `text` is; None where it is none. `names`: those that are no product."""
    return _read(tokens(text), names)


def _read(found: Sequence[Token], names: frozenset[str]) -> ReadFormula | None:
    try:
        terms = [*_named_terms(found[:_MAX_TOKENS], names)]
        variables = frozenset(term.text for term in terms if term.kind == "name")
        reader = _Reader(terms, dict.fromkeys(variables, 1.0))
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
    has_bars = any(term.kind == "|" for term in said.terms)
    for first in range(len(_POINTS)):
        place = {name: _POINTS[(first + 2 * position) % len(_POINTS)] for position, name in enumerate(names)}
        one, other = said.value(place | dict.fromkeys(said.names - place.keys(), 0.0)), computed.value(place)
        if has_bars and other.imag:  # ln|x| is the integral that others write as log(x), where that is real
            continue
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
        elif name in _EXACT and is_called:
            yield token._replace(kind="function", text=name)
        elif name in _CONSTANTS and (name not in "eE" or token.gap or after == "^" or before != "NUMBER"):
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
        is_whole = name in names or name in _FUNCTIONS or name in _NAMED_CONSTANTS
        if token.kind in SIGNS:
            yield token
        elif is_whole or (token.kind == "WORD" and len(name) <= 4 and name.isalpha()):
            for one in [name] if is_whole else name:
                is_known = one not in names and (one in _FUNCTIONS or one in _NAMED_CONSTANTS)
                kind = "name" if not is_known else "function" if one in _FUNCTIONS else "constant"
                yield token._replace(kind=kind, text=one)
        else:
            raise _NoFormula


class _Reader:
    """Evaluates tokens by their grammar, looking two ahead. `taken` are those that it has read."""

    def __init__(self, terms: Iterable[Token], place: Mapping[str, Any]) -> None:
        self.taken: list[Token] = []
        self._terms = iter(terms)
        self._ahead = [*islice(self._terms, 2)]
        self._place = place

    @property
    def kind(self) -> str:
        """The kind of the next token; empty at the end, and before a bracket that is apart from a number."""
        if not self._ahead:
            return ""
        kind = self._ahead[0].kind
        is_apart = "±" in self._place and kind == "(" and self._ahead[0].gap and bool(self.taken)
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
                term = _apply(operator.mul, self._place[sign], term)
            total = term if total is None else _apply(operator.add, total, term)
        return total

    def _product(self, depth: int) -> Any:
        value = self._power(depth)
        while self._is_operator("*", "/") or self.kind in _FACTORS:
            operation = operator.truediv if self.kind == "/" else operator.mul
            if self.kind not in _FACTORS:
                self._take()
            value = _apply(operation, value, self._power(depth))
        return value

    def _power(self, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise _NoFormula
        if self.kind == "-":  # of an exponent, or behind a sign
            self._take()
            return -self._power(depth + 1)
        return self._raised(self._atom(depth), self._exponent(depth))

    def _raised(self, value: Any, exponent: Any) -> Any:
        return value if exponent is None else _apply(operator.pow, value, exponent)

    def _exponent(self, depth: int) -> Any:
        """Return the exponent that comes next; None where there is none."""
        if self.kind == "RAISED":
            return Fraction(self._take().translate(SUPERSCRIPTS))
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
        return _apply(abs, value) if closer == "|" else value

    def _atom(self, depth: int) -> Any:
        kind = self.kind
        if kind in _CLOSER:
            return self._group(depth)
        text = self._take()
        if kind == "NUMBER" and (value := written(text).value) is not None:
            return value
        if kind == "constant":
            return _CONSTANTS[text]
        if kind == "name":
            return complex(self._place[text])
        if kind == "FRAC":
            return _apply(operator.truediv, self._group(depth), self._group(depth))
        if kind == "√":
            degree = self._group(depth) if self.kind == "[" else None
            radicand = self._power(depth + 1) if self.kind in ("√", "-") else self._atom(depth)
            if degree is None:
                return _apply(cmath.sqrt, radicand)
            return _apply(operator.pow, radicand, _apply(operator.truediv, Fraction(1), degree))
        if kind != "function":
            raise _NoFormula
        exponent = self._exponent(depth)  # sin^2 x
        return self._raised(_apply(_FUNCTIONS[text], self._argument(depth)), exponent)

    def _argument(self, depth: int) -> Any:
        """Return the argument of a function, which may have no brackets: `2x` of `sin 2x`."""
        if self.kind in _CLOSER:
            return self._group(depth)
        value = self._power(depth + 1)
        while self.kind in ("name", "constant"):
            value = _apply(operator.mul, value, self._power(depth + 1))
        return value


def _apply(operation: Callable[..., Any], *operands: Any) -> Any:
    """Return what an operation or a function gives; nan where that is no number, or one that is too long."""
    if operation is operator.pow and type(operands[0]) is type(operands[1]) is Fraction:
        number, exponent = operands
        size = max(number.numerator.bit_length(), number.denominator.bit_length())
        if size * abs(exponent) > _MAX_BITS:
            return math.nan
    try:
        return operation(*operands)
    except (ArithmeticError, ValueError):
        return math.nan


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
