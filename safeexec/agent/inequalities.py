"""The part of the line that a text or a computed set states: "-2 < x < 2", "x ∈ [0, 3)", `Interval.open(-2, 2)`.

Pure. What is no chain of an unknown and of numbers is passed over. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import inf, isfinite
from operator import ge, gt, le, lt, ne
from typing import Any, NamedTuple

from safeexec.agent import formulas
from safeexec.agent.tokens import WORDS, Token, tokens

_MAX_TEXT = 2_000
_MOST = 12
_ROUNDED = 5e-3
_HOLDS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "≠": ne}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "≠": "≠"}
_BOTH = frozenset(("&", "∧", "and", "∩", r"\land", r"\wedge", r"\cap"))
_EITHER = frozenset(("|", "∪", "∨", "or", r"\lor", r"\vee", r"\cup"))
_INFINITE = frozenset(("∞", "oo", r"\infty", "inf", "infinity"))


class _Bound(NamedTuple):
    """One comparison of the unknown with a number, or of its size."""

    sign: str
    number: float
    size: bool = False

    def holds(self, x: float) -> bool:
        return _HOLDS[self.sign](abs(x) if self.size else x, self.number)


class Region(NamedTuple):
    """The numbers for which all bounds of one part hold. `rounded`: one of them was written as a decimal."""

    parts: list[list[_Bound]]
    rounded: bool

    def holds(self, x: float) -> bool:
        """Return True for a number of the region."""
        return any(all(bound.holds(x) for bound in part) for part in self.parts)

    @property
    def ends(self) -> set[float]:
        """The numbers at which it can begin or end."""
        bounds = [bound for part in self.parts for bound in part if isfinite(bound.number)]
        return {end for bound in bounds for end in (bound.number, -bound.number if bound.size else bound.number)}


def region(text: str) -> Region | None:
    """Return the region that a text states; None where it states none, or one that cannot be read."""
    if len(text) > _MAX_TEXT:
        return None
    found = [one for one in tokens(text) if one.kind not in ("$", "BOLD", "`") and one.word not in WORDS["being"]]
    parts: list[list[_Bound]] = []
    at, between, rounded = 0, set[str](), False
    while at < len(found):
        piece = _Piece(found, at)
        bounds = piece.bounds()
        if not bounds:
            between.add(_kind(found, at))
            at += 1
            continue
        together = Region([[*parts[-1], *bounds]] if parts else [], False)
        # Without a word between them two chains are one, where a number satisfies both.
        is_beside = piece.is_chain and not between & _EITHER and any(map(together.holds, _places(together.ends)))
        if parts and (between & _BOTH or is_beside or piece.is_exception):
            parts[-1] += bounds
        else:
            parts.append(bounds)
        rounded = rounded or any(one.kind == "NUMBER" and "." in one.text for one in found[at : piece.at])
        at, between = piece.at, set()
    return Region(parts, rounded) if 0 < len(parts) <= _MOST else None


def computed(value: Any) -> Region | None:
    """Return the region that a computed set or relation is; None for any other value."""
    text = getattr(value, "repr", value)
    return region(text) if type(text) is str and re.search(r"[<>≤≥]|Interval|^Reals$", text) else None


def same(said: Region, wanted: Region) -> bool:
    """Return True if two regions are one, where the numbers are rounded perhaps."""
    near = _ROUNDED if said.rounded or wanted.rounded else 1e-9

    def moved(number: float) -> float:
        close = [end for end in wanted.ends if abs(number - end) <= near * max(1.0, min(abs(number), abs(end)))]
        return close[0] if close else number

    said = Region([[bound._replace(number=moved(bound.number)) for bound in part] for part in said.parts], said.rounded)
    return all(said.holds(x) == wanted.holds(x) for x in _places(said.ends | wanted.ends))


def _places(ends: set[float]) -> Iterator[float]:
    """Yield the ends, and a number before, between and behind them."""
    ordered = sorted(ends) or [0.0]
    yield from ordered
    yield from ((low + high) / 2 for low, high in pairwise(ordered))
    yield from (ordered[0] - 1, ordered[-1] + 1)


def _kind(found: Sequence[Token], at: int) -> str:
    token = found[at] if 0 <= at < len(found) else None
    return "" if token is None else token.word if token.kind in ("WORD", "COMMAND") else token.kind


class _Piece:
    """A chain or an interval that begins at a token; `at` is where the reader is."""

    def __init__(self, found: Sequence[Token], at: int) -> None:
        self._found = found
        self.at = at
        self.is_chain = self.is_exception = False

    def bounds(self) -> list[_Bound]:
        """Return the bounds of what is read here; none where nothing is."""
        if self._skip(*WORDS["real"]):
            return [_Bound(">", -inf)]
        if self._skip(*WORDS["exception"]):
            self.is_exception = True
            while self._skip("for", "x", "="):
                pass
            number = self._number()
            return [] if number is None else [_Bound("≠", number)]
        return self._between() or self._interval() or self._chain()

    def _next(self) -> str:
        return _kind(self._found, self.at)

    def _skip(self, *kinds: str) -> str:
        """Return the kind of the next token, and go on behind it, if it is one of these; else empty."""
        kind = self._next()
        if not kind or kind not in kinds:
            return ""
        self.at += 1
        return kind

    def _between(self) -> list[_Bound]:
        """Return the bounds of "between 2 and 3, inclusive"; strictly between them, too."""
        begin = self.at
        is_strict = bool(self._skip("strictly"))
        if self._skip("between"):
            low, _, high = self._number(), self._skip("and"), self._number()
            while self._skip(",", "(", "not"):
                is_strict = is_strict or _kind(self._found, self.at - 1) == "not"
            word = self._next()
            if low is not None and high is not None and (is_strict or word.startswith(("inclu", "exclu"))):
                is_open = is_strict or word.startswith("exclu")
                return [_Bound(">" if is_open else ">=", low), _Bound("<" if is_open else "<=", high)]
        self.at = begin
        return []

    def _interval(self) -> list[_Bound]:
        begin = self.at
        kind = ""
        if self._skip("interval") and self._skip("."):
            kind = self._next()
            self.at += 1
        opens = self._skip("(", "[", "]")
        low, separator = self._number() if opens else None, self._skip(",", ";")
        high, closes = self._number() if separator else None, self._skip(")", "]", "[")
        if low is None or high is None or not closes:
            self.at = begin
            return []
        is_named = _kind(self._found, begin) == "interval"
        is_open = kind in ("open", "lopen") if is_named else opens != "["
        ends_open = kind in ("open", "ropen") if is_named else closes != "]"
        return [_Bound(">" if is_open else ">=", low), _Bound("<" if ends_open else "<=", high)]

    def _chain(self) -> list[_Bound]:
        """Return what a chain says of its unknown: of 0 < |x| < 2 two bounds of its size."""
        begin, found = self.at, list[_Bound]()
        left, first = self._number(), self._skip(*_HOLDS)
        if left is None or not first:
            self.at, first = begin, ""
        is_size = bool(self._skip("|"))
        name = self._next()
        is_name = len(name) == 1 and name.isalpha()
        self.at += is_name
        is_size = is_size and is_name and bool(self._skip("|"))
        if first and is_name and left is not None:
            found.append(_Bound(_TURNED[first], left, is_size))
        if is_name and self._skip("positive"):
            return [_Bound(">", 0)]
        if is_name and self._found[self.at : self.at + 1] and self._found[self.at].word == "negative":
            self.at += 1
            return [_Bound("<", 0)]
        is_implied = not is_name and not first and _kind(self._found, begin - 1) in ("or", "and")
        at = self.at
        second = self._skip(*_HOLDS) if is_name or is_implied else ""
        right = self._number() if second else None
        if right is not None and not (self.at < len(self._found) and self._is_joined()):
            found.append(_Bound(second, right, is_size))
            at = self.at
        self.at = at if found else begin
        self.is_chain = True
        return found

    def _is_joined(self) -> bool:
        return self._found[self.at].kind == "WORD" and not self._found[self.at].gap

    def _number(self) -> float | None:
        """Return the number that is next, infinite perhaps, and go on behind it; None where there is none."""
        sign = self.at + (self._next() in ("-", "+"))
        if _kind(self._found, sign) in _INFINITE:
            number = -inf if self._next() == "-" else inf
            self.at = sign + 1
            return number
        form = formulas.closed(self._found, self.at)
        if not form.values or form.values[0].imaginary:
            return None
        self.at = form.end
        return float(form.values[0].real)
