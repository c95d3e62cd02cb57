"""The part of the line that a text or a computed set states: "-2 < x < 2", "x ∈ [0, 3)", `Interval.open(-2, 2)`.

Pure. What is no chain of an unknown and of numbers is passed over. Time is linear in the text.
"""

from __future__ import annotations

import re
from math import inf, isfinite
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
_SIGNS = {"<=": "<=", "≤": "<=", "⩽": "<=", "\\le": "<=", "\\leq": "<=", ">=": ">=", "≥": ">=", "⩾": ">=", "\\ge": ">=",
          "\\geq": ">=", "<": "<", "\\lt": "<", ">": ">", "\\gt": ">", "≠": "!=", "!=": "!=", "\\ne": "!=",
          "\\neq": "!="}  # fmt: skip
_SIGN = r"(?:<=|>=|!=|[<>≤≥⩽⩾≠]|\\(?:leq?|geq?|neq?|[lg]t)(?![A-Za-z]))"
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_IS = r"\b(?:is|are|must be|has to be)"
_IN_WORDS = [
    (
        re.compile(
            r"\b(?:is|are|lies) (?:strictly )?between (\S{1,20}) and ([^\s,.]{1,20}),? \(?"
            r"(?:exclusive|not inclu\w+|exclu\w+)\)?",
            re.I,
        ),
        r"∈ (\1, \2)",
    ),
    (re.compile(r"\b(?:is|are|lies) strictly between (\S{1,20}) and ([^\s,.]{1,20})", re.I), r"∈ (\1, \2)"),
    (re.compile(r"\b(?:is|are|lies) between (\S{1,20}) and ([^\s,.]{1,20}),? \(?inclu\w+\)?", re.I), r"∈ [\1, \2]"),
    (re.compile(rf"{_IS} (?:at least|no(?:t)? less than|greater than or equal to|no smaller than)\b", re.I), ">="),
    (re.compile(rf"{_IS} (?:at most|no(?:t)? more than|less than or equal to|no greater than)\b", re.I), "<="),
    (re.compile(rf"{_IS} (?:strictly )?(?:greater|more|larger|bigger) than\b", re.I), ">"),
    (re.compile(rf"{_IS} (?:strictly )?(?:less|smaller|lower) than\b", re.I), "<"),
    (re.compile(r"\b(or|and) (?:is )?(?:strictly )?(?:greater|more|larger|bigger) than\b", re.I), r"\1 x >"),
    (re.compile(r"\b(or|and) (?:is )?(?:strictly )?(?:less|smaller|lower) than\b", re.I), r"\1 x <"),
    (re.compile(r"\b(?:except|but|other than|apart from) (?:for )?(?:x = )?(?=[-−]?\d)", re.I), "and x ≠ "),
    (re.compile(rf"{_IS} positive\b", re.I), "> 0"),
    (re.compile(rf"{_IS} negative\b", re.I), "< 0"),
    (
        re.compile(
            r"\b(?:all|any|every) real (?:numbers?|values?|[a-z]\b)(?: of)?(?: [a-z]\b)?|\bReals\b|ℝ|\\mathbb\{R\}",
            re.I,
        ),
        "(-oo, oo)",
    ),
]  # fmt: skip
_CHAIN = (
    rf"(?:(?P<left>{_TERM})\s*(?P<first>{_SIGN})\s*)?(?<![A-Za-z\d\\])(?P<name>\|?[A-Za-z]\|?)(?![A-Za-z(])"
    rf"(?:\s*(?P<second>{_SIGN})\s*(?P<right>{_TERM})(?![\w.]*\w))?"
)
_INTERVAL = (
    rf"(?:Interval(?P<kind>\.[lL]?[rR]?open)?\(|(?P<opens>[\[(\]]))\s*(?P<low>{_TERM})\s*[,;]\s*(?P<high>{_TERM})"
    r"(?P<ends>(?:,\s*(?:True|False)){0,2})\s*(?P<closes>[\])\[])"
)
_PIECE = re.compile(f"{_INTERVAL}|{_CHAIN}")
_BOTH = re.compile(r"&|∧|\band\b|∩|\\(?:land|wedge|cap)\b", re.IGNORECASE)
_EITHER = re.compile(r"[|∪∨]|\bor\b|\\(?:lor|vee|cup)\b", re.IGNORECASE)


class _End(NamedTuple):
    """The begin or the end of a part of the line. `after`: the number itself lies to the left of it."""

    number: float
    after: bool


_Part = tuple[_End, _End]
_LINE: _Part = (_End(-inf, False), _End(inf, True))


