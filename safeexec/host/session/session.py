"""A session without its I/O: what a face offers, as generators that the face drives. Nothing here blocks.

A session is put together from parts: a `Turn` says who uses it, `states` what it is in the middle of, a `Line` has its
processes and by its `History` the way back, a `Step` is the request that runs. This module is the order of things.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NoReturn, ParamSpec, TypeVar

from msgspec.structs import replace

from safeexec.errors import (
    CheckpointError,
    PolicyError,
    ProtocolError,
    RecordingError,
    SandboxError,
    SessionBusy,
    SessionClosed,
    StateFileError,
    WorkspaceError,
)
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.checkpoints import Checkpoint, CheckpointInfo, check_depth, check_name
from safeexec.host.session.decode import (
    Told,
    build_killed,
    build_result,
    decode_payload,
    encode_payload,
    may_be_bound,
    restored,
    told_frames,
    told_variables,
)
from safeexec.host.session.history import FRESH, NO_LONGER_KEPT, NOTHING_TO_UNDO, State
from safeexec.host.session.kept import Sources, ToolLog
from safeexec.host.session.line import PARK_SECONDS, Line, wait_for
from safeexec.host.session.listeners import NOBODY, Listeners
from safeexec.host.session.output import OutputFile
from safeexec.host.session.runner import Runner
from safeexec.host.session.standard_input import Given, StandardInput, checked_arguments
from safeexec.host.session.states import ASKING, CLOSED, FOLLOWS, IDLE, LOST, NEW, STEPPING
from safeexec.host.session.step import FREEZE_SECONDS, Step
from safeexec.host.session.turn import BRIEF_SECONDS, Turn
from safeexec.host.waiting import Core, Wait, Work, drive
from safeexec.host.watch import accountant, groups, supervisor
from safeexec.host.watch.account import Period
from safeexec.host.watch.supervisor import Place, Watch
from safeexec.host.watch.verdict import Verdict, too_much_in_files
from safeexec.host.watch.watched import WatchedSession
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments, foreign
from safeexec.protocol.confinement import Mechanism
from safeexec.results import ErrorInfo, Result, Rows, ToolCallRecord, Variable
from safeexec.text import as_bytes

if TYPE_CHECKING:
    from safeexec.host.commands import CommandResult
    from safeexec.host.files.workspace import Snapshot, Workspace
    from safeexec.host.files.workspace_files import Marks
    from safeexec.host.session.home import Home, RecordsSession, ToolAnswers
    from safeexec.host.session.listeners import Callbacks
    from safeexec.host.session.spare import Spare
    from safeexec.host.tools.toolbox import PendingCall
    from safeexec.linux.cgroups import Group
    from safeexec.outcomes import Frame
    from safeexec.policy.model import Policy
    from safeexec.recordings.timeline import Timeline

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A", m.Saved, m.Done)
"""The answer to a request."""

RECOVER_SECONDS = 1.0
"""How long to wait for the answer to a question whose asker was interrupted. Without it nothing is lost: the state of
the newest copy is the same."""
NAMES_SECONDS = 3.0
"""How long a process that was brought back may take to name its variables."""
COMPACT_SECONDS = 0.5
"""How long a session must rest before it is compacted, which costs the next step 1.4 ms."""
BUSY_SECONDS = 0.02
"""How often at least to ask whether a session that somebody waits for is free."""
COMING = 8
"""Processes of branches that are asked for at a time: the copy forks the next one while these start."""
NAMES_REMAINING, NAME_CHARACTERS = 200, 100
CLOSED_HERE = "the session is closed"
CLOSED_MEANWHILE = "the session was closed while this step ran"
SHARED = (
    "sessions of the template {!r} and their branches share what forks share: a user, a process group, a limit on "
    "processes, the Landlock domain of their first process; when one is stopped, all pause. Give each principal a "
    "template of its own"
)
UNREVIEWED = (
    "danger_allow_modules opens {}, which nobody has reviewed: the language layer does not see what they open, run or "
    "import; the kernel's mechanisms hold it"
)
NOT_UNDONE = "checkpoints are off, so what the step did before it failed was not undone"
CANNOT_UNDO = "the state before this step has no checkpoint: this step cannot be rolled back"
_numbers = count(1)


def exclusive(
    operation: Callable[Concatenate[SessionCore, P], Core[R]],
) -> Callable[Concatenate[SessionCore, P], Core[R]]:
    """An operation that has the session to itself, from its first move to its end, whatever that is."""

    @wraps(operation)
    def begin(self: SessionCore, /, *args: P.args, **kwargs: P.kwargs) -> Core[R]:
        turn = Turn()
        if self.recorder is None:
            work = operation(self, *args, **kwargs)
        else:
            work = self.recorder.follow(operation, self, args, kwargs)
        core = self._in_turn(turn, work)
        turn.belongs_to(core)
        return core

    return begin


class SessionCore:
    """One lineage of guest state: variables, files, checkpoints. Two users at once are a `SessionBusy`; `cancel` may
    come from any thread.
    """

    def __init__(self, sandbox: Home, policy: Policy, spare: Spare | None = None) -> None:
        self.sandbox = sandbox
        self.policy = policy
        self.line = Line(sandbox, policy, spare)
        self.state = NEW
        self.mechanisms: list[Mechanism] = []
        self.toolbox: ToolAnswers = sandbox.toolbox
        self.tells_frames = False
        """Whether an error leaves the variables of the functions that were running in `frames`."""
        self.frames: list[Frame] = []
        self.recorder: RecordsSession | None = None
        """Writes down what is done here, where that is asked for."""
        self.tool_records = ToolLog()
        self.calls_of_step = 0
        self.step = 0
        """The number of the last step."""
        self.more = False
        """Whether the last call returned a generator that goes on."""
        self.held = False
        """Whether the child keeps what the last call returned, which cannot cross."""
        self.threads = False
        """Whether threads ran in the last step."""
        self.number = next(_numbers)
        self.label: str | None = None
        """Whose session it is, in the words of the host: for its audit log."""
        self.restored = 0
        """How often it has been brought back."""
        self.template: str | None = None
        """The name of the template that the session, or the one that it branched from, began with."""
        self.code = b""
        """The source of the plugin that is loaded."""
        self.trust = "policy"
        """`kernel-only` when the session was restored from a state that this host did not sign."""
        self.used = monotonic()
        """When the session was last used."""
        self.compacted = self.used
        """The use after which its newest checkpoint was last made anew."""
        self.watched = WatchedSession(self)
        self.overused: Verdict | None = None
        """What the session did while no step ran: its process has been ended for it."""
        self.abandoned = False
        """Whether no caller has it any more."""
        self.commanding = False
        """Whether a command runs in its control group."""
        self._turn = Turn()
        self._step: Step | None = None
        self._sources = Sources()
        self._marks: Marks = {}
        """The workspace's files after the last step, to tell what the next one changes."""
        self._told_next: list[str] = []
        """Notes for the next result: what became of the state while nobody used it."""
        self._why_closed: str | None = None
        """Set by whoever closes the session, from any thread; whoever uses it then lets go of everything."""

    # Turns and states

    def _in_turn(self, turn: Turn, work: Core[R]) -> Core[R]:
        """Do `work` in `turn`."""
        while not self._take(turn):
            if not self._turn.brief:
                raise SessionBusy(
                    "a step of this session is running in another thread or task; wait for it with "
                    "run(..., wait=seconds), use a session per thread, or branch"
                )
            yield Wait((), monotonic() + BRIEF_SECONDS)
        if self.watched.resting:
            self.watched.wake()
        try:
            return (yield from work)
        finally:
            self.used = monotonic()
            if self._why_closed is not None:
                self._let_go()

    def _take(self, turn: Turn) -> bool:
        """Whether it is `turn`'s now. Raises `SessionClosed`."""
        while self._why_closed is None:
            last = self._turn
            if last.goes_on:
                return False
            self._turn = turn.begin_after(last)  # or whoever was faster
            if self._turn is turn:
                return True
        raise SessionClosed(self._why_closed)

    @property
    def busy(self) -> bool:
        """Whether somebody uses it now. From any thread."""
        return self._turn.goes_on

    def patiently(self, seconds: float, operation: Callable[[], Core[R]]) -> Core[R]:
        """Do `operation` when the session is free, within so many seconds. Raises `SessionBusy` after that."""
        deadline, pause = monotonic() + seconds, BRIEF_SECONDS
        while True:
            try:
                return (yield from operation())
            except SessionBusy:
                if (left := deadline - monotonic()) <= 0:
                    raise
            pause = min(2 * pause, BUSY_SECONDS)
            yield Wait((), monotonic() + min(pause, left))

    def attend(self, look: Callable[[], Core[None]]) -> Core[None]:
        """For the host's own watch: do `look` if nobody uses the session. A caller who comes meanwhile waits for it."""
        turn = Turn(brief=True)
        core = self._attend(turn, look)
        turn.belongs_to(core)
        return core

    def _attend(self, turn: Turn, look: Callable[[], Core[None]]) -> Core[None]:
        if not self._take(turn):
            return
        try:
            yield from look()
        finally:
            if self.closed:
                # Who closed it meanwhile may have waited long enough and gone: nobody else would end what there is.
                yield from self._end()

    def _go(self, state: str) -> None:
        assert state in FOLLOWS[self.state], f"{self.state} → {state}"
        self.state = state

    def _living(self) -> Core[Runner]:
        """The process that runs steps, ready for a request."""
        if (over := self.overused) is not None:
            self.overused = None
            self._told_next.append(f"between its steps {over.message}: what it had running was ended")
            if self.state is IDLE:
                self._go(LOST)
        if self.state is not IDLE:
            yield from self._recover()
        assert self.line.runner is not None
        return self.line.runner

    def in_order(self) -> Core[None]:
        """What was lost while nobody used the session is brought back now, and not by the operation that comes."""
        if self.state is not IDLE or self.overused is not None:
            yield from self._living()

    def _recover(self) -> Core[None]:
        """Put in order what the last caller left in the middle of something: it was interrupted (Ctrl-C, a handler that
        raised), and that again while it put things in order itself.
        """
        runner = self.line.runner
        if runner is not None and self.state is ASKING:
            yield from self._take_in(runner)
        elif runner is not None and self.state is STEPPING:
            yield from self._take_back(runner)
        if self.state is LOST:
            yield from self.line.stop()
            self._told_next += yield from self._restore()

    def _take_in(self, runner: Runner) -> Core[None]:
        """The answer that nobody waits for. A change that it confirms has been made."""
        try:
            answered = yield from runner.drain(monotonic() + RECOVER_SECONDS)
        except (Gone, ProtocolError):
            answered = False
        if not answered:
            self.line.undo()
            self._go(LOST)
            return
        if self.line.history.next is not None:
            self.sandbox.gate.announce(runner.pid, alone=True)
            yield from self.line.commit_with_files(self.tool_records.total)
        self._go(IDLE)

    def _take_back(self, runner: Runner) -> Core[None]:
        """A step whose caller is gone is undone, unless it is part of the session already or was never sent."""
        line = self.line
        history = line.history
        if self._step is not None:
            self._step.close()
        sent = not runner.at_rest
        if history.next is not None and not sent:
            # Answered, or not sent. No child begins a step before it has made the copy of the state before.
            copies = history.copies_of(history.current)
            sent = history.current.memory is FRESH or any(copy.seen() for copy in copies)
        if sent:
            yield from line.secured(monotonic() + FREEZE_SECONDS)
            line.undo()
            self._go(LOST)
            return
        line.undo()
        self._go(IDLE)

    def _restore(self, *, asked: bool = False) -> Core[list[str]]:
        """Bring back the state that the session is in, or the newest older one. Returns notes. `asked`: by the caller,
        for nothing went wrong.
        """
        if self._why_closed is not None:
            raise SessionClosed(CLOSED_MEANWHILE)
        notes = yield from self.line.restore(self._sources.bound_by(self.step))
        self.restored += not asked
        self._arrived()
        return notes

    def _arrived(self) -> None:
        """The session has another process, and the files that go with it."""
        if self.line.history.current.memory is FRESH:
            self._sources.clear()
        self._meet_files()
        self._go(IDLE)

    def _meet_files(self) -> None:
        """What the next step changes is told against the files that have been brought back."""
        if self.line.workspace is not None and self.line.history.current.files is not None:
            self._marks = self.line.workspace.marks

    def _lost(self, error: Exception) -> Core[NoReturn]:
        """The process died outside a step: restore, and say so."""
        self.line.undo()
        self._go(LOST)
        yield from self.line.stop()
        notes = yield from self._restore()
        self._told_next += notes
        became = f"its state was restored ({'; '.join(notes)})" if notes else "its state was restored"
        if self.line.history.current.memory is FRESH and notes:
            became = notes[-1]
        over, self.overused = self.overused, None
        reason = str(error) if over is None else over.message
        raise SandboxError(f"the session's process died ({reason}); {became}; try again") from None

    # Opening and closing

    def open(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        try:
            yield from self.line.begin()
            self.mechanisms = self.sandbox.mechanisms
            self._arrived()
        except BaseException:
            yield from self.close()
            raise

    def close(self) -> Core[None]:
        """End every process of the session and remove its files. Harmless when closed already."""
        return self._close_in_turn(CLOSED_HERE)

    def close_if_idle(self, seconds: float) -> Core[None]:
        """Close the session if nobody has used it for `seconds`."""
        if self._turn.goes_on or monotonic() - self.used < seconds:
            return
        why = "when no caller had it any more" if self.abandoned else f"after {seconds:g} s without use (idle_seconds)"
        yield from self._close_in_turn(f"the session was closed {why}")

    def kill(self) -> None:
        """Begin to close it, without waiting: if nobody uses it, its processes are killed."""
        if self._why_closed is None:
            self._why_closed = CLOSED_HERE
            if not self._turn.goes_on:
                self.line.kill_all()

    def _close_in_turn(self, why: str) -> Core[None]:
        turn = Turn(brief=True)
        core = self._close(turn, why)
        turn.belongs_to(core)
        return core

    def _close(self, turn: Turn, why: str) -> Core[None]:
        if self._why_closed is None:
            self._why_closed = why
        deadline = monotonic() + supervisor.KILL_SECONDS
        while self.state is not CLOSED:
            last = self._turn
            if not last.goes_on:
                self._turn = following = turn.begin_after(last)
                if following is turn:
                    yield from self._end()
                    return
                continue
            # In use: the step that runs is ended, and whoever uses the session lets go of it.
            if self._stop_step(Verdict("cancelled", CLOSED_MEANWHILE)) and (runner := self.line.runner) is not None:
                runner.channel.kill()
            if last.thread == threading.get_ident():
                return
            if monotonic() >= deadline:
                self.line.kill_all()
                return
            yield Wait((), monotonic() + BRIEF_SECONDS)

    def _end(self) -> Core[None]:
        """End everything, wait until it has gone, and remove what it leaves."""
        yield from wait_for(self.line.end_processes())
        if (workspace := self.line.workspace) is not None:
            yield from self.line.on_files(workspace.clear)
        self._let_go()

    def _let_go(self) -> None:
        """The same without waiting, for a session that was closed while it was in use."""
        if self.state is not CLOSED:
            for process in self.line.end_processes():
                os.close(process)
            self.line.close()
            self.state = CLOSED
            self.sandbox.session_closed(self)

    def forget(self) -> None:
        """This process was forked from the one that has the session: close its copies of the descriptors, end
        nothing.
        """
        self._why_closed = "the session was opened before the process forked; open one in each worker"
        self.state = CLOSED
        self.line.forget()

    @property
    def closed(self) -> bool:
        return self._why_closed is not None

    @property
    def told(self) -> str:
        """The session in a few words: ``3 of 'calculator', step 12, idle``."""
        label = f" ({self.label})" if self.label else ""
        return f"{self.number}{label} of {self.policy.name!r}, step {self.step}, {self.state}"

    # What others ask of it

    @property
    def workspace(self) -> Workspace | None:
        return self.line.workspace

    @property
    def group(self) -> Group | None:
        return self.line.group

    @property
    def born(self) -> int:
        """How many new children this session has had."""
        return self.line.born

    def _planned(self) -> list[Mechanism]:
        """What is to hold this session, and what does not and why."""
        rows = groups.mechanisms()
        if self.line.group is None:
            why = "not needed, as its guests may start no process, or no group could be made for this session"
            rows = [Mechanism(row.name, False, why) if row.active else row for row in rows]
        if self.template is not None:
            rows = [*rows, Mechanism("own-lineage", False, SHARED.format(self.template))]
        if self.policy.danger_allow_modules:
            told = UNREVIEWED.format(", ".join(self.policy.danger_allow_modules))
            if self.policy.requirements:
                told += f"; fetched from an index: {', '.join(self.policy.requirements)}"
            rows = [*rows, Mechanism("module-review", False, told)]
        return [*self.mechanisms, *rows, accountant.mechanism(self.policy, self.sandbox.policy.limits)]

    def pids(self) -> Collection[int]:
        """Its runner and its parked copies."""
        return self.line.pids()

    def runner_pid(self) -> int | None:
        """The process that runs steps, if there is one."""
        return self.line.runner_pid()

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """The policy and the host's tools, for a model's prompt."""
        return self.policy.card(format, tools=self.sandbox.toolbox.tools.values())

    def add_sources(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """The sources of a plugin, for the tracebacks of calls that are killed. The first one is the main module."""
        for index, (name, source) in enumerate(modules):
            self._sources[f"<plugin {label}:{name}>" if index else f"<plugin {label}>"] = source

    # At rest

    def restless(self) -> bool:
        """Whether nobody has used the session for a while, and it holds more memory than it would compacted."""
        return (
            self.compacted != self.used
            and monotonic() - self.used >= COMPACT_SECONDS
            and self.policy.checkpoints == "idle"
        )

    def compact(self) -> Core[None]:
        """At rest: make the newest checkpoint anew, so that it and the running process share what both hold.

        An automatic checkpoint is made before the process warms up for its next step; from then on each has a copy of
        its own of every page that the warm-up writes (1.3 MB for each). The next step copies its pages again (1.4 ms).
        """
        self.compacted = self.used
        line, history = self.line, self.line.history
        automatic = line.automatic
        newest = next((copy for copy in history.copies_of(history.current) if copy in automatic), None)
        if self.state is not IDLE or line.runner is None or not line.runner.at_rest:
            return  # the next user puts it in order
        if newest is None or newest.pid() is None:
            return
        if newest is line.runner.origin:
            # No step since: they share all that they can, and other branches may share the copy. A chain of branches
            # stays as deep as it was made, however long its sessions rest.
            return
        self._go(ASKING)
        try:
            copy = yield from line.freeze(line.runner, PARK_SECONDS)
        except CheckpointError:
            self._go(IDLE)  # the checkpoint that is there does
            return
        except (Gone, ProtocolError) as error:
            yield from self._died_freezing("between its steps ", error)
            return
        self._go(IDLE)
        copy.created = newest.created
        line.release(history.replace(newest, copy))

    def _died_freezing(self, when: str, error: Exception) -> Core[str]:
        """The process died while a checkpoint was made. Returns what became of it, which the next result tells, too."""
        self._go(LOST)
        yield from self.line.stop()
        notes = yield from self._restore()
        over, self.overused = self.overused, None
        reason = str(error) if over is None else over.message
        told = f"the process died while the checkpoint was made ({reason}); the session was restored"
        self._told_next += [f"{when}{told}", *notes] if when else notes
        return "; ".join([told, *notes])

    # Steps

    @exclusive
    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        told: Callbacks,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
    ) -> Core[Result]:
        """Run one step and give its result. `told`: who hears of it while it runs. `namespace`: what to set
        before.
        """
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        limit = self._timeout(timeout)
        arguments = None if argv is None else checked_arguments(argv)
        if (size := len(source)) > self.policy.limits.step_source_kb << 10:
            return self._too_long(size)
        if namespace:
            for assignment in [self._assignment(name, value) for name, value in namespace.items()]:
                yield from self._changed(assignment)
        self.step += 1
        self._sources.add(self.step, source)
        listeners = Listeners(*told) if any(told) else NOBODY  # most steps have none: those cost nothing
        text, shows = source.encode("utf-8", "surrogatepass"), listeners.display is not None
        request = m.Execute(self.step, text, stdin is not None, arguments, shows, self.tells_frames)
        if stdin is None:
            result = yield from self._act(request, self.step, limit, atomic, listeners)
        else:
            result = yield from self._fed(StandardInput(stdin), request, limit, atomic, listeners)
        if self._told_next:
            result = self._told(result)
        if (observer := self.sandbox.observer) is not None:
            observer.step_done(self, request.source, result)
        return result

    def _fed(
        self,
        given: StandardInput,
        request: m.Execute,
        timeout: float,
        atomic: bool,
        listeners: Listeners,
    ) -> Core[Result]:
        """A step that reads what the host gives it."""
        try:
            result = yield from self._act(request, self.step, timeout, atomic, listeners, given)
        finally:
            problem = given.close()
        if problem is not None:
            result = replace(result, notes=(*result.notes, f"the standard input ended early: {problem}"))
        return result

    def _told(self, result: Result) -> Result:
        """The result with what happened before the step, while nobody used the session."""
        told, self._told_next = self._told_next, []
        return replace(result, notes=(*told, *result.notes))

    @exclusive
    def check(self, source: str) -> Core[Result]:
        """What the policy refuses in `source`; nothing of it runs. Parsing happens in the child: a hostile source
        can exhaust a parser.
        """
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        return (yield from self._act(m.Compile(source.encode("utf-8", "surrogatepass")), 0, self._timeout(None), False))

    def invoke(
        self,
        path: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        timeout: float | None = None,
        **how: Any,
    ) -> Core[Result]:
        """Call an object of the namespace with values of the host, as a step. `how`: the other fields of `Invoke`."""
        limits = self.policy.limits
        payload = encode_arguments(args, kwargs, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
        if payload.opaque:
            told = f"it is larger than limits.value_kb ({limits.value_kb} KiB), nested too deep or holds itself"
            if not payload.truncated:
                told = foreign(args, kwargs, max_depth=limits.value_depth)
            raise TypeError(f"an argument of {path}() cannot cross into the sandbox: {told}")
        return (yield from self.perform(lambda step: m.Invoke(step, path, payload.data, **how), timeout=timeout))

    @exclusive
    def perform(
        self,
        make: Callable[[int], m.Invoke | m.Install | m.Proceed | m.Query],
        *,
        timeout: float | None = None,
    ) -> Core[Result]:
        """Send the request that `make` builds for the number of the next step, and give its result."""
        limit = self._timeout(timeout)
        self.step += 1
        request = make(self.step)
        result = yield from self._act(request, self.step, limit, atomic=False)
        if self._told_next:
            result = self._told(result)
        if (observer := self.sandbox.observer) is not None and type(request) is m.Invoke:
            observer.step_done(self, self.code, result, call=request.path)
        return result

    def sql(self, query: str, name: str, timeout: float | None) -> Core[Result]:
        """Run one SQL query as a step; a result is bound to the variable `name`."""
        if not isinstance(query, str):
            raise TypeError(f"query must be str, not {type(query).__name__}")
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        text = query.encode("utf-8", "surrogatepass")
        return (yield from self.perform(lambda step: m.Query(step, text, name), timeout=timeout))

    def _timeout(self, timeout: float | None) -> float:
        limits = self.policy.limits
        if timeout is None:
            return limits.wall_seconds
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout is a number of seconds, not {timeout!r:.60}")
        if not 0 < timeout <= limits.max_wall_seconds:
            raise PolicyError(
                f"timeout={timeout!r} is out of bounds: the policy {self.policy.name!r} allows more than 0 and at most "
                f"{limits.max_wall_seconds:g} s (limits.max_wall_seconds, "
                f"{self.policy.origin('limits.max_wall_seconds')})"
            )
        return float(timeout)

    def _too_long(self, size: int) -> Result:
        limits = self.policy.limits
        return Result(
            outcome="rejected",
            error=ErrorInfo(
                type="PolicyViolation",
                message=f"the source has {size} characters; limits.step_source_kb allows {limits.step_source_kb} KiB",
                rule=self.policy.origin("limits.step_source_kb"),
                hint="Send the program in several smaller steps; variables are kept between them.",
            ),
            step=self.step,
        )

    def _act(
        self,
        request: m.Execute | m.Invoke | m.Install | m.Proceed | m.Query | m.Compile,
        number: int,
        timeout: float,
        atomic: bool,
        listeners: Listeners = NOBODY,
        given: StandardInput | None = None,
    ) -> Core[Result]:
        """Have step `number` done (0: a check, which changes nothing), to its result."""
        line, runner = self.line, self.line.runner
        if runner is None or self.state is not IDLE or self.overused is not None:
            runner = yield from self._living()
        control = line.promise(number) if number else None
        self._go(STEPPING)
        line.out.begin()
        line.err.begin()
        self.calls_of_step, calls = 0, self.tool_records.total
        watch = Watch(runner.channel, self.policy.limits, timeout, (line.out, line.err), self.sandbox.library)
        step = self._step = Step(number, line, runner, watch, self._answer_tool, listeners)
        try:
            done = yield from step.run(request, control, given)
            over = done if isinstance(done, Verdict) else None
            if over is None and line.workspace is not None:
                over = yield from self._over(line.workspace, step, number)
            # Whoever asked in time for its end, and was told that it runs, finds it ended.
            over = step.close() or over
        except (Gone, ProtocolError) as error:
            return (yield from self._crashed(step, error, calls))
        except GeneratorExit:
            step.stop(Verdict("cancelled", "nobody waits for the step any more"))
            if all(copy.seen() is not None for copy in line.history.copies_of(line.history.current)):
                runner.channel.kill()
            raise
        except BaseException:
            # Ctrl-C, a cancelled task, an exception of a callback: the step is undone before it goes on.
            step.close()
            yield from step.secure(FREEZE_SECONDS)
            self._told_next += yield from self._take_out()
            raise
        if isinstance(done, Verdict) or over is not None:
            assert over is not None
            return (yield from self._killed(step, over, calls))
        records = self.tool_records.since(calls)
        self.more, self.held, self.threads = done.more, done.held, done.threads
        if self.tells_frames:
            self.frames = told_frames(done.frames)
        told = Told(self.policy.limits, self.step, step.wall, step.cpu, *step.printed, records)
        result = build_result(told, done, step.value)
        if done.outcome != "ok" and (atomic or self.policy.on_error == "restore") and done.outcome != "rejected":
            result = yield from self._undone(result)
        elif number:
            result = self._kept(result)
        if self.state is STEPPING:
            self._go(IDLE)
        if listeners is not NOBODY:
            step.stream_rest()
        self.sandbox.replenish()
        return result

    def _answer_tool(self, call: m.ToolRequest, deadline: float | None) -> Core[m.ToolReply]:
        return self.toolbox.answer(call, self, deadline)

    def _over(self, workspace: Workspace, step: Step, number: int) -> Core[Verdict | None]:
        """The verdict on a step that has filled the workspace between two looks. Its files are those of its state."""
        try:
            if number and self.policy.checkpoints != "off":
                step.files = yield from self.line.on_files(workspace.snapshot)
                step.marks = workspace.marks
            else:
                step.marks = yield from self.line.on_files(workspace.marks_now)
        except WorkspaceError as error:
            return too_much_in_files(str(error))
        return None

    def _kept(self, result: Result) -> Result:
        """The step is part of the session."""
        line, step = self.line, self._step
        assert step is not None
        line.commit(step.files, self.tool_records.total)
        notes = result.notes
        if self.policy.checkpoints != "off" and not line.history.undoable:
            notes = (*notes, CANNOT_UNDO)
        files = line.workspace.changes(self._marks, step.marks) if line.workspace is not None else ()
        self._marks = step.marks
        if files or notes is not result.notes:
            result = replace(result, files=files, notes=notes)
        return result

    def _undone(self, result: Result) -> Core[Result]:
        """A step that failed leaves no trace."""
        line = self.line
        if self.policy.checkpoints == "off" and next(line.history.ways_back(), None) is None:
            # To go back to nothing would lose more than what the step has done.
            return self._kept(replace(result, notes=(*result.notes, NOT_UNDONE)))
        assert self._step is not None
        if line.workspace is not None and (files := line.workspace.changes(self._marks, self._step.marks)):
            result = replace(result, files=files)
        notes = yield from self._take_out()
        return restored(result, notes, (yield from self._remaining()))

    def _take_out(self) -> Core[list[str]]:
        """End the process of a step that is to be undone, and bring back the state before it. Returns notes."""
        yield from self._stop()
        return (yield from self._bring_back())

    def _stop(self) -> Core[None]:
        """End the process of a step that is to be undone."""
        self.line.undo()
        self._go(LOST)
        yield from self.line.stop()

    def _bring_back(self) -> Core[list[str]]:
        """Bring back the state before a step whose process has ended. Returns notes."""
        # What it printed is not to count against the process that goes on.
        self.line.out.begin()
        self.line.err.begin()
        return (yield from self._restore())

    def _killed(self, step: Step, verdict: Verdict, calls: int) -> Core[Result]:
        place = yield from step.where()
        return (yield from self._ended(step, verdict, place, calls))

    def _crashed(self, step: Step, error: Exception, calls: int) -> Core[Result]:
        reason = yield from step.died(error)
        verdict = step.close()
        if verdict is None:
            verdict = step.watch.look()  # what it told of before its deadline has not come
        if verdict is None and not self.sandbox.alive:
            self.line.undo()
            self._go(LOST)
            yield from self.line.stop()
            raise SessionClosed("the zygote of this sandbox died and took the session with it; reopen the sandbox")
        if verdict is None and self.line.ran_out_of_memory():
            limit = self.policy.limits.memory_mb
            verdict = Verdict(
                "memory", f"the kernel ended a process: the session held too much; limits.memory_mb is {limit}"
            )
        verdict = verdict or Verdict("crashed", f"the process that ran the step died: {reason}")
        return (yield from self._ended(step, verdict, Place(), calls))

    def _ended(self, step: Step, verdict: Verdict, place: Place, calls: int) -> Core[Result]:
        """The result of a step that was killed or died, after the state before it has been brought back."""
        yield from self._stop()
        records = self.tool_records.since(calls)
        told = Told(self.policy.limits, self.step, step.wall, step.cpu, *step.watch.printed(), records)
        result = build_killed(told, self.policy.limits_plan(), verdict, place, self._sources)
        notes = yield from self._bring_back()
        return restored(result, notes, (yield from self._remaining()))

    def _remaining(self) -> Core[tuple[str, ...]]:
        """The names of the variables after a restore; none if the process that was brought back does not tell."""
        runner = yield from self._living()
        self._go(ASKING)
        try:
            names = (yield from runner.ask(m.ListNames(), m.Names, NAMES_SECONDS)).names
        except (Gone, ProtocolError):
            self._go(LOST)  # the next use restores again
            yield from self.line.stop()
            return ()
        self._go(IDLE)
        return tuple(name for name in names if name.isidentifier() and len(name) <= NAME_CHARACTERS)[:NAMES_REMAINING]

    def cancel(self) -> bool:
        """Stop the running step from another thread. Whether there was one."""
        return self._stop_step(Verdict("cancelled", "the step was cancelled by the host"))

    def exceed(self, verdict: Verdict) -> bool:
        """End what it does for what it uses. False: nobody sees to that, and its processes are the caller's to kill.
        From the accountant's thread.
        """
        step = self._step
        if step is not None and step.stop(verdict):
            return not (step.in_tool or step.listening)
        self.overused = verdict
        return False

    def overdue(self) -> Verdict | None:
        """The verdict on a step that is past its deadline, where its caller does not see to that. From any thread."""
        step = self._step
        return None if step is None else step.overdue()

    @property
    def in_use(self) -> bool:
        """Whether a caller has a turn. From any thread."""
        return self._turn.goes_on

    def period(self) -> Period:
        """The step that runs, or else the use or the rest that goes on. From any thread."""
        step = self._step
        if step is not None and not step.over:
            return Period(step.watch.started, step.runner_pid, step.watch.cpu_start)
        return Period((self.used, self._turn.goes_on))

    @property
    def asks(self) -> int:
        """How many processes of its own making its runner may have, beside the copies that are told of."""
        return 1 if self.state is ASKING else 0

    def _stop_step(self, verdict: Verdict) -> bool:
        step = self._step
        return step is not None and step.stop(verdict)

    # Checkpoints

    @exclusive
    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`."""
        check_name(name)
        history, limit = self.line.history, self.policy.limits.checkpoints
        if name not in history.named and len(history.named) >= limit:
            raise CheckpointError(
                f"this session already has {len(history.named)} named checkpoints, and limits.checkpoints allows "
                f"{limit}; drop one first: {', '.join(history.named)}"
            )
        copy = yield from self._freeze()
        copy.name = name
        self.line.release(history.keep(name, copy))

    def _freeze(self) -> Core[Checkpoint]:
        """A copy of the state as it is now."""
        line = self.line
        runner = yield from self._living()
        line.make_room()
        yield from self._see_files()
        self._go(ASKING)
        try:
            copy = yield from line.freeze(runner)
        except (Gone, ProtocolError) as error:
            raise CheckpointError((yield from self._died_freezing("", error))) from None
        except CheckpointError:
            self._go(IDLE)
            raise
        self._go(IDLE)
        return copy

    def _see_files(self) -> Core[None]:
        """The files as they are now are those of the state."""
        line = self.line
        if line.workspace is not None:
            try:
                line.history.see_files((yield from line.on_files(line.workspace.snapshot)))
            except WorkspaceError as error:
                raise CheckpointError(f"no checkpoint could be made: {error}") from None

    def _shared_copy(self) -> Core[Checkpoint]:
        """A copy of the state as it is now, for one user more: one that has parked already, or a new one."""
        if self.state is IDLE and self.overused is None:
            history = self.line.history
            for copy in history.copies_of(history.current):
                if (yield from copy.parked(monotonic())):
                    check_depth(copy.parent)
                    yield from self._see_files()
                    copy.users += 1
                    return copy
        return (yield from self._freeze())

    @exclusive
    def rollback(self, name: str | None) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last step. Returns the tool calls that cannot be undone."""
        if self.state is not IDLE:
            yield from self._recover()
        line = self.line
        state, copies = self._target(name)
        for copy in copies:
            if (yield from copy.parked(monotonic() + PARK_SECONDS)):
                line.history.parked(copy)
                break
        else:
            if name is not None:
                raise CheckpointError(f"the checkpoint {name!r} is gone (its process was killed)")
            if state.memory is not FRESH:
                raise CheckpointError(NO_LONGER_KEPT)
        since = list(self.tool_records.since(state.tool_calls))
        # Decided: whoever is interrupted from here on finds the session in that state.
        line.release(line.history.arrive(state))
        self._go(LOST)
        yield from line.stop()
        self._told_next += yield from self._restore(asked=True)
        if line.history.current.memory is not state.memory:
            told = "the state before the last step" if name is None else f"the checkpoint {name!r}"
            raise CheckpointError(f"{told} died while it was thawed; the session was restored")
        return since

    def _target(self, name: str | None) -> tuple[State, list[Checkpoint]]:
        """The state to go back to, and the copies of it. Raises `CheckpointError`."""
        history = self.line.history
        if name is not None:
            state, copy = history.find(name)
            return state, [copy]
        if history.current.before is None:
            raise CheckpointError(NOTHING_TO_UNDO)
        if self.policy.checkpoints == "off":
            raise CheckpointError("checkpoints are off in this session: roll back to a named checkpoint")
        state = history.before_last()
        return state, history.copies_of(state)

    @exclusive
    def branch(self, count: int, checkpoints: str | None = None) -> Core[list[SessionCore]]:
        """`count` new sessions that go on from the state as it is now. `checkpoints`: when theirs are made."""
        if not isinstance(count, int) or count < 1:
            raise ValueError("a session branches into at least one")
        policy = self.policy
        if checkpoints is not None:
            if checkpoints not in ("idle", "before-step", "off"):
                raise ValueError(f"checkpoints={checkpoints!r}: idle, before-step or off")
            policy = replace(policy, checkpoints=checkpoints)
        self.check_branches(count)
        copy = yield from self._shared_copy()
        branches: list[SessionCore] = []
        arrived = 0
        try:
            while arrived < count:
                if len(branches) < count and len(branches) - arrived < COMING:
                    branches.append(self.new_branch(policy))
                    yield from branches[-1].line.begin_branch(self.line, copy)
                else:
                    yield from branches[arrived].arrive(copy)
                    arrived += 1
        except BaseException:
            for branch in branches:
                yield from branch.close()
            raise
        finally:
            copy.release()
        return branches

    def check_branches(self, count: int) -> None:
        """Raises `CheckpointError` unless so many more branches of this session may live."""
        there, limit = len(self.line.lineage.sessions) - 1, self.policy.limits.branches
        if there + count <= limit:
            return
        rule = self.policy.origin("limits.branches")
        open_now = f" beside the {there} that are open" if there else ""
        raise CheckpointError(
            f"{count} branch{'' if count == 1 else 'es'} asked for{open_now}, {limit} allowed"
            f"{f' by {rule}' if rule else ''} (limits.branches); close some, or give the policy more"
        )

    def new_branch(self, policy: Policy) -> SessionCore:
        """A session that is to go on from the state as it is now: `begin_branch` of its line, then `arrive`."""
        branch = SessionCore(self.sandbox, policy)
        branch.mechanisms = self.mechanisms
        branch.step = self.step
        branch.tool_records = self.tool_records.copy()
        branch.toolbox = self.toolbox
        branch.label = self.label
        branch.template = self.template
        branch._sources = self._sources.copy()
        return branch

    def arrive(self, copy: Checkpoint) -> Core[None]:
        """Wait for the process of a branch, which was asked for."""
        self._told_next = list((yield from self.line.arrive_branch(copy)))
        self._meet_files()
        self._go(IDLE)
        self.sandbox.session_opened(self)

    def checkpoint_rows(self) -> list[CheckpointInfo]:
        return Rows(self.line.rows())

    def drop(self, name: str) -> None:
        """Give up a named checkpoint."""
        drive(self._drop(name))

    @exclusive
    def _drop(self, name: str) -> Core[None]:
        _, copy = self.line.history.find(name)
        dropped = self.line.history.drop(name)
        copy.name = None
        self.line.release(dropped)
        yield from ()

    def note(self, text: str, score: float | None) -> None:
        """A remark for the recording."""
        if self.recorder is not None:
            self.recorder.note(self, text, score)

    def pending(self) -> list[PendingCall]:
        """The deferred calls of host tools that have not been carried out, in order."""
        return [] if self.recorder is None else self.recorder.pending()

    @exclusive
    def carry_out(self) -> Core[list[str]]:
        """Carry them out. Returns what went wrong, in words."""
        return [] if self.recorder is None else (yield from self.recorder.carry_out())

    def history(self) -> Timeline:
        """What the recording says of this session and its branches. Raises `RecordingError` where there is none."""
        if self.recorder is None:
            raise RecordingError("this session is not recorded: open it with session(record=True), or with a path")
        return self.recorder.history()

    # For a plugin: a state of which each call gets a process of its own

    def park(self, name: str) -> Core[tuple[State, Checkpoint]]:
        """Name the state as it is now, and go on without a process of its own."""
        yield from self.checkpoint(name)
        return self.line.history.find(name)

    def leave(self, state: State, name: str) -> Channel | None:
        """Give up the running process without ending it, which is the caller's to do: the session is in `state`, whose
        checkpoint is called `name`.
        """
        runner, self.line.runner = self.line.runner, None
        if self.state is not LOST:
            self._go(LOST)
        self.line.release(self.line.history.arrive(state))
        if self.recorder is not None:
            self.recorder.left(self, name)
        return runner.channel if runner is not None else None

    def adopt(self, channel: Channel, origin: Checkpoint, output: tuple[OutputFile, OutputFile]) -> None:
        """Go on in a process that was thawed from `origin`, whose state the session is in, and writes to `output`."""
        self.line.adopt(channel, origin, *output)
        self._arrived()

    def end(self, channel: Channel) -> Core[None]:
        """End a process that was given up, and whatever it left behind."""
        yield from self.line.lineage.end_runner(channel, self.line)
        channel.close()

    # Variables

    @exclusive
    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        """Whether there is such a variable, and its value."""
        if not may_be_bound(name):
            return False, None
        runner = yield from self._living()
        self._go(ASKING)
        try:
            answer = yield from runner.ask(m.Fetch(name, arrays), m.Fetched)
            value = (yield from runner.deliver(answer.pending, arrays=arrays)) if answer.pending else None
        except (Gone, ProtocolError) as error:
            yield from self._lost(error)
        self._go(IDLE)
        if not answer.found:
            return False, None
        return True, value if answer.pending else decode_payload(self.policy.limits, answer.value, arrays=arrays)

    def assign(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        yield from self._change(self._assignment(name, value))

    def _assignment(self, name: str, value: Any) -> m.Assign:
        return m.Assign(name, encode_payload(self.policy.limits, name, value))

    def remove(self, name: str) -> Core[None]:
        """Unbind a variable. Raises KeyError."""
        if not may_be_bound(name):
            raise KeyError(f"no variable {name!r}")
        yield from self._change(m.Remove(name))

    @exclusive
    def _change(self, request: m.Assign | m.Remove) -> Core[None]:
        yield from self._changed(request)

    def _changed(self, request: m.Assign | m.Remove) -> Core[None]:
        try:
            answer = yield from self._tell(lambda runner, fds: runner.ask(request, m.Done, fds=fds))
        except (Gone, ProtocolError) as error:
            yield from self._lost(error)
        if answer.problem:
            raise KeyError(answer.problem)

    def _tell(self, ask: Callable[[Runner, tuple[int, ...]], Core[m.Done]]) -> Core[m.Done]:
        """Have the process change its variables: another version of the state that the session is in. `ask` is given
        the descriptors that go with the request.
        """
        line = self.line
        runner = yield from self._living()
        control = line.promise(line.history.current.step, change=True)
        self._go(ASKING)
        fds = () if control is None else (control.fileno(),)
        try:
            answer = yield from ask(runner, fds)
        finally:
            if control is not None:
                control.close()
        if control is not None:
            self.sandbox.gate.announce(runner.pid, alone=True)
        try:
            yield from line.commit_with_files(self.tool_records.total)
        finally:
            self._go(IDLE)
        return answer

    @exclusive
    def _ask(self, request: Any, kind: type) -> Core[Any]:
        return (yield from self._asked((yield from self._living()), request, kind))

    def _asked(self, runner: Runner, request: Any, kind: type) -> Core[Any]:
        self._go(ASKING)
        try:
            answer = yield from runner.ask(request, kind)
        except (Gone, ProtocolError) as error:
            yield from self._lost(error)
        self._go(IDLE)
        return answer

    def names(self) -> Core[list[str]]:
        return (yield from self._ask(m.ListNames(), m.Names)).names  # type: ignore[no-any-return]

    def variables(self) -> Core[list[Variable]]:
        described = yield from self._ask(m.Describe(), m.Described)
        return Rows(told_variables(described.variables))

    @exclusive
    def protection(self) -> Core[tuple[Mechanism, ...]]:
        """What holds this session, and what does not and why: as planned, and as its process finds when it tries what
        it must not be able to do.
        """
        rows = {row.name: row for row in self._planned()}
        for tried in (yield from self._self_test()):
            planned = rows.get(tried.name, tried)
            detail = tried.detail if planned is tried or not planned.detail else f"{planned.detail}; {tried.detail}"
            rows[tried.name] = Mechanism(tried.name, tried.active and planned.active, detail)
        return tuple(rows.values())

    def _self_test(self) -> Core[list[Mechanism]]:
        """One row per forbidden act; `active` where it was refused."""
        runner, gate = (yield from self._living()), self.sandbox.gate
        if (yield from self.line.secured(monotonic())):
            gate.withdraw(runner.pid)  # no checkpoint is due: what is left of an earlier leave is not the self-test's
        with gate.refusing(runner.pid):
            request = m.SelfTest(self.policy.limits.processes)
            return list((yield from self._asked(runner, request, m.Tested)).rows)

    # Durable states

    @exclusive
    def save(self, path: str | os.PathLike[str], timeout: float | None) -> Core[dict[str, str]]:
        """Write the variables and the workspace's files to a signed file. Returns the names that could not be saved,
        and why. Pickling runs code of the guest: the limits of a step hold.
        """
        from safeexec.host.files import state_file  # with hashlib and its like 10 ms

        limit = self._timeout(timeout)
        key, target = state_file.signing_key(), state_file.target(path)
        runner = yield from self._living()
        fd = os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            self._go(ASKING)
            try:
                answer = yield from self._watched(runner, m.Save(), m.Saved, (fd,), limit)
            except (Gone, ProtocolError) as error:
                yield from self._lost(error)
            if isinstance(answer, Verdict):
                became = "; ".join([answer.message, "the session was restored", *(yield from self._take_out())])
                raise StateFileError(f"the session could not be saved: {became}")
            self._go(IDLE)
            if answer.problem:
                raise StateFileError(f"the session could not be saved: {answer.problem}")
            files = yield from self._saved_files()
            digest, size = self.sandbox.policy.digest, os.fstat(fd).st_size
            header, failed = state_file.header_of(answer, size, files, self.policy, digest, self.step)
            yield Work(partial(state_file.write, target, header, self._open_file, fd, key))
        finally:
            # The child may have kept it, and no limit counts what it holds.
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            os.ftruncate(fd, 0)
            os.close(fd)
        return failed

    def _saved_files(self) -> Core[dict[str, os.stat_result]]:
        """What a saved state has of the workspace."""
        if (workspace := self.line.workspace) is None:
            return {}
        try:
            return (yield from self.line.on_files(workspace.listing))
        except WorkspaceError as error:
            raise StateFileError(f"the session could not be saved: {error}") from None

    def _open_file(self, name: str) -> int:
        """A descriptor of a file of the workspace, to be read."""
        assert self.line.workspace is not None
        return self.line.workspace.open(name, os.O_RDONLY)

    @exclusive
    def load(self, fd: int, timeout: float | None) -> Core[None]:
        """Bind the variables that a saved payload holds. It is unpickled in the child, whose confinement is what
        holds it, under the limits of a step.
        """
        limit = self._timeout(timeout)
        try:
            answer = yield from self._tell(lambda runner, fds: self._load(runner, (*fds, fd), limit))
        except (Gone, ProtocolError) as error:
            raise StateFileError(f"the process died while it restored the state: {error}") from None
        if answer.problem:
            raise StateFileError(f"the state could not be restored: {answer.problem}")
        self._meet_files()

    def _load(self, runner: Runner, fds: tuple[int, ...], seconds: float) -> Core[m.Done]:
        answer = yield from self._watched(runner, m.Load(), m.Done, fds, seconds)
        if isinstance(answer, Verdict):
            raise StateFileError(f"the state could not be restored: {answer.message}")
        return answer

    def _watched(
        self, runner: Runner, request: m.Save | m.Load, kind: type[A], fds: tuple[int, ...], seconds: float
    ) -> Core[A | Verdict]:
        """Send what runs guest code and is no step, and wait for its answer; the limits of a step hold, and `cancel`.
        A `Verdict` when one ends it: the process is left as it is then. Raises `Gone` or `ProtocolError`.
        """
        line, channel = self.line, runner.channel
        line.out.begin()
        line.err.begin()
        watch = Watch(channel, self.policy.limits, seconds, (line.out, line.err), self.sandbox.library)
        step = self._step = Step(0, line, runner, watch, self._answer_tool, NOBODY)
        try:
            yield from channel.send(request, fds)
            while (verdict := step.verdict or watch.look()) is None:
                try:
                    answer = yield from channel.receive(watch.next_look())
                except Gone:
                    if step.verdict is None:
                        raise
                    continue
                if isinstance(answer, kind):
                    return answer
                if answer is not None:
                    raise ProtocolError(f"{type(answer).__name__} came instead of {kind.__name__}")
            yield from step.secure(FREEZE_SECONDS)
            return verdict
        finally:
            step.close()

    # Files

    @exclusive
    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        """Run a program in the session's workspace. Its changes to the files are the session's."""
        from safeexec.host import commands  # with shutil 5 ms

        workspace = self.line.workspace
        if workspace is None:
            raise WorkspaceError(f"the policy {self.policy.name!r} gives no workspace to run a command in")
        place = workspace.path
        if directory not in ("", "."):
            os.close(workspace.open(directory, os.O_PATH | os.O_DIRECTORY))
            place = os.path.join(place, directory)
        self.commanding = True
        try:
            result = yield from commands.run(self.sandbox, argv, workspace, place, timeout, self.line.group)
        finally:
            self.commanding = False
        self.line.history.change_files((yield from self.line.on_files(workspace.snapshot_or_undo)))
        return result

    def read_file(self, name: str) -> bytes:
        """The bytes of a file of the workspace. Raises `WorkspaceError`."""
        return self._files().read(name, self.policy.limits.workspace_mb << 20)

    def write_file(self, name: str, data: bytes | str) -> None:
        """Put a file into the workspace; it belongs to the state as it is now. Raises `WorkspaceError`."""
        drive(self._write_file(name, as_bytes(data)))

    @exclusive
    def _write_file(self, name: str, data: bytes) -> Core[None]:
        workspace, history = self._files(), self.line.history
        path, files = yield Work(partial(workspace.write, name, data, history.current.files))
        history.change_files(files)
        if path in files:
            self._marks[path] = files[path].mark

    @exclusive
    def put_files(self, files: Mapping[str, str | bytes | os.PathLike[str]]) -> Core[None]:
        """Copy files of the host (paths), or bytes, into the workspace. Raises `WorkspaceError`, OSError."""
        workspace = self.line.workspace
        assert workspace is not None

        def put() -> Snapshot:
            for name, content in files.items():
                workspace.put(name, content)
            return workspace.snapshot()

        self.line.history.change_files((yield Work(put)))
        self._marks = workspace.marks

    def list_files(self) -> list[str]:
        """The names of the regular files of the workspace, sorted."""
        return self._files().names()

    def _files(self) -> Workspace:
        """The workspace. Raises `SessionClosed`, or `WorkspaceError` where there is none."""
        if self._why_closed is not None:
            raise SessionClosed(CLOSED_HERE)
        if self.line.workspace is None:
            raise WorkspaceError(
                f"the policy {self.policy.name!r} gives sessions no workspace "
                f"(filesystem.workspace, {self.policy.origin('filesystem.workspace') or 'not set'})"
            )
        return self.line.workspace
