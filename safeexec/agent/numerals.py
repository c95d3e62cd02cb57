"""The numbers that a text states: "It is $1,234.50", "33.3 %", "1.5 × 10^8", "2π/3", `\\frac{1}{2}`, "3 + 4i".

Pure, and strict: what cannot be read for certain (a range, a sum, "5 squared", "more than 3") is there as a number
that is not sure. Time is linear in the text, whose length and numbers are bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, pairwise
from typing import NamedTuple

from safeexec.agent import formulas
from safeexec.agent.formulas import ClosedForm, Number, parts
from safeexec.agent.statements import CURRENCIES, PLACES, Lead, Sentences
from safeexec.agent.tokens import WORDS, Token, numbers_of, written

MAX_TEXT = 20_000
MAX_NUMBERS = 150


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as a text states it. `place` is the value of one unit of its last digit, 0 where the number is exact (a
    fraction, a power, a root); `digits` counts those that matter. `value` is None where it cannot be read, and `sure`
    is False where the text says more about it ("more than 3", "5 squared").
    """

    text: str
    value: Number | None
    place: Fraction = Fraction(0)
    digits: int = 0
    percent: bool = False
    cut: bool = False
    """It ends in an ellipsis: its last digit may be cut off, not rounded."""
    hedged: bool = False
    """The text says that it is about right, or writes it as a power of ten."""
    lead: Lead = "other"
    """Its place among the words before it."""
    step: str = ""
    """It is what a sum before it gives: "step", or as a "reason"."""
    sure: bool = True
    label: str = ""
    """The name that it is said to be the value of: of "x = 3" it is "x"."""
    paired: bool = False
    """It is the second of two that a ± states, in either order."""


_SCALES, _MONEY_SCALES = numbers_of("scale"), numbers_of("scale of money")
_MATH = formulas.SIGNS | {"COMMAND", "_", "!", "∫", "∑", "∏", "′"}
_OPERATORS = frozenset("+-*/^=≈√<>") | {"RAISED", "mod"}
_OPERANDS = frozenset(("NUMBER", ")", "}", "RAISED"))
_CONSTANTS = frozenset(("e", "i", "j", "π", "pi", r"\pi"))


def numerals(text: str, vocabulary: Collection[str] | None = ()) -> list[Numeral] | None:
    """Return the numbers of `text` in order; None where it is too long to be read, or holds too many of them. Numbers
    that are part of a name (`x1`, `f(3)`) or of a formula with a variable, the marks of a list and remarks like "to 4
    places" are left out; so is a sum whose value follows it ("2 + 3 = 5"), and what stands in a function before its
    value ("\\ln 2 ≈ 0.693").
    """
    if len(text) > MAX_TEXT:
        return None
    found = list(islice(_Numerals(text, vocabulary).stated(), MAX_NUMBERS + 1))
    return found if len(found) <= MAX_NUMBERS else None


class _FormulaRun(NamedTuple):
    """Tokens that are one formula. `names` are the places of its variables."""

    begin: int
    names: list[int]
    is_dropped: bool
    """It is the side of an equation that is worked out or solved, and states nothing."""


