"""What an operation takes from the account is no less than what it costs: measured over operators and types.

Each expression does one operation again and again until the account is empty, or the loop ends. Whatever it is, a unit
costs at most what ten rounds of a plain loop do on the same machine at the same moment: 0.2 to 0.5 us.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from safeexec.errors import ExpressionError
from safeexec.inline import evaluate

STEPS = 100_000
MOST_ROUNDS = 10
TINY = 5e-324
"""A float of which the exact value has a thousand bits."""
VALUES: dict[str, Any] = {
    "None": None,
    "int": 7,
    "int of 512 bits": 2**511 + 1,
    "int of 60,000 bits": 2**60_000 + 1,
    "float": TINY,
    "large float": 1.7e308,
    "complex": 1 + 2j,
    "text": "abc",
    "long text": "a" * 100_000 + "b",
    "floats": [TINY] * 1000,
    "ints of 500 bits": [2**500 + number for number in range(300)],
    "texts": ["a" * 20 + str(number) for number in range(300)],
    "lists of floats": [[TINY] * 30 for _ in range(30)],
    "set": set(range(1000)),
    "set of one hash": {number * (2**61 - 1) for number in range(300)},
    "range of wide ints": range(2**60_000, 2**60_000 + 50),
}
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<<", "&", "|", "<", "==", "in")
FUNCTIONS = (
    "-a", "abs(a)", "round(a)", "round(a, 2)", "round(a, 300)", "round(a, -3)", "int(a)", "float(a)", "str(a)",
    "f'{a:.3f}'", "complex(a)", "sum(a)", "min(a)", "max(d, *a)", "min(*a, f)",
    "sorted(a)", "list(a)", "set(a)", "frozenset(a)", "math.floor(a)", "math.sqrt(a)", "math.fsum(a)", "math.prod(a)",
    "math.gcd(a, a)", "math.isqrt(a)", "statistics.mean(a)", "statistics.median(a)", "statistics.stdev(a)",
    "{a: 1}", "[a] * 100", "join(',', a)", "repr(a)", "sum(a, d)", "d in a", "a == [d] * 1000",
)  # fmt: skip


def cpu(expression: str, names: dict[str, Any]) -> float:
    """CPU seconds of an account spent on one operation."""
    began = time.process_time()
    try:
        evaluate(f"[1 for i in range({STEPS // 10}) if ({expression}) is None]", names, max_steps=STEPS)
    except ExpressionError:
        pass
    return time.process_time() - began


def plain() -> float:
    """CPU seconds of a loop of as many rounds as the account has units."""
    began = time.process_time()
    for number in range(STEPS):
        _ = number * 3 + 1
    return time.process_time() - began


def possible(expression: str, names: dict[str, Any]) -> bool:
    try:
        evaluate(expression, names)
    except ExpressionError as error:
        return not isinstance(error.__cause__, TypeError)
    return True


def too_dear(expression: str, named: dict[str, dict[str, Any]]) -> Iterator[str]:
    usual = plain()
    for what, names in named.items():
        if possible(expression, names):
            rounds = cpu(expression, names) / usual
            if rounds > MOST_ROUNDS:
                rounds = min(rounds, *(cpu(expression, names) / plain() for _ in range(4)))
            if rounds > MOST_ROUNDS:
                yield f"{expression} of {what}: {rounds:.1f} rounds a unit"


@pytest.mark.parametrize("operator", OPERATORS)
def test_no_operator_costs_more_than_it_takes(operator: str) -> None:
    pairs = {f"{one}, {two}": {"a": VALUES[one], "b": VALUES[two]} for one in VALUES for two in VALUES}
    assert [*too_dear(f"a {operator} b", pairs)] == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_function_costs_more_than_it_takes(function: str) -> None:
    given = {name: {"a": value, "d": 1, "f": 0.5} for name, value in VALUES.items()}
    assert [*too_dear(function, given)] == []


@pytest.mark.parametrize(
    "expression",
    [
        "[[[0] * 900] * 900] * 900",
        "[[a for i in range(900)] for a in [[b for i in range(900)] for b in [[0] * 900]]]",
        "[xs] * 900",
    ],
)
def test_what_leaves_is_as_large_as_what_was_paid_for(expression: str) -> None:
    """Whoever prints or compares it visits each part as often as it is held."""
    with pytest.raises(ExpressionError, match="max_steps"):
        evaluate(expression, {"xs": [[0] * 90] * 90})


def test_a_value_of_the_caller_s_leaves_as_it_came() -> None:
    large = [[0] * 3000] * 3000
    assert evaluate("xs if n else 0", {"xs": large, "n": 1}) is large
