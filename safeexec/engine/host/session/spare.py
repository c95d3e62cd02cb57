"""Processes that wait for sessions: made, or resumed, before one needs them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.output import SessionOutput
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.waiting import Core
from safeexec.errors import SandboxError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace


class Spare(Struct, eq=False):
    """A process that was asked for before it is needed, with the files that its session will have."""

    channel: Channel
    output: SessionOutput
    workspace: Workspace | None

    def ready(self) -> Core[m.Ready | None]:
        """Return its `Ready`, which has usually come long ago. None if it never came up, or has died while it waited:
        no program is to fail because of that.
        """
        ready = yield from self.channel.wait_ready(monotonic() + patient(READY_SECONDS))
        if ready is not None and self.channel.has_ended():
            self.channel.give_up()
            return None
        return ready

    def disown(self) -> None:
        """Close what this process holds of it, and nothing else."""
        self._let_go()
        if self.workspace is not None:
            self.workspace.disown()

    def _let_go(self) -> None:
        self.channel.close()
        self.output.close()

    def close(self) -> None:
        self._let_go()
        if self.workspace is not None:
            self.workspace.close()


class Spares:
    """The spare children of a sandbox. From any thread: whoever takes one out of the list ends it, and nobody else."""

    def __init__(self, number: int) -> None:
        """`number`: how many are kept."""
        self._number = number
        self._waiting: list[Spare] = []
        self._asking = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> Spare | None:
        """Return a spare child for a session, if one waits."""
        try:
            return self._waiting.pop()
        except IndexError:
            return None

    def replenish(self, ask: Callable[[], Spare]) -> None:
        """Ask for children up to the number that is kept. Nobody waits for them here."""
        if len(self._waiting) >= self._number or not self._asking.acquire(blocking=False):
            return
        try:
            self._waiting.append(ask())
        except (OSError, SandboxError):
            pass  # no room, or no descriptor left: the session that needs a child fails with that
        finally:
            self._asking.release()
        self._end()  # if they were closed meanwhile, nobody else will

    def close(self) -> None:
        """End those that wait, and keep none from now on."""
        self._number = 0
        self._end()

    def _end(self) -> None:
        while not self._number and (spare := self.take()) is not None:
            spare.close()

    def disown(self) -> None:
        """Close what this process holds of them, and nothing else."""
        self._number = 0
        for spare in self._waiting:
            spare.disown()
        self._waiting.clear()
