"""Numbers in the words of an answer against computed values: written in every usual way they agree; a number that is
another one never does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from safeexec import Formula, Opaque
from safeexec.agent import readings
from safeexec.agent.evidence import judge, known_numbers, leaves
from tests.untrusted.doubling import SLACK, growth

ROOT = math.sqrt(2)


def sympy(text: str) -> Opaque:
    """An object of sympy that stayed in the sandbox."""
    return Opaque("sympy", text)


def symbol(name: str) -> Formula:
    """A key that is a symbol of sympy."""
    return Formula("Symbol", name, "", name)


class Block(NamedTuple):
    """A computed value, and what is said of it."""

    question: str
    program: str
    value: str
    said: list[tuple[str, str]]


def blocks() -> Iterator[Block]:
    """The blocks of `answers.txt`."""
    question = program = ""
    found = None
    text = (Path(__file__).parent / "answers.txt").read_text(encoding="utf-8").partition("\n\n")[2]
    for line in text.splitlines():
        mark, words = line[:1], line[2:]
        if mark == "?":
            question, program = words, ""
        elif mark == ">":
            program = words
        elif mark == "=":
            found = Block(question, program, words, [])
            yield found
        elif found is not None and mark:
            found.said.append((mark, words))


@pytest.mark.parametrize("block", list(blocks()), ids=lambda block: block.value)
def test_an_answer_says_the_value_another_one_or_none_for_certain(block: Block) -> None:
    value = eval(block.value, {**vars(math), "date": date, **globals()})
    known = known_numbers(block.question)
    predicates = readings.predicates(block.program) | readings.asked(block.question)
    vocabulary = set(re.findall(r"\w+", block.question.lower()))
    judged = {}
    for mark, words in block.said:
        percent = "percent" in block.question
        found = judge(words, value, known, percent=percent, vocabulary=vocabulary, predicates=predicates)
        judged[words] = "+" if found.matched else "-" if found.contradicted else "x"
        assert mark != "x" or not found.said
    assert judged == {words: judged[words] if mark == "x" else mark for mark, words in block.said}


@pytest.mark.parametrize("words", ["", "9" * 30_000, "5 " * 1000])
def test_nothing_and_too_much_say_no_value(words: str) -> None:
    assert not judge(words, 5).said


PIECES = [
    "2 · ", "2³·", "Friday ", "1 h, or ", "1 hour 2 ", "1:2:", "1 to 2 ", "3² + ", "1+1=2,", "2 or 3 ", "March ",
    "x^2 = ", "x^", "(x", "1 h ", "1,", "1,234", "(", "f(", "√", "\\frac{", "1/", "10^", "±", "**", "answer ", "1 234 ",
    "=", "x+1+", "x1 ", "(√", "\\sqrt{", "√2+", "(-", "√2(", "2^(", "\n", "$", "[ ", " ",
]  # fmt: skip


STARTS = ((5, "the ratio of the odds "), (5, "1+"), ("x**2", ""), (timedelta(1), ""), ({2: 3}, ""))
HOSTILE = [
    pytest.param(piece, number, marks=() if number == place % 5 else pytest.mark.slow)
    for place, piece in enumerate(PIECES)
    for number in range(len(STARTS))
]
"""Each piece with one of these in turn; with all of them where slow tests run."""


@pytest.mark.parametrize(("piece", "number"), HOSTILE)
def test_the_work_is_linear_in_hostile_text(piece: str, number: int) -> None:
    """Of whatever begins a number, a group or a name, and of what stands between two numbers."""
    value, start = STARTS[number]
    text = f"{start}{piece * 10_000}"[:10_000]
    assert growth(lambda n: judge(f"{text[:n]}x2", value), int, 1 << 8, 1 << 12) < SLACK


@pytest.mark.parametrize("words", ["42 people attended.", "The sum of the primes below 20 is 42."])
def test_the_computed_number_among_unknown_words_is_no_other_number(words: str) -> None:
    assert not judge(words, 42).contradicted
    assert judge(words, 43).contradicted


def test_numbers_of_the_question_percentages_and_vectors_are_judged_as_such() -> None:
    known = known_numbers("What is the square root of 2?")
    assert judge("The square root of 2 is 1.4142.", ROOT, known).matched
    assert judge("The square root of 2 is 2.", ROOT, known).contradicted
    assert judge("The answer is 2; 1.4142 is something else.", ROOT, known).contradicted
    assert judge("62.9%", 62.889, percent=True).matched
    assert not judge("62.9%", 62.889).matched
    assert not judge("0.63%", 0.62889, percent=True).matched
    assert judge("The product is (0, 0, 1).", [0, 0, 1]).matched
    assert not judge("The product is (0, 1, 0).", [0, 0, 1]).said


# However a number is written

Writer = Callable[[Decimal], str]


def superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def scientific(number: Decimal, form: str) -> str:
    mantissa, _, exponent = f"{number:e}".lower().partition("e")
    return form.format(m=mantissa, e=int(exponent), s=superscript(int(exponent)))


WRITERS: dict[str, Writer] = {
    "plain": lambda n: f"{n:f}",
    "commas": lambda n: f"{n:,f}",
    "underscores": lambda n: f"{n:,f}".replace(",", "_"),
    "thin spaces": lambda n: f"{n:,f}".replace(",", "\u2009"),
    "latex groups": lambda n: f"{n:,f}".replace(",", "{,}"),
    "euro": lambda n: f"€{n:,f}" if n >= 0 else f"-€{-n:,f}",
    "currency": lambda n: f"{n:,f} dollars",
    "percent": lambda n: f"{n.scaleb(2):f}%",
    "latex percent": lambda n: f"${n.scaleb(2):f}\\%$",
    "e": lambda n: scientific(n, "{m}e{e}"),
    "times": lambda n: scientific(n, "{m} × 10^{e}"),
    "times braces": lambda n: scientific(n, "${m} \\times 10^{{{e}}}$"),
    "superscripts": lambda n: scientific(n, "{m}·10{s}"),
    "boxed": lambda n: f"$\\boxed{{{n:f}}}$",
    "bold": lambda n: f"**{n:f}**",
    "minus sign": lambda n: f"{n:f}".replace("-", "−"),
}
PHRASES = [
    "It is {}.", "The answer is {}", "≈ {}", "= {}", "So the total comes to {}.", "Result: {}", "{}",
    "We get x = {} in the end.", "The value, rounded, is {}!", "Thus f(3) = {}.",
]  # fmt: skip

TEXTS = ["1234567.25", "-41.875", "0.0371", "12.3456789012"]


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_number_agrees_in_whatever_way_it_is_written_and_another_never(writer: Writer, text: str) -> None:
    """In three phrases each, others for another number: so each way is tried in all of them."""
    value = Decimal(text)
    place = Decimal(1).scaleb(int(value.as_tuple().exponent))
    for phrase in PHRASES[TEXTS.index(text) :: 4]:
        said = phrase.format(writer(value))
        assert judge(said, value).matched and judge(said, float(value)).matched and judge(said, Fraction(value)).matched
        assert judge(said, value + place / 7).matched, "rounded"
        for other in (value + 2 * place, value - 9 * place, -value, value * 10, value + 1000 * place):
            assert not judge(said, other).matched


@pytest.mark.parametrize(
    "value", [Decimal("1E+999999999"), Decimal("1E-999999999"), Fraction(1, 1 << 20_001), Fraction(1 << 30_000, 7)]
)
def test_a_number_that_is_longer_than_prose_is_not_made_a_fraction(value: Any) -> None:
    assert leaves(value) is None
    assert not judge("It is 5.", [value]).matched


@pytest.mark.parametrize(
    ("said", "value", "question"),
    [
        ("It takes 1.5 hours.", 90, "How many minutes does it take?"),
        ("It weighs 250 g.", 0.25, "How many kilograms does it weigh?"),
        ("They weigh 0.45 kg.", 450, "What is the mass in grams of 3 bags?"),
        ("It drives 135 km/h.", 37.5, "What is its speed in m/s?"),
    ],
)
def test_a_quantity_in_another_unit_than_the_one_that_was_asked(said: str, value: float, question: str) -> None:
    assert judge(readings.in_unit_asked(said, question), value).matched
    assert not judge(readings.in_unit_asked(said.replace("5", "7"), question), value).matched
    assert readings.in_unit_asked("It takes 90 minutes.", "How many minutes does it take?") == ""
