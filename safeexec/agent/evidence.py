"""Judge the words of an answer: do they say the value that code computed?

Pure. A number agrees with a computed one if it is that number, rounded rightly at its last digit and not rounded away:
two digits at least, or an error below a thousandth. An answer is *matched* if every value that was computed is stated
in it, in order, and every other number in it is known (from the question, or from the code); *contradicted* if it
states a number that is neither.
"""

from __future__ import annotations

import cmath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import islice, permutations
from typing import Any, Literal, NamedTuple

from safeexec import Opaque
from safeexec.agent import formulas, inequalities, readings, wording
from safeexec.agent.formulas import Number, parts
from safeexec.agent.numerals import MAX_NUMBERS, MAX_TEXT, Numeral, numerals
from safeexec.agent.statements import Lead, Sentences
from safeexec.agent.tokens import Token, tokens, written

_MAX_LEAVES = 60
"""Numbers, at most, in a computed value that is compared. Each is called a leaf of it."""
_MAX_BITS = 20_000
_MAX_PLACES = 1_000
"""Digits of a decimal, and behind the point of any number."""
_FEW_DIGITS, _ONE_DIGIT = Fraction(25, 1000), Fraction(1, 1000)
"""Parts by which a rounded number of two digits and more, and one of one digit, may be off."""
_FEW_PAIRS = 3
"""Solutions of a system, at most, of which every order is tried."""
_HEDGED = Fraction(5, 100)
"""Part by which a number may be off of which the text says that it is about right."""
_FLOAT = Fraction(1, 2**50)
_PERCENT = Fraction(1, 100)
_NOISE = Fraction(1, 10**14)
"""A part of a complex number that is this small beside the other is what is left of 0 by rounding."""
_FORMULA = re.compile(
    r"\b(?!(?:sqrt|pi|I|Matrix)\b)[A-Za-z_]\w*\s*(?:[-+*/^(]|$)|[-+*/^]\s*(?!(?:sqrt|pi|I)\b)[A-Za-z_]"
)
"""A variable, or a function that is no root, beside an operator."""
_WORDS_ALONE = re.compile(r"[^\W\d_]{2,}(?:[ '’-][^\W\d_]+)*")
"""A text that is a name, or words: Alice, light blue."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
"""A date as ISO 8601 writes it."""
_NAMES = re.compile(r"\b(?!(?:sqrt|pi|exp|log|ln)\b)[A-Za-z]{2,}")
"""Words, which a text of numbers alone has not: Friday 13, 12 km."""
_BASE = re.compile(r"(?<=\w)_\{?\d\d?\b\}?")
"""The base that a numeral is written in: of 1010_2."""
_PREFIXED = re.compile(r"0[box][0-9a-f]+")
"""A numeral as `bin`, `oct` and `hex` write it."""
_DENIED = re.compile(r"\b(?:not|no|isn['’]t|never|wrong)\b(?! (?:less|more|greater|smaller|includ))", re.IGNORECASE)
"""A word that denies; "not less than 2" and "2 not included" say a region."""
_ROOTS = re.compile(r"\b(?:solutions?|roots?|zeros|eigenvalues)\b", re.IGNORECASE)
"""Words for values of which a list has no order."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A number that code computed. `slack` is how far a float may be from an exact number (a fraction, a root) that it
    stands for; `place` is that of its last digit where it was computed as text: no answer has more. `name` is its key,
    where it came in a dict.
    """

    value: Number
    slack: Fraction = Fraction(0)
    place: Fraction = Fraction(0)
    whole: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The judgement of an answer. `unsupported` are the numbers that it states and nothing supports. `said`: the value
    was found in it, if unknown words are ignored; in a matched one it stands among known words.
    """

    judgement: Literal["matched", "contradicted", "undecided"]
    unsupported: tuple[str, ...] = ()
    said: bool = False

    @property
    def matched(self) -> bool:
        return self.judgement == "matched"

    @property
    def contradicted(self) -> bool:
        return self.judgement == "contradicted"


