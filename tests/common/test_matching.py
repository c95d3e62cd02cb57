"""A name that does not exist is answered with the one that was meant, or with none."""

from __future__ import annotations

import builtins
import random
from difflib import SequenceMatcher

import pytest

from safeexec.common.matching import misspelt, nearest, quoted, suggestion, synonyms


@pytest.mark.parametrize(
    ("name", "candidates", "meant"),
    [
        ("squrt", ["sin", "sqrt", "cos"], ["sqrt"]),
        ("orderDate", ["Order Date", "amount"], ["Order Date"]),
        ("customer", ["customer_id", "region"], ["customer_id"]),
        ("sales_df", ["df_sales"], ["df_sales"]),
        ("retires", ["retries", "timeout"], ["retries"]),
        ("pie", ["pi"], ["pi"]),
        ("x1", ["x2"], []),
        ("mul", ["add", "neg"], []),
        ("re", ["repr"], []),
        ("", ["a"], []),
    ],
)
def test_nearest(name: str, candidates: list[str], meant: list[str]) -> None:
    assert nearest(name, candidates) == meant


def test_nearest_finds_typing_errors_in_all_builtins_and_a_suggestion_ends_a_message() -> None:
    """One letter left out of the middle of any long builtin leads back to it."""
    every = [name for name in dir(builtins) if len(name) > 7 and name.isidentifier() and not name.startswith("_")]
    for name in every:
        damaged = name[:3] + name[4:]
        assert damaged in every or name in nearest(damaged, every, 3), name
    assert suggestion("wall_second", ["wall_seconds", "memory_mb"]) == "; did you mean wall_seconds?"
    assert suggestion("colour", ["wall_seconds", "memory_mb"]) == ""


def test_so_many_are_compared_letter_by_letter_and_first_the_most_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    ratio = SequenceMatcher.ratio

    def counted(matcher: SequenceMatcher[str]) -> float:
        nonlocal compared
        compared += 1
        return ratio(matcher)

    monkeypatch.setattr(SequenceMatcher, "ratio", counted)
    choice = random.Random(1)
    same_letters = ["".join(choice.sample("ab" * 28, 56)) for _ in range(5000)]
    nearest("ab" * 28, same_letters)
    assert compared == 100
    assert nearest("colunm_04711", [f"column_{number:05}" for number in range(5000)]) == ["column_04711"]


def test_no_long_name_is_compared_and_none_ends_its_quotes() -> None:
    """300 names of 100,000 characters took 2 s; a sentence of the host's in a name looked like one."""
    long = "_" * 60
    assert misspelt("point", [f"{long}point"]) == synonyms("length", [f"{long}len"]) == []
    assert quoted(["a` is wrong. Use `b"]) == "`a' is wrong. Use 'b`"
