"""The numbers that a text states: "It is $1,234.50", "33.3 %", "1.5 × 10^8", "2π/3", `\\frac{1}{2}`, "3 + 4i".

Pure, and strict: what cannot be read for certain (a range, a sum, "5 squared", "more than 3") is there as a number
that is not sure. Time is linear in the text, whose length and numbers are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from safeexec.agent import formulas
from safeexec.agent.formulas import SUPERSCRIPTS, VULGAR, Exact
from safeexec.agent.statements import UNITS, Lead, Sentences

MAX_TEXT = 20_000
MAX_NUMBERS = 150
_I = Exact(Fraction(0), Fraction(1))
_MAX_DIGITS = 2_000
_MAX_EXPONENT = 2_000


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as a text states it. `place` is the value of one unit of its last digit, 0 where the number is exact (a
    fraction, a power, a root); `digits` counts those that matter. `value` is None where it cannot be read, and `sure`
    is False where the text says more about it ("more than 3", "5 squared").
    """

    text: str
    value: Exact | None
    place: Fraction = Fraction(0)
    digits: int = 0
    percent: bool = False
    cut: bool = False
    """It ends in an ellipsis: its last digit may be cut off, not rounded."""
    hedged: bool = False
    """The text says that it is about right, or writes it as a power of ten."""
    marked: bool = False
    """The text marks it as the answer: boxed, bold, or behind "answer is"."""
    lead: Lead = "other"
    """Its place among the words before it."""
    followed: bool = False
    """Its own value follows it: of "√2 ≈ 1.41" it is the root."""
    sure: bool = True
    label: str = ""
    """The name that it is said to be the value of: of "x = 3" it is "x"."""
    paired: bool = False
    """It is the second of two that a ± states, in either order."""
    other: Exact | None = None
    """While it is read: the second one."""


