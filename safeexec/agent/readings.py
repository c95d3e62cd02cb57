"""Other ways to read the words of an answer: "1 hour 30 minutes" is 90 minutes, "3:2" is 3/2, "2 or 3" are 2 and 3.

Pure. What is read first is the text as it stands; a reading here counts only where it says what was computed. Time is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from safeexec.agent import formulas, statements

_MAX_READINGS = 16
_MAX_TEXT = 1_000
"""The most characters of an answer that is read in other ways; a longer one is read as it stands."""
_ALIKE = Fraction(1005, 1000)
"""Factor by which two quantities may be apart that are the same in two units, one of them rounded."""

# Quantities in two units


class _Unit(NamedTuple):
    """`name` is how a number in it is written in a reading."""

    name: str
    words: str
    size: Fraction


def _family(*units: tuple[str, str, int]) -> list[_Unit]:
    """Return units of one kind, the largest first."""
    return [_Unit(name, words, Fraction(size)) for name, words, size in units]


_TIME = _family(
    ("weeks", "weeks?|wk", 7 * 86400),
    ("days", "days?|d", 86400),
    ("hours", "hours?|hrs?|h", 3600),
    ("minutes", "minutes?|mins?", 60),
    ("seconds", "seconds?|secs?|s", 1),
)
_FAMILIES = [
    _TIME,
    _family(("years", "years?|yrs?", 12), ("months", "months?", 1)),
    _family(("yards", "yards?|yd", 36), ("feet", "feet|foot|ft", 12), ("inches", "inch(?:es)?|in", 1)),
    _family(
        ("km", r"km|kilomet(?:er|re)s?", 100_000), ("m", r"met(?:er|re)s?|m", 100), ("cm", r"cm|centimet(?:er|re)s?", 1)
    ),
    _family(("kg", "kg|kilograms?", 1000), ("g", "grams?|g", 1)),
    _family(("m/s", "m/s", 3_600_000), ("mph", "mph", 1_609_344), ("km/h", "km/h|kmh|kph", 1_000_000)),
    _family(("pounds", "pounds?|lbs?", 16), ("", "ounces?|oz", 1)),
    _family(("", "dollars?|euros?", 100), ("", "cents?", 1)),
    _family(("", "degrees?|°", 3600), ("", "(?:arc)?minutes?|[′']", 60), ("", '(?:arc)?seconds?|[″"]', 1)),
]
_NUMBER = r"\d{1,9}(?:(?:,\d{3})*(?:\.\d{1,9})?|/[1-9]\d{0,3})"
_JOIN = r"\s?(?:,|and|,\s?and|und|et)?\s?"


_PARTS = [
    "".join(rf"(?:(?P<n{at}>{_NUMBER})\s?(?:{unit.words})(?![A-Za-z]){_JOIN})?" for at, unit in enumerate(family))
    for family in _FAMILIES
]
_COMPOUNDS = [
    (re.compile(rf"(?<![\w./])(?=\d){parts}(?<=\S)", re.IGNORECASE), family)
    for parts, family in zip(_PARTS, _FAMILIES, strict=True)
]
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,4}):(\d{1,6})(?::(\d\d))?(?![\d:]|\.\d)")
_RATIO_WORDS = re.compile(r"(?<![\d.])(\d{1,9}) to (\d{1,9})(?!\d|\.\d)")
_MIXED = re.compile(r"(?<![\d.,/])(\d{1,9}) and (\d{1,9}/\d{1,9})(?![\d/])")
_OR_ABOUT = re.compile(r",? or (?:about|approximately|roughly) (?=[-−]?\d)")
_OR = re.compile(r"(?<=[\w)}$]),? or (?=\$?(?:[A-Za-z](?:_\d)?\s?[=≈]\s?)?[-−+]?\$?[\d½⅓⅔¼¾\\√(iπ])")


_FEW = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_COUNT = re.compile(
    rf"\b(?:there\s(?:are|is)|the)\s(?:(?:exactly|only|just)\s)?(?P<count>\d{{1,2}}|{'|'.join(_FEW)})"
    r"(?P<what>(?:\s(?!(?:and|or|is|are|as|to)\b)[a-z]{3,20}){0,3})(?P<end>:|,(?=\s?[-−\d√]))?",
    re.IGNORECASE,
)
"""How many there are of what is listed."""


def uncounted(answer: str, value: Any) -> Iterator[str]:
    """Yield the answer without the number that counts what it lists: of "there are 3 solutions, 2, 4 and 9", the
    solutions.
    """
    if type(value) in (list, tuple, set, frozenset) and len(answer) <= _MAX_TEXT:
        found = _COUNT.search(answer)
        if found is None or not (found["what"] or found["end"] == ":"):
            return
        if len(value) == _FEW.get(found["count"].lower()) or found["count"] == str(len(value)):
            colon = ":" if found["end"] else ""
            yield f"{answer[: found.start('count')]}some{found['what']}{colon}{answer[found.end() :]}"


def readings(text: str) -> Iterator[str]:
    """Yield the text with each other reading in the place of what can be read so."""
    if len(text) <= _MAX_TEXT:
        yield from islice((reading for reading in _all_readings(text) if reading != text), _MAX_READINGS)


_NUMBERED = r"(?:is|are|was|were|equals?)?\s*(?:not|n['’]t)\s+(?:equal to\s+)?\$?([-−]?\d[\d.,/]*(?<=[\d]))\s?%?"
_REPLACED = re.compile(
    rf"\b{_NUMBERED},?\s+but(?:\s+rather)?\b|,\s+(?:and\s+)?not\s+\$?[-−]?\d[\d.,]*(?<=\d)\s?%?(?=[.!]|$)"
    r"|\s+\(not\s+\$?[-−]?\d[\d.,]*\)",
    re.IGNORECASE,
)
_REFUSED = re.compile(rf"\b\w*{_NUMBERED}(?=[.!]?\s*$)", re.IGNORECASE)
_COMMA_POINT = re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+|\d{1,9}),(\d{1,9})(?![\d.,]*\d)")
_LESS = r"(?P<less>fell|falls|dropp?s?(?:ed)?|decreased?s?|decline[sd]?|shrank|went down|loss|lost|reduction)"
_MORE = r"(?:rose|rises|grew|grows|gained|increase[sd]?|went up|gain|growth)"
_CHANGE = re.compile(
    rf"\b(?:{_LESS}|{_MORE})\b[^.\d\n]{{0,40}}?(?<![-−])(?P<number>\$?\d)"
    rf"|(?P<ahead>\b\d[\d.,]*\s?(?:%|percent)) (?:{_LESS.replace('less', 'fall')}|{_MORE})\b",
    re.IGNORECASE,
)


def _changed(found: re.Match[str]) -> str:
    """Return the number of "fell by 5" and "a 5 % decrease", with its sign."""
    sign = "-" if found["less"] or found["fall"] else ""
    return f" is {sign}{found['number'] or found['ahead']}"


_DEGREES = re.compile(r"(\d{1,4})\s?(?:°(?![CF])|degrees\b)")


def denied(text: str) -> str:
    """Return the number that a text says it is not, where it ends with that: of "It is not 17." it is "17"."""
    found = _REFUSED.search(_without_replaced(text[-200:]))
    return found[1] if found else ""


def _without_replaced(text: str) -> str:
    """Return of "not 24 but 42", and of "42, not 24", 42 alone."""
    return _REPLACED.sub(lambda found: " is" if found[1] else "", text)


_STEP = re.compile(
    r"(?<![\w)])(?:\d|(?<![A-Za-z])[a-z](?![A-Za-z])|[-−+*/^·×²³(){}\s.√½⅓π]){1,60}(?<![-−+*/^])=(?!=)\s?[-−]?\d[\d./]{0,20}(?![\w.]*\w)"
)
_FACTORS = re.compile(r"(?:\d{0,4}\([a-z]\s?[-+−]\s?\d{1,9}(?:/\d{1,9})?\)[²³]?\s?[·*]?\s?){1,6}(?:=\s?0\b)?")
_CHAIN = re.compile(r"=((?:(?!\s[a-z]{2})[^=≈\n,;]){1,60})=")


def _without_steps(text: str) -> str:
    """Return the text without equations on the way to the answer: 3(x − 2) = 15, (x + 3)(x − 2); V = πr²h = 12π is V =
    12π.
    """

    def kept(found: re.Match[str]) -> str:
        return " " if statements.is_unsolved(found.group().partition("=")[0]) else found.group()

    chained = _CHAIN.sub(lambda found: "=" if statements.is_unsolved(found[1]) else found.group(), text)
    return _FACTORS.sub(" ", _STEP.sub(kept, chained))


def _all_readings(text: str) -> Iterator[str]:
    yield _without_replaced(text)
    yield (solved := _without_steps(text))
    yield _OR.sub(" and ", solved)
    yield _COMMA_POINT.sub(lambda found: f"{found[1].replace('.', '')}.{found[2]}", text)
    yield _CHANGE.sub(_changed, text)
    for found in _PERCENTAGE.finditer(text):
        if Fraction(found["rate"]) * Fraction(found["whole"]) == 100 * Fraction(found["part"]):
            yield from (_PERCENTAGE.sub(part, text) for part in (r"\g<part>", r"\g<rate>%", r"\g<whole>"))
    yield _SIDES.sub(_right_side, text)
    yield _DEGREES.sub(r"\1π/180", text)
    yield from _each_of_equals(text)
    yield _OR_ABOUT.sub(" ≈ ", text)
    yield _MIXED.sub(r"\1 \2", text)
    for pattern, family in _COMPOUNDS:
        for unit in family if any(len(_parts(found)) > 1 for found in pattern.finditer(text)) else ():
            yield pattern.sub(partial(_in_unit, family, unit), text)
    if _CLOCK.search(text):
        yield _CLOCK.sub(lambda found: found.group().replace(":", "/") if not found[3] else found.group(), text)
        yield _CLOCK.sub(lambda found: found.group().replace(":", " and "), text)
        for size in (1, 60):  # in minutes, in hours
            yield _CLOCK.sub(partial(_of_clock, size), text)
    if "ratio" in text.lower() or "odds" in text.lower():
        yield _RATIO_WORDS.sub(r"\1/\2", text)


_PERCENTAGE = re.compile(
    r"(?P<part>\b\d{1,12}(?:\.\d{1,9})?) (?:is|equals|=) (?P<rate>\d{1,4}(?:\.\d{1,9})?)\s?% of "
    r"(?P<whole>\d{1,12}(?:\.\d{1,9})?)(?![\d%]|\.\d)"
)
"""A sentence that says one of its three numbers by the other two: 36 is 15% of 240."""
_SIDES = re.compile(
    r"(?P<left>[^=≈.,;:\n]{1,80}(?:\.\d[^=≈.,;:\n]{0,80}){0,4})(?P<sign>=|≈)(?P<right>\s?[-−$€]{0,2}[\d.]{0,20})"
)


_PROSE = re.compile(r".*(?<![\\\w])(?!(?:mod|lim|gcd|lcm|det)(?![A-Za-z]))[A-Za-zÀ-ÿ]{3,}", re.DOTALL)


_REASON = re.compile(r"\b(?:because|since)\Z", re.IGNORECASE)


def _right_side(found: re.Match[str]) -> str:
    """Return an equation without its left side, where that can be worked out: of "lim x/(x+1) = 1" the 1. A sum that is
    right is left out as a whole before another number ("3² + 4² = 25, so it is 5") and as a reason ("10, because 2^10 =
    1024"), a wrong one stays.
    """
    prose = _PROSE.match(found["left"])
    left = found["left"][prose.end() if prose else 0 :]
    if not re.search(r"\d|∞", left) or "boxed" in found["left"] or statements.is_unsolved(left):
        return found.group()
    one, other = formulas.read(left.strip(" $")), formulas.read(found["right"].strip(" $€."))
    if one and other and not one.names | other.names:
        if formulas.compare(one, other) == "other":
            return found.group()
        before = prose.group() if prose else ""
        if re.search(r"\d", found.string[found.end() :]) or _REASON.search(before):  # a step on the way, no answer
            return before
    return f"{prose.group() if prose else ''} {found['sign']}{found['right']}"


_UNIT_ASKED = re.compile(r"\bhow (?:many|much) ([a-z/]+)|\bin ([a-z/]+)|\bto ([a-z/]+)\s?[?.]?\s*\Z", re.IGNORECASE)


def in_unit_asked(text: str, question: str) -> str:
    """Return the text with its quantities in the unit that the question asks for, if it states none in that; else
    empty.
    """
    asked = [word for found in _UNIT_ASKED.findall(question[-2000:]) for word in found if word]
    for pattern, family in _COMPOUNDS:
        wanted = [at for word in asked for at, unit in enumerate(family) if re.fullmatch(unit.words, word, re.I)]
        stated = [_parts(found) for found in pattern.finditer(text)] if wanted else []
        if any(stated):
            stays = any(f"n{wanted[0]}" in parts for parts in stated)
            return "" if stays else pattern.sub(partial(_in_unit, family, family[wanted[0]]), text)
    return ""


def _of_clock(size: int, found: re.Match[str]) -> str:
    """Return a time of the form 1:30 as one number, of minutes or of `size` of them; one with seconds as it is."""
    return found.group() if found[3] else str(Fraction(int(found[1]) * 60 + int(found[2]), size))


def _each_of_equals(text: str) -> Iterator[str]:
    """Yield the text with one alone of the quantities in it that are the same: of "604800 seconds, that is 7 days"."""
    for pattern, family in _COMPOUNDS:
        sizes = [(found, _size(family, found)) for found in pattern.finditer(text) if _parts(found)]
        if len(sizes) > 1 and 0 < max(size for _, size in sizes) <= _ALIKE * min(size for _, size in sizes):
            for kept, _ in sizes:
                yield _LEFT_OVER.sub("", pattern.sub(partial(_alone, kept.start()), text))


_LEFT_OVER = re.compile(r"[,(]?\s?\b(?:or|i\.e\.|that is)[,\s]?(?=[).,]|\Z)")


def _alone(place: int, found: re.Match[str]) -> str:
    return found.group() if found.start() == place or not _parts(found) else ""


def _size(family: list[_Unit], found: re.Match[str]) -> Fraction:
    parts = _parts(found).items()
    return sum((Fraction(number.replace(",", "")) * family[int(name[1:])].size for name, number in parts), Fraction(0))


def _parts(found: re.Match[str]) -> dict[str, str]:
    return {name: number for name, number in found.groupdict().items() if number}


def _in_unit(family: list[_Unit], unit: _Unit, found: re.Match[str]) -> str:
    """Return a quantity as one number in this unit; any other text as it is."""
    if not _parts(found):
        return found.group()
    total = _size(family, found) / unit.size
    text = found.group()
    return f"{total} {unit.name}".rstrip() + text[len(text.rstrip(" ,")) :]


# Dates

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def with_date(text: str, iso: str) -> str:
    """Return the text with this date in the form of ISO 8601 wherever it is written out: June 11, 2025, Wednesday the
    11th of June 2025. Text that is no date stays.
    """
    try:
        wanted = date.fromisoformat(iso)
    except ValueError:
        return text
    name = _MONTHS[wanted.month - 1]
    month, day = rf"(?:{name}|{name[:3]}\.?)", rf"0?{wanted.day}(?:st|nd|rd|th)?"
    written = rf"(?:{month} {day},? |(?:the )?{day} (?:of )?{month},? ){wanted.year:04}(?!\d)|{iso}"
    return re.sub(rf"\b(?:{_DAYS[wanted.weekday()]},? )?(?:{written})", iso, text, flags=re.IGNORECASE)


# What is computed and is no number

_POWER = r"\d{1,12}(?:\s?(?:\^\s?\{?\d{1,3}\}?|\*\*\s?\d{1,3}|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?"
_TIMES = r"\s?(?:[·×*]|\\cdot|\\times)\s?"
_PRODUCT = re.compile(rf"(?<![\w.^]){_POWER}(?:{_TIMES}{_POWER}){{0,40}}(?![\w^⁰¹²³⁴⁵⁶⁷⁸⁹]|\.\d)")
_BASE = re.compile(r"(\d+)\s?(?:\^\s?\{?)?([\d⁰¹²³⁴⁵⁶⁷⁸⁹]*)")


def factors(text: str) -> dict[int, int]:
    """Return the bases and exponents of the last product of powers that a text states."""
    products = [one.group() for one in _PRODUCT.finditer(text[:2000]) if re.search(_TIMES, one.group())]
    found: dict[int, int] = {}
    for power in re.split(_TIMES, products[-1].replace("**", "^")) if products else ():
        base, exponent = _BASE.findall(power)[0]
        found[int(base)] = found.get(int(base), 0) + int(exponent.translate(formulas.SUPERSCRIPTS) or 1)
    return found


def in_units(value: timedelta, text: str) -> Iterator[Fraction]:
    """Yield a length of time as a number, in each unit that the text names."""
    seconds = Fraction(value.days * 86400 + value.seconds) + Fraction(value.microseconds, 10**6)
    is_clock = _CLOCK.search(text) is not None
    for unit in _TIME:
        if is_clock or re.search(rf"\d\s?(?:{unit.words})(?![A-Za-z])", text, re.IGNORECASE):
            yield seconds / unit.size


_INFINITE = re.compile(
    r"(?P<sign>[-−]|\b(?:minus|negative)\s)?\s?(?:∞|\\infty(?![A-Za-z])|\b(?:infinity|infinite|oo)\b)"
    r"|\b(?:without (?:a )?(?:bound|limit)|unbounded(?:ly)?|diverges?|divergent)\b(?! to)",
    re.IGNORECASE,
)
_DOWN = re.compile(r"\b(?:decreases?|falls?|drops?|below|negative|minus)\b", re.IGNORECASE)


def infinity(text: str) -> int:
    """Return 1 or -1 where the text speaks of infinity, by the sign of the last one; else 0."""
    found = list(_INFINITE.finditer(text))
    return 0 if not found else -1 if found[-1]["sign"] or _DOWN.search(text[:2000]) else 1


_NONE = re.compile(
    r"\bno\s(?:[a-z]+\s){0,2}(?:solutions?|roots?|zeros?|answers?|values?|numbers?|elements?|such|x|integers?|pairs?)\b|\bnone\b"
    r"|∅|\\(?:emptyset|varnothing)|\bempty\b|\bnothing\b|\bnever\s|\{\s?\}|\bno solution|\bnot? solvable|\bunsolvable\b"
    r"|\bdo(?:es)?(?:n['’]t| not) (?:exist|have any|intersect|overlap|share)\b|\b(?:disjoint|inconsistent)\b",
    re.IGNORECASE,
)


def says_none(text: str) -> bool:
    """Return True for a text that says that there is no solution."""
    return _NONE.search(text[:2000]) is not None


_POLARITY = re.compile(r"[\W_]*(?:(yes|true|correct|right|indeed)|no|false|incorrect|wrong)\b", re.IGNORECASE)
_IS_TRUE = re.compile(
    r"(?:\b(?:is|was|are)|\b(?:it|that|this)['’]s)(n['’]t|\s+not)?\s+(?:\*\*)?(true|false|correct|incorrect)\b",
    re.IGNORECASE,
)


def truth(text: str, predicates: frozenset[str] = frozenset()) -> bool | None:
    """Return the yes or no of a text; None where it plainly says neither. `predicates`: the words that the code asks
    about, `prime` of `is_prime(91)`.
    """
    first = _POLARITY.match(text[:200])
    if first is not None:
        return first[1] is not None
    said = list(_IS_TRUE.finditer(text[:2000]))
    if said:
        return (said[-1][2].lower() in ("true", "correct")) is (said[-1][1] is None)
    for word in predicates:
        for said_word, yes in _said_as(word):
            found = re.search(_SAYS.replace("WORD", said_word), text[:2000], re.IGNORECASE)
            if found is not None:
                return (not (found["no"] or found["does"])) is yes
    return None


_SAYS = (
    r"(?:\b(?:is|are|was|were|must be)(?P<no>n['’]t|\s+not|\s+never)?(?:\s*,[^,.\n]{1,20},)?\s+(?:(?:indeed|definitely"
    r"|clearly|certainly|actually|really|also|therefore|thus|in fact|an?|the)\s+){0,2}"
    r"|\b(?P<does>does(?:n['’]t|\s+not)|do(?:n['’]t|\s+not)|never|fails\s+to"
    r"|can(?:not|['’]t| not)(?:\s+be(?:\s+an?)?)?)\s+"
    r"|(?<=\d)\s|(?=(?:converg|diverg|divide|intersect|commute)))(?:\*\*)?\b(?:WORD)\b"
)
_OTHER_WORDS = {
    "prime": "composite",
    "even": "odd",
    "odd": "even",
    "invertible": "singular",
    "singular": "invertible",
    "convergent": r"diverg(?:es?|ent|ing)",
    "positive": "negative",
    "negative": "positive",
    "disjoint": "overlapping",
    "parallel": "perpendicular",
}
"""Word of a question → one that says the opposite."""
_SAME_WORDS = {
    "convergent": r"converg(?:es?|ent|ing)",
    "divisible": r"divisible|divides?|a divisor|a factor|a multiple",
}


def _said_as(word: str) -> Iterator[tuple[str, bool]]:
    """Yield the words that say it or the opposite, as patterns, and whether they say it."""
    yield rf"(?:{_SAME_WORDS.get(word, re.escape(word))})", True
    negated = rf"(?:in|im|ir|un|dis|non-?){re.escape(word)}"
    yield rf"(?:{_OTHER_WORDS[word]}|{negated})" if word in _OTHER_WORDS else negated, False


_PREDICATE = re.compile(r"\bis_?([a-z_]{3,30})\b")
_DIVIDES = re.compile(r"%[^\n=]{1,40}==\s*0")


def predicates(program: str) -> frozenset[str]:
    """Return the words that a program asks about: `prime` of `isprime(n)`, `divisible` of `n % 7 == 0`. Bounded."""
    asked = [word.removesuffix("_") for word in _PREDICATE.findall(program[:20_000])[:10]]
    return frozenset(asked) | (_DIVISIBLE if _DIVIDES.search(program[:20_000]) else frozenset())


_ASKED = re.compile(
    r"\b(?:is|are|was|were)\s[^?.\n]{1,80}?\s(?:an?\s((?:[a-z-]+\s)?[a-z]{3,30})|([a-z]{4,30}))(?=\s?\?|\s(?:of|by|to)\s[^?.\n]{1,60}\?)",
    re.IGNORECASE,
)


def asked(question: str) -> frozenset[str]:
    """Return the word that a question asks about: `perfect square` of "Is 144 a perfect square?"."""
    found = _ASKED.search(question[:2000])
    return frozenset([(found[1] or found[2]).lower()] if found else ())


_DIVISIBLE = frozenset({"divisible", "multiple", "factor", "divisor"})
