"""A sandbox without its I/O: one policy ready to run. It owns a zygote, gives out children, counts its sessions."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, cast
from weakref import WeakSet

from safeexec.engine.approvals import Approval
from safeexec.engine.host import descriptors
from safeexec.engine.host.arguments import check_arguments
from safeexec.engine.host.labels import Labels
from safeexec.engine.host.patience import patient
from safeexec.engine.host.queue import Turnstile
from safeexec.engine.host.session.channel import Channel, Gone
from safeexec.engine.host.session.output import new_streams
from safeexec.engine.host.session.runner import READY_SECONDS
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.session.spare import Spare, Spares
from safeexec.engine.host.session.tightened import TightenedPolicies, lowered, of_template, value_limits
from safeexec.engine.host.startup.configuration import configuration
from safeexec.engine.host.startup.confinement import branch_ruleset, check_required
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.startup.launcher import ZygoteHandle
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import LARGE, Core, Work, drive, ending
from safeexec.engine.host.watch import accountant, groups
from safeexec.engine.host.watch.gate import NO_GATE
from safeexec.engine.host.watch.idle import IdleSessions
from safeexec.engine.linux import probe
from safeexec.engine.policy.model import Policy
from safeexec.errors import (
    ProtectionError,
    ProtocolError,
    RecordingError,
    SandboxBusy,
    SandboxClosed,
    SandboxError,
    SessionClosed,
)
from safeexec.protocol import messages as m
from safeexec.protocol.confinement import ChildConfinement, Mechanism

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace, WorkspaceRoot
    from safeexec.engine.host.session.interfaces import HearsSteps
    from safeexec.engine.host.session.template import Prepare, TemplateCore, Templates
    from safeexec.results import CommandResult, TemplateInfo
    from safeexec.results.stats import SandboxStats

AT_THE_BEGINNING = frozenset(("queue_seconds", "namespace", "record", "template"))
"""Keywords of a session that say how it is opened, and not what holds in it."""
_UNRECORDED = (None, False)
"""What says that a session is not to be recorded; True, a path and options are all ways to say that it is."""
Files = Mapping[str, "str | bytes | os.PathLike[str]"]
Tools = Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None


class SandboxCore:
    """One policy, one zygote, many sessions."""

    without_plugins = ""
    """Why it loads no plugins; of one elsewhere, what to do instead."""
    session_type: type[SessionCore] = SessionCore
    """The class of the sessions that it opens."""

    def __init__(
        self,
        policy: Policy,
        *,
        tools: Tools,
        files: Files | None,
        approval: Approval | None,
        spare: int,
        max_sessions: int | None = None,
        queue_seconds: float = 30.0,
        idle_seconds: float | None = None,
        observe: Callable[[], HearsSteps | None] | None = None,
        fetch: Callable[[Policy], tuple[Policy, str]] | None = None,
    ) -> None:
        """`observe` gives who hears of its steps, if anybody. `fetch` has the packages that a policy requires: it
        returns the policy with their modules, and where they lie.
        """
        self.closed = True
        """True, too, as long as nothing has been opened."""
        self._places, self._max_sessions = Turnstile(max_sessions), max_sessions
        self.policy = policy
        self.toolbox = _toolbox(tools, policy, approval)
        self._cards: dict[str, str] = {}
        """The cards that were asked for, by their format: one takes 4 ms, and each run of an agent needs one."""
        self._check_files(files)
        self.files = dict(files or {})
        self._open: set[SessionCore] = set()
        self._awake: set[SessionCore] = set()
        """The open sessions that do not rest."""
        self._opened = 0
        """How many sessions there have been."""
        self.steps = {"journalled": 0, "copied": 0, "lost": 0}
        """How many there were, by what became of them: see `stats`."""
        self._zygote: ZygoteHandle | None = None
        self.gate = NO_GATE
        """What every fork of the sandbox's processes waits for."""
        self.reapers: tuple[int, ...] = ()
        """The parents of a session's orphans: the zygote as process 1 of its namespace, or its launcher."""
        self.mechanisms: list[Mechanism] = []
        self._root: WorkspaceRoot | None = None
        self._numbers = count(1)
        self._tightened = TightenedPolicies(self.policy)
        self._came_up = 0.0
        """When a child that was waited for last became ready (monotonic seconds)."""
        self._spares = Spares(spare)
        self._lock = threading.Lock()
        """Held while the zygote is spoken to, and what all sessions share is made: they come from many threads."""
        self._labels = Labels()
        self._queue_seconds = queue_seconds
        self._idle_seconds = idle_seconds
        self._idle: IdleSessions | None = None
        self._fetch = fetch
        self.observer = None if observe is None else observe()
        self.closed = False
        self._templates: Templates | None = None
        """None as long as nobody asked for one: the module is imported then."""
        self._forked = False
        self._child: ChildConfinement | None = None
        """What its children are held to."""

    # Opening and closing

    def open(self, launched: Launched | None) -> Core[None]:
        """Make a zygote of the process that was launched. Raises `ProtectionError` when the machine cannot give
        what the policy requires.
        """
        assert launched is not None
        self._zygote = ZygoteHandle(launched)
        try:
            packages = None
            if self.policy.requirements:
                if self._fetch is None:
                    raise SandboxError(f"nothing here fetches what the policy {self.policy.name!r} requires")
                self.policy, packages = yield Work(partial(self._fetch, self.policy))
                self._tightened = TightenedPolicies(self.policy)
            message = yield Work(partial(self._configuration, packages))
            yield from self._zygote.start(message)
            self.gate, self.reapers = self._zygote.gate, self._zygote.reapers
            self.mechanisms = self._zygote.mechanisms
            if self._root is not None and message.child.separate == "turns":
                self._root.turns = True
                self._spares = Spares(0)  # one would have the turn of the first session
            self._child = message.child
            # Whether there are control groups is looked up only where it matters.
            all_rows = any("cgroup" in entry for entry in self.policy.require)
            check_required(self.policy, self.protection if all_rows else self.mechanisms)
        except BaseException:
            probe.give_up()
            yield from self.close()
            raise
        _sandboxes.add(self)
        if self.observer is not None:
            self.observer.watch(self)
        self.replenish()

    def _configuration(self, packages: str | None) -> m.Configure:
        """Return what the zygote is told. `packages`: where those lie that the policy requires."""
        workspaces = None
        if self.policy.filesystem.workspace != "none":
            from safeexec.engine.host.files.workspace import (
                WorkspaceRoot,  # with what it needs 20 ms that few profiles pay
            )

            self._root = WorkspaceRoot()
            workspaces = self._root.path
        message, user = configuration(self.policy, self.toolbox, workspaces, packages)
        if self._root is not None:
            self._root.owner = user
        return message

    def close(self) -> Core[None]:
        """Close every session and end every process. Harmless when closed already."""
        if self.closed:
            return
        self.closed = True
        if self._spares:
            yield Work(self._spares.close)
        self._spares.close()
        # All are killed before the end of any is waited for: the kernel takes them down side by side. And nobody looks
        # after one any more whose end has begun: each that does not answer would keep the thread that does for seconds.
        for session in list(self._open):
            session.begin_close()
        if self._idle is not None:
            yield from self._idle.close()
        for session in list(self._open):
            yield from session.close()
        if self._zygote is not None:
            yield from self._zygote.close()
        self.toolbox.close()
        if self.observer is not None:
            self.observer.close()
        if self._root is not None:
            yield Work(self._root.close)
        groups.finish()

    def __del__(self) -> None:
        """Nobody can reach it any more: its processes and directories go, too."""
        if not self.closed and not sys.is_finalizing():
            drive(self.close())

    def forget(self) -> None:
        """Let go of a sandbox in a fork of the process that opened it, without ending anything. Two that
        speak to one zygote would take each other's answers. gunicorn, Celery and multiprocessing fork like this.
        """
        if self.closed:
            return
        self.closed = self._forked = True
        for session in list(self._open):
            session.forget()
        self._spares.forget()
        if self._root is not None:
            self._root.forget()
        if self._zygote is not None:
            self._zygote.forget()

    # What others ask of it

    @property
    def begun(self) -> bool:
        """Whether it was opened, or closed: it is of no more use once it is not alive."""
        return self._zygote is not None or self.closed

    @property
    def alive(self) -> bool:
        return self._zygote is not None and self._zygote.alive

    def branch_ruleset(self, region: str) -> int | None:
        """Return what shuts a branch off from all files but those in its `region`; None where nothing does. Raises
        OSError.
        """
        zygote, child = self._zygote, self._child
        return None if zygote is None or child is None else branch_ruleset(child, zygote.proc, region)

    @property
    def protection(self) -> list[Mechanism]:
        """What holds every session, and what does not and why."""
        return [*self.mechanisms, *groups.mechanisms(), accountant.mechanism(self.policy, self.policy.limits)]

    def check_usable(self) -> None:
        """Raises `SandboxClosed` when nothing can be run here any more."""
        if self._forked:
            raise SandboxClosed(
                "this sandbox was opened before the process forked; open one in each worker, or reopen() it"
            )
        if self.closed or self._zygote is None:
            raise SandboxClosed("the sandbox is closed")
        if not self._zygote.alive:
            raise SandboxClosed(f"the zygote died ({self._zygote.log()[-300:] or 'no message'}); reopen the sandbox")

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """Return the policy and the host's tools, for a model's prompt."""
        if format not in self._cards:
            self._cards[format] = self.policy.card(format, tools=self.toolbox.tools.values())
        return self._cards[format]

    # Sessions

    def new_session(
        self,
        *,
        queue_seconds: float | None = None,
        label: str | None = None,
        namespace: Mapping[str, Any] | None = None,
        record: Any = None,
        template: str | None = None,
        **tightened: Any,
    ) -> Core[SessionCore]:
        """Open a session; keywords tighten the policy for it. Raises `PolicyError` for one that would widen it,
        TypeError for a value in `namespace` that cannot cross, and `RecordingError` where nothing can be recorded.

        Where `max_sessions` are open, waits its turn: `SandboxBusy` after `queue_seconds`.
        """
        self.check_usable()
        seconds = self._queue_seconds if queue_seconds is None else queue_seconds
        check_arguments({"queue_seconds": seconds})
        origin = self._all_templates().find(template) if template is not None else None
        policy = self._tightened.of(tightened) if origin is None else of_template(origin, tightened)
        yield from self._enter(label, seconds)
        try:
            begin = self.begin_session if origin is None else origin.begin
            with descriptors.reserved():
                session = yield from begin(policy, label)
        except BaseException:
            self._places.leave()
            raise
        self._places.take(session)
        try:
            self.follow(session)
            if record not in _UNRECORDED:
                self.record(session, record, origin=origin)
            for name, value in dict(namespace or {}).items():
                yield from session.variables.assign(name, value)
        except BaseException:
            yield from session.close()
            raise
        return session

    def session_for(
        self, label: str, state: str | os.PathLike[str] | None, keywords: dict[str, Any], new: bool = True
    ) -> Core[SessionCore]:
        """Return the session that an earlier call with this label opened, if it is still open; else a new one: from the
        saved `state`, where there is such a file. `keywords` are those of `new_session`. Raises `PolicyError` for an
        open one that was opened with other ones, `SessionClosed` where there is none and it is not to be a new one.
        """

        asked = {name: value for name, value in keywords.items() if name not in AT_THE_BEGINNING}
        return self._labels.session(label, asked, lambda: self._labelled(label, state, keywords, new))

    def _labelled(
        self, label: str, state: str | os.PathLike[str] | None, keywords: dict[str, Any], new: bool
    ) -> Core[SessionCore]:
        """`session_for`, where no session of the label is open."""
        if not new:
            raise SessionClosed(f"there is no session of {label!r}")
        if state is not None and os.path.exists(state):
            return self.restore(state, None, label=label, **keywords)
        return self.new_session(label=label, **keywords)

    def follow(self, session: SessionCore) -> None:
        """Note that a session was opened, and has run nothing yet."""

    def record(
        self, session: SessionCore, record: Any, *, origin: TemplateCore | None = None, state: bytes | None = None
    ) -> None:
        """Write down what is done in a session, which was opened in a `state`, or in a template. Raises
        `RecordingError`.
        """
        raise RecordingError("nothing here writes recordings")

    def preparing(self, session: SessionCore, name: str) -> Callable[[], Any]:
        """Note that a session prepares a template. Returns what tells at the end how: `TemplateCore.recorded`."""
        return lambda: None

    def tidy(self) -> None:
        """Called now and then from the thread for idle sessions."""

    def admit(self, session: SessionCore, seconds: float | None) -> Core[None]:
        """Wait for a place for a session that comes back from the store. Raises `SandboxBusy`."""
        yield from self._enter(session.label, self._queue_seconds if seconds is None else seconds)
        self._places.take(session)

    def session_resumed(self, session: SessionCore) -> None:
        """Count a session that has a process again, after it was left to the store."""
        if session not in self._open:
            session.watch_anew()
            with descriptors.reserved():
                self.session_opened(session)

    def session_suspended(self, session: SessionCore) -> None:
        """Let go of a session that is left to the store: it has nothing here until it is used again."""
        self._let_go(session)
        session.rests = False

    def _let_go(self, session: SessionCore) -> None:
        """Give the place and the descriptors of a session to others: it has nothing here any more."""
        if session in self._open:
            self._open.discard(session)
            self._awake.discard(session)
            descriptors.count(0 if session.rests else -1)
        session.watched.close()
        self._places.closed(session)
        self.replenish()

    def restore(
        self,
        path: str | os.PathLike[str],
        timeout: float | None,
        record: Any = None,
        namespace: Mapping[str, Any] | None = None,
        **tightened: Any,
    ) -> Core[SessionCore]:
        """Return a session that goes on from a saved state. `namespace` has the variables that the state lacks, and
        further keywords are those of `new_session`. Raises `StateFileError`, and `RecordingError` where nothing can be
        recorded.
        """
        if record not in _UNRECORDED and tightened.get("template") is not None:
            raise RecordingError(
                "a recording begins with a saved state or a template, not with both: leave out `record` or `template`"
            )
        from safeexec.engine.host.session import restoring  # with hashlib and its like 10 ms, for saved states

        self.check_usable()
        begin = partial(self.new_session, **tightened)
        begun = None if record in _UNRECORDED else partial(self.record, record=record)
        return (yield from restoring.from_file(self.policy, begin, path, timeout, begun, namespace or {}))

    def begin_session(self, policy: Policy, label: str | None) -> Core[SessionCore]:
        """Return a session that begins in a new child, whether there is a place for it or not."""
        session = self.session_type(self, policy, label, self.spare_for(policy))
        yield from session.open()
        self.session_opened(session)
        return session

    def _enter(self, label: str | None, seconds: float) -> Core[None]:
        """Wait for a place for one more session. Raises `SandboxBusy` after `seconds`."""
        places = self._places
        if not (yield from places.enter(monotonic() + seconds, label)):
            idle = self.stats().idle
            advice = "; idle_seconds= closes those that nobody uses" if idle and self._idle_seconds is None else ""
            raise SandboxBusy(
                f"{self._max_sessions} sessions are open (max_sessions), {idle} of them idle, and none was closed "
                f"within {seconds:g} s; {places.waiting} more wait{advice}"
            )
        if self.closed:
            places.leave()
            self.check_usable()

    def session_opened(self, session: SessionCore) -> None:
        self._open.add(session)
        self._rouse(session)
        self._opened += 1
        with self._lock:
            if self._idle is None and not self.closed:
                self._idle = IdleSessions(self, self._idle_seconds)

    def _rouse(self, session: SessionCore) -> None:
        self._awake.add(session)
        descriptors.count(1)
        session.watched.open()

    def session_wakes(self, session: SessionCore) -> None:
        """Count a session that is used again. Raises `SandboxBusy` where there are too few descriptors."""
        with descriptors.reserved():
            self._rouse(session)

    def look_after(self, session: SessionCore) -> None:
        """Have a session closed soon that no caller has any more, also if it rests."""
        if session in self._open:
            self._awake.add(session)

    def session_rests(self, session: SessionCore) -> None:
        """Count a session that has given up its process: until it wakes only its idle time is looked at."""
        self._awake.discard(session)
        descriptors.count(-1)
        session.watched.close()

    def session_closed(self, session: SessionCore) -> None:
        self._labels.closed(session)
        if (effects := session.turns.effects) is not None:
            effects.closed()
        if (recorder := session.turns.recorder) is not None:
            recorder.closed(session)
        self._let_go(session)

    def open_sessions(self, *, awake: bool = False) -> list[SessionCore]:
        """Return those of callers: not the ones that hold the states of templates. `awake`: none that rest."""
        held = self._templates.sessions() if self._templates is not None else []
        return [session for session in list(self._awake if awake else self._open) if session not in held]

    def labelled(self, session: SessionCore) -> bool:
        """Tell whether `session_for` gives it to whoever asks."""
        return self._labels.open_session(session.label) is session

    def stats(self) -> SandboxStats:
        """Tell how many sessions there are now. From any thread."""
        from safeexec.results import stats  # for operators

        rows = [
            stats.Counted(
                one.label, one.turns.in_use, one.supervisor.restored > 0, one.rests, one.waits.waiting is not None
            )
            for one in self.open_sessions()
        ]
        return stats.count(rows, dict(self._places.queued), len(self._spares), descriptors.room(), self.steps)

    # Templates

    def new_template(
        self,
        name: str,
        prepare: Prepare,
        files: Files | None,
        timeout: float | None,
        tightened: dict[str, Any],
        api: Callable[[SessionCore], object],
    ) -> Core[TemplateInfo]:
        """Prepare a state for sessions to begin in. `api` makes, of a session, what a function that prepares it is
        called with.
        """
        self.check_usable()
        self._check_files(files)
        policy = self._tightened.of(tightened, "template()")
        return (yield from self._all_templates().define(name, policy, prepare, files or {}, timeout, api))

    def drop_template(self, name: str) -> Core[None]:
        """Give up a template. Its sessions go on. Raises `CheckpointError`."""
        return self._all_templates().drop(name)

    def templates(self) -> list[TemplateInfo]:
        """Return the templates as data."""
        return self._all_templates().rows()

    def _all_templates(self) -> Templates:
        from safeexec.engine.host.session.template import Templates  # for sandboxes with templates only

        with self._lock:
            self._templates = self._templates or Templates(self)
        return self._templates

    # Children

    def spare_for(self, policy: Policy) -> Spare | None:
        """Return a child that waits for a session of this policy, if there is one: it is locked down already, under the
        limits of the sandbox.
        """
        own = lowered(self.policy.limits, policy.limits) or value_limits(self.policy.limits, policy.limits)
        return None if own else self._spares.take()

    def new_child(
        self, policy: Policy, workspace: Workspace | None, output: tuple[int, ...]
    ) -> Core[tuple[Channel, m.Ready]]:
        """Return a locked-down child that waits for its first request. Each other one that comes up meanwhile renews
        the deadline: where many are asked for at once, the zygote makes one after the other.
        """
        self.check_usable()
        number, channel = self.ask_for_child(policy, workspace, output, warm_up=False)
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

    def ask_for_child(
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
        assert self._zygote is not None
        number = next(self._numbers)
        channel, theirs = Channel.pair()
        try:
            with theirs, self._lock:
                self._zygote.spawn(request(number), (theirs.fileno(), *output))
        except BaseException:
            channel.close()
            raise
        return number, channel

    def problem(self, number: int) -> str:
        """Return why process `number` could not be made, in the zygote's words."""
        return self._zygote.problem(number) if self._zygote is not None else ""

    def steps_lost(self, count: int) -> None:
        """Count, and log, steps of a session that came out otherwise when they were repeated."""
        self.steps["lost"] += count
        logging: Any = sys.modules.get("logging")
        if logging is not None:
            logging.getLogger("safeexec").warning(
                "%d steps of a session came out otherwise when repeated, and are lost", count
            )

    def session_began(self) -> None:
        """Ask for a spare child, where sessions come and go, as a session has done its first step: the next one comes.

        The first session's next step would share a core with the spare (500 calls of a tool took a quarter longer):
        there `watch.idle` asks for it a moment later.
        """
        if self._opened > 1:
            self.replenish()

    def replenish(self) -> None:
        """Ask for the spare children that are missing. Nobody waits for them here."""
        if self.alive:
            self._spares.replenish(self._new_spare)

    def _new_spare(self) -> Spare:
        """Ask for a child that nobody needs yet. Raises OSError and `SandboxError`, and leaves nothing then."""
        policy, workspace = self.policy, None
        with ExitStack() as made:
            if policy.filesystem.workspace != "none":
                workspace = made.enter_context(closing(self.new_workspace(policy)))
                self.fill(workspace)
            out, err = map(made.enter_context, map(closing, new_streams(policy.limits, policy.limits)))
            _, channel = self.ask_for_child(policy, workspace, (out.fd, err.fd, out.shared), warm_up=True)
            made.pop_all()
        return Spare(channel, out, err, workspace)

    # Files and commands

    def _check_files(self, files: Files | None) -> None:
        if files:
            from safeexec.engine.host.files.names import check_given  # for sandboxes with files

            check_given(files, self.policy)

    def new_workspace(self, policy: Policy) -> Workspace:
        """Return an empty directory for a new session."""
        assert self._root is not None
        with self._lock:
            return self._root.lineage(policy.limits.workspace_mb << 20, policy.limits.workspace_files)

    def fill(self, workspace: Workspace) -> None:
        """Put the sandbox's files into a new workspace."""
        for name, content in self.files.items():
            workspace.put(name, content)
        workspace.initial = workspace.snapshot()

    def command(
        self, argv: Sequence[str], directory: str | os.PathLike[str] | None, timeout: float | None
    ) -> Core[CommandResult]:
        """Run a program on a copy of a directory of the host."""
        from safeexec.engine.host import commands  # with shutil 5 ms

        commands.check(self, argv, timeout)
        workspace = self.new_workspace(self.policy)
        group = groups.new_group(self.policy)
        try:
            yield Work(partial(self.fill, workspace))
            if directory is not None:
                yield Work(partial(workspace.copy_tree, directory))
            result = yield from commands.run(self, argv, workspace, workspace.path, timeout, group)
            return result
        finally:
            if group is not None:
                groups.give_up(group)
            yield from ending(LARGE, workspace.close)


_sandboxes: WeakSet[SandboxCore] = WeakSet()


def _forget_all() -> None:
    for sandbox in list(_sandboxes):
        sandbox.forget()
    _sandboxes.clear()


os.register_at_fork(after_in_child=_forget_all)


def _toolbox(tools: Tools, policy: Policy, approval: Approval | None) -> Toolbox:
    """Return what calls the functions of the host, or carries the calls to where they are."""
    if not tools:
        return Toolbox({}, policy, approval)
    from safeexec.engine.host.tools.tool import tools_from  # with type hints 5 ms, for sandboxes with tools only

    if hasattr(tools, "answer"):  # `relayed.RelayedTools`, whose module few sandboxes need
        return cast("Toolbox", tools)
    return Toolbox(tools_from(tools), policy, approval)
