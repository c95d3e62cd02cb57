"""Writes the words of an answer in one form before it is read: numbers in words as digits, LaTeX and signs as text.

Pure. What is written here means the same in every sentence; what may mean two things is a reading (`readings.py`).
Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from safeexec.agent.tokens import numbers_of

_CARDINALS, _PARTS = numbers_of("cardinal"), numbers_of("part")
_SPOKEN = "hundred thousand million billion trillion quadrillion quintillion sextillion septillion"
_SCALES = {word: numbers_of("scale")[word] for word in _SPOKEN.split()}
_CARDINAL = rf"(?:{'|'.join(_CARDINALS)})(?!\w)"
_SCALE = rf"(?:{'|'.join(_SCALES)})(?!\w)"
_PART = rf"(?:{'|'.join(sorted(_PARTS, key=len, reverse=True))})s?(?!\w)"
_AFTER_SCALE = r"(?:(?<=hundred)|(?<=thousand)|(?<=million))"
_WHOLE = rf"(?:an?\s{_SCALE}|{_CARDINAL})(?:(?:[\s-]|{_AFTER_SCALE}\sand\s)(?:{_CARDINAL}|{_SCALE})){{0,20}}"
_SPELT = re.compile(
    rf"(?<![\w-])(?:(?P<whole>{_WHOLE}|\d{{1,9}}(?=\sand\s(?:an?|one|two|three)\s{_PART}))"
    rf"(?:\spoint(?P<point>(?:\s(?:{_CARDINAL})){{1,12}})"
    rf"|\sand\s(?P<count>an?|{_CARDINAL})[\s-](?P<part>{_PART})|[\s-](?P<of>{_PART}))?"
    rf"|an?\s(?P<one>{_PART}))",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\s?(?:[.,;:!?)*$%°\"'=]|\Z|\n)|\s(?:per ?cent|in total|altogether|and|or|to|m|cm|km|kg|g|square|cubic"
    r"|[a-z]*met(?:er|re)s?"
    r"|hours?|minutes?|seconds?|days?|weeks?|months?|years?|dollars?|euros?|cents?|degrees?|radians?|thousand|million)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"(?:\b(?:is|are|equals?|gives?|to|get|minus|negative|about|i\.e\.,?)|[=≈±(])\s*\Z")
_MATRIX = re.compile(
    r"\\begin\{(?:[pbvBV]?matrix|array|cases)\}(?:\{[^{}]{0,20}\})?|\\end\{(?:[pbvBV]?matrix|array|cases)\}"
)
_CONGRUENT = re.compile(r"[-\d^{}()·*×+⁻⁰¹²³⁴⁵⁶⁷⁸⁹ ]{0,80}(?<=[\d)⁰¹²³⁴⁵⁶⁷⁸⁹}])\s?(?:≡|\\equiv(?![A-Za-z]))")
_MODULUS = re.compile(r"\s?\(?\b(?:mod|modulo)\s\d{1,40}\)?|\s?\\p?mod\s?\{?\s?\d{1,40}\}?")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_Written = str | Callable[[re.Match[str]], str]


def _spaced(found: re.Match[str]) -> str:
    """Return the items of a set or a list with a space behind each comma; digits in groups of three are one number."""
    items = found.group()
    grouped = all(re.match(r"\d{3}(?!\d)", item) for item in items[1:-1].split(",")[1:])
    return items if grouped else items.replace(",", ", ")


def _of_scale(found: re.Match[str]) -> str:
    """Return the number of "half a million" and "a dozen"."""
    number = {"dozen": 12, **_SCALES}[found[2].lower()]
    return str(number // 2 if found[1] else number) if found[1] or number == 12 else found[0]


def _repeated(digits: str) -> str:
    """Return digits of a repeating decimal, fewer than a float has."""
    return (digits * 12)[:12] + "…"


_SIMPLE: list[tuple[re.Pattern[str], _Written]] = [
    (re.compile(r"\\mathbb\s?\{R\}"), "ℝ"),
    (re.compile(r"\bplus[/-]minus\b", re.IGNORECASE), "±"),
    (re.compile("∛"), r"\\sqrt[3]"),
    (re.compile(r"([-−])([€£¥₹]|\\?\$)(?=\.?\d)"), r"\2\1"),
    (re.compile(r"\\(?:text|mathrm|mathbf|operatorname)\s?\{([^{}]{0,60})\}"), r" \1 "),
    (re.compile(r"\\([dt]?)frac\s?(\d)\s?(\d)"), r"\\\1frac{\2}{\3}"),
    (re.compile(r"(?:\A|(?<=[\s:=]))\+(?=\d[\d.]{0,12}\s?%)"), ""),
    (re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){2,})(?![.\d])"), lambda found: found[1].replace(".", "")),
    (re.compile(r"(?<![\d.,/])1 (?:in|out of) (\d{1,12}|\d{1,3}(?:,\d{3})+)(?!\.?\d|/)"), r"1/\1"),
    (re.compile(r"(?<![\w.])(\d{1,3})\s?h\s?(\d\d)(?![\w:])"), r"\1 h \2 min"),
    (re.compile(r"((?:π|\\pi|\bpi)(?:\s?/\s?\d{1,3})?[}$]{0,2}|\d?\.\d{1,20})\s?rad(?:ians)?\b"), r"\1"),
    (re.compile(r"[{(\[][-−]?\d[^{}()\[\]\s]{1,200}[\\})\]]"), _spaced),
    (re.compile(r"(\.\d{0,30})\\overline\s?\{(\d{1,30})\}"), lambda found: found[1] + _repeated(found[2])),
    (re.compile(r"(\.)(\d{1,30})\s?\(?(?:repeating|recurring)\)?(?!\w)"), lambda found: found[1] + _repeated(found[2])),
    (re.compile(r",? \(?(?:which is )?Euler['’]s (?:number|constant)\)?"), ""),
    (re.compile(r"(%| percent) of (?:the time|all cases)\b"), r"\1"),
    (re.compile(r"([})\]]),(?=[{(\[])"), r"\1, "),
    (re.compile(rf"\b(half )?an? (dozen|{'|'.join(_SCALES)})\b", re.IGNORECASE), _of_scale),
    (re.compile(r"\b(is|are|lies) at (?=\(\s?[-−]?\d)"), r"\1 "),
    (re.compile("[₀₁₂₃₄₅₆₇₈₉]+"), lambda found: "_" + found[0].translate(_LOWERED)),
]


_CLOCK = re.compile(r"(?<![\d:.])0?(\d{1,2}):(\d\d)(?![\d:])(?:\s?([ap])(?:m\b|\.m\.))?", re.IGNORECASE)


def on_24_hours(text: str) -> str:
    """Return the text with times of day as 9:05 and 13:05: of 09:05, 1:05 PM."""

    def written(found: re.Match[str]) -> str:
        half = (found[3] or "").lower()
        hour = int(found[1]) % 12 + 12 * (half == "p") if half else int(found[1])
        return f"{hour}:{found[2]}"

    return _CLOCK.sub(written, text)


def normal(text: str) -> str:
    """Return the text with every number, bracket and sign in the form in which it is read."""
    text = on_24_hours(text)
    for pattern, written in _SIMPLE:
        text = pattern.sub(written, text)
    if _MATRIX.search(text):
        text = _MATRIX.sub(lambda found: "[" if "begin" in found[0] else "]", text)
        text = text.replace("&", ", ").replace("\\\\", ", ")
    if _CONGRUENT.search(text):
        text = _MODULUS.sub("", _CONGRUENT.sub("=", text))
    alone = not re.search(r"\d", text) and len(_SPELT.findall(text)) == 1
    return _SPELT.sub(lambda found: _digits(found, alone=alone), text)


def _digits(found: re.Match[str], *, alone: bool) -> str:
    """Return a number in words as digits. A short one counts where a clause ends with it, not in "two solutions"."""
    word, text = found.group(), found.string
    several = re.search(r"[\s-]", word) is not None
    ends = _ENDS.match(text, found.end()) is not None
    is_one = word.lower() == "one" and bool(text[: found.start()].strip())
    stated = ends and (not is_one or _IS.search(text[max(0, found.start() - 20) : found.start()]))
    if not several and not stated and (is_one or not alone):
        return word
    value = _value(found)
    if value is None:
        return word
    if value.denominator == 1:
        return str(value.numerator)
    return f"{float(value)}" if found["point"] else f"{value.numerator}/{value.denominator}"


def _value(found: re.Match[str]) -> Fraction | None:
    """Return the number that the words say; None where they say none: "hundred two million"."""
    if found["one"]:
        return Fraction(1, _denominator(found["one"]))
    words = [word for word in re.split(r"[\s-]+", found["whole"].lower()) if word not in ("and", "a", "an")]
    under = _denominator(found["of"] or found["part"] or "")
    if found["of"] and len(words) > 1 and _CARDINALS.get(words[-1], 0) >= 20 and under < 10:
        under += _CARDINALS[words.pop()]  # one thirty-sixth
    whole = Fraction(words[0]) if words[0].isdigit() else _whole(words)
    if whole is None or found["of"]:
        return whole and whole / under
    if found["part"]:
        return whole + Fraction(_CARDINALS.get(found["count"].lower(), 1), under)
    digits = "".join(str(_CARDINALS[word.lower()]) for word in (found["point"] or "").split())
    return whole + Fraction(f"0.{digits or 0}")


def _whole(words: list[str]) -> Fraction | None:
    total = group = 0
    last = 10 * max(_SCALES.values())
    for word in words:
        number = _CARDINALS.get(word)
        scale = _SCALES.get(word, 0)
        if number is not None:
            if group % (10 if number < 10 else 100):
                return None  # "two three": no one number
            group += number
        elif scale == 100:
            group = max(group, 1) * 100
        elif scale < last:
            total, group, last = total + max(group, 1) * scale, 0, scale
        else:
            return None
    return Fraction(total + group)


def _denominator(part: str) -> int:
    return _PARTS.get(part.lower().removesuffix("s"), 1)
