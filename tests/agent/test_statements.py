"""What the words around a number make of it: sentences that do not say the computed value are never verified, and those
that do in a usual form are.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from safeexec.agent.evidence import judge, leaves

FRAMES = [
    "The answer is {}.", "It is {}.", "{}", "x = {}", "Result: {}", "So we get {} in total.", "There are {} of them.",
    "**{}**", "$\\boxed{{{}}}$", "$x = {}$", "The value is about {}.", "≈ {}", "That makes {}.",
]  # fmt: skip
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
WORDS = NUMBERS.split()
QUESTION = frozenset({"tank", "fill", "handshakes", "apples", "came"})


def forms(name: str) -> tuple[list[str], list[str]]:
    """The lines of a file before and behind its last heading."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n")
    heading = max(place for place, line in enumerate(lines) if line.startswith("# "))
    kept = [line.replace("⏎", "\n") for line in lines]
    return [line for line in kept[1:heading] if line], [line for line in kept[heading + 1 :] if line]


def a_value(chance: random.Random) -> Any:
    kind = chance.randrange(10)
    if kind < 5:
        return chance.choice([chance.randint(2, 20), chance.randint(21, 999), chance.randint(1000, 10**7)])
    if kind < 8:
        return round(chance.uniform(0.1, 1) * 10.0 ** chance.randint(-1, 5), chance.choice([2, 4, 12]))
    if kind == 8:
        return Fraction(chance.randint(2, 40) * 17 + 1, 17)
    return complex(chance.randint(2, 9), chance.choice([-1, 1]) * chance.randint(1, 9))


def written(value: Any, chance: random.Random) -> str:
    if isinstance(value, complex):
        return f"{value.real:g} {'+' if value.imag >= 0 else '-'} {abs(value.imag):g}i"
    if isinstance(value, Fraction):
        over, under = value.numerator, value.denominator
        return chance.choice([f"{over}/{under}", f"{float(value):.6g}", f"\\frac{{{over}}}{{{under}}}"])
    if isinstance(value, float):
        return chance.choice([f"{value:.6g}", f"{value:.6f}", f"{value:,.4f}", repr(value)])
    return chance.choice([str(value), f"{value:,}"])


def a_wrong_answer(chance: random.Random, form: str, is_sentence: bool) -> tuple[str, Any, list[Any]]:
    """Words that do not say a value, the value, and other numbers that the question may have had."""
    value = a_value(chance)
    other = chance.choice([-value, value * 10, value * 100, value + 3, value * 2])
    near = chance.choice([number for number in range(2, 31) if abs(number - value) > 2])
    in_words = WORDS[int(abs(value)) % 8 + near % 2 + 1]
    if in_words == WORDS[int(abs(value)) % len(WORDS)]:
        in_words = "forty"
    said = form.format(v=written(value, chance), w=written(other, chance), W=in_words, k=near)
    known = [[], [near], [near, other, 1, 2, 3, 5, 7, 10, 50, 100]][chance.randrange(3)]
    return said if is_sentence else chance.choice(FRAMES).format(said), value, known


@pytest.mark.parametrize("numbers", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_what_says_something_else_is_not_verified(numbers: int) -> None:
    """Each form, with so many kinds of numbers."""
    chance = random.Random(1)
    phrases, sentences = forms("said_wrong.txt")
    made = [a_wrong_answer(chance, form, form in sentences) for form in [*phrases, *sentences] for _ in range(numbers)]
    assert [(words, value) for words, value, known in made if judge(words, value, leaves(known) or ()).matched] == []


def test_what_says_the_value_in_a_usual_form_is_verified() -> None:
    """Each form, with three kinds of numbers; those of `said_right.txt` that are lost are the price of the doubt."""
    chance = random.Random(5)
    right = forms("said_right.txt")[1]
    lost = set()
    for form in right:
        for value in (
            chance.randint(41, 10**6),
            chance.uniform(20, 2000),
            Fraction(chance.randint(20, 400) * 7 + 3, 7),
        ):
            near = chance.randint(2, 40)
            known = leaves([near, 0, 1, 2, 3, 4, 5, 12, 100]) or ()
            said = f"{value:.5f}" if isinstance(value, float) else str(value)
            if not judge(form.format(v=said, k=near), value, known, vocabulary=QUESTION).matched:
                lost.add(form)
    assert lost <= {
        "The probability that no two share a birthday is {v}.",
        "Alice has {v} coins and Bob has {k}.",
        "2**{k} has {v} digits.",
    }
