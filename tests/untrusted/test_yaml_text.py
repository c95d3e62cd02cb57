"""YAML of strangers is plain values or a list of problems with their places; no exception of a parser, no recursion."""

from __future__ import annotations

import pytest

from safeexec.untrusted.yaml_text import MAX_DEPTH, MAX_KEY, MAX_NUMBER, read_yaml
from tests.untrusted.hostile import SHORT


def problems(text: str) -> list[str]:
    return [f"{mark.line}:{mark.column} {path} {told}" for mark, path, told in read_yaml(text, "a manifest").problems]


def test_plain_values_and_their_places() -> None:
    found = read_yaml("a: 1\nb: [x, 2.5, ~]\nc:\n  d: on\n  e: 2020-99-99\n", "a manifest")
    assert found.content == {"a": 1, "b": ["x", 2.5, None], "c": {"d": "on", "e": "2020-99-99"}}
    assert found.marks["b[1]"] == (2, 8)
    assert found.marks["c.e"] == (5, 3)
    assert found.readable
    assert not found.problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x 1\nb: *x", "2:4 b anchors and aliases are not read in a manifest; write the value out"),
        ("<<: {a: 1}\n<<: {b: 2}", "2:1 << the key is written twice, first in line 1"),
        ("a: !!python/object/apply:os.system [id]", "1:4 a tags (`!`) are not read in a manifest"),
        ("%TAG !a! b\n--- a", "1:1  not YAML: directives (`%`) are not read"),
        ("a: b\n...\n%TAG !a! b\n--- a", "3:1  not YAML: directives"),
        ("a: " + "[" * 100, f"1:20  nested more than {MAX_DEPTH} levels deep"),
        (f"? {'k' * (MAX_KEY + 1)}\n: 1", f"1:3  a key has at most {MAX_KEY} characters"),
        ("? [a]\n: 1", "1:3  a key must be a plain word"),
        ("a: \x00", "1:4  not YAML: control characters"),
        ("a: \ud800", "1:4  not YAML: control characters"),
        ("a: 1\n--- \nb: 2", "2:1  a file holds one manifest; a second begins here"),
        ("[1]", "1:1  expected a mapping of keys, found a list"),
    ],
)
def test_a_problem_is_told_with_its_place(text: str, problem: str) -> None:
    assert any(told.startswith(problem) for told in problems(text)), problems(text)


def test_nesting_that_the_scanner_refuses_too_is_told() -> None:
    """libyaml reads ahead of its events, and some versions end at 1,000 levels: then it is theirs to say."""
    (problem,) = problems("a: " + "[" * 10_000)
    assert "nest" in problem


def test_a_long_number_stays_text() -> None:
    assert read_yaml("a: " + "1" * MAX_NUMBER, "a manifest").content == {"a": int("1" * MAX_NUMBER)}
    for long in ("1" * 10_000, "-" + "1" * 10_000, "1." + "0" * 10_000, "1e" + "9" * 10_000):
        assert read_yaml("a: " + long, "a manifest").content == {"a": long}


@pytest.mark.parametrize("text", SHORT)
def test_short_texts_that_parsers_take_badly(text: str) -> None:
    found = read_yaml(text, "a manifest")
    assert found.readable or found.problems