_GROUPED = (
    r"\d{1,2}(?:,\d{2}){1,9},\d{3}(?!,?\d)|\d{1,3}(?>(?:,\d{3})+)"
    r"|\d{1,3}(?>(?:[\u00a0\u2009\u202f '’_]\d{3})+)|\d{1,9}(?>(?:_\d{3})+)"
)
_DIGITS = rf"(?:(?:{_GROUPED})(?!\d)|\d++)(?>(?:\.\d++)?)|\.\d++"
_EXPONENT = (
    r"(?:\s?(?:\^|\*\*)\s?(?:\{\s?([-+]?\d{1,6})\s?\}|\(\s?([-+]?\d{1,6})\s?\)|([-+]?\d{1,6}))"
    r"|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6}))"
)
_NUMBER = re.compile(
    rf"(?P<number>{_DIGITS})(?>(?:[eE](?P<e>[-+]?\d{{1,6}})(?!\w)|\s?(?:×|·|\*|x|\\times|\\cdot)\s?10{_EXPONENT})?)"
)
_OPENED = re.compile(r"(?:(?:\(|\\[dt]?frac\s?\{)\s?[-−+]?\s?)+$")
_OPENERS = 40
_SIGN = re.compile(r"(?<![\w)\]}²³%.])\s?([-−])\s?$")
_POWER = re.compile(rf"\s?{_EXPONENT}")
_OVER = re.compile(r"\s?/\s?(\d{1,400}+)(?!\.?\d)")
_START = re.compile(
    rf"\\[dt]?frac\s?\{{\s?(?P<fraction>\d{{1,400}}+)\s?\}}\s?\{{\s?(?P<under>\d{{1,400}}+)\s?\}}"
    r"|(?P<vulgar>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])|(?P<root>\\[dt]?frac\s?\{|√|\\sqrt|sqrt\b|π|\\pi(?![A-Za-z])|\bpi\b)"
    rf"|(?P<digits>{_DIGITS})"
    r"|(?P<letter>(?<![\w.])(?:\\?ln(?![A-Za-z_])|exp(?=\()"
    r"|[ije](?!\.\w)(?=\s?(?:[-+−] ?\d|[,;.)}$*·√^]|\\sqrt|\Z|\n|(?:and|or)\b))))"
)
_MIXED = re.compile(r"\s?(?:([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])|\s(\d{1,9})/(\d{1,9})(?![\d/])|\\[dt]?frac\{(\d{1,9})\}\{(\d{1,9})\})")
_POWERS_OF_TEN = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "quadrillion": 15, "mn": 6, "bn": 9}
_POWERS_OF_TEN |= {"tausend": 3, "mille": 3, "millions": 6, "millionen": 6, "mio": 6, "milliards?": 9, "milliarden?": 9}
_POWERS_OF_TEN |= {"mrd": 9, "billionen": 12, "lakh": 5, "crore": 7, "hundred": 2}
_SCALES = {"dozen": 12, "dutzend": 12, "douzaines?": 12, **{word: 10**power for word, power in _POWERS_OF_TEN.items()}}
_SCALE = re.compile(rf"\s?(?:{'|'.join(f'({word})' for word in _SCALES)})\b", re.IGNORECASE)
_FACTORS = list(_SCALES.values())
_MONEY_SCALE = re.compile(r"(k|K|M|B|bn|m)\b")
_PERCENT = re.compile(r"\s{0,2}(?:\\?%|(?:per|pour) ?cent\b|prozent\b|pct\b)", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\s?(?:\.\.\.|…|\\[lc]?dots)")
_ATTACHED = re.compile(
    rf"(?:st|nd|rd|th|°[CF]?|{UNITS}|in|C|F)"
    r"(?:[²³]|\^[23]|/[a-z]{1,3})?(?![A-Za-z0-9_])|-"
)

_CLOSERS = r"[\s)\]}*$'\"`]*"
_NEGATIVE = re.compile(
    r"(?:\b(?:minus|negative)\s|(?:[=:≈(\[{,]|\\approx)\s?[-−]\s|(?<![\w)\]}²³%.])[-−])\s?\\?[$€£¥]?\s?$", re.I
)
_SIGNED = re.compile(r"(?:[-−±]|\\pm|\b(?:minus|negative))\s?\\?[$€£¥]?\s?\Z", re.IGNORECASE)
_COMMAND = re.compile(r"\\(?:pm|approx|simeq|cdot|times|leq?|geq?|neq?|[lg]t)$")
_BOTH_SIGNS = re.compile(r"(?:±|\\pm)\s?$")
_MONEY_BEFORE = re.compile(r"(?:[$€£¥₹]|USD|EUR|CHF|GBP)\s?[-−]?$")
_NAMED = re.compile(r"(?:[A-Za-z_][\w.]*['’′]*|\\[a-z]+)\([^()]{0,80}$")
_PLACES = re.compile(
    r"(?:\s|-)?(?:decimals?|decimal places?|significant (?:digits?|figures?)|places?|digits?"
    r"|d\.?p\.?\b|s\.?f\.?\b|sig figs?)",
    re.IGNORECASE,
)
_HAS = re.compile(r"\b(?:has|have|had|is|are)\s+$")
_ANSWER_BEFORE = re.compile(r"\b(?:answer|result|solution)\b[^.\d\n]{0,30}$", re.IGNORECASE)
_HEDGE = re.compile(r"(?:\b(?:about|approximately|approx\.?|roughly|around|circa|ca\.)|≈|\\approx)[\s*$({€£]*-?$", re.I)
_BOXED = re.compile(r"\\boxed\s?\{[^\d]{0,20}$")
_BOLD = re.compile(r"(?<![\w)\]}])\*\*[^\d*]{0,20}$")
_IN_FORMULA = re.compile(
    r"(?:\\(?:[dt]?binom|ln|log|exp|(?:arc)?(?:sin|cos|tan)h?|gcd|max|min|sum|prod|int|lim|det)(?![A-Za-z])|[∫∑∏]|\|"
    r"|\b(?:lim|det|gcd|lcm|max|min)(?![A-Za-z]))(?:_\{?\s?\w{0,9}\s?=?)?[^$=≈\n]{0,60}$"
)
_FORMULA_ENDS = re.compile(r"(?>(?:(?!\\approx)[^$=≈\n,;])*)(?:=|≈|\\approx)")
_LABEL = re.compile(r"(?<!\w)(?!(?:and|or)\b)([A-Za-z_]\w{0,40})['\"`]?\s?(?:=|≈|\\approx|:|is)[\s${*\\`'\"]*[-−+]?$")
_MARKER = re.compile(r"(?:^|\n)[ \t]*$")
_FIRST = re.compile(r"(?:\A|[.!;:\n]\s)[\s*$(€£]*-?\Z")
_SUBJECT = re.compile(
    rf"(?:\s?(?:°[CF]?|[a-z]{{1,4}}/[a-z]{{1,3}}|{UNITS})(?!\w)|\s(?!(?:is|are|and|or|that|which)\b)[a-z]{{2,12}}){{0,3}}"
    r"\s?(?:=(?!=)|≈|\b(?:is|are|has|have|equals?)(?:\s(?:about|exactly|the same as))?)\s?[-€$]?\d"
)
"""Behind the number that a sentence begins with, where it says of it how much it is: 98.6 °F is 37 °C."""
_EQUALS_AFTER = re.compile(rf"{_CLOSERS}(?:=(?!=)|≈|\\approx|\b(?:is|equals|gives|makes|yields)\b)")
_OPERATOR = re.compile(
    # Possessive: what stands between two numbers may be nearly the whole text.
    r"[\s)\]}$]*+(?:[+*×·÷/^−–-]|\\times|\\cdot|\\div|\bplus\b|\bminus\b|\btimes\b|\bdivided by\b)[\s(\[{$\\]*+"
    r"(?>(?:left|[dt]?frac|sqrt)?)[\s(\[{]*+[+\-−]?\s?\\?\$?"
)
_SPACE_BEFORE_MATH = [
    (re.compile(r"\\left|\\right|\\displaystyle|\\!"), ""),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;: ]|\\[()\[\]]|\\quad"), " "),
]


