"""What a session keeps of its state, and what it says when that was lost: in memory, without a process."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from safeexec import SandboxError
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.history import History
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.states import IDLE, LOST
from safeexec.engine.host.session.supervisor import Supervisor
from safeexec.engine.host.waiting import drive
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.results.outcomes import NEWEST_LEFT, STARTS_EMPTY

EMPTY = f"no checkpoint was left: {STARTS_EMPTY}"
OLDER = f"the state of checkpoint 'step 1' {NEWEST_LEFT}"


class Bare:
    """A line without processes: what comes back is what `left` says of it."""

    workspace = runner = None

    def __init__(self, left: list[str]) -> None:
        self.lost: list[int] = []
        self.out = self.err = SimpleNamespace(begin=lambda: None)
        self.history: History[object] = History()
        self.left = left

    def undo(self) -> None:
        self.history.undo()

    def stop(self) -> Generator[Any, Any, None]:
        yield from ()

    def restore(self) -> Generator[Any, Any, list[str]]:
        yield from ()
        if EMPTY in self.left:
            self.history.arrive(self.history.last_resort())
        return list(self.left)


def supervisor(left: list[str]) -> Supervisor:
    """One whose session is in the state after a first step."""
    line = Bare(left)
    line.history.begin(1)
    line.history.commit(copy=object())
    kept = Supervisor(cast(Any, None), cast(SessionProcesses, line))
    kept.state = IDLE
    return kept


@pytest.mark.parametrize(
    ("left", "told"),
    [([], "the session was restored"), ([OLDER], f"the session was restored ({OLDER})"), ([EMPTY], EMPTY)],
    ids=["as it was", "older", "empty"],
)
def test_a_process_that_is_lost_is_told_with_what_became_of_the_state(left: list[str], told: str) -> None:
    kept = supervisor(left)
    with pytest.raises(SandboxError) as caught:
        drive(kept.restore_and_raise(Gone("it closed its socket")))
    assert str(caught.value) == f"the session's process died (it closed its socket); {told}; try again"
    assert (kept.notes_next, kept.state, kept.restored) == (left, IDLE, 1)


def test_what_the_watch_has_ended_is_told_with_its_reason_once() -> None:
    kept = supervisor([])
    kept.idle_violation = Verdict("memory", "the session held too much")
    with pytest.raises(SandboxError, match=r"died \(the session held too much\)"):
        drive(kept.restore_and_raise(Gone("broken pipe")))
    assert kept.idle_violation is None


def test_what_a_look_finds_as_a_step_is_ended_is_not_told_of_the_time_after_it() -> None:
    kept = supervisor([])
    drive(kept.stop())
    kept.idle_violation = Verdict("memory", "the session holds too much")
    drive(kept.restore_after_step())
    assert kept.idle_violation is None and kept.notes_next == []


def test_a_restore_that_the_caller_asked_for_counts_as_none() -> None:
    kept = supervisor([])
    kept.state = LOST
    assert drive(kept.restore(asked=True)) == [] and kept.restored == 0


def test_names_of_an_emptied_session_are_not_those_of_a_step_that_was_undone() -> None:
    kept = supervisor([EMPTY])
    kept.sources.add(1, "total = 1")
    assert kept.sources.bound_last() == ["total"]
    drive(kept.stop())
    drive(kept.restore())
    assert kept.sources.bound_last() == []
