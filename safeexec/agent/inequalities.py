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
from safeexec.agent.tokens import WORDS, tokens

_MAX_TEXT = 2_000
_MOST = 12
_LARGEST = 1e300
_ROUNDED = 5e-3
_HOLDS: dict[str, Callable[[float, float], bool]] = {"<": lt, "≤": le, ">": gt, "≥": ge, "≠": ne}
_TURNED = str.maketrans("<>≤≥", "><≥≤")
_LETTERS = {
    "<=": "≤", ">=": "≥", "and": "&", "∧": "&", "∩": "&", r"\land": "&", r"\wedge": "&", r"\cap": "&", "or": "o",
    "∪": "o", "∨": "o", r"\lor": "o", r"\vee": "o", r"\cup": "o", "interval": "I", "open": "O", "lopen": "L",
    "ropen": "R", "between": "b", "strictly": "s", "not": "n", "inclusive": "i", "included": "i", "exclusive": "e",
    "excluded": "e", "positive": "p", "negative": "m", "$": "", "BOLD": "", "`": "",
    **dict.fromkeys(WORDS["real"], "r"), **dict.fromkeys(WORDS["exception"], "E"), **dict.fromkeys(WORDS["being"], ""),
}  # fmt: skip
"""Word or sign → the letter that stands for it where chains and intervals are looked for. For a number that is 1, for a
name x, for anything else that is longer than a letter "?".
"""
_PIECE = re.compile(
    r"(?P<real>r)|E[f?]?(?:x=)?(?P<except>1)|(?:I(?:\.(?P<kind>[OLR]))?\(|(?P<opens>[(\[\]]))1[,;]1(?P<closes>[)\]\[])"
    r"|(?:s(?P<strictly>b)|b)1&1,?\(?(?P<how>n?[ie])?"
    r"|(?:1(?P<first>[<>≤≥≠]))?(?P<name>\|x\||x)(?:(?P<second>[<>≤≥≠])1(?!x)|(?P<sign>[pm]))?"
    r"|(?<=[o&])(?P<implied>[<>≤≥])1"
)


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
    letters, numbers, is_rounded = _letters(text)
    parts: list[list[_Bound]] = []
    end = 0
    for piece in _PIECE.finditer(letters):
        bounds = _bounds(piece, [numbers[at] for at in range(*piece.span()) if at in numbers])
        if not bounds:
            continue
        between = letters[end : piece.start()]
        together = Region([[*parts[-1], *bounds]] if parts else [], False)
        # Without a word between them two chains are one, where a number satisfies both.
        is_beside = piece["name"] and "o" not in between and any(map(together.holds, _places(together.ends)))
        if parts and ("&" in between or is_beside or piece["except"]):
            parts[-1] += bounds
        else:
            parts.append(bounds)
        end = piece.end()
    return Region(parts, is_rounded) if 0 < len(parts) <= _MOST else None


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


def _letters(text: str) -> tuple[str, dict[int, float], bool]:
    """Return a letter for each number, sign and word of a text; place → number; and whether one is a decimal."""
    found, at = tokens(text), 0
    letters: list[str] = []
    numbers: dict[int, float] = {}
    while at < len(found):
        is_negative = found[at].kind == "-" and at + 1 < len(found) and found[at + 1].word in WORDS["infinite"]
        form = formulas.closed(found, at)
        if is_negative or found[at].word in WORDS["infinite"]:
            numbers[len(letters)], at = -inf if is_negative else inf, at + 1 + is_negative
        elif form.values and not form.values[0].imag and abs(formulas.parts(form.values[0])[0]) < _LARGEST:
            numbers[len(letters)], at = float(form.values[0].real), form.end
        else:
            token = found[at]
            kind = token.word if token.kind in ("WORD", "COMMAND") or token.text.isalpha() else token.kind
            letter = "x" if len(kind) == 1 and kind.isalpha() else kind if len(kind) == 1 else "?"
            letters += _LETTERS.get(kind, letter)
            at += 1
            continue
        letters.append("1")
    return "".join(letters), numbers, any(one.kind == "NUMBER" and "." in one.text for one in found)


def _bounds(piece: re.Match[str], numbers: list[float]) -> list[_Bound]:
    """Return what a piece says of its unknown: of 0 < |x| < 2 two bounds of its size."""
    if piece["real"]:
        return [_Bound(">", -inf)]
    if piece["except"]:
        return [_Bound("≠", numbers[0])]
    if piece["implied"]:
        return [_Bound(piece["implied"], numbers[0])]
    if piece["sign"]:
        return [_Bound(">" if piece["sign"] == "p" else "<", 0)]
    if piece["name"]:
        signs = (piece["first"] or "").translate(_TURNED), piece["second"] or ""
        return [_Bound(sign, one, piece["name"] != "x") for sign, one in zip(filter(None, signs), numbers, strict=True)]
    if piece["closes"]:
        is_open = piece["kind"] in ("O", "L"), piece["kind"] in ("O", "R")
        if piece["opens"]:
            is_open = piece["opens"] != "[", piece["closes"] != "]"
    elif piece["strictly"] or piece["how"]:
        is_open = (piece["how"] != "i",) * 2
    else:
        return []  # between two numbers, with them or without
    return [_Bound(">" if is_open[0] else "≥", numbers[0]), _Bound("<" if is_open[1] else "≤", numbers[1])]
