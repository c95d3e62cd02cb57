"""The way back: to what a session was, under a name or before its last steps."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.copies import FREEZE_SECONDS
from safeexec.engine.host.session.copy import Copy, own_bytes
from safeexec.engine.host.session.history import NOTHING_TO_UNDO, History, State, not_kept
from safeexec.engine.host.session.supervisor import IDLE, RESTING
from safeexec.engine.host.session.turns import exclusive
from safeexec.engine.host.waiting import Core
from safeexec.errors import CheckpointError
from safeexec.results import CheckpointInfo, Rows, ToolCallRecord

if TYPE_CHECKING:
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.session.tool_calls import Waits
    from safeexec.engine.host.session.turns import Turns

NAME_LENGTH = 200


class WayBack:
    """The checkpoints and rollbacks of one session."""

    def __init__(self, turns: Turns, supervisor: Supervisor, waits: Waits) -> None:
        self.turns = turns
        self._supervisor = supervisor
        self._waits = waits

    @exclusive("checkpoint")
    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`."""
        _check_name(name)
        processes = self._supervisor.processes
        named, limit = processes.history.named, processes.policy.limits.checkpoints
        if name not in named and len(named) >= limit:
            raise CheckpointError(
                f"this session already has {len(named)} named checkpoints, and limits.checkpoints allows {limit}; "
                f"drop one first: {', '.join(named)}"
            )
        copy = yield from self._supervisor.new_copy()
        copy.name = name
        processes.release(processes.history.keep(name, copy))

    def rows(self) -> list[CheckpointInfo]:
        """Return the checkpoints as data."""
        return Rows(_rows_of(self._supervisor.processes.history))

    @exclusive("drop")
    def drop(self, name: str) -> Core[None]:
        """Drop a named checkpoint."""
        processes = self._supervisor.processes
        _, copy = processes.history.find(name)
        dropped = processes.history.drop(name)
        copy.name = None
        processes.release(dropped)
        yield from ()

    @exclusive("rollback")
    def rollback(self, name: str | None, steps: int) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last `steps`. Returns tool calls that cannot be undone."""
        if not isinstance(steps, int) or steps < 1 or (name is not None and steps != 1):
            raise ValueError(f"steps={steps!r}: a number of steps from 1 on, without a name")
        self._waits.check()
        supervisor = self._supervisor
        if supervisor.state is not IDLE and supervisor.state is not RESTING:
            yield from supervisor.finish_interrupted()
        processes = supervisor.processes
        state, copies = self._target(name, steps)
        for copy in copies:
            if (yield from copy.wait_until_frozen(monotonic() + patient(FREEZE_SECONDS))):
                processes.history.note_frozen(copy)
                break
        else:
            if name is not None:
                raise CheckpointError(f"the checkpoint {name!r} is gone (its process was killed)")
            if copies:
                raise not_kept(steps)
        since = list(supervisor.tool_records.since(state.tool_calls))
        # Decided: whoever is interrupted from here on finds the session in that state.
        processes.release(processes.history.arrive(state))
        yield from supervisor.stop()
        notes = yield from supervisor.restore(planned=True)
        supervisor.notes_next += notes
        if supervisor.take_diverged() or processes.history.current.memory is not state.memory:
            what = "the state before the last step" if name is None else f"the checkpoint {name!r}"
            raise CheckpointError(f"{what} could not be brought back; {supervisor.describe_restore(notes)}")
        return since

    def _target(self, name: str | None, steps: int) -> tuple[State, list[Copy]]:
        """Return the state to go back to, and the copies of it. Raises `CheckpointError`."""
        processes = self._supervisor.processes
        history = processes.history
        if name is not None:
            state, copy = history.find(name)
            return state, [copy]
        if history.current.undo_to is None:
            raise CheckpointError(NOTHING_TO_UNDO)
        if processes.policy.checkpoints == "off":
            raise CheckpointError("checkpoints are off in this session: roll back to a named checkpoint")
        state = history.before_last(steps)
        return state, history.copies_below(state)


def _check_name(name: object) -> None:
    """Raise `CheckpointError` for what no checkpoint of a caller can be called."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise CheckpointError(
            f"a checkpoint needs a name: a str of 1 to {NAME_LENGTH} characters, none of them a control character"
        )
    if name.startswith("step ") and name[5:].isdecimal():
        raise CheckpointError(f"{name!r} is what automatic checkpoints are called: choose another name")


def _rows_of(history: History[Copy]) -> list[CheckpointInfo]:
    """Return the copies as data: those with a name, and automatic ones that are frozen; none whose process ended."""
    now, rows = monotonic(), []
    held = [(copy, copy.pid()) for copy in history.copies()]
    held = [(copy, pid) for copy, pid in held if copy.alive]
    # Of a state that the host has changed, the copy of the older version lives until that of the newer one is frozen.
    # The copy that the sessions of a template begin with has a name in each of them, which each may drop.
    names = {copy: name for name, (_, copy) in history.named.items()}
    newest = {copy.step: copy for copy, pid in held if copy not in names and pid is not None}
    for copy, pid in held:
        if copy not in names and newest.get(copy.step) is not copy:
            continue
        memory = own_bytes(pid) / (1 << 20) if pid is not None else 0.0
        parent = copy.parent.label if copy.parent is not None else None
        label = names.get(copy, f"step {copy.step}")
        rows.append(CheckpointInfo(label, parent, copy.step, copy not in names, now - copy.created, memory))
    return sorted(rows, key=lambda row: (row.step, row.name))
