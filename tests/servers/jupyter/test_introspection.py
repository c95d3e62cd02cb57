"""Completion and inspection of code that is being written."""

from __future__ import annotations

import pytest

from safeexec import Session
from safeexec.servers.jupyter import introspection
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


@pytest.fixture
def prepared(session: Session) -> Session:
    session.run(SETUP).check()
    return session


@pytest.mark.parametrize(
    ("code", "matches"),
    [
        ("al", ["all", "alpha"]), ("x = alpha.app", ["append"]), ("import hea", ["heapq"]), ("%roll", ["rollback"]),
        ("from math import cos, sq", ["sqrt"]), ("a\nfunct", ["function"]), ("'text'.up", []), ("f(1).re", []),
        ("nothing.x", []), ("import so", []), ("hostile.o", ["one"]), ("whi", ["while"]),
    ],
)  # fmt: skip
def test_what_may_follow(prepared: Session, code: str, matches: list[str]) -> None:
    found, start = complete(prepared, code, len(code), ["rollback", "vars"])
    assert found == matches
    assert not matches or matches[0].startswith(code[start:])


def test_looking_changes_nothing(prepared: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(introspection, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(introspection, "ALL_SECONDS", 0.4)
    complete(prepared, "hostile.", 8, [])
    inspect(prepared, "hostile.x")
    assert prepared.get("alpha") == [1, 2]
    prepared.rollback()
    assert [variable.name for variable in prepared.variables()] == []


def test_a_function_is_explained_and_what_is_no_name_is_not(prepared: Session) -> None:
    told = inspect(prepared, "function") or ""
    assert "function(first, second=2)" in told and "What it does." in told
    for code in ("nothing", "", "(", "1 + 1", "alpha.append(1)"):
        assert inspect(prepared, code) is None
