"""The part of the line that a text or a computed set states: "-2 < x < 2", "x ∈ [0, 3)", `Interval.open(-2, 2)`.

Pure. What is no chain of an unknown and of numbers is passed over. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import inf, isfinite
from operator import ge, gt, le, lt, ne
from typing import Any, NamedTuple

from safeexec.agent import formulas

_MAX_TEXT = 2_000
_MOST = 12
_ROUNDED = 5e-3
_INFINITE = r"\+?\s?(?:∞|oo\b|\\infty\b|inf(?:inity)?\b)"
_ROOT = r"(?:\d{1,12}\s?\*?\s?)?(?:√\(?\d{1,9}\)?|sqrt\(\d{1,9}\)|\\sqrt\{\d{1,9}\})(?:/\d{1,9})?"
_PLAIN = r"\d{1,12}(?:\.\d{1,12})?(?:/\d{1,9})?|\\[dt]?frac\{\d{1,9}\}\{\d{1,9}\}"
_PI = r"(?:\d{1,9}\s?\*?\s?)?(?:π|\\pi\b|pi\b)(?:/\d{1,9})?"
_TERM = rf"(?:[-−]\s?)?(?:{_INFINITE}|{_ROOT}|{_PI}|{_PLAIN})"
_SIGN = "<=|>=|!=|[<>]"
_HOLDS: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "!=": ne}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_ARE = r"\b(?:is|are|must be|has to be)"
_BETWEEN = r"\b(?:is|are|lies) (?:strictly )?between (\S{1,20}) and ([^\s,.]{1,20}),? \(?"
_MORE, _LESS = "(?:strictly )?(?:greater|more|larger|bigger) than", "(?:strictly )?(?:less|smaller|lower) than"
_ALL = r"\b(?:all|any|every) real (?:numbers?|values?|[a-z]\b)(?: of)?(?: [a-z]\b)?|\bReals\b|ℝ|\\mathbb\{R\}"
_WRITTEN = {
    r"[≤⩽]|\\leq?(?![A-Za-z])": "<=",
    r"[≥⩾]|\\geq?(?![A-Za-z])": ">=",
    r"≠|\\neq?(?![A-Za-z])": "!=",
    r"\\lt(?![A-Za-z])": "<",
    r"\\gt(?![A-Za-z])": ">",
    rf"{_BETWEEN}(?:exclusive|not inclu\w+|exclu\w+)\)?": r"∈ (\1, \2)",
    r"\b(?:is|are|lies) strictly between (\S{1,20}) and ([^\s,.]{1,20})": r"∈ (\1, \2)",
    rf"{_BETWEEN}inclu\w+\)?": r"∈ [\1, \2]",
    rf"{_ARE} (?:at least|no(?:t)? less than|greater than or equal to|no smaller than)\b": ">=",
    rf"{_ARE} (?:at most|no(?:t)? more than|less than or equal to|no greater than)\b": "<=",
    rf"\b(or|and) (?:is )?{_MORE}\b": r"\1 x >",
    rf"\b(or|and) (?:is )?{_LESS}\b": r"\1 x <",
    r"\b(?:except|but|other than|apart from) (?:for )?(?:x = )?(?=[-−]?\d)": "and x != ",
    rf"{_ARE} positive\b": "> 0",
    rf"{_ARE} negative\b": "< 0",
    rf"(?:{_ARE}|(?<=\b[a-z])) {_MORE}\b": " >",
    rf"(?:{_ARE}|(?<=\b[a-z])) {_LESS}\b": " <",
    _ALL: "(-oo, oo)",
}
_CHAIN = (
    rf"(?:(?P<left>{_TERM})\s*(?P<first>{_SIGN})\s*)?(?<![A-Za-z\d\\])(?P<name>\|?[A-Za-z]\|?)(?![A-Za-z(])"
    rf"(?:\s*(?P<second>{_SIGN})\s*(?P<right>{_TERM})(?![\w.]*\w))?"
)
_INTERVAL = (
    rf"(?:Interval(?P<kind>\.[lL]?[rR]?open)?\(|(?P<opens>[\[(\]]))\s*(?P<low>{_TERM})\s*[,;]\s*(?P<high>{_TERM})"
    r"\s*(?P<closes>[\])\[])"
)
_PIECE = re.compile(f"{_INTERVAL}|{_CHAIN}")
_BOTH = re.compile(r"&|∧|\band\b|∩|\\(?:land|wedge|cap)\b", re.IGNORECASE)
_EITHER = re.compile(r"[|∪∨]|\bor\b|\\(?:lor|vee|cup)\b", re.IGNORECASE)


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
    text = re.sub(r"\\left|\\right|\*\*|[$`]", "", text)
    for words, sign in _WRITTEN.items():
        text = re.sub(words, sign, text, flags=re.IGNORECASE)
    parts: list[list[_Bound]] = []
    count, end, rounded = 0, 0, False
    for piece in _PIECE.finditer(text):
        if piece["name"] and not piece["first"] and not piece["second"]:
            continue
        bounds = _of_chain(piece) if piece["name"] else _of_interval(piece)
        count += 1
        if count > _MOST or not all(bound.number == bound.number for bound in bounds):
            return None
        between = text[end : piece.start()]
        together = Region([[*parts[-1], *bounds]] if parts else [], False)
        # Without a word between them two chains are one, where a number satisfies both.
        beside = piece["name"] and not _EITHER.search(between) and any(map(together.holds, _places(together.ends)))
        if parts and (_BOTH.search(between) or beside):
            parts[-1] += bounds
        else:
            parts.append(bounds)
        end, rounded = piece.end(), rounded or "." in piece.group().replace("Interval.", "")
    return Region(parts, rounded) if parts else None


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


def _of_chain(chain: re.Match[str]) -> list[_Bound]:
    """Return what a chain says of its unknown: of 0 < |x| < 2 two bounds of its size."""
    size = "|" in chain["name"]
    bounds = [_Bound(_TURNED[chain["first"]], _number(chain["left"]), size)] if chain["first"] else []
    return bounds + ([_Bound(chain["second"], _number(chain["right"]), size)] if chain["second"] else [])


def _of_interval(interval: re.Match[str]) -> list[_Bound]:
    kind = (interval["kind"] or "").lower()
    is_open = kind in (".open", ".lopen"), kind in (".open", ".ropen")
    if interval["opens"]:
        is_open = interval["opens"] != "[", interval["closes"] != "]"
    low = _Bound(">" if is_open[0] else ">=", _number(interval["low"]))
    return [low, _Bound("<" if is_open[1] else "<=", _number(interval["high"]))]


def _number(term: str) -> float:
    """Return a number, infinite perhaps; nan for what is none."""
    if re.search(_INFINITE, term):
        return -inf if term.strip()[0] in "-−" else inf
    read = formulas.read(term)
    return float("nan") if read is None else read.value({}).real
