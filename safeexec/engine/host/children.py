"""Where a sandbox's processes come from: its zygote, which makes one when it is asked, and spare ones that wait."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import new_streams
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.session.spare import Spare, Spares
from safeexec.engine.host.session.tightened import lowered, value_limits
from safeexec.engine.host.startup.configuration import configuration
from safeexec.engine.host.startup.confinement import branch_ruleset
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.startup.launcher import ZygoteHandle
from safeexec.engine.host.waiting import Core, Work
from safeexec.engine.host.watch.gate import NO_GATE
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtectionError, ProtocolError, SandboxClosed, SandboxError
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import ChildConfinement, Mechanism

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace, WorkspaceRoot
    from safeexec.engine.host.tools.toolbox import Toolbox

Files = Mapping[str, "str | bytes | os.PathLike[str]"]
Fetch = Callable[[Policy], tuple[Policy, str]]
"""Has the packages that a policy requires: returns the policy with their modules, and where they lie."""
CLOSED = "the sandbox is closed"
FORKED = "this sandbox was opened before the process forked; open one in each worker, or reopen() it"


class Children:
    """The processes of one sandbox, with the files that they begin with. From any thread."""

    def __init__(self, policy: Policy, files: Files, spare: int) -> None:
        """`files` are in each new workspace; `spare` children are kept for sessions to come."""
        self.policy = policy
        """What they are held to, where a session's own is not tighter."""
        self.files = files
        self.why_closed: str | None = CLOSED
        """Why there are no more of them; None while there are."""
        self.zygote: ZygoteHandle | None = None
        self.gate = NO_GATE
        """What every fork of the sandbox's processes waits for."""
        self.reapers: tuple[int, ...] = ()
        """The parents of a session's orphans: the zygote as process 1 of its namespace, or its launcher."""
        self.mechanisms: list[Mechanism] = []
        self.root: WorkspaceRoot | None = None
        self.spares = Spares(spare)
        self.steps = {"journalled": 0, "copied": 0, "lost": 0}
        """How many steps they have done, by what became of them: see `SandboxStats`."""
        self._confinement: ChildConfinement | None = None
        """What each is held to by the kernel."""
        self._numbers = count(1)
        self._came_up = 0.0
        """When a child that was waited for last became ready (monotonic seconds)."""
        self._lock = threading.Lock()
        """Held while the zygote is spoken to, or a workspace is made."""

    # The zygote

    def open(self, launched: Launched, toolbox: Toolbox, fetch: Fetch | None) -> Core[None]:
        """Make a zygote of the process that was launched, which is ended by `close` where that fails. Raises
        `ProtectionError`.
        """
        self.zygote = zygote = ZygoteHandle(launched)
        packages = None
        if self.policy.requirements:
            if fetch is None:
                raise SandboxError(f"nothing here fetches what the policy {self.policy.name!r} requires")
            self.policy, packages = yield Work(partial(fetch, self.policy))
        message = yield Work(partial(self._configuration, toolbox, packages))
        yield from zygote.start(message)
        self.gate, self.reapers, self.mechanisms = zygote.gate, zygote.reapers, zygote.mechanisms
        self._confinement = message.child
        if self.root is not None and message.child.separate == "turns":
            self.root.turns = True
            self.spares = Spares(0)  # one would have the turn of the first session
        self.why_closed = None

    def _configuration(self, toolbox: Toolbox, packages: str | None) -> m.Configure:
        """Return what the zygote is told. `packages`: where those lie that the policy requires."""
        workspaces = None
        if self.policy.filesystem.workspace != "none":
            from safeexec.engine.host.files.workspace import (
                WorkspaceRoot,  # with what it needs 20 ms that few profiles pay
            )

            self.root = WorkspaceRoot()
            workspaces = self.root.path
        message, user = configuration(self.policy, toolbox, workspaces, packages)
        if self.root is not None:
            self.root.owner = user
        return message

    @property
    def alive(self) -> bool:
        return self.zygote is not None and self.zygote.alive

    def check_usable(self) -> None:
        """Raises `SandboxClosed` when there are no more of them."""
        if self.why_closed is not None:
            raise SandboxClosed(self.why_closed)
        if self.zygote is not None and not self.zygote.alive:
            raise SandboxClosed(f"the zygote died ({self.zygote.log()[-300:] or 'no message'}); reopen the sandbox")

    def begin_close(self) -> Core[None]:
        """Do the first half of `close`: make no more, and end those that wait for sessions."""
        self.why_closed = CLOSED
        if self.spares:
            yield Work(self.spares.close)
        self.spares.close()

    def close(self) -> Core[None]:
        """End all that are left, and remove the workspaces."""
        if self.zygote is not None:
            yield from self.zygote.close()
        if self.root is not None:
            yield Work(self.root.close)

    def forget(self) -> None:
        """Let go of them in a fork of the process that opened the sandbox, without ending anything."""
        self.why_closed = FORKED
        self.spares.forget()
        if self.root is not None:
            self.root.forget()
        if self.zygote is not None:
            self.zygote.forget()

    def branch_ruleset(self, region: str) -> int | None:
        """Return what shuts a branch off from all files but those in its `region`; None where nothing does. Raises
        OSError.
        """
        zygote, confinement = self.zygote, self._confinement
        return None if zygote is None or confinement is None else branch_ruleset(confinement, zygote.proc, region)

    # Asking for one

    def spare_for(self, policy: Policy) -> Spare | None:
        """Return a child that waits for a session of this policy, if there is one: it is locked down already, under the
        limits of the sandbox.
        """
        own = lowered(self.policy.limits, policy.limits) or value_limits(self.policy.limits, policy.limits)
        return None if own else self.spares.take()

    def new_child(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready]]:
        """Return a locked-down child that waits for its first request. Each other one that comes up meanwhile renews
        the deadline: where many are asked for at once, the zygote makes one after the other.
        """
        number, channel = self._ask(policy, workspace, output, warm_up=False)
        asked = monotonic()
        ready: m.FromChild | None = None
        try:
            while ready is None and monotonic() < (deadline := max(asked, self._came_up) + patient(READY_SECONDS)):
                ready = yield from channel.receive(deadline)
        except (Gone, ProtocolError) as error:
            self.check_usable()
            raise ProtectionError(f"no child could be started: {self.problem(number) or error}") from None
        finally:
            if not isinstance(ready, m.Ready):
                channel.give_up()
        if not isinstance(ready, m.Ready):
            raise ProtectionError(f"no child of the sandbox became ready in {patient(READY_SECONDS):.3g} s")
        self._came_up = monotonic()
        return channel, ready

    def _ask(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...], *, warm_up: bool
    ) -> tuple[int, Channel]:
        """Ask for a child, as `spawn` does; `warm_up`: before it gets a request, if none comes at once."""
        if workspace is not None:
            workspace.give_access()
        return self.spawn(
            lambda number: m.Spawn(
                number=number,
                workspace=workspace.path if workspace is not None else None,
                home=workspace.home if workspace is not None else None,
                idle=policy.checkpoints == "idle",
                warm_up=warm_up,
                lowered=lowered(self.policy.limits, policy.limits),
                threads=policy.limits.threads,
                value=value_limits(self.policy.limits, policy.limits),
            ),
            output,
        )

    def spawn(self, request: Callable[[int], m.Spawn | m.RunCommand], output: tuple[int, ...]) -> tuple[int, Channel]:
        """Ask the zygote for a process; `request` gets its number. It says Ready on the channel, or the channel
        ends.
        """
        self.check_usable()
        assert self.zygote is not None
        number = next(self._numbers)
        channel, theirs = Channel.pair()
        try:
            with theirs, self._lock:
                self.zygote.spawn(request(number), (theirs.fileno(), *output))
        except BaseException:
            channel.close()
            raise
        return number, channel

    def problem(self, number: int) -> str:
        """Return why process `number` could not be made, in the zygote's words."""
        return self.zygote.problem(number) if self.zygote is not None else ""

    def replenish(self) -> None:
        """Ask for the spare children that are missing. Nobody waits for them here."""
        if self.alive:
            self.spares.replenish(self._new_spare)

    def _new_spare(self) -> Spare:
        """Ask for a child that nobody needs yet. Raises OSError and `SandboxError`, and leaves nothing then."""
        policy, workspace = self.policy, None
        with ExitStack() as made:
            if policy.filesystem.workspace != "none":
                workspace = made.enter_context(closing(self.new_workspace(policy)))
                self.fill(workspace)
            out, err = map(made.enter_context, map(closing, new_streams(policy.limits, policy.limits)))
            _, channel = self._ask(policy, workspace, (out.fd, err.fd, out.shared), warm_up=True)
            made.pop_all()
        return Spare(channel, out, err, workspace)

    # Their files, and their steps

    def new_workspace(self, policy: Policy) -> Workspace:
        """Return an empty directory for a new session."""
        assert self.root is not None
        with self._lock:
            return self.root.lineage(policy.limits.workspace_mb << 20, policy.limits.workspace_files)

    def fill(self, workspace: Workspace) -> None:
        """Put the sandbox's files into a new workspace."""
        for name, content in self.files.items():
            workspace.put(name, content)
        workspace.initial = workspace.snapshot()

    def steps_lost(self, count: int) -> None:
        """Count, and log, steps of a session that came out otherwise when they were repeated."""
        self.steps["lost"] += count
        logging: Any = sys.modules.get("logging")
        if logging is not None:
            logging.getLogger("safeexec").warning(
                "%d steps of a session came out otherwise when repeated, and are lost", count
            )