class _StatedNumber(NamedTuple):
    """A number that an answer states, beside the computed ones."""

    numeral: Numeral
    fits: list[bool]
    """For each computed number: is it that one?"""
    lead: Lead
    """As its `Standing` has it; one more of a list has the lead of the number before it."""
    supported: bool
    """It was computed; or it is known from the question or the code, and is no further value beside a computed one."""

    @property
    def is_computed(self) -> bool:
        return any(self.fits)

    @property
    def is_value(self) -> bool:
        """Return True if the answer states it as a value, and it was computed."""
        return self.is_computed and self.numeral.sure and self.lead in ("claim", "either")


_MATCHED, _CONTRADICTED, _UNDECIDED = Comparison("matched"), Comparison("contradicted"), Comparison("undecided")


def _judgement(says: bool | None) -> Comparison:
    """Return the judgement of an answer that says it, something else, or neither for certain."""
    return _UNDECIDED if says is None else _MATCHED if says else _CONTRADICTED


def judge(
    answer: str,
    value: Any,
    known: Collection[Computed] = (),
    *,
    percent: bool = False,
    vocabulary: Collection[str] = (),
    predicates: frozenset[str] = frozenset(),
) -> Comparison:
    """Compare the words of `answer` with the computed `value`. `percent` says that the code computes percentages: then
    "62.9 %" may be 62.9 as well as 0.629. `vocabulary` are the words of the question, in lower case, `predicates` those
    that the code tests, where it computes a yes or no.
    """
    if len(answer) > MAX_TEXT:
        return _UNDECIDED
    answer = wording.normal(answer)
    found = _Judge(known, percent, vocabulary, predicates).judge(answer, value)
    if found.matched or found.unsupported:
        return replace(found, said=found.matched)
    if type(value) is str and _WORDS_ALONE.fullmatch(value):
        return found  # of names: among words that nobody knows, Ben lost says Ben, too
    loosely = _Judge(known, percent, None, predicates).judge(answer, value)
    return Comparison("undecided", said=True) if loosely.matched else found


