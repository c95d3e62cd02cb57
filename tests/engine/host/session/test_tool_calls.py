"""The calls of tools that a session remembers are bounded, and marks stay true when the oldest goes."""

from __future__ import annotations

from safeexec.engine.host.session.tool_calls import RECORDS, ToolLog
from safeexec.results import ToolCallRecord


def test_the_newest_calls_are_kept_and_all_are_counted() -> None:
    made = ToolLog()
    for number in range(RECORDS + 500):
        made.append(ToolCallRecord("t", number, "ok"))
        if number in (0, 49):
            assert [record.step for record in made.since(number)] == [number] and made.since(number + 1) == ()
    copied = made.copy()
    copied.append(ToolCallRecord("t", -1, "ok"))
    assert (len(made), len(copied), copied.since(len(made))[0].step) == (RECORDS + 500, RECORDS + 501, -1)
    assert [made.since(mark)[0].step for mark in (0, 499, 500, 10_400)] == [500, 500, 500, 10_400]
    assert len(made.since(0)) == RECORDS and made.since(len(made)) == ()
