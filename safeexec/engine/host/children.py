"""The source of a sandbox's processes: its zygote, which makes one when it is asked, and spare ones that wait."""

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

from safeexec.common.identity import LARGE
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import SessionOutput
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.session.spare import Spare, Spares
from safeexec.engine.host.session.tightened import own_limits
from safeexec.engine.host.startup.configuration import configuration
from safeexec.engine.host.startup.confinement import branch_ruleset
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.startup.launcher import ZygoteHandle
from safeexec.engine.host.waiting import Core, Work, apart
from safeexec.engine.host.watch.gate import NO_GATE
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtectionError, ProtocolError, SandboxClosed, SandboxError
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.files.workspace_root import WorkspaceRoot
    from safeexec.engine.host.tools.toolbox import Toolbox

Files = Mapping[str, "str | bytes | os.PathLike[str]"]
Fetch = Callable[[Policy], tuple[Policy, str]]
"""Has the packages that a policy requires: returns the policy with their modules, and where they lie."""
Request = Callable[..., m.Spawn | m.RunCommand]
"""Makes the request to the zygote, given its `number`."""
CLOSED = "the sandbox is closed"
FORKED = "this sandbox was opened before the process forked; open one in each worker, or reopen() it"


class Children:
    """The processes of one sandbox, with the files that they begin with. From any thread."""

    def __init__(self, policy: Policy, files: Files, spare: int) -> None:
        """`files` are in each new workspace; `spare` children are kept for sessions to come."""
        self.policy = policy
        """The policy that holds them, where a session's own is not tighter."""
        self.files = files
        self.why_closed: str | None = CLOSED
        """The reason why there are no more of them; None while there are."""
        self.zygote: ZygoteHandle | None = None
        self.gate = NO_GATE
        """Answers every fork of the sandbox's processes."""
        self.reapers: tuple[int, ...] = ()
        """The parents of a session's orphans: the zygote as process 1 of its namespace, or its launcher."""
        self.mechanisms: list[Mechanism] = []
        self.root: WorkspaceRoot | None = None
        self.spares = Spares(spare)
        self.steps = {"journalled": 0, "copied": 0, "lost": 0}
        """Counts of the steps that they have done, by what became of them: see `SandboxStats`."""
        self.branch_ruleset: Callable[[str], int | None] = lambda region: None
        """Gives what shuts a branch off from files outside of its region; None where nothing does. Raises OSError."""
        self._numbers = count(1)
        self._came_up = 0.0
        """The time at which a child that was waited for last became ready (monotonic seconds)."""
        self._lock = threading.Lock()
        """Held while the zygote is spoken to, or a workspace is made."""

    # The zygote

    def open(self, launched: Launched, toolbox: Toolbox, fetch: Fetch | None) -> Core[None]:
        """Make a zygote of the process that was launched, which `close` ends on failure. Raises `ProtectionError`."""
        self.zygote = zygote = ZygoteHandle(launched)
        packages = None
        if self.policy.requirements:
            if fetch is None:
                raise SandboxError(f"nothing here fetches what the policy {self.policy.name!r} requires")
            self.policy, packages = yield Work(partial(fetch, self.policy))
        message = yield Work(partial(self._configuration, toolbox, packages))
        yield from zygote.start(message)
        self.gate, self.reapers, self.mechanisms = zygote.gate, zygote.reapers, zygote.mechanisms
        self.branch_ruleset = partial(branch_ruleset, message.child, zygote.proc)
        if self.root is not None and message.child.separate == "turns":
            self.root.turns = True
            self.spares.close()  # one would have the turn of the first session
        self.why_closed = None

    def _configuration(self, toolbox: Toolbox, packages: str | None) -> m.Configure:
        """Return the configuration of the zygote. `packages`: where those lie that the policy requires."""
        if self.policy.filesystem.workspace != "none":
            from safeexec.engine.host.files.workspace_root import WorkspaceRoot  # 20 ms that few profiles pay

            self.root = WorkspaceRoot()
        return configuration(self.policy, toolbox, self.root, packages)

    @property
    def alive(self) -> bool:
        return self.zygote is not None and self.zygote.alive

    def check_usable(self) -> None:
        """Raise `SandboxClosed` when there are no more of them."""
        if self.why_closed is not None:
            raise SandboxClosed(self.why_closed)
        if self.zygote is not None and not self.zygote.alive:
            raise SandboxClosed(f"the zygote died ({self.zygote.log()[-300:] or 'no message'}); reopen the sandbox")

    def begin_close(self) -> Core[None]:
        """Do the first half of `close`: make no more, and end those that wait for sessions."""
        self.why_closed = CLOSED
        yield from apart(LARGE * len(self.spares), self.spares.close)

    def close(self) -> Core[None]:
        """End all that are left, and remove the workspaces."""
        if self.zygote is not None:
            yield from self.zygote.close()
        if self.root is not None:
            yield Work(self.root.close)

    def disown(self) -> None:
        """Let go of them in a fork of the process that opened the sandbox, without ending anything."""
        self.why_closed = FORKED
        self.spares.disown()
        if self.root is not None:
            self.root.disown()
        if self.zygote is not None:
            self.zygote.disown()

    # Asking for one

    def spare_for(self, policy: Policy) -> Spare | None:
        """Return a child that waits for a session of this policy, if there is one: it is locked down already, under the
        limits of the sandbox.
        """
        return None if own_limits(self.policy.limits, policy.limits) else self.spares.take()

    def new_child(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready]]:
        """Return a locked-down child that waits for its first request, as `started`."""
        return self.started(self._request(policy, workspace, warm_up=False), output, "child")

    def started(self, request: Request, output: tuple[int, ...], what: str) -> Core[tuple[Channel, m.Ready]]:
        """Return a process that is locked down, and what it said then. Each other one that comes up meanwhile renews
        the deadline: where many are asked for at once, the zygote makes one after the other. Raises `ProtectionError`
        where there is none in time, or none can be made, and `SandboxClosed`.
        """
        number, channel = self.spawn(request, output)
        asked = monotonic()
        ready: m.FromChild | None = None
        try:
            while ready is None and monotonic() < (deadline := max(asked, self._came_up) + patient(READY_SECONDS)):
                ready = yield from channel.receive(deadline)
        except (Gone, ProtocolError) as error:
            self.check_usable()
            with self._lock:  # one reads what the zygote says of all
                problem = self.zygote.problem(number) if self.zygote is not None else ""
            raise ProtectionError(f"no {what} could be started: {problem or error}") from None
        finally:
            if not isinstance(ready, m.Ready):
                channel.give_up()
        if not isinstance(ready, m.Ready):
            raise ProtectionError(f"no {what} of the sandbox became ready in {patient(READY_SECONDS):.3g} s")
        self._came_up = monotonic()
        return channel, ready

    def _request(self, policy: Policy, workspace: Workspace | None, *, warm_up: bool) -> Request:
        """Return what asks for a child; `warm_up`: before it gets a request, if none comes at once."""
        if workspace is not None:
            workspace.give_access()
        return partial(
            m.Spawn,
            workspace=workspace.path if workspace is not None else None,
            home=workspace.home if workspace is not None else None,
            idle=policy.checkpoints == "idle",
            warm_up=warm_up,
            **own_limits(self.policy.limits, policy.limits),
        )

    def spawn(self, request: Request, output: tuple[int, ...]) -> tuple[int, Channel]:
        """Ask the zygote for a process, which says Ready on the channel, or the channel ends. Returns its number, too,
        by which the zygote reports why it could not be made.
        """
        self.check_usable()
        assert self.zygote is not None
        number = next(self._numbers)
        channel, theirs = Channel.pair()
        try:
            with theirs, self._lock:
                self.zygote.spawn(request(number=number), (theirs.fileno(), *output))
        except BaseException:
            channel.close()
            raise
        return number, channel

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
            output = made.enter_context(closing(SessionOutput(policy.limits, policy.limits)))
            request = self._request(policy, workspace, warm_up=True)
            _, channel = self.spawn(request, output.for_child)
            made.pop_all()
        return Spare(channel, output, workspace)

    # Their files, and their steps

    def new_workspace(self, policy: Policy) -> Workspace:
        """Return an empty directory for a new session."""
        assert self.root is not None
        with self._lock:
            return self.root.new_workspace(policy.limits.workspace_mb << 20, policy.limits.workspace_files)

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
