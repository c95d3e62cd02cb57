"""The sync API: `Sandbox` and `Session`. Each method drives one generator of the core to its end."""

from __future__ import annotations

import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import closing
from functools import cached_property, partial
from importlib import import_module

from safeexec.common.typed import TYPE_CHECKING, Unseen
from safeexec.engine.host.startup.launch import Launched, environment
from safeexec.engine.host.waiting import Work, blocking, drive, stepwise
from safeexec.errors import SandboxClosed, SandboxError

if TYPE_CHECKING:
    from typing import Any, Literal, Never, NoReturn, Self, Unpack

    from safeexec.api.audit import AuditTarget
    from safeexec.api.many import Workers
    from safeexec.api.options import Program, RunOptions, SessionChanges
    from safeexec.api.plugins.plugin import Plugin, PluginCore
    from safeexec.api.plugins.source import Exports, Source
    from safeexec.engine.approvals import Approval
    from safeexec.engine.host.children import Files
    from safeexec.engine.host.session.listeners import OnDisplay, OnProgress
    from safeexec.engine.host.session.output import OnOutput
    from safeexec.engine.host.session.session import SessionCore
    from safeexec.engine.host.session.standard_input import Given
    from safeexec.engine.host.session.template import Prepare
    from safeexec.engine.host.tools.toolbox import PendingCall
    from safeexec.engine.host.waiting import Core
    from safeexec.engine.policy.keywords import PluginChanges
    from safeexec.engine.policy.model import Policy
    from safeexec.engine.policy.settings import Checkpoints
    from safeexec.protocol.confinement import Mechanism
    from safeexec.recordings.sandbox import RecordedSandbox
    from safeexec.recordings.session import RecordedSession
    from safeexec.recordings.store import StoredSession, StoreOptions
    from safeexec.recordings.timeline import Timeline
    from safeexec.recordings.writer import RecordOptions
    from safeexec.results import (
        CheckpointInfo,
        CommandResult,
        Result,
        TemplateInfo,
        ToolCallRecord,
        Variable,
        WaitingCall,
    )
    from safeexec.results.stats import SandboxStats