@dataclass(frozen=True, slots=True)
class _Judge:
    """Judges answers to one question; `vocabulary` None: whatever words stand around the numbers."""

    known: Collection[Computed]
    percent: bool
    vocabulary: Collection[str] | None
    predicates: frozenset[str]

    def judge(self, answer: str, value: Any) -> Comparison:
        """Judge one reading of the words; the first of these that is so decides:

        | what was computed, or what the answer says | judged by |
        | --- | --- |
        | a date was computed | its text, in the answer with its dates as ISO 8601 has them |
        | a yes or no was | `readings.truth` |
        | powers of factors were, and the answer is a product | `readings.factors` |
        | a list that repeats a factor was, and the answer is the product of its powers | `readings.factors` |
        | a text with words was, or one without a number | the words of the answer |
        | the answer ends with what it is not: "It is not 17." | that number: contradicted if it was computed |
        | an empty value was computed: no solutions | `readings.says_none` |
        | the answer says that there is none, and no number | the computed numbers: contradicted if there are any |
        | an infinite value was computed | the sign of the infinity, or the numbers, that the answer states |
        | the answer says infinity, and no number | the computed numbers: contradicted if there are any |
        | a region was computed: -2 < x < 2 | the region that the answer states |
        | a formula was | the formula as it is written, or the last one that the answer claims |
        | numbers were | `_of_numbers`, for each reading of the answer and each order of the numbers |
        """
        if type(value) is date or (type(value) is str and _ISO.fullmatch(value)):
            iso = str(value)
            return self._of_words(readings.with_date(answer, iso), iso)
        if type(value) is str and value.isalnum():
            answer = _BASE.sub("", answer)
            if _PREFIXED.fullmatch(value):
                answer, value = _without_prefix(answer, value)
        if isinstance(value, bool):
            truth = readings.truth(answer, self.predicates)
            return _judgement(truth if truth is None else truth is value)
        if (of_factors := _of_factors(answer, value)) is not None:
            return of_factors
        text = getattr(value, "repr", value)
        formula, region = _formula(text), inequalities.computed(value)
        if type(value) is str and formula is None and region is None and (_NAMES.search(value) or not leaves(value)):
            return self._of_words(answer, value)
        if denied := readings.denied(answer):
            stated, computed = numerals(denied) or (), leaves(value) or ()
            wrong = any(agrees(one, leaf, percent=self.percent) for one in stated for leaf in computed)
            return _CONTRADICTED if wrong else _UNDECIDED
        if (without_number := self._without_number(answer, value)) is not None:
            return without_number
        if region is not None:
            said = None if _DENIED.search(answer) else inequalities.region(answer)
            return _judgement(said and inequalities.same(said, region))
        if formula is not None:
            as_written = self._of_words(answer, text)
            return as_written if as_written.matched else _judgement(_says_formula(answer, formula))
        judged: list[Comparison] = []
        for reading in (answer, *readings.readings(answer), *readings.uncounted(answer, value)):
            there = numerals(reading, self.vocabulary)
            for form in _forms(value, answer):
                found = self._of_numbers(reading, there, form)
                if found.matched:
                    return found
                judged.append(found)
        return next((found for found in judged if not found.contradicted), judged[0])

    def _without_number(self, answer: str, value: Any) -> Comparison | None:
        """Judge an empty or infinite value, or an answer that says that there is none, or that it is infinite."""
        none, infinity, wanted = readings.says_none(answer), readings.infinity(answer), _infinite(value)
        is_empty = value in ([], (), set(), {}) or getattr(value, "repr", "") == "EmptySet"
        if is_empty and none:
            return _MATCHED
        if is_empty or (wanted and not infinity):
            stated = (one for one in numerals(answer, self.vocabulary) or () if one.sure)
            claims = any(one.lead == "claim" for one in stated)
            return _CONTRADICTED if claims else _UNDECIDED
        if wanted:
            return _CONTRADICTED if infinity != wanted else _UNDECIDED if _DENIED.search(answer) else _MATCHED
        if (none or (infinity and leaves(value))) and not numerals(answer):
            is_count = type(value) is int and value == 0
            return _CONTRADICTED if leaves(value) and not is_count else _UNDECIDED
        return None

    def _of_words(self, answer: str, value: Any) -> Comparison:
        """Judge by whether the answer states a computed text: another one may say the same."""
        is_text = isinstance(value, str) and 2 <= len(value) <= _MAX_PLACES
        return _MATCHED if is_text and self._contains(answer, wording.on_24_hours(value)) else _UNDECIDED

    def _contains(self, answer: str, value: str) -> bool:
        """Return True if the answer states a computed text, a formula say, as it is, and no number besides."""
        wanted, vocabulary = tokens(value), self.vocabulary
        if not wanted:
            return False
        has_unit = wanted[0].kind == "NUMBER" and all(token.kind == "WORD" for token in wanted[1:])
        words = _WORD.findall(value.lower()) if has_unit else ()
        sentences = Sentences(answer, None if vocabulary is None else {*vocabulary, *words})
        found, length = sentences.found, len(wanted)
        places = range(len(found) - length + 1)
        begin = next((at for at in places if all(map(_is_alike, wanted, found[at : at + length]))), None)
        if begin is None:
            return False
        end = begin + length
        before, after = answer[: found[begin].begin], answer[found[end - 1].end :]
        stated = numerals(f"{before} ; {after}")
        if stated is None or not all(any(_is_known(numeral, leaf) for leaf in self.known) for numeral in stated):
            return False
        if re.search(r"[\w+\-/^(]\Z", before) or re.match(r"\s?[+\-/^(]|\w|\s\*", after):
            return False
        asked = {*_WORD.findall(after.lower())} <= _BESIDE.union(vocabulary or ())
        is_first = begin == 0 or (begin == 1 and sentences.kind(0) == "the")
        if vocabulary and is_first and asked and not _ANOTHER.search(after):
            return True  # the question, with the text in the place of its "who": Alice has the most points
        begin -= sentences.kind(begin - 1) in ("a", "an", "the")
        lead, sure = sentences.standing(begin, end - (length - 1 if has_unit else 0))
        when = _WHEN.search(before)
        verb = (when["verb"] or "").lower() if when else ""
        asked_verb = verb not in _ALWAYS_WHEN and (vocabulary is None or verb[-1:] != "s" or verb in vocabulary)
        return sure and (lead in ("claim", "either") or (when is not None and not asked_verb))

    def _of_numbers(self, answer: str, stated: list[Numeral] | None, value: Any) -> Comparison:
        """Compare the words, and the numbers that they state, with a value of numbers, as they stand.

        | the answer | where |
        | --- | --- |
        | denies what was computed | what it calls the answer, or its last claim, is no value |
        | says another | a number that it claims was not computed |
        | is contradicted | it denies and says another; or it states a number that can be read, and nothing supports |
        | is matched | it denies nothing, all its numbers are supported, and each computed one is stated, in order |
        """
        wanted = leaves(value)
        if stated is None or wanted is None:
            return _UNDECIDED
        if not wanted:
            return self._of_words(answer, getattr(value, "repr", value))
        judged = list(self._judged(stated, wanted))
        claims = [one for one in judged if one.numeral.lead == "claim"]
        answers = [one for one in judged if one.numeral.label.lower() in ("answer", "result", "solution")]
        denied = any(not one.is_value for one in (*answers, *claims[-1:]))
        says_other = any(not one.is_computed for one in claims)
        unsupported = [one.numeral for one in judged if not one.supported]
        contradicted = (denied and says_other) or any(one.sure and one.value is not None for one in unsupported)
        labels = {re.sub(r"_?\d+$", "", one.numeral.label) for one in judged if one.is_value} - {""}
        unordered = isinstance(value, (set, frozenset)) or len(labels) == 1 or bool(_ROOTS.search(answer))
        matched = not unsupported and not denied and _all_stated(judged, len(wanted), unordered=unordered)
        return Comparison(
            "matched" if matched else "contradicted" if contradicted else "undecided",
            tuple(dict.fromkeys(one.text for one in unsupported)),
        )

    def _judged(self, stated: list[Numeral], wanted: list[Computed]) -> Iterator[_StatedNumber]:
        """Yield the numbers that an answer states, but those of a step on the way to it."""
        before: Lead = "other"
        has_value = claims_other = False
        for numeral in stated:
            fits = [agrees(numeral, leaf, percent=self.percent) for leaf in wanted]
            is_reason = numeral.step == "reason" and (claims_other or not any(fits))
            if is_reason or (numeral.step and not any(fits) and numeral is not stated[-1]):
                continue  # also of "10, because 2^10 = 1024", where 1024 was computed: the answer is 10
            lead = before if numeral.lead == "list" else numeral.lead
            is_mention = lead in ("mention", "either")
            may_be_known = is_mention or not has_value
            supported = any(fits) or (may_be_known and any(_is_known(numeral, leaf) for leaf in self.known))
            yield (one := _StatedNumber(numeral, fits, lead, supported))
            has_value = has_value or one.is_value
            claims_other = claims_other or (lead == "claim" and not has_value)
            before = "claim" if one.is_value else "mention" if is_mention else "other"


