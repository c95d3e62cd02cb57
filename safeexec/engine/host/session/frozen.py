"""A state of a session that is kept without a process: that of a template, and a fresh plugin as it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.supervisor import LOST
from safeexec.engine.host.waiting import Core

if TYPE_CHECKING:
    from safeexec.engine.host.session.checkpoints import Checkpoint
    from safeexec.engine.host.session.history import State
    from safeexec.engine.host.session.output import OutputFile
    from safeexec.engine.host.session.session import SessionCore


class FrozenState(Struct, eq=False):
    """A named state of `core`, and the `copy` from which processes go on in it."""

    _core: SessionCore
    state: State
    copy: Checkpoint

    def leave(self) -> Channel | None:
        """Go back to this state, without a process. Returns the one that there was, for the caller to end."""
        core, processes = self._core, self._core.processes
        runner, processes.runner = processes.runner, None
        if core.supervisor.state is not LOST:
            core.supervisor.transition(LOST)
        processes.release(processes.history.arrive(self.state))
        return runner.channel if runner is not None else None

    def end(self, channel: Channel) -> Core[None]:
        """End a process that was left, and whatever it left behind."""
        yield from self._core.processes.lineage.end_runner(channel, self._core.processes)
        channel.close()

    def adopt(self, channel: Channel, out: OutputFile, err: OutputFile) -> None:
        """Go on in a process that was resumed from the copy, and writes to `out` and `err`."""
        self._core.processes.adopt(channel, self.copy, out, err)
        self._core.supervisor.arrived()


def freeze(core: SessionCore, name: str) -> Core[FrozenState]:
    """Return the state as it is now, under a name. The process goes on until it is left."""
    yield from core.checkpoint(name)
    return FrozenState(core, *core.processes.history.find(name))
