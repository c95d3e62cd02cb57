"""Processes that wait for sessions: made, or thawed, before anybody asks for them."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.session.checkpoints import resumed
from safeexec.engine.host.session.output import OutputFile, new_streams
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.waiting import Core
from safeexec.errors import SandboxError
from safeexec.protocol import messages as m

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.policy.model import Policy

    class AsksForChildren(Protocol):
        """What spare children need of their sandbox."""

        policy: Policy

        @property
        def alive(self) -> bool: ...
        def new_workspace(self, policy: Policy) -> Workspace: ...
        def fill(self, workspace: Workspace) -> None: ...
        def ask_for_child(
            self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...], *, warm_up: bool
        ) -> tuple[int, Channel]: ...


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
        ready = yield from resumed(self.channel, monotonic() + patient(READY_SECONDS))
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


class Spares:
    """The spare children of a sandbox. From any thread: whoever takes one out of the list ends it, and nobody else."""

    def __init__(self, number: int) -> None:
        """`number`: how many are kept."""
        self._number = number
        self._waiting: list[Spare] = []
        self._asking = threading.Lock()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> Spare | None:
        """One for a session, if there is one."""
        try:
            return self._waiting.pop()
        except IndexError:
            return None

    def replenish(self, sandbox: AsksForChildren) -> None:
        """Ask for children up to the number that is kept. Nobody waits for them here."""
        if len(self._waiting) >= self._number or self._closed or not sandbox.alive:
            return
        if not self._asking.acquire(blocking=False):
            return
        made: list[Workspace | OutputFile | Channel] = []
        try:
            policy, workspace = sandbox.policy, None
            if policy.filesystem.workspace != "none":
                made.append(workspace := sandbox.new_workspace(policy))
                sandbox.fill(workspace)
            out, err = new_streams(policy.limits, policy.limits)
            made += [out, err]
            _, channel = sandbox.ask_for_child(policy, workspace, (out.fd, err.fd, out.shared), warm_up=True)
            self._waiting.append(Spare(channel, out, err, workspace))
            made.clear()
        except (OSError, SandboxError):
            pass  # no room, or no descriptor left: the session that needs a child is told so
        finally:
            for part in made:
                part.close()
            self._asking.release()
        self._end()  # if they were closed meanwhile, nobody else will

    def close(self) -> None:
        """End those that wait, and keep none from now on."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        while self._closed and (spare := self.take()) is not None:
            spare.close()

    def forget(self) -> None:
        """Close what this process holds of them, and nothing else."""
        self._closed = True
        for spare in self._waiting:
            spare.forget()
        self._waiting.clear()
