"""Writes the words of an answer in one form before it is read: numbers in words as digits, LaTeX and signs as text.

Pure. What is written here means the same in every sentence; what may mean two things is a reading (`readings.py`).
Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

_SMALL_TEXT = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS_TEXT = "twenty thirty forty fifty sixty seventy eighty ninety"
_CARDINALS = {word: number for number, word in enumerate(_SMALL_TEXT.split())}
_CARDINALS |= {word: 20 + 10 * at for at, word in enumerate(_TENS_TEXT.split())}
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_IRREGULAR = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12}
_PARTS = {
    f"{word.removesuffix('y')}{'ieth' if word[-1] == 'y' else 'th'}": n for word, n in _CARDINALS.items() if n > 3
}
_PARTS = {**_PARTS, **_IRREGULAR, "hundredth": 100, "thousandth": 1000, "millionth": 10**6}
_CARDINAL = rf"(?:{'|'.join(_CARDINALS)})(?!\w)"
_SCALE = rf"(?:{'|'.join(_SCALES)})(?!\w)"
_PART = rf"(?:{'|'.join(sorted(_PARTS, key=len, reverse=True))}|halve)s?(?!\w)"
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


_SIMPLE: list[tuple[re.Pattern[str], _Written]] = [
    (re.compile(r"\\mathbb\s?\{R\}"), "ℝ"),
    (re.compile("∛"), r"\\sqrt[3]"),
    (re.compile(r"([-−])([€£¥₹]|\\?\$)(?=\.?\d)"), r"\2\1"),
    (re.compile(r"⟨|\\langle(?![A-Za-z])"), "("),
    (re.compile(r"⟩|\\rangle(?![A-Za-z])"), ")"),
    (re.compile(r"\\(?:text|mathrm|mathbf|operatorname)\s?\{([^{}]{0,60})\}"), r" \1 "),
    (re.compile(r"\\([dt]?)frac\s?(\d)\s?(\d)"), r"\\\1frac{\2}{\3}"),
    (re.compile(r"\b(?:plus or minus|plus/minus|plus-minus)\b", re.I), "±"),
    (re.compile(r"(?<![^\s(=:\[{,$])[–—](?=[\d.√π$€£])"), "-"),
    (re.compile(r"(?:\A|(?<=[\s:=]))\+(?=\d[\d.]{0,12}\s?%)"), ""),
    (re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3}){2,})(?![.\d])"), lambda found: found[1].replace(".", "")),
    (re.compile(r"(?<![\d.,/])1 (?:in|out of) (\d{1,12}|\d{1,3}(?:,\d{3})+)(?!\.?\d|/)"), r"1/\1"),
    (re.compile(r"(?<![\w.])(\d{1,3})\s?h\s?(\d\d)(?![\w:])"), r"\1 h \2 min"),
    (re.compile(r"((?:π|\\pi|\bpi)(?:\s?/\s?\d{1,3})?[}$]{0,2}|\d?\.\d{1,20})\s?rad(?:ians)?\b"), r"\1"),
    (re.compile(r"[{(\[][-−]?\d[^{}()\[\]\s]{1,200}[\\})\]]"), _spaced),
    (re.compile(r"([})\]]),(?=[{(\[])"), r"\1, "),
    (re.compile(r"\b(is|are|lies) at (?=\(\s?[-−]?\d)"), r"\1 "),
    (re.compile(r"λ"), "l"),
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
    """Return a number in words as digits. A short one counts where a clause ends with it: of "two solutions" it
    stays.
    """
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
    words = [word for word in re.split(r"[\s-]+", found["whole"].lower()) if word != "and"]
    part = found["of"]
    tens: list[str] = []
    if part and len(words) > 1 and words[-1] in _CARDINALS and _CARDINALS[words[-1]] >= 20 and _denominator(part) < 10:
        tens = [words.pop()]  # one thirty-sixth
    whole = Fraction(int(words[0])) if words[0].isdigit() else _whole(words)
    if whole is None:
        return None
    if part:
        under = _denominator(part) + (_CARDINALS[tens[0]] if tens else 0)
        return whole / under
    if found["part"]:
        count = found["count"].lower()
        return whole + Fraction(_CARDINALS.get(count, 1), _denominator(found["part"]))
    if found["point"]:
        digits = "".join(str(_CARDINALS[word.lower()]) for word in found["point"].split())
        return whole + Fraction(f"0.{digits}")
    return whole


def _whole(words: list[str]) -> Fraction | None:
    total = group = 0
    last = 10**18
    for word in words:
        if word in ("a", "an"):
            group = 1
        elif word in _CARDINALS:
            number = _CARDINALS[word]
            if group % 10 or (number >= 10 and group % 100) or (group and group % 100 and number >= 10):
                return None  # "two three": no one number
            group += number
        elif word == "hundred":
            group = max(group, 1) * 100
        else:
            scale = _SCALES[word]
            if scale >= last:
                return None
            total, group, last = total + max(group, 1) * scale, 0, scale
    return Fraction(total + group)


def _denominator(part: str) -> int:
    word = part.lower()
    word = "half" if word in ("half", "halve", "halves") else word.removesuffix("s")
    return _PARTS[word]