def numerals(text: str, vocabulary: Collection[str] | None = ()) -> list[Numeral] | None:
    """Return the numbers of `text` in order; None where it is too long to be read, or holds too many of them. Numbers
    that are part of a name (`x1`, `f(3)`), the marks of a list and remarks like "to 4 places" are left out; so is a sum
    whose value follows it ("2 + 3 = 5"), and what stands in a function before its value ("\\ln 2 ≈ 0.693").
    """
    if len(text) > MAX_TEXT:
        return None
    for pattern, replacement in _SPACE_BEFORE_MATH:
        text = pattern.sub(replacement, text)
    found: list[tuple[int, int, Numeral]] = []
    position = 0
    looked = 0
    """End of the last look for a closed form: none is looked for again before it, so that time is linear."""
    while len(found) <= MAX_NUMBERS and (start := _START.search(text, position)):
        begin, numeral = start.start(), None
        is_letter = start.lastgroup == "letter"
        if begin >= looked:
            begin, looked, numeral = _form(text, position, begin)
        if is_letter and (numeral is None or _EQUALS_AFTER.match(text, looked)):
            position = max(start.end(), looked if numeral else 0)  # a name, or a function before its value
            continue
        if numeral is not None:
            position = looked
        else:
            begin = start.start()
            numeral, position = _read(text, start)
        found.append((begin, position, numeral))
    if len(found) > MAX_NUMBERS:
        return None
    return list(_judged(text, found, Sentences(text, vocabulary)))


# One number


def _form(text: str, position: int, start: int) -> tuple[int, int, Numeral | None]:
    """Return the closed form that begins behind `position`, with or before the number at `start`: where it begins, how
    far it was read, and what it is.
    """
    opened = _OPENED.search(text, max(position, start - _OPENERS), start)
    looked = start
    for place in [opened.start(), start] if opened else [start]:
        sign = _SIGN.search(text, max(position, place - 4), place)
        begin = sign.start(1) if sign else place
        form = formulas.closed(text, begin)
        looked = max(looked, form.end)
        if form.values:
            first, *second = form.values
            numeral, end = _finish(text, begin, form.end, Numeral("", first))
            if second and numeral.value is not None:
                numeral = replace(numeral, other=second[0])
            return begin, end, numeral
    return start, looked, None


