"""Completion and inspection of code that is being written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import Sandbox, Session
from safeexec.servers.jupyter.introspection import complete, inspect

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
    inspect(session_, "hostile.x")
    assert session_.get("alpha") == [1, 2]
    session_.rollback()
    assert [variable.name for variable in session_.variables()] == []


def test_a_function_is_explained_and_what_is_no_name_is_not(session_: Session) -> None:
    told = inspect(session_, "function") or ""
    assert "function(first, second=2)" in told and "What it does." in told
    for code in ("nothing", "", "(", "1 + 1", "alpha.append(1)"):
        assert inspect(session_, code) is None
