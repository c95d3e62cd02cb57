"""A process that waits for a session: made, or thawed, before anybody asks for it."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from safeexec.host.session.channel import Channel
from safeexec.host.session.checkpoints import woken
from safeexec.host.session.output import OutputFile
from safeexec.host.session.runner import READY_SECONDS
from safeexec.host.waiting import Core
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.host.files.workspace import Workspace


class Spare:
    """A process that was asked for before it is needed, with the files that its session will have."""

    __slots__ = ("channel", "err", "out", "workspace")

    def __init__(self, channel: Channel, out: OutputFile, err: OutputFile, workspace: Workspace | None) -> None:
        self.channel = channel
        self.out = out
        self.err = err
        self.workspace = workspace

    def ready(self) -> Core[m.Ready | None]:
        """Its `Ready`, which has usually come long ago. None if it never came up, or has died while it waited: no
        program is to fail because of that.
        """
        ready = yield from woken(self.channel, monotonic() + READY_SECONDS)
        if ready is not None and self.channel.is_over():
            self.channel.give_up()
            return None
        return ready

    def forget(self) -> None:
        """Close what this process holds of it, and nothing else."""
        self._let_go()
        if self.workspace is not None:
            self.workspace.forget()

    def _let_go(self) -> None:
        self.channel.close()
        self.out.close()
        self.err.close()

    def close(self) -> None:
        self._let_go()
        if self.workspace is not None:
            self.workspace.close()
