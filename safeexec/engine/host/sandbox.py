"""A sandbox without its I/O: one policy ready to run.

It is put together from parts: `Children` asks its zygote for processes, `OpenSessions` knows which sessions there are
and how many there may be, `Templates` has the states in which they may begin. This module opens sessions with them: new
ones, in a template or a saved state, or by a label.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast
from weakref import WeakSet

from safeexec.common.identity import LARGE
from safeexec.engine.approvals import Approval
from safeexec.engine.host import descriptors
from safeexec.engine.host.arguments import check_arguments
from safeexec.engine.host.children import Children, Fetch, Files
from safeexec.engine.host.open_sessions import OpenSessions
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.session.tightened import TightenedPolicies
from safeexec.engine.host.startup.confinement import check_required
from safeexec.engine.host.startup.launch import Launched
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import Core, Work, drive, ending
from safeexec.engine.host.watch import accountant, control_groups
from safeexec.engine.linux import probe
from safeexec.engine.policy.model import Policy
from safeexec.errors import RecordingError, SessionClosed, StateFileError
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.host.session.interfaces import HearsSteps
    from safeexec.engine.host.session.template import Prepare, TemplateCore, Templates
    from safeexec.results import CommandResult, TemplateInfo
    from safeexec.results.stats import SandboxStats

AT_THE_BEGINNING = frozenset(("queue_seconds", "namespace", "record", "template"))
"""Keywords of a session that say how it is opened, and not what holds in it."""
_UNRECORDED = (None, False)
"""Values that say that a session is not to be recorded; True, a path and options are all ways to say that it is."""
Tools = Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None


class SandboxCore:
    """One policy, one zygote, many sessions."""

    without_plugins = ""
    """The reason why it loads no plugins; of one elsewhere, what to do instead."""
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
        fetch: Fetch | None = None,
    ) -> None:
        """`observe` gives who hears of its steps, if anybody. `fetch` has the packages that a policy requires."""
        self.closed = True
        """True, too, as long as nothing has been opened."""
        self.policy = policy
        self.toolbox = _toolbox(tools, policy, approval)
        self._cards: dict[str, str] = {}
        """The cards that were asked for, by their format: one takes 4 ms, and each run of an agent needs one."""
        _check_files(files, policy)
        self.children = children = Children(policy, dict(files or {}), spare)
        self.sessions = OpenSessions(children.replenish, max_sessions, queue_seconds, idle_seconds)
        self.tightened_policies = TightenedPolicies(policy)
        self._fetch = fetch
        self.observer = None if observe is None else observe()
        self.closed = False
        self._templates: Templates | None = None
        """None as long as nobody asked for one: the module is imported then."""
        self._lock = threading.Lock()
        """Held while that is made: sessions come from many threads."""

    # Opening and closing

    def open(self, launched: Launched | None) -> Core[None]:
        """Make a zygote of the process that was launched. Raises `ProtectionError` when the machine cannot give
        what the policy requires.
        """
        assert launched is not None
        try:
            yield from self.children.open(launched, self.toolbox, self._fetch)
            self.policy = self.children.policy
            self.tightened_policies = TightenedPolicies(self.policy)
            # Whether there are control groups is looked up only where it matters.
            all_rows = any("cgroup" in entry for entry in self.policy.require)
            check_required(self.policy, self.protection if all_rows else self.children.mechanisms)
        except BaseException:
            probe.give_up()
            yield from self.close()
            raise
        _sandboxes.add(self)
        if self.observer is not None:
            self.observer.watch(self)
        self.children.replenish()

    def close(self) -> Core[None]:
        """Close every session and end every process. Harmless when closed already. Raises `StoreError` as
        `SessionCore.close` does, when all is closed.
        """
        if self.closed:
            return
        self.closed = True
        yield from self.children.begin_close()
        try:
            yield from self.sessions.close()
        finally:
            yield from self.children.close()
            self.toolbox.close()
            if self.observer is not None:
                self.observer.close()
            control_groups.finish()

    def __del__(self) -> None:
        """Nobody can reach it any more: its processes and directories go, too."""
        if not self.closed and not sys.is_finalizing():
            drive(self.close())

    def disown(self) -> None:
        """Let go of a sandbox in a fork of the process that opened it, without ending anything. Two that
        speak to one zygote would take each other's answers. gunicorn, Celery and multiprocessing fork like this.
        """
        if self.closed:
            return
        self.closed = True
        self.sessions.disown()
        self.children.disown()

    # The interface of other modules

    @property
    def begun(self) -> bool:
        """True if it was opened, or closed: it is of no more use once it is not alive."""
        return self.children.zygote is not None or self.closed

    @property
    def alive(self) -> bool:
        return self.children.alive

    @property
    def protection(self) -> list[Mechanism]:
        """The mechanisms that hold every session, and those that do not, with the reason."""
        watch = accountant.mechanism(self.policy, self.policy.limits)
        return [*self.children.mechanisms, *control_groups.mechanisms(), watch]

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
        self.children.check_usable()
        if queue_seconds is not None:
            check_arguments({"queue_seconds": queue_seconds})
        origin = self._all_templates().find(template) if template is not None else None
        policy = self.tightened_policies.of(tightened) if origin is None else origin.policy_of(tightened)
        yield from self.sessions.enter(label, queue_seconds)
        try:
            self.children.check_usable()  # it may have been closed meanwhile
            begin = self.begin_session if origin is None else origin.begin
            with descriptors.reserved():
                session = yield from begin(policy, label)
        except BaseException:
            self.sessions.places.leave()
            raise
        self.sessions.placed.add(session)
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
        return self.sessions.labels.session(label, asked, lambda: self.open_labelled(label, state, keywords, new))

    def open_labelled(
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
        """Write down what is done in a session that was opened in a `state`, or a template. Raises `RecordingError`."""
        raise RecordingError("nothing here writes recordings")

    def preparing(self, session: SessionCore, name: str) -> Callable[[], Any]:
        """Note that a session prepares a template. Returns `TemplateCore.recorded` for it, to be called at the end."""
        return lambda: None

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
        from safeexec.engine.host.files import state_file  # with hashlib and its like 10 ms, for saved states

        self.children.check_usable()
        saved = yield Work(partial(state_file.read, path, self.policy.limits))
        try:
            state_file.check(saved.header, os.fsdecode(path))
            session = yield from self.new_session(**tightened)
            try:
                if session.processes.workspace is not None:
                    yield Work(partial(state_file.put_back, session.processes.workspace, saved))
                if saved.header.waiting:
                    try:
                        yield from session.waits.wait_again(saved.header.waiting)
                    except RecordingError as error:
                        raise StateFileError(f"{os.fsdecode(path)} is damaged: {error}") from None
                yield from session.load(saved.payload, timeout)
                if record not in _UNRECORDED:
                    self.record(session, record, state=(yield Work(saved.whole)))
                if namespace:
                    # After the state, which begins a recording: what is set before would be missing there.
                    there = set((yield from session.variables.names()))
                    for name, value in namespace.items():
                        if name not in there:
                            yield from session.variables.assign(name, value)
            except BaseException:
                yield from session.close()
                raise
        finally:
            yield from ending(saved.size(), saved.close)
        return session

    def begin_session(self, policy: Policy, label: str | None) -> Core[SessionCore]:
        """Return a session that begins in a new child, whether there is a place for it or not."""
        session = self.session_type(self, policy, label, self.children.spare_for(policy))
        yield from session.open()
        try:
            self.sessions.opened(session)
        except SessionClosed:
            yield from session.close()
            raise
        return session

    def stats(self) -> SandboxStats:
        """Return how many sessions there are now. From any thread."""
        from safeexec.results import stats  # for operators

        rows = []
        for one in self.sessions.of_callers():
            busy = one.turns.in_use
            states = {"open": True, "busy": busy, "idle": not busy, "restored": one.supervisor.restored > 0}
            rows.append((one.label, {**states, "resting": one.rests, "waiting": one.waits.waiting is not None}))
        queued, spares = dict(self.sessions.places.queued), len(self.children.spares)
        return stats.count(rows, queued, spares, descriptors.room(), self.children.steps)

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
        """Prepare a state for sessions to begin in. `api` makes, of a session, the argument of a preparing function."""
        self.children.check_usable()
        _check_files(files, self.policy)
        from safeexec.engine.host.session.template import Preparation  # for sandboxes with templates only

        how = Preparation(prepare, dict(files or {}), timeout, self.tightened_policies.of(tightened, "template()"))
        return (yield from self._all_templates().define(name, how, api))

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

    # Commands

    def command(
        self, argv: Sequence[str], directory: str | os.PathLike[str] | None, timeout: float | None
    ) -> Core[CommandResult]:
        """Run a program on a copy of a directory of the host."""
        from safeexec.engine.host import commands  # with shutil 5 ms

        commands.check(self.policy, argv, timeout)
        workspace = self.children.new_workspace(self.policy)
        group = control_groups.new_group(self.policy)
        try:
            yield Work(partial(self.children.fill, workspace))
            if directory is not None:
                yield Work(partial(workspace.copy_tree, directory))
            command = commands.RunningCommand(self.children.policy, workspace, group)
            return (yield from commands.run(self.children, argv, command, workspace.path, timeout))
        finally:
            if group is not None:
                control_groups.give_up(group)
            yield from ending(LARGE, workspace.close)


_sandboxes: WeakSet[SandboxCore] = WeakSet()


def _disown_all() -> None:
    for sandbox in list(_sandboxes):
        sandbox.disown()
    _sandboxes.clear()


os.register_at_fork(after_in_child=_disown_all)


def _check_files(files: Files | None, policy: Policy) -> None:
    if files:
        from safeexec.engine.host.files.file_names import check_given  # for sandboxes with files

        check_given(files, policy)


def _toolbox(tools: Tools, policy: Policy, approval: Approval | None) -> Toolbox:
    """Return what calls the functions of the host, or carries the calls to where they are."""
    if not tools:
        return Toolbox({}, policy, approval)
    from safeexec.engine.host.tools.tool import tools_from  # with type hints 5 ms, for sandboxes with tools only

    if hasattr(tools, "answer"):  # `relayed.RelayedTools`, whose module few sandboxes need
        return cast("Toolbox", tools)
    return Toolbox(tools_from(tools), policy, approval)
