"""The bounds that a text or a computed set states: "-2 < x < 2", "x ∈ [0, 3)", `Interval.open(-2, 2)`.

Pure. What is no chain of an unknown and of numbers is passed over. Time is linear in the text.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, NamedTuple

from safeexec.agent import formulas

_IN_WORDS = [
    (
        re.compile(r"\b(?:is|are|lies) (?:strictly )?between (\S{1,20}) and ([^\s,.]{1,20}),? \(?exclusive\)?", re.I),
        r"∈ (\1, \2)",
    ),
    (re.compile(r"\b(?:is|are|lies) strictly between (\S{1,20}) and ([^\s,.]{1,20})", re.I), r"∈ (\1, \2)"),
    (re.compile(r"\b(?:is|are|lies) between (\S{1,20}) and ([^\s,.]{1,20}),? \(?inclusive\)?", re.I), r"∈ [\1, \2]"),
    (re.compile(r"\bis (?:at least|no less than|greater than or equal to|no smaller than)\b", re.I), ">="),
    (re.compile(r"\bis (?:at most|no more than|less than or equal to|no greater than)\b", re.I), "<="),
    (re.compile(r"\bis (?:strictly )?(?:greater|more|larger) than\b", re.I), ">"),
    (re.compile(r"\bis (?:strictly )?(?:less|smaller) than\b", re.I), "<"),
]


class Bound(NamedTuple):
    """What an unknown is below, above, or at most, at least. `rounded`: the number was written as a decimal."""

    sign: str
    number: float
    rounded: bool


_MAX_TEXT = 2_000
_MOST = 12
_ROUNDED = 5e-3
_INFINITE = r"\+?\s?(?:∞|oo\b|\\infty\b|inf(?:inity)?\b)"
_ROOT = r"(?:\d{1,12}\s?\*?\s?)?(?:√\(?\d{1,9}\)?|sqrt\(\d{1,9}\)|\\sqrt\{\d{1,9}\})(?:/\d{1,9})?"
_PLAIN = r"\d{1,12}(?:\.\d{1,12})?(?:/\d{1,9})?|\\[dt]?frac\{\d{1,9}\}\{\d{1,9}\}"
_TERM = rf"(?:[-−]\s?)?(?:{_INFINITE}|{_ROOT}|{_PLAIN})"
_SIGNS = {"<=": "<=", "≤": "<=", "⩽": "<=", "\\le": "<=", "\\leq": "<=", ">=": ">=", "≥": ">=", "⩾": ">=", "\\ge": ">=",
          "\\geq": ">=", "<": "<", "\\lt": "<", ">": ">", "\\gt": ">"}  # fmt: skip
_SIGN = r"(?:<=|>=|[<>≤≥⩽⩾]|\\(?:leq?|geq?|[lg]t)(?![A-Za-z]))"
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_UNKNOWN = r"\|?[A-Za-z]\|?"
_CHAIN = re.compile(
    rf"(?:(?P<left>{_TERM})\s*(?P<first>{_SIGN})\s*)?(?<![A-Za-z\d\\])(?P<name>{_UNKNOWN})(?![A-Za-z(])"
    rf"(?:\s*(?P<second>{_SIGN})\s*(?P<right>{_TERM})(?![\w.]*\w))?"
)
_INTERVAL = re.compile(
    rf"(?:Interval(?P<kind>\.[lL]?[rR]?open)?\(|(?P<opens>[\[(\]]))\s*(?P<low>{_TERM})\s*[,;]\s*(?P<high>{_TERM})"
    r"(?P<ends>(?:,\s*(?:True|False)){0,2})\s*(?P<closes>[\])\[])"
)


_ABSOLUTE = re.compile(rf"\|([A-Za-z])\|\s*({_SIGN})\s*({_TERM})(?![\w.]*\w)")


def _without_bars(found: re.Match[str]) -> str:
    """Of |x| < 2 what it says of x."""
    name, sign, number = found.groups()
    if _SIGNS[sign][0] == "<":
        return f"-{number} {sign} {name} {sign} {number}"
    return f"{name} {_TURNED[_SIGNS[sign]]} -{number} or {name} {sign} {number}"


def bounds(text: str) -> list[Bound] | None:
    """The bounds in a text; None where it states none, or one that cannot be read."""
    if len(text) > _MAX_TEXT:
        return None
    text = re.sub(r"\\left|\\right|\*\*|[$`]", "", text)
    for words, sign in _IN_WORDS:
        text = words.sub(sign, text)
    found: list[tuple[str, str]] = []
    text = _ABSOLUTE.sub(_without_bars, text)
    for chain in _CHAIN.finditer(text):
        if "|" in chain["name"] and (chain["first"] or chain["second"]):
            return None  # of |x| < 2 the bounds of x are others
        if chain["first"]:
            found.append((_TURNED[_SIGNS[chain["first"]]], chain["left"]))
        if chain["second"]:
            found.append((_SIGNS[chain["second"]], chain["right"]))
    for interval in _INTERVAL.finditer(text) if not found else ():
        found += _ends(interval)
    read = [(sign, _number(term), "." in term) for sign, term in found]
    if len(found) > _MOST or any(number is None for _, number, _ in read):
        return None
    kept = [Bound(sign, number, rounded) for sign, number, rounded in read if number is not None and isfinite(number)]
    return kept or None


def computed(value: Any) -> list[Bound] | None:
    """The bounds that a computed set or relation is; None for any other value."""
    text = getattr(value, "repr", value)
    return bounds(text) if type(text) is str and re.search(r"[<>≤≥]|Interval", text) else None


def missing(said: list[Bound], wanted: list[Bound]) -> bool:
    """Tell whether one of the bounds that are wanted is not said."""
    return not all(any(_agree(one, bound) for one in said) for bound in wanted)


def _agree(said: Bound, wanted: Bound) -> bool:
    error = abs(said.number - wanted.number)
    near = _ROUNDED if said.rounded or wanted.rounded else 1e-9
    return said.sign == wanted.sign and error <= near * max(1.0, abs(wanted.number))


def _ends(interval: re.Match[str]) -> list[tuple[str, str]]:
    kind = (interval["kind"] or "").lower()
    if interval["opens"]:
        open_left, open_right = interval["opens"] != "[", interval["closes"] != "]"
    else:
        flags = [*re.findall("True|False", interval["ends"]), "False", "False"]
        open_left = kind in (".open", ".lopen") or flags[0] == "True"
        open_right = kind in (".open", ".ropen") or flags[1] == "True"
    return [(">" if open_left else ">=", interval["low"]), ("<" if open_right else "<=", interval["high"])]


def _number(term: str) -> float | None:
    if re.search(_INFINITE, term):
        return float("inf")
    read = formulas.read(term)
    if read is None or read.names:
        return None
    value = read.value({})
    return None if value.imag else value.real
