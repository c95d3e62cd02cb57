"""The calls of tools that a session remembers are bounded, and marks stay true when the oldest goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from safeexec.engine.host.session.tool_calls import RECORDS, ToolLog
from safeexec.results import ToolCallRecord


def log(count: int) -> ToolLog:
    made = ToolLog()
    for number in range(count):
        made.append(ToolCallRecord("t", number, "ok"))
    return made


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_mark_gives_what_came_after_it(count: int, mark: int) -> None:
    found = log(count).since(min(mark, count))
    assert [record.step for record in found] == list(range(min(mark, count), count))


def test_the_newest_calls_are_kept_and_all_are_counted() -> None:
    made = log(RECORDS + 500)
    assert len(made) == RECORDS + 500
    assert [made.since(mark)[0].step for mark in (0, 499, 500, 10_400)] == [500, 500, 500, 10_400]
    assert len(made.since(0)) == RECORDS and made.since(len(made)) == ()


def test_a_copy_goes_its_own_way() -> None:
    first = log(3)
    second = first.copy()
    second.append(ToolCallRecord("t", 9, "ok"))
    assert (len(first), len(second), second.since(3)[0].step) == (3, 4, 9)