class Region(NamedTuple):
    """The parts of the line that are stated, in order; `rounded`: one of the numbers was written as a decimal."""

    parts: tuple[_Part, ...]
    rounded: bool


def region(text: str) -> Region | None:
    """Return the region that a text states; None where it states none, or one that cannot be read."""
    if len(text) > _MAX_TEXT:
        return None
    text = re.sub(r"\\left|\\right|\*\*|[$`]", "", text)
    for words, sign in _IN_WORDS:
        text = words.sub(sign, text)
    either: list[list[_Part]] = []
    count, end, rounded = 0, 0, False
    for piece in _PIECE.finditer(text):
        if piece["name"] and not piece["first"] and not piece["second"]:
            continue
        parts = _of_chain(piece) if piece["name"] else _of_interval(piece)
        count += 1
        if parts is None or count > _MOST:
            return None
        between = text[end : piece.start()]
        joined = _BOTH.search(between) or (not _EITHER.search(between) and piece["name"] and either)
        met = [_met(one, other) for one in either[-1] for other in parts] if joined and either else []
        kept = [part for part in met if part[0] < part[1]]
        if joined and either and (kept or _BOTH.search(between)):
            either[-1] = kept
        else:
            either.append(parts)
        end, rounded = piece.end(), rounded or "." in piece.group().replace("Interval.", "")
    return Region(_united([part for parts in either for part in parts]), rounded) if count else None


def computed(value: Any) -> Region | None:
    """Return the region that a computed set or relation is; None for any other value."""
    text = getattr(value, "repr", value)
    return region(text) if type(text) is str and re.search(r"[<>≤≥]|Interval|^Reals$", text) else None


def same(said: Region, wanted: Region) -> bool:
    """Return True if two regions are one, where the numbers are rounded perhaps."""
    near = _ROUNDED if said.rounded or wanted.rounded else 1e-9
    ends = [
        (a, b) for one, other in zip(said.parts, wanted.parts, strict=False) for a, b in zip(one, other, strict=True)
    ]
    return len(said.parts) == len(wanted.parts) and all(
        a.after == b.after
        and (a.number == b.number or abs(a.number - b.number) <= near * max(1.0, min(abs(a.number), abs(b.number))))
        for a, b in ends
    )


def _met(one: _Part, other: _Part) -> _Part:
    return max(one[0], other[0]), min(one[1], other[1])


def _united(parts: list[_Part]) -> tuple[_Part, ...]:
    found: list[_Part] = []
    for begin, end in sorted(parts):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return tuple(found)


def _of_chain(chain: re.Match[str]) -> list[_Part] | None:
    """Return the parts in which the unknown of a chain lies: of |x| > 2 two."""
    parts: list[_Part] = [_LINE]
    sides = [(_TURNED[_SIGNS[chain["first"]]], chain["left"])] if chain["first"] else []
    sides += [(_SIGNS[chain["second"]], chain["right"])] if chain["second"] else []
    for sign, term in sides:
        number = _number(term)
        if number is None:
            return None
        sided = _of_sign(sign, number)
        if "|" in chain["name"]:
            turned = [_of_sign(_TURNED[sign], -number)] if number >= 0 else []
            sided = (
                [_met(sided[0], turned[0][0])] if sign[0] == "<" and turned else sided + [p for t in turned for p in t]
            )
        parts = [met for one in parts for other in sided if (met := _met(one, other))[0] < met[1]]
    return parts


def _of_sign(sign: str, number: float) -> list[_Part]:
    below, above = (_LINE[0], _end(number, sign == "<=")), (_end(number, sign in (">", "!=")), _LINE[1])
    return [below, above] if sign == "!=" else [below] if sign[0] == "<" else [above]


def _end(number: float, after: bool) -> _End:
    return _End(number, after if isfinite(number) else number > 0)


def _of_interval(interval: re.Match[str]) -> list[_Part] | None:
    kind = (interval["kind"] or "").lower()
    if interval["opens"]:
        open_left, open_right = interval["opens"] != "[", interval["closes"] != "]"
    else:
        flags = [*re.findall("True|False", interval["ends"]), "False", "False"]
        open_left = kind in (".open", ".lopen") or flags[0] == "True"
        open_right = kind in (".open", ".ropen") or flags[1] == "True"
    low, high = _number(interval["low"]), _number(interval["high"])
    if low is None or high is None:
        return None
    begin, end = _end(low, open_left), _end(high, not open_right)
    return [(begin, end)] if begin < end else None


def _number(term: str) -> float | None:
    if re.search(_INFINITE, term):
        return -inf if term.strip()[0] in "-−" else inf
    read = formulas.read(term)
    if read is None or read.names:
        return None
    value = read.value({})
    return None if value.imag else value.real
