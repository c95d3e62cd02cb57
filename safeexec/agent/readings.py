"""Other ways to read the words of an answer: "1 hour 30 minutes" is 90 minutes, "3:2" is 3/2, "2 or 3" are 2 and 3; and
what an answer says that is no number.

Pure. What is read first is the text as it stands; a reading here counts only where it says what was computed. Time is
linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import date, timedelta
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from safeexec.agent import formulas
from safeexec.agent.tokens import FAMILIES, SECTIONS, SUPERSCRIPTS, WORDS, Token, Unit, is_in, numbers_of, tokens

_MAX_READINGS = 16
_MAX_TEXT = 1_000
"""The most characters of an answer that is read in other ways; a longer one is read as it stands."""
_ALIKE = Fraction(1005, 1000)
"""Factor by which two quantities may be apart that are the same in two units, one of them rounded."""

# Numbers

_FEW = numbers_of("cardinal")
_NUMBERED = r"(?:is|are|was|were|equals?)?\s*(?:not|n['’]t)\s+(?:equal to\s+)?\$?([-−]?\d[\d.,/]*(?<=[\d]))\s?%?"
_REPLACED = re.compile(
    rf"\b{_NUMBERED},?\s+but(?:\s+rather)?\b|,\s+(?:and\s+)?not\s+\$?[-−]?\d[\d.,]*(?<=\d)\s?%?(?=[.!]|$)"
    r"|\s+\(not\s+\$?[-−]?\d[\d.,]*\)",
    re.IGNORECASE,
)
_REFUSED = re.compile(rf"\b\w*{_NUMBERED}(?=[.!]?\s*$)", re.IGNORECASE)
_LESS = r"(?P<less>fell|falls|dropp?s?(?:ed)?|decreased?s?|decline[sd]?|shrank|went down|loss|lost|reduction)"
_MORE = r"(?:rose|rises|grew|grows|gained|increase[sd]?|went up|gain|growth)"
_CHANGE = re.compile(
    rf"\b(?:{_LESS}|{_MORE})\b[^.\d\n]{{0,40}}?(?<![-−])(?P<number>\$?\d)"
    rf"|(?P<ahead>\b\d[\d.,]*\s?(?:%|percent)) (?:{_LESS.replace('less', 'fall')}|{_MORE})\b",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?<![\d:.])(\d{1,4}):(\d{1,6})(?::(\d\d))?(?![\d:]|\.\d)")
_RATIO = re.compile(r"(?<![\d.])(\d{1,9}) to (\d{1,9})(?!\d|\.\d)")
_PERCENTAGE = re.compile(
    r"(?P<part>\b\d{1,12}(?:\.\d{1,9})?) (?:is|equals|=) (?P<rate>\d{1,4}(?:\.\d{1,9})?)\s?% of "
    r"(?P<whole>\d{1,12}(?:\.\d{1,9})?)(?![\d%]|\.\d)"
)
"""A sentence that says one of its three numbers by the other two: 36 is 15% of 240."""
_Written = str | Callable[[re.Match[str]], str]


def _without_replaced(text: str) -> str:
    """Return of "not 24 but 42", and of "42, not 24", 42 alone."""
    return _REPLACED.sub(lambda found: " is" if found[1] else "", text)


def denied(text: str) -> str:
    """Return the number that a text says it is not, where it ends with that: of "It is not 17." it is "17"."""
    found = _REFUSED.search(_without_replaced(text[-200:]))
    return found[1] if found else ""


def _changed(found: re.Match[str]) -> str:
    """Return the number of "fell by 5" and "a 5 % decrease", with its sign."""
    sign = "-" if found["less"] or found["fall"] else ""
    return f" is {sign}{found['number'] or found['ahead']}"


def _counted(found: re.Match[str]) -> str:
    """Return "there are ten" with digits."""
    return f"{found[1]}{_FEW[found[2].lower()]}"


def _grouped(found: re.Match[str]) -> str:
    """Return 233.168 as 233168 in a sentence of a language that groups digits by points."""
    groups = re.search(r"\b(?:es|ist|sind|beträgt|sont|è|são)\b", found.string)
    return found[1] + found[2] if groups else found[0]


def _in_degrees(found: re.Match[str]) -> str:
    """Return an angle in radians in degrees, where the text speaks of degrees, too."""
    if not re.search(r"°|\bdegrees?\b", found.string):
        return found[0]
    return f"{' = ' if found['other'] else ''}{found['radians']}·180/π"


def _of_clock(size: int) -> _Written:
    """Return what writes a time of the form 1:30 as one number, of `size` minutes; one with seconds stays."""
    return lambda found: found[0] if found[3] else str(Fraction(int(found[1]) * 60 + int(found[2]), size))


_REWRITES: list[tuple[re.Pattern[str], _Written]] = [
    (re.compile(r"(?<=[\w)}$]),? or (?=\$?(?:[A-Za-z](?:_\d)?\s?[=≈]\s?)?[-−+]?\$?[\d½⅓⅔¼¾\\√(iπ])"), " and "),
    (
        re.compile(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+|\d{1,9}),(\d{1,9})(?![\d.,]*\d)"),
        lambda found: f"{found[1].replace('.', '')}.{found[2]}",
    ),
    (_CHANGE, _changed),
    (re.compile(r"(?<![\d.,])(\d{1,3})\.(\d{3})(?!\.?\d)"), _grouped),
    (re.compile(r"(\d{1,4})\s?(?:°(?![CF])|degrees\b)"), r"\1π/180"),
    (
        re.compile(rf"\b((?:there (?:are|were)|has|have) (?:exactly |only |just )?)({'|'.join(_FEW)})(?= [a-z])", re.I),
        _counted,
    ),
    (re.compile(r"(?P<other>,? or )?(?<![\w.])(?P<radians>\d{0,4}(?:π|\\pi)(?:\s?/\s?\d{1,4})?)"), _in_degrees),
    (re.compile(r",? (?:and |with )?(?:(?:a |the )?remainder(?: of| is)?|R) (?=\d)"), " and "),
    (re.compile(r",? or (?:about|approximately|roughly) (?=[-−]?\d)"), " ≈ "),
    (re.compile(r"(?<![\d.,/])(\d{1,9}) and (\d{1,9}/\d{1,9})(?![\d/])"), r"\1 \2"),
    (_CLOCK, lambda found: found[0] if found[3] else found[0].replace(":", "/")),
    (_CLOCK, lambda found: found[0].replace(":", " and ")),
    (_CLOCK, _of_clock(1)),
    (_CLOCK, _of_clock(60)),
]


def readings(text: str) -> Iterator[str]:
    """Yield the text with each other reading in the place of what can be read so."""
    if len(text) <= _MAX_TEXT:
        yield from islice((reading for reading in _all_readings(text) if reading != text), _MAX_READINGS)


def _all_readings(text: str) -> Iterator[str]:
    yield _without_replaced(text)
    yield from (pattern.sub(how, text) for pattern, how in _REWRITES)
    for found in _PERCENTAGE.finditer(text):
        if Fraction(found["rate"]) * Fraction(found["whole"]) == 100 * Fraction(found["part"]):
            yield from (_PERCENTAGE.sub(part, text) for part in (r"\g<part>", r"\g<rate>%", r"\g<whole>"))
    if "ratio" in text.lower() or "odds" in text.lower():
        yield _RATIO.sub(r"\1/\2", text)
    for kind, family in FAMILIES.items():
        stated = _quantities(text, kind)
        if any(len(one.units) > 1 for one in stated):
            yield from (_with(text, stated, unit) for unit in family)
        sizes = [one.size for one in stated]
        if len(sizes) > 1 and 0 < max(sizes) <= _ALIKE * min(sizes):
            for kept in stated:
                yield _LEFT_OVER.sub("", _with(text, [one for one in stated if one is not kept], None))


_COUNT = re.compile(
    rf"\b(?:there\s(?:are|is)|the)\s(?:(?:exactly|only|just)\s)?(?P<count>\d{{1,2}}|{'|'.join(_FEW)})"
    r"(?P<what>(?:\s(?!(?:and|or|is|are|as|to)\b)[a-z]{3,20}){0,3})(?P<end>:|,(?=\s?[-−\d√]))?",
    re.IGNORECASE,
)
"""How many there are of what is listed."""


def uncounted(answer: str, value: Any) -> Iterator[str]:
    """Yield the answer without the number that counts what it lists: of "there are 3 solutions, 2, 4 and 9", three."""
    found = _COUNT.search(answer[:_MAX_TEXT]) if type(value) in (list, tuple, set, frozenset) else None
    if found is None or not (found["what"] or found["end"] == ":"):
        return
    if len(value) == _FEW.get(found["count"].lower()) or found["count"] == str(len(value)):
        colon = ":" if found["end"] else ""
        yield f"{answer[: found.start('count')]}some{found['what']}{colon}{answer[found.end() :]}"


# Quantities

_QUANTITY = r"(?<![\w./])(\d{1,9}(?:(?:,\d{3})*(?:\.\d{1,9})?|/[1-9]\d{0,3}))\s?(?:UNITS)(?![A-Za-z])"
_QUANTITIES = {
    name: re.compile(_QUANTITY.replace("UNITS", "|".join(f"({unit.words})" for unit in family)), re.IGNORECASE)
    for name, family in FAMILIES.items()
}
_JOIN = re.compile(r"\s?(?:,|and|,\s?and|und|et)?\s?")
_OR = r"(?:or|i\.e\.|that is)"
_LEFT_OVER = re.compile(rf"[,(]?\s?\b{_OR}[,\s]?(?=[).,]|\Z)|(?<=\s),\s?{_OR},?\s")
_UNIT_ASKED = re.compile(r"\bhow (?:many|much) ([a-z/]+)|\bin ([a-z/]+)|\bto ([a-z/]+)\s?[?.]?\s*\Z", re.IGNORECASE)


class _Quantity(NamedTuple):
    """A quantity of one or more units: 1 hour 30 minutes."""

    begin: int
    end: int
    size: Fraction
    units: list[Unit]


def _quantities(text: str, kind: str) -> list[_Quantity]:
    """Return the quantities of one kind in a text."""
    found: list[_Quantity] = []
    for match in _QUANTITIES[kind].finditer(text):
        unit = FAMILIES[kind][(match.lastindex or 0) - 2]
        size, before = Fraction(match[1].replace(",", "")) * unit.size, found[-1] if found else None
        if before and before.units[-1].size > unit.size and _JOIN.fullmatch(text, before.end, match.start()):
            found[-1] = _Quantity(before.begin, match.end(), before.size + size, [*before.units, unit])
        else:
            found.append(_Quantity(match.start(), match.end(), size, [unit]))
    return found


def _with(text: str, found: list[_Quantity], unit: Unit | None) -> str:
    """Return the text with these quantities in one unit, or without them."""
    for one in reversed(found):
        written = f"{one.size / unit.size} {unit.name}" if unit else ""
        text = f"{text[: one.begin]}{written}{text[one.end :]}"
    return text


def in_unit_asked(text: str, question: str) -> str:
    """Return the text with quantities in the unit that the question asks for, if it states none in that; else empty."""
    asked = [word for found in _UNIT_ASKED.findall(question[-2000:]) for word in found if word]
    for kind, family in FAMILIES.items():
        wanted = next((unit for word in asked for unit in family if re.fullmatch(unit.words, word, re.I)), None)
        found = _quantities(text, kind) if wanted else []
        if found:
            return "" if any(wanted in one.units for one in found) else _with(text, found, wanted)
    return ""


def in_units(value: timedelta, text: str) -> Iterator[Fraction]:
    """Yield a length of time as a number, in each unit that the text names."""
    seconds = Fraction(value.days * 86400 + value.seconds) + Fraction(value.microseconds, 10**6)
    is_clock = _CLOCK.search(text) is not None
    named = {unit for one in _quantities(text, "unit of time") for unit in one.units}
    yield from (seconds / unit.size for unit in FAMILIES["unit of time"] if is_clock or unit in named)


# What is computed and is no number


def with_date(text: str, iso: str) -> str:
    """Return the text with this date in the form of ISO 8601 wherever it is written out: June 11, 2025, Wednesday the
    11th of June 2025. Text that is no date stays.
    """
    try:
        wanted = date.fromisoformat(iso)
    except ValueError:
        return text
    name, weekday = SECTIONS["month"][wanted.month - 1], SECTIONS["weekday"][wanted.weekday()]
    month, day = rf"(?:{name}|{name[:3]}\.?)", rf"0?{wanted.day}(?:st|nd|rd|th)?"
    written = rf"(?:{month} {day},? |(?:the )?{day} (?:of )?{month},? ){wanted.year:04}(?!\d)|{iso}"
    return re.sub(rf"\b(?:{weekday},? )?(?:{written})", iso, text, flags=re.IGNORECASE)


def factors(text: str) -> dict[int, int]:
    """Return the bases and exponents of the last product of powers that a text states."""
    found, at = tokens(text[:2000]), 0
    product: dict[int, int] = {}
    while at < len(found):
        form = formulas.closed(found, at)
        kinds = {term.kind for term in form.terms}
        if form.values and "*" in kinds and kinds <= {"NUMBER", "*", "^", "RAISED", "{", "}"}:
            spelt = "".join("*" if term.kind == "*" else term.text for term in form.terms).replace("**", "^")
            product = {}
            for base, exponent in re.findall(r"(\d+)\^?\{?([\d⁰¹²³⁴⁵⁶⁷⁸⁹]*)", spelt):
                product[int(base)] = product.get(int(base), 0) + int(exponent.translate(SUPERSCRIPTS) or 1)
        at = max(at + 1, form.end)
    return product


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


_OPPOSITES = dict(pair.split("/") for pair in WORDS["opposite"])
_OPPOSITES |= {other: word for word, other in _OPPOSITES.items()}
_ALIKE_WORDS = [pair.split("/") for pair in WORDS["alike"]]


def truth(text: str, predicates: Collection[str] = ()) -> bool | None:
    """Return the yes or no of a text; None where it plainly says neither. `predicates`: the words that the code asks
    about, `prime` of `is_prime(91)`.
    """
    found = [token for token in tokens(text[:2000]) if token.kind != "BOLD"]
    first = next((token.word for token in found if token.kind == "WORD"), "")
    if first in WORDS["positive"] or first in WORDS["negative"]:
        return first in WORDS["positive"]
    for asked in (("true", "correct"), predicates):
        for at, word in ((at, word) for at in range(len(found)) for word in asked):
            yes = _says([token.word for token in found[max(0, at - 2) : at + 1]], word)
            if yes is not None and (stands := _stands(found, at - word.count(" "), at)) is not None:
                return stands is yes
    return None


def _says(words: list[str], asked: str) -> bool | None:
    """Return whether the last of the words says what is asked, or the opposite; None for another word."""
    alike = [asked, *(other for word, other in _ALIKE_WORDS if word == asked)]
    if " ".join(words).endswith(f" {asked}") or any(_is(words[-1], word) for word in alike):
        return True
    opposites = [_OPPOSITES.get(asked, ""), *(f"{prefix}{asked}" for prefix in ("in", "im", "ir", "un", "dis", "non"))]
    return False if any(_is(words[-1], word) for word in opposites) else None


def _is(said: str, word: str) -> bool:
    return bool(word) and (said.startswith(word[:-1]) if word[-1] == "*" else said == word)


def _stands(found: list[Token], begin: int, at: int) -> bool | None:
    """Return whether a sentence says the words from `begin` to `at`, or denies them; None where no verb is before them,
    or a word that may mean anything.
    """
    denies = False
    has_verb = is_in(found[at].word, "verb") or (begin > 0 and found[begin - 1].kind == "NUMBER")
    for before in range(begin - 1, max(-1, begin - 9), -1):
        word = found[before].word
        is_verb, is_negation = is_in(word, "verb"), is_in(word, "negation")
        if not (is_verb or is_negation or word in WORDS["certainly"] or (word == "-" and before == begin - 1)):
            break
        denies, has_verb = denies or is_negation, has_verb or is_verb
        if is_verb and word != "be":
            break
    return not denies if has_verb else None


_PREDICATE = re.compile(r"\bis_?([a-z_]{3,30})\b")
_DIVIDES = re.compile(r"%[^\n=]{1,40}==\s*0")
_ASKED = re.compile(
    r"\b(?:is|are|was|were)\s[^?.\n]{1,80}?\s(?:an?\s((?:[a-z-]+\s)?[a-z]{3,30})|([a-z]{4,30}))(?=\s?\?|\s(?:of|by|to)\s[^?.\n]{1,60}\?)",
    re.IGNORECASE,
)


def predicates(program: str) -> frozenset[str]:
    """Return the words that a program asks about: `prime` of `isprime(n)`, `divisible` of `n % 7 == 0`. Bounded."""
    asked = [word.removesuffix("_") for word in _PREDICATE.findall(program[:20_000])[:10]]
    divides = _DIVIDES.search(program[:20_000]) is not None
    return frozenset(asked) | (frozenset(("divisible",)) if divides else frozenset())


def asked(question: str) -> frozenset[str]:
    """Return the word that a question asks about: `perfect square` of "Is 144 a perfect square?"."""
    found = _ASKED.search(question[:2000])
    return frozenset([(found[1] or found[2]).lower()] if found else ())