def _read(text: str, start: re.Match[str]) -> tuple[Numeral, int]:
    """Return the number that begins here, without regard to what stands before it, and its end."""
    kind = start.lastgroup
    if start["fraction"] is not None:
        under = int(start["under"])
        value = Fraction(int(start["fraction"]), under) if under else None
        return _finish(text, start.start(), start.end(), _whole(value))
    if kind == "vulgar":
        return _finish(text, start.start(), start.end(), _whole(VULGAR[start["vulgar"]]))
    if kind == "digits":
        return _read_digits(text, start.start())
    return Numeral(start.group(), None), start.end()


def _read_digits(text: str, begin: int) -> tuple[Numeral, int]:
    match = _NUMBER.match(text, begin)
    assert match is not None  # it begins with digits
    number, end = match["number"], match.end()
    plain = re.sub(r"[^\d.]", "", number)
    exponent = next((group for group in match.groups()[1:] if group), "0").translate(SUPERSCRIPTS).replace("−", "-")
    no_group = len(number) > 1 and number[0] == "0" and number[1] not in "0123456789."
    if no_group or len(plain) > _MAX_DIGITS or abs(int(exponent)) > _MAX_EXPONENT:
        return Numeral(text[begin:end], None), end
    scale = Fraction(10) ** int(exponent)
    value = Fraction(plain if plain[0] != "." else f"0{plain}") * scale
    places = len(plain.partition(".")[2])
    significant = plain.replace(".", "").lstrip("0")
    is_power = exponent != "0" and "." in plain
    written = Numeral("", Exact(value), place=scale / 10**places, digits=len(significant), hedged=is_power)
    if exponent == "0" and (power := _POWER.match(text, end)):
        return _finish(text, begin, power.end(), _whole(_raised(value, next(filter(None, power.groups())))))
    if number.isdigit() and exponent == "0":
        if over := _OVER.match(text, end):
            under = int(over[1])
            return _finish(text, begin, over.end(), _whole(value / under if under else None))
        if mixed := _MIXED.match(text, end):
            return _finish(text, begin, mixed.end(), _whole(_and_a_part(value, mixed)))
    return _finish(text, begin, end, written)


def _whole(value: Fraction | None) -> Numeral:
    """Return a number that is exact, without a last digit."""
    return Numeral("", None if value is None else Exact(value))


def _raised(base: Fraction, exponent: str) -> Fraction | None:
    power = int(exponent.translate(SUPERSCRIPTS))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return base**power if base and bits * abs(power) <= 4 * _MAX_DIGITS else None


def _and_a_part(whole: Fraction, mixed: re.Match[str]) -> Fraction | None:
    if mixed[1] in VULGAR:
        return whole + VULGAR[mixed[1]]
    over, under = (int(group) for group in [group for group in mixed.groups() if group][-2:])
    return whole + Fraction(over, under) if 0 < over < under else None


def _finish(text: str, begin: int, end: int, numeral: Numeral) -> tuple[Numeral, int]:
    """Take in the signs behind a number that belong to it: a scale, a percent sign, `i`, an ellipsis, a unit."""
    scale = 1
    money = _MONEY_SCALE.match(text, end) if _MONEY_BEFORE.search(text, max(0, begin - 8), begin) else None
    if money:
        scale, end = {"k": 10**3, "b": 10**9, "bn": 10**9}.get(money[1].lower(), 10**6), money.end()
    while word := _SCALE.match(text, end):
        scale, end = scale * _FACTORS[(word.lastindex or 0) - 1], word.end()
        if scale > 10**40:
            break
    if scale != 1 and numeral.value is not None:
        numeral = replace(numeral, value=numeral.value * Exact(Fraction(scale)), place=numeral.place * scale)
    if percent := _PERCENT.match(text, end):
        numeral, end = replace(numeral, percent=True), percent.end()
    if numeral.value and text[end : end + 1] in ("i", "j") and not text[end + 1 : end + 2].isalnum() and scale == 1:
        numeral, end = replace(numeral, value=numeral.value * _I), end + 1
    elif ellipsis := _ELLIPSIS.match(text, end):
        numeral, end = replace(numeral, cut=True), ellipsis.end()
    after = text[end : end + 1]
    if (after.isalpha() or after == "_") and not _ATTACHED.match(text, end):
        numeral = replace(numeral, value=None)
    return replace(numeral, text=text[begin:end]), end