def _without_prefix(answer: str, value: str) -> tuple[str, str]:
    """Return both without the prefix of `bin`, `oct` or `hex`: "101101 in binary" says all that "0b101101" does."""
    digits = value[2:]
    answer = re.sub(rf"\b{value[:2]}(?=[0-9a-f])", "", answer, flags=re.IGNORECASE)
    return answer.replace(digits.upper(), digits), digits


def _of_factors(answer: str, value: Any) -> Comparison | None:
    """Judge factors that were computed, as their powers or as a list that repeats one, where the answer is a product of
    powers. None where it is to be judged otherwise.
    """
    if type(value) is dict and value and all(type(one) is int for one in (*value, *value.values())):
        product = readings.factors(answer) if min(*value, *value.values()) > 0 and 1 not in value else {}
        return _judgement(product == value) if product else None
    repeats = type(value) is list and 1 < len(value) <= _MAX_PLACES and all(type(one) is int for one in value)
    is_stated = repeats and len({*value}) < len(value) and readings.factors(answer) == Counter(value)
    return _MATCHED if is_stated else None


def _forms(value: Any, answer: str) -> list[Any]:
    """Return the forms in which an answer may state numbers: in the units that it names, in another order."""
    if type(value) is timedelta:
        return list(readings.in_units(value, answer)) or [value]
    is_counted = type(value) is dict and all(type(count) is int for count in value.values())
    if is_counted and all(type(one) is not str and len(leaves(one) or ()) == 1 for one in value):
        return [value, set(value)]  # roots or eigenvalues, with how often each of them is there
    if type(value) is list and len(value) <= _FEW_PAIRS and all(type(one) is tuple for one in value):
        return [list(order) for order in permutations(value)]  # solutions of a system
    return [value]


