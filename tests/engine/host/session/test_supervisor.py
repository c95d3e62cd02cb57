"""What a session keeps of its state, and what it says when that was lost: in memory, without a process."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

from safeexec.engine.host.session.history import History
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.supervisor import IDLE, LOST, Supervisor
from safeexec.engine.host.waiting import drive
from safeexec.engine.host.watch.verdict import Verdict


class Bare:
    """A line without processes: all comes back."""

    workspace = runner = None

    def __init__(self) -> None:
        self.lost: list[int] = []
        self.out = self.err = SimpleNamespace(begin=lambda: None)
        self.history: History[object] = History()

    def undo(self) -> None:
        self.history.undo()

    def stop(self) -> Generator[Any, Any, None]:
        yield from ()

    def restore(self, lost: list[str]) -> Generator[Any, Any, list[str]]:
        yield from ()
        return []


def supervisor() -> Supervisor:
    """One whose session is in the state after a first step."""
    line = Bare()
    line.history.begin(1)
    line.history.commit(copy=object())
    kept = Supervisor(cast(Any, None), cast(SessionProcesses, line))
    kept.state = IDLE
    return kept


def test_what_a_look_finds_as_a_step_is_ended_is_not_told_of_the_time_after_it() -> None:
    kept = supervisor()
    drive(kept.stop())
    kept.idle_violation = Verdict("memory", "the session holds too much")
    drive(kept.restore_after_step())
    assert kept.idle_violation is None and kept.notes_next == []


def test_a_restore_that_the_caller_asked_for_counts_as_none() -> None:
    kept = supervisor()
    kept.state = LOST
    assert drive(kept.restore(asked=True)) == [] and kept.restored == 0