# A number among words


def _judged(text: str, found: list[tuple[int, int, Numeral]], sentences: Sentences) -> Iterator[Numeral]:
    position = 0
    while position < len(found):
        last = position  # of a chain: 2 + 3 · 4
        while last + 1 < len(found) and _OPERATOR.fullmatch(text, found[last][1], found[last + 1][0]):
            last += 1
        if last > position:
            complex_number = _complex(text, found, position, last, sentences)
            if complex_number is not None:
                yield complex_number
            elif not _EQUALS_AFTER.match(text, found[last][1]) and not _in_formula(
                text, found[position][0], found[last][1]
            ):
                for begin, end, numeral in found[position : last + 1]:
                    yield replace(numeral, sure=False, text=text[begin:end])
        else:
            yield from _alone(text, *found[position], sentences)
        position = last + 1


def _complex(
    text: str, found: list[tuple[int, int, Numeral]], first: int, last: int, sentences: Sentences
) -> Numeral | None:
    """Return the number that "3 + 4i" says."""
    (begin, _, real), (start, end, imaginary) = found[first], found[last]
    if last != first + 1 or real.value is None or imaginary.value is None or real.percent:
        return None
    sign = text[found[first][1] : start].strip()
    if real.value.imaginary or imaginary.value.real or sign not in ("+", "-", "−"):
        return None
    states = list(_alone(text, begin, end, real, sentences))
    if len(states) != 1 or states[0].value is None:
        return None
    value = states[0].value + (imaginary.value if sign == "+" else -imaginary.value)
    place, digits = max(real.place, imaginary.place), max(real.digits, imaginary.digits)
    return replace(states[0], value=value, place=place, digits=digits)


def _alone(text: str, begin: int, end: int, numeral: Numeral, sentences: Sentences) -> Iterator[Numeral]:
    before, after = text[max(0, begin - 90) : begin], text[end : end + 40]
    if (
        begin
        and (text[begin - 1].isalnum() or text[begin - 1] in "_^")
        and text[begin - 1] not in "eπ"
        and not _COMMAND.search(before)
    ):
        return  # a part of a name, or an exponent
    if before.endswith(("^{", "_{", "**")) and not _BOLD.search(before):
        return
    if _NAMED.search(before) and not before.rstrip("( ").endswith(("boxed", "=")):
        return
    if _in_formula(text, begin, end):
        return
    both = _BOTH_SIGNS.search(before)
    negative = _NEGATIVE.search(before)
    signed = _SIGNED.search(text, max(0, begin - 20), begin) if both or negative else None
    lead, sure = sentences.standing(signed.start() if signed else begin, end)
    if _MARKER.search(before) and re.match(r"[.)]\s+\S", after):
        return
    if _PLACES.match(after) and not _HAS.search(before):
        return
    is_subject = bool(_FIRST.search(before) and _SUBJECT.match(text, end))
    if is_subject and not numeral.place and numeral.value is not None:
        return  # 2^100 has 31 digits
    numeral = replace(
        numeral,
        text=text[begin:end],
        lead="mention" if is_subject else lead,
        sure=sure,
        hedged=numeral.hedged or bool(numeral.place and _HEDGE.search(before)),
        marked=bool(_BOXED.search(before) or _BOLD.search(before) or _ANSWER_BEFORE.search(before)),
        followed=not numeral.place and bool(_EQUALS_AFTER.match(after)),
        label=label[1] if (label := _LABEL.search(before)) else "",
    )
    if numeral.other is not None:
        yield replace(numeral, other=None)
        yield replace(numeral, value=numeral.other, paired=True, other=None)
        return
    if both:
        yield numeral
    if both or negative:
        value = None if numeral.value is None else -numeral.value
        numeral = replace(numeral, value=value, text=f"-{numeral.text}", paired=bool(both))
    yield numeral


def _in_formula(text: str, begin: int, end: int) -> bool:
    """Return True if a function comes before, and its value behind."""
    return bool(
        _IN_FORMULA.search(text, max(0, begin - 90), begin) and _FORMULA_ENDS.match(text, end, min(len(text), end + 60))
    )