def _infinite(value: Any) -> int:
    """Return 1 or -1 for an infinite value, else 0."""
    text = str(value) if type(value) is float else getattr(value, "repr", "")
    return {"oo": 1, "inf": 1, "-oo": -1, "-inf": -1}.get(text, 0) if type(text) is str else 0


def _formula(text: Any) -> formulas.ReadFormula | None:
    """Return the formula with a variable that was computed, as an object or as text."""
    if type(text) is not str or not _FORMULA.search(text):
        return None
    names = frozenset(re.findall(r"[A-Za-z_]\w*", text[:1000])) - formulas.TAKEN
    found = formulas.read(text[:1000], names) if len(text) <= 1000 else None
    return found if found is not None and found.names else None


def _says_formula(answer: str, formula: formulas.ReadFormula) -> bool | None:
    """Return whether the last formula that the answer claims is this one; None where nobody knows."""
    compared = [formulas.compare(one, formula) for one in formulas.stated(answer, formula.names)]
    if not compared or compared[-1] == "unknown" or _DENIED.search(answer):
        return None
    return compared[-1] == "same" or (None if "same" in compared else False)


def _all_stated(judged: list[_StatedNumber], wanted: int, *, unordered: bool) -> bool:
    """Return True if the answer states each of the computed numbers: in their order, the two of a ± in either."""
    rows = [one.fits if one.is_value else [False] * wanted for one in judged]
    if unordered or wanted == 1:
        return all(map(any, zip(*rows, strict=True))) and bool(rows)
    swapped = list(rows)
    for place, one in enumerate(judged):
        if one.numeral.paired and place:
            swapped[place - 1 : place + 1] = swapped[place], swapped[place - 1]
    return _is_in_order(rows, wanted) or _is_in_order(swapped, wanted)


def _is_in_order(rows: list[list[bool]], wanted: int) -> bool:
    leaf = 0
    for row in rows:
        if leaf < wanted and row[leaf]:
            leaf += 1
        elif any(row) and not (leaf and row[leaf - 1]):
            return False  # the values are there, but not in their order
    return leaf == wanted


def agrees(numeral: Numeral, leaf: Computed, *, percent: bool = False) -> bool:
    """Return True if a stated number is a computed one, perhaps rounded."""
    if numeral.value is None or (leaf.name and numeral.label and numeral.label != leaf.name):
        return False
    if numeral.percent and _is_rounded(numeral, leaf, _PERCENT):
        return True
    as_it_is = not numeral.percent or (percent and abs(parts(leaf.value)[0]) > 1)
    return as_it_is and _is_rounded(numeral, leaf, Fraction(1))