class _Numerals(Sentences):
    """The numbers of one text."""

    def __init__(self, text: str, vocabulary: Collection[str] | None) -> None:
        super().__init__(text, vocabulary)
        self._runs = self._formulas()
        self._looked = [0, 0]
        """End of the last look for a closed form, and for one in brackets: none is looked for again before it, so that
        time is linear.
        """
        self._worth: dict[int, Number] = {}
        """Place behind a sum → its value."""

    def stated(self) -> Iterator[Numeral]:
        """Yield the numbers in order."""
        at = 0
        while at < len(self.found):
            form = self._form(at)
            if form is not None:
                numeral, end = self._finished(at, form)
                yield from self._judged(at, end, numeral, form)
                at = end
            elif self._is_call(at):
                at += 2
                while self.kind(at) not in ("(", ")", ""):
                    at += 1
            else:
                at += 1

    # One number

    def _form(self, at: int) -> ClosedForm | None:
        """Return the form of the number that begins here."""
        kind = self.kind(at)
        if not (kind in ("NUMBER", "√", "FRAC", "±") or self._is_sign(at) or self._may_begin(at)):
            return None
        is_bracket = kind == "("
        form = formulas.closed(self.found, at) if at >= self._looked[is_bracket] else None
        if form is not None and form.values:
            inner = formulas.closed(self.found, at + 1) if is_bracket else None
            return None if inner and inner.values and inner.end + 1 == form.end else form
        self._looked[is_bracket] = max(self._looked[is_bracket], form.end if form else 0)
        number = at + (kind == "-")
        if self.kind(number) != "NUMBER":
            return None
        value = written(self.spelling(number)).value
        values = () if value is None else (-value if kind == "-" else value,)
        return ClosedForm(values, self.found[at : number + 1], number + 1)

    def _is_sign(self, at: int) -> bool:
        """Return True for a minus that is the sign of what follows, rather than a dash or a difference."""
        if self.kind(at) != "-" or self.spelling(at).isalpha():
            return self.kind(at) == "-"
        before = self.kind(at - 1)
        if self.is_apart(at + 1):
            return before in ("=", "≈", ":", "(", "[", "{", ",")
        return self.is_apart(at) or not (self.is_word(at - 1) or before in _OPERANDS or before in ("]", "%", "."))

    def _may_begin(self, at: int) -> bool:
        """Return True for a bracket, a function or a constant with which a number may begin."""
        kind, after = self.kind(at), self.kind(at + 1)
        if kind not in ("e", "i", "j"):
            return kind in ("(", "π", "pi", r"\pi", "ln", r"\ln", "exp", "sqrt")
        if (self.kind(at - 1) == "." and not self.is_apart(at)) or (after == "." and not self.is_apart(at + 2)):
            return False  # i.e.
        is_part = after in ("-", "+") and self.kind(at + 2) == "NUMBER"
        return is_part or after in (*",;.)}$*√^\n", "and", "or", "", "BOLD")

    def _finished(self, begin: int, form: ClosedForm) -> tuple[Numeral, int]:
        """Take in what behind a number belongs to it: a scale, a percent sign, an ellipsis, a unit."""
        numeral, end, scale = _numeral(form), form.end, 1
        joined = "" if self.is_apart(end) else self.spelling(end)
        if self.kind(begin - 1) in CURRENCIES and joined in _MONEY_SCALES:
            scale, end = _MONEY_SCALES[joined], end + 1
        while self.kind(end) in _SCALES and scale <= 10**40:
            scale, end = scale * _SCALES[self.kind(end)], end + 1
        if scale != 1 and numeral.value is not None:
            numeral = replace(numeral, value=numeral.value * Fraction(scale), place=numeral.place * scale)
        if self.kind(end) in WORDS["percent"]:
            numeral, end = replace(numeral, percent=True), end + 1
        if self.kind(end) == "…":
            numeral, end = replace(numeral, cut=True), end + 1
        is_joined = not self.is_apart(end) and (self.kind(end) == "_" or self.is_word(end))
        if is_joined and self.spelling(end) not in WORDS["unit"] | WORDS["ordinal"]:
            numeral = replace(numeral, value=None)
        return replace(numeral, text=self.text[self.found[begin].begin : self.found[end - 1].end]), end

    # A number among words

    def _judged(self, begin: int, end: int, numeral: Numeral, form: ClosedForm) -> Iterator[Numeral]:
        """Yield what a number states; nothing where it is part of a name or of a formula."""
        run = self._runs[begin]
        names = [at for at in (*run.names[:1], *run.names[-1:]) if not begin <= at < end]
        if self._is_part(begin) or self._is_mark(begin, end) or run.is_dropped:
            return
        if names and (names[0] != end or begin != run.begin):
            return
        behind = self.behind(end)
        if form.values and self.kind(behind) in WORDS["equality"]:
            self._worth[behind] = form.values[0]
            is_exact = form.terms[0].kind in ("function", "constant") or self._is_worth(behind, numeral)
            if is_exact or _is_sum(form):
                return
        elif _is_sum(form):
            numbers = (token for token in self.found[begin:end] if token.kind == "NUMBER")
            yield from (replace(_plain(token), sure=False) for token in numbers)
            return
        if not numeral.place and form.values and self.kind(behind) in ("has", "have"):
            return  # 2^100 has 31 digits
        lead, sure = self.standing(begin, end)
        before = self.before(begin)
        numeral = replace(
            numeral,
            value=None if names else numeral.value,  # 5x
            lead=lead,
            sure=sure,
            hedged=numeral.hedged or bool(numeral.place and self.kind(before) in WORDS["hedge"]),
            step=self._step(before, numeral),
            label=self._label(begin),
        )
        yield numeral
        for other in form.values[1:]:
            yield replace(numeral, value=other, paired=True)

    def _is_call(self, at: int) -> bool:
        is_name = self.found[at].kind in ("WORD", "COMMAND") and self.kind(at) != r"\boxed"
        return is_name and self.kind(at + 1) == "(" and not self.is_apart(at + 1)

    def _is_part(self, begin: int) -> bool:
        """Return True for a part of a name, and for an exponent."""
        before = self.kind(begin - 1)
        if before in ("^", "_") or (before == "{" and self.kind(begin - 2) in ("^", "_")):
            return True
        is_joined = begin > 0 and not self.is_apart(begin)
        return is_joined and self.found[begin - 1].kind in ("WORD", "COMMAND", "NUMBER") and before not in _CONSTANTS

    def _is_mark(self, begin: int, end: int) -> bool:
        """Return True for the mark of a list, and for a remark on decimal places."""
        is_numbered = self.kind(end) in (".", ")") and not self.is_apart(end) and self.is_apart(end + 1)
        if is_numbered and self.kind(begin - 1) in ("", "\n") and self.kind(end + 1):
            return True
        is_count = PLACES.match(self.text, self.found[end - 1].end)
        return bool(is_count) and self.kind(begin - 1) not in ("has", "have", "had", "is", "are")

    def _label(self, begin: int) -> str:
        at = self.before(begin, ("'", '"', "`", "BOLD", "$", "{"))
        if self.names_another(at):
            return self.spelling(at)
        if self.kind(at) not in ("=", "≈", ":", "is"):
            return ""
        at = self.before(at, ("'", '"', "`", "BOLD", "$"))
        return self.spelling(at) if self.is_word(at) and self.kind(at) not in ("and", "or") else ""

    def _is_worth(self, at: int, numeral: Numeral) -> bool:
        """Return True for an exact number whose value follows the sign of equality at this place: √2 ≈ 1.4142."""
        begin = at + 1
        while self.kind(begin) in CURRENCIES or self.kind(begin) in ("BOLD", "`", "{", r"\boxed"):
            begin += 1
        form = None if numeral.place or begin >= len(self.found) else self._form(begin)
        return form is not None and bool(self._step(at, self._finished(begin, form)[0]))

    def _step(self, before: int, numeral: Numeral) -> str:
        """Return what the number is, if what is worked out before it gives it: a "step", or a "reason"."""
        worth = self._worth.get(before)
        if worth is None or numeral.value is None:
            return ""
        apart = max(abs(one - other) for one, other in zip(parts(worth), parts(numeral.value), strict=True))
        if apart > max(numeral.place / 2, abs(parts(worth)[0]) * Fraction(1, 2**50)):
            return ""
        return "reason" if self.kind(self._runs[before - 1].begin - 1) in ("because", "since") else "step"

    # Formulas

    def _formulas(self) -> list[_FormulaRun]:
        """Return for each token the formula that it is in."""
        runs: list[_FormulaRun] = []
        is_unsolved = False
        while (begin := len(runs)) < len(self.found):
            end = begin
            while end < len(self.found) and self._is_math(end, begin):
                end += 1
            if end == begin:
                is_unsolved = is_unsolved and self.kind(begin) == "="
                runs.append(_FormulaRun(begin, [], is_dropped=False))
                continue
            names = [at for at in range(begin, end) if self._is_name(at)]
            is_evaluated = self._is_evaluated(begin, end)
            is_worked_out = is_evaluated or bool(names) or any(map(self._is_function, range(begin, end)))
            is_dropped = is_unsolved or (self.kind(end) in ("=", "≈") and is_worked_out)
            runs += [_FormulaRun(begin, names, is_dropped)] * (end - begin)
            is_unsolved = self.kind(end) == "=" and self.kind(begin - 1) not in ("=", "≈", "→")
            is_unsolved = is_unsolved and bool(names) and not is_evaluated and self._has_operator(begin, end)
        return runs

    def _is_math(self, at: int, begin: int) -> bool:
        token = self.found[at]
        if token.kind == "WORD":
            return len(token.word) == 1 or token.word in WORDS["function"]
        is_apart = token.kind == "(" and token.gap and at > begin and self.kind(at - 1) in _OPERANDS
        return token.kind in _MATH and not is_apart and not token.text.isalpha()

    def _is_function(self, at: int) -> bool:
        return self.kind(at) in WORDS["function"] or self.found[at].kind in ("∫", "∑", "∏", "|", "COMMAND")

    def _has_operator(self, begin: int, end: int) -> bool:
        kinds = (self.kind(at) for at in range(begin, end))
        return any(kind in _OPERATORS or kind in WORDS["function"] or kind in ("NUMBER", "FRAC", "|") for kind in kinds)

    def _is_evaluated(self, begin: int, end: int) -> bool:
        """Return True for the side of an equation to be worked out, not solved: f(3), lim sin(x)/x, |3 + 4i|, a·b."""
        kinds = [self.kind(at) for at in range(begin, end)]
        is_size = kinds[0] == "|" and (kinds[1:2] == ["v"] or not any(map(self._is_name, range(begin, end))))
        is_product = len(kinds) == 3 and kinds[1] == "*" and "NUMBER" not in kinds
        return self._is_call(begin) or is_size or is_product or not WORDS["evaluated"].isdisjoint(kinds)

    def _is_name(self, at: int) -> bool:
        """Return True for a letter that is a variable, rather than a unit or a word."""
        token = self.found[at]
        if token.kind != "WORD" or len(token.word) != 1 or token.text in ("I", "E") or token.word in _CONSTANTS:
            return False
        before, after = self.kind(at - 1), self.kind(at + 1)
        if token.text in WORDS["unit"]:
            if before == "NUMBER":
                return not token.gap and after in _OPERATORS
            if before == "/" and self.spelling(at - 2) in WORDS["unit"]:
                return False
        is_joined = (at > 0 and not token.gap) or (after in _MATH and not self.is_apart(at + 1))
        return is_joined or before in WORDS["function"] or not _OPERATORS.isdisjoint((before, after))