class SandboxAPI:
    """The base of `Sandbox` and `AsyncSandbox`: all that waits for nothing."""

    def __init__(
        self,
        policy: str | Policy | os.PathLike[str] = "standard",
        *,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        files: Files | None = None,
        approval: Approval | None = None,
        spare: int = 1,
        max_sessions: int | None = None,
        queue_seconds: float = 30.0,
        idle_seconds: float | None = None,
        audit: AuditTarget | None = None,
        store: str | os.PathLike[str] | StoreOptions | None = None,
        durable: Literal["step", "second", "close"] = "second",
        requirements: Sequence[str] | os.PathLike[str] | None = None,
        engine: Literal["container"] | None = None,
        **unknown: Never,
    ) -> None:
        if unknown:
            from safeexec.engine.host.arguments import unexpected  # for a mistake only

            raise unexpected(type(self).__name__, unknown, SandboxAPI.__init__.__kwdefaults__ or ())
        self._policy = policy
        self._requirements = requirements
        if engine not in (None, "container"):
            raise ValueError(f"engine={engine!r:.40}: there is 'container', and None for this machine's kernel")
        if store is None and durable in ("step", "close"):
            raise ValueError(f"durable={durable!r} says when a step is in the store: give store=, too")
        self._engine = "container" if sys.platform != "linux" else engine
        self._arguments: dict[str, Any] = {
            "tools": tools,
            "files": files,
            "approval": approval,
            "spare": spare,
            "max_sessions": max_sessions,
            "queue_seconds": queue_seconds,
            "idle_seconds": idle_seconds,
            "audit": audit,
            "store": store,
            "durable": durable,
        }
        self._opened: RecordedSandbox | None = None
        if tools or files or approval is not None:
            self._opened = self._new_core()

    def __repr__(self) -> str:
        """In a few words: ``<Sandbox 'calculator', open, 2 sessions>``."""
        name, core = getattr(self._policy, "name", self._policy), self._opened
        if self._engine is not None:
            return f"<{type(self).__name__} {name!r}, in a container, {'open' if core and core.alive else 'not open'}>"
        if core is None or not core.alive:
            return f"<{type(self).__name__} {name!r}, {'closed' if core is not None and core.begun else 'not open'}>"
        count = len(core.sessions.of_callers())
        return f"<{type(self).__name__} {name!r}, open, {count} session{'' if count == 1 else 's'}>"

    @cached_property
    def policy(self) -> Policy:
        """The policy of this sandbox. Raises `PolicyError`, at the latest when the sandbox is opened."""
        from safeexec.engine.policy.model import Policy  # while the zygote's process starts, as what follows

        policy, lines = Policy.load(self._policy), self._requirements
        if isinstance(lines, os.PathLike):
            from safeexec.api.packages import read_lock  # few sandboxes fetch anything

            lines = read_lock(lines)
        return policy if lines is None else policy.replace(requirements=[*policy.requirements, *lines])

    @property
    def max_sessions(self) -> int | None:
        """The number of sessions that may be open at once; None: as many as the machine holds."""
        found: int | None = self._arguments.get("max_sessions")
        return found

    def card(self, format: Literal["text", "markdown", "json"] = "text") -> str:
        """Return the policy and the host tools of this sandbox, for a model's prompt."""
        return self.policy.card(format, tools=self._arguments.get("tools") or ())

    def _new_core(self) -> RecordedSandbox:
        if self._engine is not None:
            # It is above this folder: named, and not imported.
            container: Any = import_module("safeexec.remote.container")
            core: RecordedSandbox = container.ContainerCore(self.policy, self._arguments)
            return core
        with Unseen("typing_extensions"):
            import msgspec  # noqa: F401  # without what it would import for type hints
        from safeexec.api.audit import observer_for  # with what follows all that a first run needs
        from safeexec.engine.host.arguments import check_arguments
        from safeexec.recordings.sandbox import RecordedSandbox

        check_arguments(self._arguments)
        others = {name: value for name, value in self._arguments.items() if name != "audit"}
        observe = partial(observer_for, self.policy, self._arguments["audit"])
        return RecordedSandbox(self.policy, observe=observe, fetch=_fetched, **others)

    def _open(self) -> Core[None]:
        if self._opened is not None and self._opened.alive:
            return
        if self._opened is not None and self._opened.begun:
            yield from self._opened.close()  # what its zygote left
            self._opened = None
        if self._engine is not None:
            self._opened = self._opened or self._new_core()
            yield from self._opened.open(None)
            return
        # The process boots while this one imports the rest of the host's side, reads the policy and makes its plans;
        # yet another tries what this machine can do.
        stored = self._arguments["store"] is not None
        launched = Launched(variables := environment(None, stored=stored))
        try:
            from safeexec.engine.linux import probe  # a first open alone

            probe.begin()
            try:
                core = self._opened = self._opened or (yield Work(self._new_core))
            except BaseException:
                probe.give_up()
                raise
            if (needed := environment(core.policy, stored=stored)) != variables:
                launched.discard()
                launched = Launched(needed)
        except BaseException:
            launched.discard()
            raise
        yield from core.open(launched)

    @property
    def _core(self) -> RecordedSandbox:
        if self._opened is None:
            raise SandboxClosed("the sandbox is not open: enter it with `with` or `async with`, or call open()")
        return self._opened

    @property
    def protection(self) -> tuple[Mechanism, ...]:
        """The mechanisms of the kernel that hold every session here, and those that do not, with the reason."""
        return tuple(self._core.protection)

    def stats(self) -> SandboxStats:
        """Return how many sessions are open, busy, idle, queued and restored now, in all and by label."""
        return self._core.stats()

    def templates(self) -> list[TemplateInfo]:
        """Return the templates of this sandbox: name, living sessions, memory, age."""
        return self._core.templates()


def _fetched(policy: Policy) -> tuple[Policy, str]:
    from safeexec.api.packages import fetched  # few sandboxes fetch anything

    return fetched(policy)


