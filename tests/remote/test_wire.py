"""A call at a server: what the thread that reads tells is never missed by the one that waits."""

from __future__ import annotations

import threading

import pytest

from safeexec.engine.host.waiting import Signal
from safeexec.errors import ProtocolError
from safeexec.remote import wire
from safeexec.remote.wire import RemoteCall


def test_an_end_that_comes_while_events_are_taken_wakes_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the signal is stilled it is in what was taken, or else the signal has rung again."""
    pending = RemoteCall()
    still = pending.signal.clear
    ending = threading.Thread(target=pending.finish, args=("the answer",))

    def slowly() -> None:
        ending.start()
        ending.join(0.1)  # as far as it gets
        still()

    pending.add_event("output", "a", 1)
    monkeypatch.setattr(Signal, "clear", lambda _: slowly())
    events, over = pending.take_events()
    ending.join()
    assert events == [("output", "a")]
    assert over or pending.signal.is_set
    monkeypatch.undo()
    assert over or pending.take_events() == ([], True)
    assert pending.answer() == "the answer"
    pending.close()


def test_the_first_end_counts_and_a_closed_call_is_woken_no_more() -> None:
    pending = RemoteCall()
    pending.fail(LookupError("first"))
    pending.finish("second")
    assert pending.take_events() == ([], True)
    pending.close()
    pending.add_event("output", "late", 1)
    with pytest.raises(LookupError, match="first"):
        pending.answer()


def test_a_listener_that_takes_nothing_ends_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_UNREAD", 2500)
    pending = RemoteCall()
    for _ in range(3):
        pending.add_event("output", "12345", 5)
        pending.take_events()
    assert not pending.over
    for _ in range(2):
        pending.add_event("output", "", 0)
    assert not pending.over
    pending.add_event("output", "", 0)
    assert pending.over, "an event takes room, however little it says"
    with pytest.raises(ProtocolError, match="not taken"):
        pending.answer()
    pending.close()