def _plain(token: Token) -> Numeral:
    """Return the number of one token."""
    number = written(token.text)
    return Numeral(token.text, number.value, number.place, number.digits, hedged=number.is_power)


def _numeral(form: ClosedForm) -> Numeral:
    """Return the number that a form is: one with a last digit where it is a decimal, or a complex number of two."""
    value = form.values[0] if form.values else None
    numbers = [written(term.text) for term in form.terms if term.kind == "NUMBER"]
    is_exact = form.is_rooted or form.has("/", "^", "RAISED", "FRAC", "(", "*")
    if value is None or is_exact or not 1 <= len(numbers) <= 1 + isinstance(value, complex):
        return Numeral("", value)
    place, digits = max(one.place for one in numbers), max(one.digits for one in numbers)
    return Numeral("", value, place, digits, hedged=any(one.is_power for one in numbers))


def _is_sum(form: ClosedForm) -> bool:
    """Return True for a sum or a product of plain numbers, which may mean anything until its value follows."""
    if len(form.values) != 1 or form.is_rooted or not isinstance(form.values[0], Fraction):
        return False
    pairs = pairwise(term.kind for term in form.terms)
    return form.has("*") or any(one in _OPERANDS and other in ("+", "-", "(", "FRAC") for one, other in pairs)
