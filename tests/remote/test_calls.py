"""A call at a server: what the thread that reads tells is never missed by the one that waits."""

from __future__ import annotations

import threading

import pytest

from safeexec.engine.host.waiting import Signal
from safeexec.errors import ProtocolError
from safeexec.remote import calls
from safeexec.remote.calls import Asked


def test_an_end_that_comes_while_events_are_taken_wakes_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the signal is stilled it is in what was taken, or else the signal has rung again."""
    asked = Asked()
    still = asked.signal.clear
    ending = threading.Thread(target=asked.finish, args=("the answer",))

    def slowly() -> None:
        ending.start()
        ending.join(0.1)  # as far as it gets
        still()

    asked.tell("output", "a", 1)
    monkeypatch.setattr(Signal, "clear", lambda _: slowly())
    events, over = asked.came()
    ending.join()
    assert events == [("output", "a")]
    assert over or asked.signal.is_set
    monkeypatch.undo()
    assert over or asked.came() == ([], True)
    assert asked.answer() == "the answer"
    asked.close()


def test_the_first_end_counts_and_a_closed_call_is_woken_no_more() -> None:
    asked = Asked()
    asked.fail(LookupError("first"))
    asked.finish("second")
    assert asked.came() == ([], True)
    asked.close()
    asked.tell("output", "late", 1)
    with pytest.raises(LookupError, match="first"):
        asked.answer()


def test_a_listener_that_takes_nothing_ends_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_UNREAD", 2500)
    asked = Asked()
    for _ in range(3):
        asked.tell("output", "12345", 5)
        asked.came()
    assert not asked.over
    for _ in range(2):
        asked.tell("output", "", 0)
    assert not asked.over
    asked.tell("output", "", 0)
    assert asked.over, "an event takes room, however little it says"
    with pytest.raises(ProtocolError, match="not taken"):
        asked.answer()
    asked.close()
