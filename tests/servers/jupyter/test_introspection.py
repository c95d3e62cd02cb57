"""Completion, inspection and completeness of code that is being written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import Sandbox, Session
from safeexec.servers.jupyter.introspection import complete, evaluate, inspect, is_complete

SETUP = """\
import math
alpha = [1, 2]
def function(first, second=2):
    'What it does.'
    return first
class Hostile:
    def __dir__(self):
        global alpha
        alpha = 'changed'
        return ['one', 'two words', '__x']
    def __getattr__(self, name):
        while True: pass
hostile = Hostile()
"""


@pytest.fixture(scope="module")
def sandbox_() -> Iterator[Sandbox]:
    with Sandbox("standard") as sandbox:
        yield sandbox


@pytest.fixture
def session_(sandbox_: Sandbox) -> Iterator[Session]:
    with sandbox_.session() as session:
        session.run(SETUP)
        yield session


@pytest.mark.parametrize(
    ("code", "matches"),
    [
        ("al", ["all", "alpha"]), ("math.sqr", ["sqrt"]), ("x = alpha.app", ["append"]), ("import hea", ["heapq"]),
        ("from math import fl", ["floor"]), ("from math import cos, sq", ["sqrt"]), ("%roll", ["rollback"]),
        ("a\nfunct", ["function"]), ("'text'.up", []), ("f(1).re", []), ("1.re", []), ("nothing.x", []),
        ("import so", []), ("hostile.o", ["one"]), ("whi", ["while"]),
    ],
)  # fmt: skip
def test_what_may_follow(session_: Session, code: str, matches: list[str]) -> None:
    found, start = complete(session_, code, len(code), ["rollback", "vars"])
    assert found == matches
    assert not matches or matches[0].startswith(code[start:])


def test_looking_changes_nothing(session_: Session) -> None:
    complete(session_, "hostile.", 8, [])
    inspect(session_, "hostile.x", 9)
    assert session_.get("alpha") == [1, 2]
    session_.rollback()
    assert [variable.name for variable in session_.variables()] == []


@pytest.mark.parametrize("code", ["function", "function(1, ", "function(alpha[0], (1), "])
def test_a_function_is_explained(session_: Session, code: str) -> None:
    told = inspect(session_, code, len(code)) or ""
    assert "function(first, second=2)" in told and "What it does." in told


@pytest.mark.parametrize("code", ["nothing", "", "(", ") + 1", "1 + 1"])
def test_what_is_no_name_is_not_explained(session_: Session, code: str) -> None:
    assert inspect(session_, code, len(code)) is None


def test_expressions_of_a_front_end(session_: Session) -> None:
    told = evaluate(session_, {"a": "alpha[0] + 1", "b": "1 / 0"})
    assert told["a"]["data"] == {"text/plain": "2"}
    assert told["b"]["status"] == "error"
    assert evaluate(session_, {}) == {}


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("x = 1", ("complete", "")), ("", ("complete", "")), (")", ("invalid", "")), ("x = 'abc", ("invalid", "")),
        ("x = = 1", ("invalid", "")), ("%vars\nx = 1", ("complete", "")), ("print?", ("complete", "")),
        ("await f()", ("complete", "")),
        ("%vars", ("complete", "")), ("x = (", ("incomplete", "")), ('"""abc', ("incomplete", "")),
        ("for i in x:", ("incomplete", "    ")), ("def f():\n    return 1", ("incomplete", "    ")),
        ("def f():\n    return 1\n", ("complete", "")), ("if x:\n    if y:\n        z(", ("incomplete", "        ")),
        ("a = 1\nb = [", ("incomplete", "")), ("x" * 300_000, ("unknown", "")),
        ("{\\'?" * 8_000, ("unknown", "")), ("x = 1\n" * 1_600 + "if x:", ("incomplete", "    ")),
    ],
)  # fmt: skip
def test_whether_code_is_complete(code: str, answer: tuple[str, str]) -> None:
    assert is_complete(code) == answer