def _is_rounded(numeral: Numeral, leaf: Computed, scale: Fraction) -> bool:
    """Return True if a stated number is the computed one, rounded at its last digit.

    It may be off by half a unit of that digit; a cut one by less than a unit, downwards; one that the text calls about
    right by half a unit of its last digit that is not 0 (of 8000: by 500); an exact one, which has no `place`, by
    `slack` alone. An int is rounded to no fewer than three digits.
    """
    assert numeral.value is not None
    place, size = numeral.place * scale, max(map(abs, parts(leaf.value)))
    slack = leaf.slack if isinstance(numeral.value, Fraction) else max(leaf.slack, size * _FLOAT)
    for part, computed in zip(parts(numeral.value), parts(leaf.value), strict=True):
        said = part * scale
        error = abs(said - computed)
        if not error or (not said and abs(computed) <= _NOISE * size):
            continue
        if numeral.hedged and place:
            zeros = re.search(r"0*$", str(abs(said.numerator))) if said and said.denominator == 1 else None
            last = 10 ** len(zeros[0]) if zeros else 0
            allowed = min(max(place, last) / 2, abs(computed) * _HEDGED)
        elif not place:
            allowed = slack
        elif leaf.whole and numeral.digits < 3:
            return False
        elif numeral.cut and numeral.digits >= 3 and abs(said) < abs(computed):
            allowed = place * (1 - _FLOAT)
        else:
            few = size * (_ONE_DIGIT if numeral.digits < 2 else _FEW_DIGITS)
            allowed = min(place / 2 + min(slack, place / 100), few)
        if error > allowed:
            return False
    return not place or place >= leaf.place


def _is_known(numeral: Numeral, leaf: Computed) -> bool:
    return agrees(numeral, leaf) or (numeral.percent and numeral.value is not None and numeral.value == leaf.value)


_WHEN = re.compile(r"(?:(?P<verb>\w+)\s|\A)(?:at|in|on(?: an?)?)(?: about)?\s?\Z", re.IGNORECASE)
"""Before a day or a time that is said: it falls on a Friday, the train arrives at 11:45. At 11:45."""
_ALWAYS_WHEN = frozenset({"", "falls", "fell", "is", "was", "be", "fall", "place"})
"""Words that say it of what is asked for. Another verb does where the question lacks it: of a train that leaves at 9:20
it may ask when it arrives.
"""
_BESIDE = frozenset({"is", "are", "was", "were", "at", "with", "than"})
"""Words beside those of the question, behind a name that the answer begins with."""
_ANOTHER = re.compile(r"\b(?:or|nor|and)\b|(?<!than )\b[A-Z]")
"""Behind a name that the answer begins with: another name beside it."""
_WORD = re.compile(r"[^\W\d_]+")


def _is_alike(wanted: Token, found: Token) -> bool:
    """Return True for one token in two spellings; a word may begin a sentence."""
    if wanted.kind not in ("WORD", "NUMBER"):
        return wanted.kind == found.kind
    return found.text in (wanted.text, wanted.text.capitalize() if wanted.text.islower() else "")


# What was computed


def leaves(value: Any) -> list[Computed] | None:
    """Return the numbers in a value of the sandbox; None where there are too many, or one that is no number (nan)."""
    try:
        found = list(islice(_leaves(value, "", 4), _MAX_LEAVES + 1))
    except (ValueError, OverflowError, ArithmeticError):
        return None
    return found if len(found) <= _MAX_LEAVES else None


def known_numbers(text: str) -> list[Computed]:
    """Return the numbers of which an answer may speak: those that a text states, and each that is written there."""
    stated = [_of_numeral(numeral, "") for numeral in numerals(text) or () if numeral.value is not None]
    numbers = [written(token.text) for token in tokens(text[:MAX_TEXT]) if token.kind == "NUMBER"][:MAX_NUMBERS]
    return stated + [Computed(one.value, place=one.place) for one in numbers if one.value is not None]


_WRAPPED = re.compile(r"(?:\w+\.)?(?:[A-Z]\w*|mp[fc]|array|(?:u?int|float|complex)\d*)\(['\"]?([^()'\"]*)['\"]?\)")
"""An object of a number, Decimal('1.5'); not a function of it, sqrt(2)."""