class Sandbox(SandboxAPI):
    """One policy ready to run.

        with Sandbox("calculator") as sandbox:
            sandbox.run("import math; math.sqrt(2)").value

    `policy` is a profile's name, the path of a YAML file, or a `Policy`. `tools` are host functions that guest code may
    call. `files` maps names in the workspace of every new session to files and directories of the host, or to bytes.
    `approval` is asked about the tools for which the policy says so. `spare` children are kept locked down and warm for
    sessions to come.

    At most `max_sessions` are open at once; who asks for one more waits in line, `queue_seconds` at most
    (`SandboxBusy`). A session that nobody uses for `idle_seconds` is closed, or left to the `store` until it is used
    again: a directory, or the URL of a PostgreSQL database, in which the sessions of `session_for` outlive the host.
    `durable` says when a step is on the disk: before its result is given (``step``), at most a second later, or when
    the session rests or is closed (``close``).

    `audit` (a file, a stream or a function) gets a record of every step. `requirements` are packages of the index, or a
    lock file of them: they are fetched when the sandbox is opened, for guest code alone. Threads may share a sandbox,
    each with sessions of its own. `engine="container"` runs it in a container of podman or docker, as every sandbox
    does on macOS and Windows.

    Raises `PolicyError`, `ToolError`, and, on entering, `ProtectionError` when the machine cannot give what the policy
    requires.
    """

    def _session(self, core: SessionCore) -> Session:
        return Session(core)

    def _plugin(self, core: PluginCore) -> Plugin:
        from safeexec.api.plugins.plugin import Plugin  # 12 ms, for hosts with plugins only

        return Plugin(core)

    def __enter__(self) -> Sandbox:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> Self:
        """Start the zygote; `with` does the same. Harmless when it is open. Raises `ProtectionError`."""
        drive(self._open())
        return self

    @blocking
    def close(self) -> Core[None]:
        """End every process of the sandbox and remove its files. Raises `StoreError` as `Session.close` does, when all
        is closed.
        """
        if self._opened is not None:
            yield from self._opened.close()

    def reopen(self) -> Self:
        """Close what is left of it and start anew: after the zygote died, or in a process that was forked."""
        self.close()
        return self.open()

    @blocking
    def session(self, **tightened: Unpack[SessionChanges]) -> Core[Session]:
        """Return a new session. Keywords tighten the policy for it: a limit by its name, or `checkpoints`. `label` says
        in the audit log whose session it is; `namespace` are variables to begin with; `template` is the name of the
        state that it begins in; `record` (a path, or `RecordOptions`) is where all that happens to it and its branches
        is written down.

        Where `max_sessions` are open it waits for its turn, `queue_seconds` (also a keyword here) at most:
        `SandboxBusy`. Of an `AsyncSandbox` it is awaited, or entered: ``async with sandbox.session() as session``, as
        are `session_for`, `restore` and `plugin`.
        """
        return self._session((yield from self._core.new_session(**tightened)))

    @blocking
    def session_for(
        self,
        label: str,
        /,
        *,
        restore: str | os.PathLike[str] | None = None,
        new: bool = True,
        **tightened: Unpack[SessionChanges],
    ) -> Core[Session]:
        """Return the open session of this label, as an earlier call opened it, else a new one (as `session`).
        With a `store` it goes on where that session was left, by whatever process; what is lost of it is in the notes
        of its first result. With ``new=False`` there must be one, open or in the store (`SessionClosed`). Raises
        `SessionTaken` where another process has it open, and `StoreError`.

        One for each user: it stays open until it is closed, or until nobody has used it for `idle_seconds`. To ask for
        an open one with other limits than it was opened with is a `PolicyError`; without any it is given as it is. A
        new one goes on from the state at `restore`, where there is such a file: `StateFileError` as `Sandbox.restore`,
        and `RecordingError` where it is to be recorded and begins in a template too.
        """
        return self._session((yield from self._core.session_for(label, restore, dict(tightened), new)))

    @blocking
    def forget(self, label: str) -> Core[None]:
        """Close the session of this label, and remove it from the store for good. Raises `SessionTaken`, `StoreError`;
        `SandboxError` where there is no store.
        """
        return self._core.remove_stored(label)

    @blocking
    def waiting(self) -> Core[list[WaitingCall]]:
        """Return the calls of host tools for which steps of sessions wait, open or in the `store`, the oldest first;
        `label` says whose. Raises `StoreError`.
        """
        return self._core.waiting()

    @blocking
    def stored(self) -> Core[list[StoredSession]]:
        """Return the sessions in the store: label, bytes, when each was last written to. Raises as `forget`."""
        return self._core.stored()

    @blocking
    def template(
        self,
        name: str,
        *,
        prepare: Prepare = None,
        files: Files | None = None,
        timeout: float | None = None,
        **tightened: Unpack[PluginChanges],
    ) -> Core[TemplateInfo]:
        """Prepare a state from which sessions begin at the cost of a fork: ``sandbox.session(template=name)``.

        `prepare` is a program, or a function that gets the session and runs steps in it (of an `AsyncSandbox` it may be
        asynchronous); `files` are put into its workspace first. `timeout` in seconds is that of the program. Keywords
        tighten the policy for all of its sessions; `limits.branches` says how many may live. It is kept until it is
        dropped, prepared anew if it dies, and prepared once however many ask for it. The same call again finds it as it
        is; another definition takes its place. In each session, ``rollback(name)`` goes back to it.

        Sessions of one template share what forks share (`Session.protection`): one principal per template. Raises
        `StepFailed` where the program fails, and what the function raises.
        """
        return self._core.new_template(name, prepare, files, timeout, dict(tightened), self._session)

    @blocking
    def drop_template(self, name: str) -> Core[None]:
        """Give up a template. The sessions that began there go on. Raises `CheckpointError`."""
        return self._core.drop_template(name)

    @blocking
    def command(
        self, argv: Sequence[str], *, cwd: str | os.PathLike[str] | None = None, timeout: float | None = None
    ) -> Core[CommandResult]:
        """Run a program that the policy lists (`danger_allow_commands`) on a copy of the directory `cwd`.

        No network, no file outside, no program that is not listed; the policy's limits hold. Changes to the copy are
        thrown away; `Session.command` runs in a session's workspace instead. Raises `PolicyError` for another program.
        """
        return self._core.command(argv, cwd, timeout)

    @blocking
    def restore(
        self,
        path: str | os.PathLike[str],
        *,
        trust: str | None = None,
        timeout: float | None = None,
        record: str | os.PathLike[str] | RecordOptions | bool | None = None,
    ) -> Core[Session]:
        """Return a session that goes on from a state that `Session.save` wrote.

        A state is a program: restoring it runs it, under the policy of this sandbox, held by the kernel. The limits
        of a step hold; `timeout` is its limit in seconds; `record` is as for `session`. `trust` has no effect any
        more. Raises `StateFileError` for a damaged or newer file, and for one that holds or takes more than the
        policy's limits allow.
        """
        if trust is not None:
            warnings.warn("restore(trust=...) has no effect: the policy of the sandbox holds", DeprecationWarning, 2)
        return self._session((yield from self._core.restore(path, timeout, record)))

    @blocking
    def plugin(
        self,
        source: Source,
        *,
        exports: Exports | None = None,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        state: Literal["keep", "fresh"] = "keep",
        timeout: float | None = None,
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        api: int | None = None,
        **limits: Unpack[PluginChanges],
    ) -> Core[Plugin]:
        """Load a plugin: a source text, the path of a file or of a directory of modules, or a dict of module names to
        sources.

        `exports` are the names that may be called (a list; or a `Protocol` class, or a mapping of names to functions or
        signatures that the plugin's must match); without any, those of the manifest, or all public functions and
        classes. `tools` are for this plugin besides the sandbox's. With ``state="fresh"`` every call finds the plugin
        as it was loaded. `timeout` in seconds holds for each call; `limits` tighten the policy as for a session.
        `settings` are the plugin's own, by its manifest; a manifest that names another `api` than this one is refused.

        Raises `PluginError` when it cannot be loaded, or has not the interface that is asked for.
        """
        if self._core.without_plugins:
            raise SandboxError(self._core.without_plugins)
        from safeexec.api.plugins.plugin import PluginCore, PluginOptions  # 12 ms, for hosts with plugins only

        options = PluginOptions(
            exports=exports, tools=tools, state=state, timeout=timeout, name=name, settings=settings, api=api,
            limits=limits,
        )  # fmt: skip
        core = PluginCore(self._core, source, options)
        yield from core.load()
        return self._plugin(core)

    def map(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> Iterator[Result]:
        """Run many programs, each in a session of its own; their results in order.

        A program is a source, or a dict of `source` and of its `stdin` and `argv`, as `Session.run` takes them. Each
        source has a result; `stdin` or `argv` that no program can be given ends the map with a ValueError.
        `workers` run at once (default: one per core; never more than `max_sessions`); a few programs ahead are read, so
        that memory stays bounded. To leave the loop, or `close` the iterator, stops those that run.
        """
        return self._workers(workers, timeout).in_order(programs)

    def map_as_completed(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Run programs as `map` does; each result as soon as it is there, with the number of its program (from 0)."""
        return self._workers(workers, timeout).as_completed(programs)

    def _workers(self, workers: int | None, timeout: float | None) -> Workers:
        from safeexec.api.many import Workers, workers_for  # with a pool of threads

        number = workers_for(workers, self.max_sessions)
        return Workers(partial(self.session, checkpoints="off"), number, timeout)

    @blocking
    def check(self, source: str, *, stdin: bool = False) -> Core[Result]:
        """Return what the policy refuses in `source` before it runs (`error.diagnostics`), or its syntax error; nothing
        of it runs. `stdin`: it is to run with a standard input, which it may read; a refused file that `open` names is
        reported. Attributes of modules are judged when they are used.
        """
        session = yield from self._core.new_session(checkpoints="off")
        try:
            return (yield from session.steps.check(source, stdin))
        finally:
            yield from session.close()

    def run(self, source: str, **options: Unpack[RunOptions]) -> Result:
        """Run one step in a session of its own. The options are those of `Session.run`."""
        with self.session(checkpoints="off") as session:
            return session.run(source, **options)


class Namespace(MutableMapping[str, "Any"]):
    """The variables of a session as a mapping. Reading and writing crosses the boundary: values, not objects."""

    __slots__ = ("_core", "_session")

    def __init__(self, session: Session) -> None:
        self._session = session
        """Kept open by whoever has its variables."""
        self._core = session._core

    def __getitem__(self, name: str) -> Any:
        found, value = drive(self._core.variables.fetch(name, arrays=True))
        if not found:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        drive(self._core.variables.assign(name, value))

    def __delitem__(self, name: str) -> None:
        drive(self._core.variables.remove(name))

    def __iter__(self) -> Iterator[str]:
        return iter(drive(self._core.variables.names()))

    def __contains__(self, name: object) -> bool:
        from safeexec.common.text import spelt  # with `re`, which no start needs

        names = drive(self._core.variables.names())
        return name in names or (isinstance(name, str) and spelt(name) in names)

    def __len__(self) -> int:
        return len(drive(self._core.variables.names()))

    def copy(self) -> dict[str, Any]:
        """Return all variables and their values as a dict of the host's."""
        return dict(self.items())

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return self.copy() | dict(other)

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return dict(other) | self.copy()

    def __ior__(self, other: Mapping[str, Any]) -> Self:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return f"<namespace: {', '.join(self) or 'empty'}>"


class SessionAPI:
    """The base of `Session` and `AsyncSession`: all that waits for nothing."""

    def __init__(self, core: SessionCore) -> None:
        recorded: Any = core  # all sessions that an API has are such
        self._core: RecordedSession = recorded
        core.take()

    def __reduce__(self) -> NoReturn:
        """Refuse: a copy would end the session when it is given up, by `copy` or by `pickle`."""
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: branch() makes another, save() a file")

    def __del__(self) -> None:
        """Have the thread for idle sessions close it: nobody can use it any more."""
        self._core.abandon()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._core.summary}>"

    def cancel(self) -> bool:
        """Stop the running step, command or `save`, from another task or thread. The state before it is restored, but
        what a command has done to the files stays. Returns whether one was running.
        """
        return self._core.supervisor.cancel()

    @property
    def policy(self) -> Policy:
        """The policy of this session: the sandbox's, as it was tightened."""
        return self._core.policy

    def card(self, format: Literal["text", "markdown", "json"] = "text") -> str:
        """Return the policy and the host tools of this session, for a model's prompt."""
        return self._core.card(format)

    def checkpoints(self) -> list[CheckpointInfo]:
        """Return the checkpoints of this session: name, parent, step, age, memory."""
        return self._core.way_back.rows()

    def drop(self, name: str) -> None:
        """Give up a named checkpoint. Raises `CheckpointError`."""
        drive(self._core.way_back.drop(name))

    def pending(self) -> list[PendingCall]:
        """Return the deferred calls of host tools that have not been carried out, in order."""
        return self._core.pending()

    # The recording

    def note(self, text: str, *, score: float | None = None) -> None:
        """Write a remark about the state as it is now into the recording. Raises `RecordingError` if there is none."""
        self._core.note(text, score)

    def history(self) -> Timeline:
        """Return the steps so far: what each wrote and read, the variables after it, when a name last changed.

            session = sandbox.session(record=True)          # in memory; or a path
            session.history().at(3).variables(), session.history().when("total")

        Raises `RecordingError` for a session that is not recorded.
        """
        timeline: Timeline = self._core.history()
        return timeline

    @property
    def workspace(self) -> str | None:
        """The directory of the session's files, or None when the policy gives none."""
        return self._core.workspace.path if self._core.workspace is not None else None

    @property
    def untold_cpu(self) -> float:
        """CPU seconds that the session has used beside what its results report, a quarter of a second late: in threads
        that a step has left running, or to describe variables.
        """
        return self._core.untold_cpu


class Session(SessionAPI):
    """One lineage of guest state: variables, files, checkpoints. Made by `Sandbox.session()`; closed by `with` or
    `close()`, and soon after nobody has it any more.
    """

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @blocking
    def close(self) -> Core[None]:
        """End the session's processes and remove its files. Harmless when closed already. Raises `StoreError`, when
        that is done, if the last steps of a stored session could not be stored.
        """
        return self._core.close()

    # Steps

    @blocking
    def run(
        self,
        source: str,
        *,
        timeout: float | None = None,
        atomic: bool = False,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
        wait: float | None = None,
        on_output: OnOutput | None = None,
        on_stdout: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
        on_display: OnDisplay | None = None,
        on_progress: OnProgress | None = None,
    ) -> Core[Result]:
        """Run one step.

        `timeout` in seconds, at most the policy's `limits.max_wall_seconds` (default: `limits.wall_seconds`). With
        `atomic` a step that raises leaves no trace.

        `stdin` is what the program reads: a text, bytes, an iterable of lines, or a file that is open for reading,
        which is streamed while the program reads it. `argv` is its `sys.argv`, the program's name first.
        `namespace` sets variables before the step begins. `wait`: how many seconds to wait while another thread or task
        uses the session; without it that is a `SessionBusy` at once.

        `on_output` gets whole lines of output while the step runs, `on_stdout` and `on_stderr` those of one stream,
        `on_display` what it displays (its value is in the result alone), `on_progress` description, count and total of
        its progress bars (tqdm).

        Raises `PolicyError` for a timeout out of bounds, `SessionBusy`, `SessionClosed`; that or `SandboxClosed` where
        something killed the zygote. What guest code does wrong is in the result.
        """
        callbacks = (on_output, on_stdout, on_stderr, on_display, on_progress)
        run = partial(
            self._core.steps.run, source,
            timeout=timeout, atomic=atomic, callbacks=callbacks, stdin=stdin, argv=argv, namespace=namespace,
        )  # fmt: skip
        return run() if wait is None else self._core.turns.patiently(wait, run)

    @blocking
    def sql(self, query: str, *, name: str | None = None, timeout: float | None = None) -> Core[Result]:
        """Run one SQL query over the session's DataFrames and the CSV and Parquet files of its workspace, as a step.

        The result is a DataFrame. With a `name` it becomes that variable; without, no variable changes. Errors have
        position and hint like those of any step.
        """
        return self._core.steps.sql(query, name, timeout)

    def stream(self, source: str, **options: Unpack[RunOptions]) -> Stream:
        """Run one step and iterate over its output while it runs; `result` of the stream holds the result at the end.

            stream = session.stream(source)
            for text in stream:
                print(text, end="", file=sys.stderr if text.stream == "stderr" else sys.stdout)
            stream.result.check()

        The options are those of `run`. The step begins with the iteration; leaving that early stops the step and
        restores the state. Raises `SessionBusy` and `SessionClosed` here, unless `wait` says to wait.
        """
        return Stream(self._core, source, options)

    # Files

    def read_file(self, name: str, *, max_bytes: int | None = None) -> bytes:
        """Return the bytes of a file of the workspace. Links are not followed. Raises `WorkspaceError`, also for more
        than `max_bytes`, of which nothing is read then; None: as many as the workspace may hold.
        """
        return self._core.files.read_file(name, max_bytes)

    def write_file(self, name: str, data: bytes | str) -> None:
        """Put a file into the workspace; text is written as UTF-8. Raises `WorkspaceError` for a name that leaves it,
        or too much data.
        """
        self._core.files.write_file(name, data)

    def list_files(self) -> list[str]:
        """Return the names of the workspace's regular files, sorted. Raises `WorkspaceError` without a workspace."""
        return self._core.files.list_files()

    # State

    @property
    def namespace(self) -> Namespace:
        """The session's variables as a mapping."""
        return Namespace(self)

    @blocking
    def get(self, name: str, default: Any = None) -> Core[Any]:
        """Return the value of a variable: arrays and frames as such where the host has the library. `default` if there
        is no such variable.
        """
        found, value = yield from self._core.variables.fetch(name, arrays=True)
        return value if found else default

    @blocking
    def set(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        return self._core.variables.assign(name, value)

    @blocking
    def variables(self) -> Core[list[Variable]]:
        """Return every variable with type, shape, size and a short repr."""
        return self._core.variables.described()

    # Checkpoints

    @blocking
    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`. Raises `CheckpointError`."""
        return self._core.way_back.checkpoint(name)

    @blocking
    def rollback(self, name: str | None = None, *, steps: int = 1) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last step that is part of the state; with `steps`, to before
        so many, as far back as they are kept.

        Returns the host-tool calls made since then: they happened, and cannot be undone. What could not be carried over
        is in the notes of the next result. Raises `CheckpointError`.
        """
        return self._core.way_back.rollback(name, steps)

    @blocking
    def branch(self, n: int = 1, *, checkpoints: Checkpoints | None = None) -> Core[list[Session]]:
        """Return `n` new sessions that go on from the state as it is now, independent of this one and of each other.

        `checkpoints` is when theirs are made: for many branches of a step or two, ``before-step`` is half the work.
        Each has files of its own; an absolute path that guest code has kept still leads to those of this session.
        """
        return [type(self)(core) for core in (yield from self._core.branch(n, checkpoints))]

    # Steps that wait, and effects of host tools

    @blocking
    def answer(
        self,
        answer: Any,
        *,
        wait: float | None = None,
        on_output: OnOutput | None = None,
        on_stdout: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
        on_display: OnDisplay | None = None,
        on_progress: OnProgress | None = None,
    ) -> Core[Result]:
        """Answer the call for which a step waits (outcome `waiting`): the step runs again, from its start to its end.

        `answer` is `Allow(arguments=…)` or `Deny(reason)`; for a tool that has put itself off, `Allow()` calls it
        again, and any other value is what the call gives. The calls that the step had made before get the answers that
        they got then, and none is made twice. It may wait again, at a later call. If the program asks for something
        else this time, it is stopped before the answer counts (`cancelled`), and still waits.

        The other arguments are those of `run`. Raises `StepWaiting` where no step waits, or not any more, and TypeError
        or ValueError for an answer that cannot be given.
        """
        callbacks = (on_output, on_stdout, on_stderr, on_display, on_progress)
        run = partial(self._core.answer, answer, callbacks=callbacks)
        return run() if wait is None else self._core.turns.patiently(wait, run)

    @property
    def waiting_for(self) -> WaitingCall | None:
        """The call of a host tool whose answer was put off, where a step of this session waits for it."""
        return drive(self._core.waits.shown())

    @blocking
    def cancel_waiting(self) -> Core[list[ToolCallRecord]]:
        """Give up the step that waits: the session stays as it was before it. Returns the calls of host tools that it
        had made, which cannot be undone. Raises `StepWaiting` where no step waits.
        """
        return self._core.waits.cancel_waiting()

    @blocking
    def adopt(self) -> Core[list[str]]:
        """Keep this branch: carry out its deferred calls, and those of later steps when they end.

        Returns what went wrong, in words. In a session that is no branch: carry out now what a failed step left.
        """
        return self._core.carry_out()

    @blocking
    def command(self, argv: Sequence[str], *, cwd: str = ".", timeout: float | None = None) -> Core[CommandResult]:
        """Run a program that the policy lists in the session's workspace; `cwd` is a directory in it."""
        return self._core.files.command(argv, cwd, timeout)

    @blocking
    def save(
        self, path: str | os.PathLike[str], *, timeout: float | None = None, wait: float | None = None
    ) -> Core[dict[str, str]]:
        """Write the variables and files to `path`. The session goes on.

        The limits of a step hold while guest code pickles itself, and `cancel`; `timeout` is its limit in seconds.
        `wait`: how many seconds to wait while another thread or task uses the session, as in `run`.
        Returns the names that could not be saved, each with the reason. Raises `StateFileError`, OSError.
        """
        save = partial(self._core.save, path, timeout)
        return save() if wait is None else self._core.turns.patiently(wait, save)

    @property
    def protection(self) -> tuple[Mechanism, ...]:
        """The mechanisms of the kernel that hold this very session, and those that do not, with the reason.

        The process of the session is asked to try what it must not be able to do; a mechanism whose act succeeded is
        not active, whatever was planned.
        """
        return drive(self._core.protection())


class Piece(str):
    """A piece of a step's output, a text that says of which `stream` it is: ``stdout`` or ``stderr``."""

    __slots__ = ("stream",)

    stream: Literal["stdout", "stderr"]

    def __new__(cls, text: str, stream: Literal["stdout", "stderr"]) -> Piece:
        made = super().__new__(cls, text)
        made.stream = stream
        return made


class OneStep:
    """The base of `Stream` and `AsyncStream`: a step that is begun once, its output so far, and its result."""

    __slots__ = ("_arrived", "_core", "_result", "_step")

    def __init__(self, core: SessionCore, source: str, options: RunOptions) -> None:
        if options.get("wait") is None:
            core.turns.check_free()
        self._core = core
        self._arrived: deque[Piece] = deque()
        self._result: Result | None = None
        options["on_stdout"] = partial(self._collect, "stdout", options.get("on_stdout"))
        options["on_stderr"] = partial(self._collect, "stderr", options.get("on_stderr"))
        run: Callable[..., Core[Result]] = Session.run.__wrapped__  # type: ignore[attr-defined]
        self._step: Core[Result] | None = run(self, source, **options)

    def _collect(self, name: Literal["stdout", "stderr"], other: OnOutput | None, text: str) -> None:
        self._arrived.append(Piece(text, name))
        if other is not None:
            other(text)

    @property
    def result(self) -> Result:
        """The result of the step. Raises RuntimeError as long as the iteration has not ended."""
        if self._result is None:
            raise RuntimeError("the step has not ended: iterate over the stream to its end first")
        return self._result

    def _begin(self) -> Core[Result]:
        """Return the step, which whoever iterates holds alone from then on. Raises RuntimeError the second time."""
        if self._step is None:
            raise RuntimeError("a step runs once: this stream has been iterated over already")
        step, self._step = self._step, None
        return step


class Stream(OneStep):
    """The output of one step, piece by piece while it runs: iterate once. `result` is there at the end."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Piece]:
        return self._pieces(self._begin())

    def _pieces(self, core: Core[Result]) -> Iterator[Piece]:
        step, heard = stepwise(core), self._arrived
        with closing(step):
            try:
                while True:
                    next(step)
                    while heard:
                        yield heard.popleft()
            except StopIteration as end:
                self._result = end.value
        yield from heard
