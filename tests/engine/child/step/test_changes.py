"""Which names a step created, changed and deleted, and what they are; nothing is reported that did not happen."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

from safeexec.engine.child.step.changes import after_step, before_step, variables
from safeexec.protocol.messages import ChangesReport


class Session:
    """A namespace in which steps run as in a child."""

    def __init__(self, *, names: int = 0) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        self.namespace.update((f"n{number}", number) for number in range(names))

    def step(self, source: str) -> ChangesReport | None:
        code = compile(source, "<step 1>", "exec")
        before = before_step(self.namespace, code, None)
        try:
            exec(code, self.namespace)
        except ArithmeticError:
            pass
        return after_step(self.namespace, before)

    def told(self, source: str) -> tuple[list[str], list[str], list[str]]:
        report = self.step(source)
        return (report.created, report.changed, report.deleted) if report is not None else ([], [], [])


@pytest.fixture(params=[0, 5000], ids=["few names", "5000 names"])
def session(request: pytest.FixtureRequest) -> Session:
    return Session(names=request.param)


ARRAYS_AND_FRAMES = [
    ("v = np.zeros(1_000_000)", "v += 1"),
    ("v = np.zeros((4, 4)).T", "v[0, 1] = 1"),
    ("v = np.array([1, 'a'], dtype=object)", "v[0] = 2"),
    ("v = pd.DataFrame({'a': range(1000), 's': 'x'})", "v.loc[5, 'a'] = 0"),
    ("v = pd.DataFrame({'a': range(1000), 's': 'x'})", "v.loc[5, 's'] = 'y'"),
    ("v = pd.DataFrame({'a': [2, 1]})", "v.sort_values('a', inplace=True)"),
    ("v = pd.DataFrame({'a': [2, 1]})", "v.columns = ['z']"),
    ("v = pd.Series([1, None], dtype='Int64')", "v.iloc[1] = 4"),
]


@pytest.mark.parametrize(
    ("made", "mutation"),
    [
        ("v = [1, 2]", "v[0] = 9"),
        ("v = {'a': [1]}", "v['a'].append(2)"),
        ("v = {1, 2}", "v.discard(1)"),
        ("v = bytearray(b'abc')", "v[1] = 0"),
        ("from collections import deque; v = deque([1])", "v.append(2)"),
        ("class A: pass\nv = A(); v.x = [1]", "v.x.append(2)"),
        *(
            pytest.param(f"import numpy as np, pandas as pd\n{made}", mutation, marks=pytest.mark.modules("pandas"))
            for made, mutation in ARRAYS_AND_FRAMES
        ),
    ],
)
def test_mutated_in_place(session: Session, made: str, mutation: str) -> None:
    session.step(made)
    assert session.told(mutation) == ([], ["v"], [])
    assert session.step("len(str(v)); repr(v); getattr(v, 'sum', 0), getattr(v, 'shape', 0)") is None


def test_mutated_through_a_function_of_an_earlier_step(session: Session) -> None:
    add = "def add(x):\n    global count\n    data.append(x); count += 1\ndef twice(x): add(x); add(x)"
    session.step(f"data = []; count = 0\n{add}")
    created, changed, _ = session.told("twice(5)")
    assert "count" in changed and created == []


def test_a_name_of_any_length_is_told_cut(session: Session) -> None:
    (created,), _, _ = session.told("globals()['a' * 10**6] = 1")
    assert created == "a" * 99 + "…"
    assert max(len(row.name) for row in variables(dict(reversed(session.namespace.items())))) == 100


def test_nan_is_not_a_change(session: Session) -> None:
    session.step("x = float('nan'); y = [x, {'k': x}]")
    assert session.step("x; y") is None


def test_objects_are_not_kept_alive() -> None:
    """A step that drops the last reference frees the object during the step, not after it."""
    session = Session()
    session.step("class Big: pass\nbig = Big()")
    seen: list[bool] = []
    reference = weakref.ref(session.namespace["big"])
    session.namespace["look"] = lambda: seen.append(reference() is None)
    session.step("del big; look()")
    assert seen == [True]


SPY = """
ran = []
class Spy:
    __module__ = 'numpy'
    def note(self, *_): ran.append(1); return 1
    __dict__ = shape = property(note)
    __eq__ = __hash__ = __repr__ = __len__ = note
spy = Spy(); spies = [spy]
"""


def test_guest_code_does_not_run() -> None:
    session = Session()
    session.step(SPY)
    assert session.told("spy; spies; other = spy") == (["other"], [], [])
    assert session.namespace["ran"] == []


def test_variables_are_described_briefly_whatever_they_are() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise SystemExit

    rows = variables({"loud": Loud(), "long": "x" * 10_000, "lone": "\ud800", "big": list(range(100_000))})
    assert [row.name for row in rows] == ["loud", "long", "lone", "big"]
    assert all(len(row.text) <= 300 for row in rows)
    assert rows[3].shape == "100000" and rows[3].size > 1_000_000
