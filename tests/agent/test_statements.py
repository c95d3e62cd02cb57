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
COMPUTED: list[tuple[Any, str, Any, str, str, int]] = [
    (7, "7", 70, "70", "four", 12),
    (314, "314", 317, "317", "nine", 3),
    (2_750_000, "2,750,000", -2_750_000, "-2,750,000", "two", 25),
    (0.8125, "0.8125", 8.125, "8.125", "six", 30),
    (1234.5678, "1,234.5678", 2469.1356, "2,469.1356", "eight", 4),
    (Fraction(86, 17), "86/17", Fraction(137, 17), "137/17", "seven", 19),
    (Fraction(239, 17), "\\frac{239}{17}", Fraction(478, 17), "28.1176", "ten", 8),
    (3 - 4j, "3 - 4i", 6 - 8j, "6 - 8i", "eleven", 27),
]
"""A computed value and how it is written, another one and how, one in words, and a number that the question had."""
QUESTION = frozenset({"tank", "fill", "handshakes", "apples", "came"})


def forms(name: str) -> tuple[list[str], list[str]]:
    """The lines of a file before and behind its last heading."""
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").split("\n")
    heading = max(place for place, line in enumerate(lines) if line.startswith("# "))
    kept = [line.replace("⏎", "\n") for line in lines]
    return [line for line in kept[1:heading] if line], [line for line in kept[heading + 1 :] if line]


@pytest.mark.parametrize("numbers", [1, pytest.param(len(COMPUTED), marks=pytest.mark.slow)])
def test_what_says_something_else_is_not_verified(numbers: int) -> None:
    """Each form, with so many of the values."""
    phrases, sentences = forms("said_wrong.txt")
    verified = []
    for place, form in enumerate([*phrases, *sentences]):
        frame = "{}" if form in sentences else FRAMES[place % len(FRAMES)]
        for number in range(numbers):
            value, v, other, w, in_words, k = COMPUTED[(place + number) % len(COMPUTED)]
            words = frame.format(form.format(v=v, w=w, W=in_words, k=k))
            known = [[], [k], [k, other, 1, 2, 3, 5, 7, 10, 50, 100]][place % 3]
            if judge(words, value, leaves(known) or ()).matched:
                verified.append((words, value))
    assert verified == []


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