def _leaves(value: Any, name: str, depth: int) -> Iterator[Computed]:
    text = getattr(value, "repr", value)
    if type(value) in (int, Fraction, Decimal):
        if _is_long(value):
            raise ValueError("too long to be written in prose")
        yield Computed(Fraction(value), whole=type(value) is int, name=name)
    elif type(value) in (float, complex):
        yield _of_float(complex(value), name)
    elif isinstance(value, (Mapping, list, tuple, set, frozenset)) and depth:
        if len(value) > _MAX_LEAVES:
            raise ValueError("too many")
        items = value.items() if isinstance(value, Mapping) else ((name, item) for item in value)
        for key, item in items:
            said = getattr(key, "repr", key)  # of a symbol, that it is
            yield from _leaves(item, said if type(said) is str else "", depth - 1)
    elif value is not text and type(text) is str and depth and (inside := _items(text)):
        for one in inside:
            yield from _leaves(Opaque("", one), name, depth - 1)
    elif type(text) is str:  # also of an object that stayed in the sandbox
        read = tokens(text[:_MAX_PLACES]) if value is not text else []
        form, inner = formulas.closed(read, 0), _WRAPPED.fullmatch(text) if value is not text else None
        if form.values and form.end == len(read):
            yield _of_numeral(Numeral("", form.values[0]), name)
        elif inner or value is text or not _FORMULA.search(text):  # a formula is compared as it is written
            yield from _of_text(inner[1] if inner else text, name)
    elif type(value) not in (bool, type(None)):
        raise ValueError("not a number")


_CONTAINER = re.compile(r"(?:\w{1,20}\()?[{\[(]([^{}\[\],:]+(?:, [^{}\[\],:]+)+)[}\])]\)?")
"""A set or a sequence of an object that stayed in the sandbox, as text."""


def _items(text: str) -> list[str]:
    """Return the items of a container, as text; none where it is no container."""
    found = _CONTAINER.fullmatch(text) if len(text) <= _MAX_PLACES else None
    items = found[1].split(", ") if found else []
    return items if all(item.count("(") == item.count(")") for item in items) else []


def _is_long(value: int | Fraction | Decimal) -> bool:
    """Return True for a number of more digits than prose has room for. A decimal is not made a fraction to tell:
    1E+999999999 is short as it is.
    """
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return isinstance(exponent, int) and (len(digits) > _MAX_PLACES or abs(exponent) > _MAX_PLACES)
    # Beside an answer of 150 numbers, a denominator of 20,000 bits costs 1 ms each.
    return value.numerator.bit_length() > _MAX_BITS or value.denominator.bit_length() > 4 * _MAX_PLACES


def _of_float(value: complex, name: str) -> Computed:
    if not cmath.isfinite(value):
        raise ValueError("not a number")
    # Not its exact value: 2.675 is rounded to 2.68 by whoever reads it.
    number = value if value.imag else Fraction(repr(value.real))
    return Computed(number, slack=max(map(abs, parts(number))) * _FLOAT, name=name)


def _of_text(text: str, name: str) -> Iterator[Computed]:
    stated = numerals(text)
    is_read = stated is not None and len(stated) <= _MAX_LEAVES
    if not is_read or any(numeral.value is None or not numeral.sure for numeral in stated or ()):
        if stated and re.search(r"[A-Za-z]", text):
            return  # a formula: it is compared as it is written
        raise ValueError("not read")
    yield from (_of_numeral(numeral, name) for numeral in stated or ())


def _of_numeral(numeral: Numeral, name: str) -> Computed:
    assert numeral.value is not None
    scale = _PERCENT if numeral.percent else Fraction(1)
    value = numeral.value * scale
    slack = Fraction(0) if isinstance(value, Fraction) else max(map(abs, parts(value))) * _FLOAT
    return Computed(value, slack, numeral.place * scale, name=name)
