"""A session without its I/O: what an API offers, as generators that the API drives. Nothing here blocks.

A session is put together from parts: a `Turn` says who uses it, `SessionProcesses` has its processes and by its
`History` the way back, a `Supervisor` knows what it is in the middle of, has a process ready and brings the state back,
a `Step` is the request that runs. This module calls them in their order.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar
from weakref import ref

from msgspec import Struct
from msgspec.structs import replace

from safeexec.common.text import as_bytes, spelt
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.checkpoints import Checkpoint, check_name, rows_of
from safeexec.engine.host.session.decode import frames_of, may_be_bound, restored, variables_of
from safeexec.engine.host.session.history import NO_LONGER_KEPT, NOTHING_TO_UNDO, State
from safeexec.engine.host.session.listeners import NOBODY, Listeners, listening
from safeexec.engine.host.session.processes import FREEZE_SECONDS, SessionProcesses, wait_for
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.session.standard_input import Given, StandardInput, checked_arguments
from safeexec.engine.host.session.step import (
    SECURE_SECONDS,
    Step,
    arguments_for,
    checked_query,
    checked_source,
    timeout_of,
)
from safeexec.engine.host.session.supervisor import (
    ASKING,
    CLOSED,
    CLOSED_MEANWHILE,
    IDLE,
    RESTING,
    STEPPING,
    Supervisor,
)
from safeexec.engine.host.session.tool_calls import StepCalls, ToolLog
from safeexec.engine.host.waiting import (
    AT_ONCE,
    BRIEF_SECONDS,
    Core,
    Wait,
    Work,
    apart,
    drive,
    ending,
    patiently,
    weight,
)
from safeexec.engine.host.watch import accountant, groups, lineage
from safeexec.engine.host.watch.account import Period
from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.host.watch.clock import Place
from safeexec.engine.host.watch.verdict import Verdict, too_much_in_files
from safeexec.engine.host.watch.watched import WatchedSession
from safeexec.errors import (
    CheckpointError,
    ProtocolError,
    RecordingError,
    SessionBusy,
    SessionClosed,
    WorkspaceError,
)
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_payload
from safeexec.protocol.confinement import Mechanism
from safeexec.results import CheckpointInfo, ErrorInfo, Result, Rows, ToolCallRecord, Variable

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Snapshot, Workspace
    from safeexec.engine.host.session.interfaces import (
        HasEffects,
        KeepsSession,
        RecordsSession,
        SandboxInterface,
        ToolAnswers,
    )
    from safeexec.engine.host.session.listeners import Callbacks
    from safeexec.engine.host.session.saving import Saving
    from safeexec.engine.host.session.spare import Spare
    from safeexec.engine.host.session.tool_calls import AnswersAgain
    from safeexec.engine.host.tools.answers import PutOff
    from safeexec.engine.host.tools.toolbox import PendingCall
    from safeexec.engine.host.waiting import First
    from safeexec.engine.policy.model import Policy
    from safeexec.results import CommandResult
    from safeexec.results.outcomes import Frame

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="SessionCore")

REST_SECONDS = 0.5
"""How long a session must be idle before it rests, which costs the next step 4 ms."""
STEP_SECONDS = 0.05
"""How long it must be idle for each step of its journal: the next use repeats them, in 0.1 to 0.2 ms each."""
COMING = 8
"""Processes of branches that are asked for at a time: the copy forks the next one while these start."""
CLOSED_HERE = "the session is closed"
CLOSED_WITH_SANDBOX = "the sandbox was closed, and this session with it"
NOT_UNDONE = "checkpoints are off, so what the step did before it failed was not undone"
NOT_RUN = "the step was not run: steps before it are lost, as they came out otherwise when they were repeated"
CANNOT_UNDO = "the state before this step has no checkpoint: this step cannot be rolled back"
NO_GROUP = "not needed, as its guests may start no process, or no group could be made for this session"
SHARED = (
    "sessions of the template {!r} and their branches share what forks share: a user, a process group, a limit on "
    "processes, the Landlock domain of their first process; when one is stopped, all pause. Give each principal a "
    "template of its own"
)
_numbers = count(1)


class Turn(Struct, eq=False):
    """One caller's use of a session: a second caller is refused at once.

    No lock is held, for none could be lost: a turn is a generator of the core, and lasts exactly as long as that runs
    or waits. However it ends, by returning, by an exception of a signal handler at any byte code, or by being
    forgotten, the next caller finds it ended.
    """

    brief: bool = False
    """Whether it is the host's own and soon over, so that others wait for it."""
    thread: int = 0
    """The thread that began it."""
    core: Callable[[], Any] = lambda: None
    """Gives the generator whose life is that of the turn, as long as it lives."""
    next: First[Turn] = {}
    """The turn that follows, once there is one."""

    @property
    def goes_on(self) -> bool:
        """Whether its generator runs, or waits for something."""
        core = self.core()
        return core is not None and (core.gi_running or core.gi_suspended)


def exclusive(operation: Callable[Concatenate[S, P], Core[R]]) -> Callable[Concatenate[S, P], Core[R]]:
    """Return an operation that has the session to itself, from its start to its end, however it ends."""

    @wraps(operation)
    def begin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Core[R]:
        turn = Turn()
        if self.recorder is None:
            work = operation(self, *args, **kwargs)
        else:
            work = self.recorder.follow(operation, self, args, kwargs)
        if self.effects is not None:
            work = self.effects.follow(operation.__name__, work)
        core = self._in_turn(turn, work)
        turn.core = ref(core)
        return core

    return begin


_BUSY = (
    "a step of this session is running in another thread or task; wait for it with run(..., wait=seconds), use a "
    "session per thread, or branch"
)


class SessionCore:
    """One lineage of guest state: variables, files, checkpoints. One user at a time; `cancel` is for any thread."""

    def __init__(self, sandbox: SandboxInterface, policy: Policy, spare: Spare | None = None) -> None:
        self.sandbox = sandbox
        self.policy = policy
        self.processes = SessionProcesses(sandbox, policy, spare)
        self.supervisor = Supervisor(sandbox, self.processes)
        self.mechanisms: list[Mechanism] = []
        self.toolbox: ToolAnswers = sandbox.toolbox
        self.tells_frames = False
        """Whether an error leaves the variables of the functions that were running in `frames`."""
        self.frames: list[Frame] = []
        self.recorder: RecordsSession | None = None
        """Writes down what is done here, where that is asked for."""
        self.durable: KeepsSession | None = None
        """Keeps it in a store, where there is one."""
        self.effects: HasEffects | None = None
        """The calls of its tools that have effects, where there are such tools."""
        self.identity = ""
        """What the keys of its tools' calls begin with: the same wherever it goes on."""
        self.call_key = ""
        """The key of the call that is made, where calls are written down."""
        self.fingerprint: tuple[int, float] | None = None
        """A number for what the last step did, and its CPU milliseconds; None where no other process could repeat it.
        """
        self.files_changed = False
        """Whether the host has changed files, for whoever writes that down."""
        self.calls_of_step = 0
        self.calls: StepCalls | None = None
        """The calls of the step that runs, where it may wait for the answer to one."""
        self.waiting: Any = None
        """The step that waits, until it has its answer or the time for that is over."""
        self.calls_before_waiting = 0
        """How many calls there had been before the step that waits."""
        self.step = 0
        """The number of the last step."""
        self.more = False
        """Whether the last call returned a generator that goes on."""
        self.held = False
        """Whether the child keeps what the last call returned, which cannot cross."""
        self.threads = False
        """Whether threads ran in the last step."""
        self.has_branched = False
        """Whether there have been branches of it, which know where its files are."""
        self.told_cpu = 0.0
        """CPU seconds that results have told of."""
        self.number = next(_numbers)
        self.label: str | None = None
        """Whose session it is, in the words of the host: for its audit log."""
        self.template: str | None = None
        """The name of the template that the session, or the one that it branched from, began with."""
        self.code = b""
        """The source of the plugin that is loaded."""
        self.used = monotonic()
        """When the session was last used."""
        self.rested = self.used
        """The use after which it last began to rest, as `used` was then."""
        self.watched = WatchedSession(self)
        self.callers = 0
        """How many hold it."""
        self.unowned = False
        """Whether no caller has it any more."""
        self.rests = False
        """Whether it has no process until its next use, and nothing that only a process needs."""
        self.commanding = False
        """Whether a command runs in its control group."""
        self._turn = Turn()

    # Turns and states

    def _in_turn(self, turn: Turn, work: Core[R]) -> Core[R]:
        """Do `work` in `turn`."""
        while True:
            if (why := self.supervisor.why_closed) is not None:
                raise SessionClosed(why)
            if self._take(turn):
                break
            if not self._turn.brief:
                raise SessionBusy(_BUSY)
            yield Wait((), monotonic() + BRIEF_SECONDS)
        if self.watched.idle:
            self.watched.wake()
        if self.rests:
            self.sandbox.session_wakes(self)
            self.rests = False
        try:
            if self.durable is not None:
                yield from self.durable.ensure_resumed(self)
            return (yield from work)
        finally:
            self.used = monotonic()
            if self.supervisor.why_closed is not None:
                self._end_at_once()

    def check_free(self) -> None:
        """Raises `SessionClosed`, and `SessionBusy` while another caller uses the session."""
        if (why := self.supervisor.why_closed) is not None:
            raise SessionClosed(why)
        if self._turn.goes_on and not self._turn.brief:
            raise SessionBusy(_BUSY)

    def _take(self, turn: Turn) -> bool:
        """Tell whether it is `turn`'s now."""
        while not (last := self._turn).goes_on:
            turn.thread = threading.get_ident()
            self._turn = last.next.setdefault(None, turn)  # or whoever was faster
            if self._turn is turn:
                return True
        return False

    @property
    def in_use(self) -> bool:
        """Whether a caller has a turn. From any thread."""
        return self._turn.goes_on

    patiently = staticmethod(patiently)

    def attend(self, look: Callable[[], Core[None]]) -> Core[None]:
        """Do `look`, of the host's own watch, if nobody uses the session. A caller who comes meanwhile waits for it."""
        turn = Turn(brief=True)
        core = self._attend(turn, look)
        turn.core = ref(core)
        return core

    def _attend(self, turn: Turn, look: Callable[[], Core[None]]) -> Core[None]:
        if self.supervisor.why_closed is not None or not self._take(turn):
            return
        try:
            yield from look()
        finally:
            if self.closed:
                # Who closed it meanwhile may have waited long enough and gone: nobody else would end what there is.
                yield from self._end_and_wait()

    # Opening and closing

    def open(self) -> Core[None]:
        """Get a child and wait until it is locked down."""
        try:
            yield from self.processes.begin()
            self.mechanisms = self.sandbox.mechanisms
            self.supervisor.arrived()
        except BaseException:
            yield from self.close()
            raise

    def close(self, why: str = CLOSED_HERE) -> Core[None]:
        """End every process of the session and remove its files. Harmless when closed already. What a store keeps of
        it stays.
        """
        if self.durable is not None:
            yield from self.attend(partial(self.durable.flush, self))
        yield from self._close(why)

    def close_if_idle(self, seconds: float) -> Core[None]:
        """Close the session if nobody has used it for `seconds`, or leave it to its store."""
        if self._turn.goes_on or monotonic() - self.used < seconds:
            return
        if self.durable is not None and not self.unowned:
            yield from self.attend(partial(self.durable.suspend, self))
            return
        why = "when no caller had it any more" if self.unowned else f"after {seconds:g} s without use (idle_seconds)"
        yield from self.close(f"the session was closed {why}")

    def begin_close(self) -> None:
        """Do the first half of `close`, which waits for nothing, as the sandbox is being closed. If nobody uses the
        session, its processes are killed.
        """
        if self.supervisor.why_closed is None:
            self.supervisor.why_closed = CLOSED_WITH_SANDBOX
            if not self._turn.goes_on:
                self.processes.kill_all()

    def _close(self, why: str) -> Core[None]:
        turn = Turn(brief=True)
        core = self._close_in_turn(turn, why)
        turn.core = ref(core)
        return core

    def _close_in_turn(self, turn: Turn, why: str) -> Core[None]:
        """Close it as soon as it is `turn`'s; whoever uses it meanwhile is made to end."""
        if self.supervisor.why_closed is None:
            self.supervisor.why_closed = why
        deadline = monotonic() + lineage.KILL_SECONDS
        while self.supervisor.state is not CLOSED:
            if self._take(turn):
                yield from self._end_and_wait()
                return
            # In use: the step that runs is ended, and whoever uses the session lets go of it.
            if self.cancel(CLOSED_MEANWHILE) and (runner := self.processes.runner) is not None:
                runner.channel.kill()
            if self._turn.thread == threading.get_ident():
                return
            if monotonic() >= deadline:
                self.processes.kill_all()
                return
            yield Wait((), monotonic() + BRIEF_SECONDS)

    def _end_and_wait(self) -> Core[None]:
        """End everything, wait until it has gone, and remove what it leaves. By who has the turn."""
        yield from wait_for(self.processes.end_processes())
        # It holds files: they are closed now, and not when the garbage collector runs.
        self.supervisor.doing = None
        if (workspace := self.processes.workspace) is not None:
            yield from self.processes.on_files(workspace.close)
        self._end_at_once()

    def _end_at_once(self) -> None:
        """Close without waiting, where the session was closed while it was in use."""
        if self.supervisor.state is not CLOSED:
            for process in self.processes.end_processes():
                os.close(process)
            self.processes.close()
            self.supervisor.state = CLOSED
            self.sandbox.session_closed(self)

    def forget(self) -> None:
        """Close the copies of descriptors in a fork of the process that has the session. Ends nothing."""
        self.supervisor.why_closed = "the session was opened before the process forked; open one in each worker"
        self.supervisor.state = CLOSED
        self.processes.forget()

    @property
    def closed(self) -> bool:
        return self.supervisor.why_closed is not None

    @property
    def untold_cpu(self) -> float:
        """CPU seconds that no result has told of, as of the last look: of threads that a step has left running, of
        variables that were described.
        """
        return max(0.0, self.watched.account.total_seconds - self.told_cpu)

    @property
    def summary(self) -> str:
        """The session in a few words: ``3 of 'calculator', step 12, idle``."""
        label = f" ({self.label})" if self.label else ""
        return f"{self.number}{label} of {self.policy.name!r}, step {self.step}, {self.supervisor.state}"

    # What others ask of it

    @property
    def tool_records(self) -> ToolLog:
        """The calls of host tools that steps have made."""
        return self.supervisor.tool_records

    @property
    def bill(self) -> Bill:
        """What the host spends for it."""
        return self.processes.bill

    @property
    def workspace(self) -> Workspace | None:
        return self.processes.workspace

    def card(self, format: Literal["text", "markdown", "json"]) -> str:
        """Return the policy and the host's tools, for a model's prompt."""
        if self.policy is self.sandbox.policy:
            return self.sandbox.card(format)
        return self.policy.card(format, tools=self.sandbox.toolbox.tools.values())

    def add_sources(self, label: str, modules: Iterable[tuple[str, str]]) -> None:
        """Keep the sources of a plugin for tracebacks of calls that are killed. The first one is the main module."""
        for index, (name, source) in enumerate(modules):
            self.supervisor.sources[f"<plugin {label}:{name}>" if index else f"<plugin {label}>"] = source

    # While it is idle

    def can_rest(self) -> bool:
        """Tell whether nobody has used the session for so long that it is worth giving up what the next use needs."""
        return (
            self.rested != self.used
            and monotonic() - self.used >= max(REST_SECONDS, STEP_SECONDS * self.processes.history.current.memory.depth)
            and self.policy.checkpoints == "idle"
        )

    def rest(self) -> Core[None]:
        """Give up its process, or at least memory, while it is idle."""
        self.rested = self.used
        if self.durable is not None:
            yield from self.durable.flush(self)
        yield from self.supervisor.rest()
        if self.supervisor.state is RESTING:
            self.rests = True
            self.sandbox.session_rests(self)

    def next_key(self) -> str:
        """Return the key of the call of a tool that comes next."""
        self.identity = self.identity or os.urandom(8).hex()
        return f"{self.identity}-{self.step}-{self.calls_of_step + 1}"

    @exclusive
    def arouse(self) -> Core[None]:
        """Resume the session if it is suspended."""
        yield from ()  # taking the turn has: `_in_turn`

    def watch_anew(self) -> None:
        """It has other processes, and what they use counts from now on."""
        self.watched = WatchedSession(self)

    def abandon(self) -> None:
        """Count one caller fewer; with the last one it is to be closed soon."""
        self.callers -= 1
        if self.callers <= 0:
            self.unowned = True
            self.sandbox.look_after(self)

    # Steps

    @exclusive
    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        callbacks: Callbacks = NOBODY,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
        earlier_answers: AnswersAgain | None = None,
    ) -> Core[Result]:
        """Run one step and give its result. `callbacks` hear of it while it runs. `namespace`: what to set
        before. `earlier_answers`: to the calls of a step that has waited, and goes on.
        """
        if self.waiting is not None or earlier_answers is not None:
            self.check_waiting(earlier_answers)
        check = partial(checked_source, self.policy, source)
        text, refusal = (yield Work(check)) if type(source) is str and len(source) > AT_ONCE else check()
        limit = timeout_of(self.policy, timeout)
        arguments = None if argv is None else checked_arguments(argv)
        listeners = listening(callbacks) if any(callbacks) else NOBODY  # most steps have none: those cost nothing
        if refusal is not None:
            return (yield from self._refused(text, refusal))
        if namespace:
            assignments = []
            for name, value in dict(namespace).items():
                assignments.append((yield from self._assignment(name, value)))
            for assignment in assignments:
                yield from self._changed(assignment)
        self.step += 1
        self.supervisor.sources.add(self.step, source)
        if earlier_answers is not None:
            self.tool_records.forget_since(self.calls_before_waiting)
        if self.sandbox.toolbox.tools:
            self.calls = StepCalls(source, timeout, atomic, stdin, argv, earlier_answers)
        request = m.Execute(
            self.step,
            text,
            stdin=stdin is not None,
            argv=arguments,
            shows=listeners.display is not None,
            frames=self.tells_frames,
            copied=self.processes.must_copy(text),
            judged=self.policy.checkpoints == "idle",
        )
        try:
            if stdin is None:
                result = yield from self._act(request, self.step, limit, atomic, listeners)
            else:
                result = yield from self._fed(StandardInput(stdin), request, limit, atomic, listeners)
        finally:
            self.calls = None
        return self._told(text, result)

    def put_off(self, call: m.ToolRequest, later: PutOff) -> Core[str]:
        """Have the step that runs end, to wait for the answer to this call. Returns why it cannot wait, or "".
        Hook: `RecordedSession` overrides it.
        """
        yield from ()
        return "nothing here keeps a step that waits"

    def check_waiting(self, earlier_answers: AnswersAgain | None = None) -> None:
        """Hook: `RecordedSession` overrides it, and raises `StepWaiting` where a step waits, but to answer that one."""

    def secured(self) -> Core[None]:
        """Wait until what its recording was told is written down, where there is one."""
        if self.recorder is not None:
            yield from self.recorder.secured(intent=True)

    def _refused(self, text: bytes, refusal: ErrorInfo) -> Core[Result]:
        """Take in a step that is not sent. It counts, and is told, as any other that the policy rejects."""
        if self.supervisor.state is not IDLE:
            yield from self.supervisor.finish_interrupted()
        self.step += 1
        self.supervisor.sources.last = ""
        self.processes.release(self.processes.history.pass_over(self.step))
        return self._told(text, Result(outcome="rejected", error=refusal, step=self.step))

    def _told(self, source: bytes | None, result: Result, call: str | None = None) -> Result:
        """Return the result of a step as its caller is told it: with what happened while nobody used the session.
        The observer hears of it where it has a `source`, which was run as a whole, or by a `call` of what it defines.
        """
        self.told_cpu += result.usage.cpu_ms / 1000
        if notes := self.supervisor.notes_next:
            self.supervisor.notes_next = []
            result = replace(result, notes=(*notes, *result.notes))
        if source is not None and (observer := self.sandbox.observer) is not None:
            observer.step_done(self, source, result, call)
        return result

    def _fed(
        self, given: StandardInput, request: m.Execute, timeout: float, atomic: bool, listeners: Listeners
    ) -> Core[Result]:
        """Have a step done that reads what the host gives it."""
        try:
            yield from apart(given.size, given.fill)
            result = yield from self._act(request, self.step, timeout, atomic, listeners, given)
        finally:
            problem = yield from ending(given.size, given.close)
        if problem is not None:
            result = replace(result, notes=(*result.notes, f"the standard input ended early: {problem}"))
        return result

    @exclusive
    def check(self, source: str, stdin: bool) -> Core[Result]:
        """Return what the policy refuses in `source`; nothing runs. The child parses: a source can exhaust a parser."""
        text, refusal = yield from apart(weight(source), partial(checked_source, self.policy, source))
        if refusal is not None:
            return Result(outcome="rejected", error=refusal, step=self.step)
        return (yield from self._act(m.Compile(text, stdin), 0, timeout_of(self.policy, None), False))

    def invoke(
        self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, timeout: float | None = None, **how: Any
    ) -> Core[Result]:
        """Call an object of the namespace with values of the host, as a step. `how`: the other fields of `Invoke`."""
        encoding = partial(arguments_for, path, args, kwargs, self.policy.limits)
        arguments = yield from apart(weight(args) + weight(kwargs), encoding)
        return (yield from self.perform(lambda step: m.Invoke(step, path, arguments, **how), timeout=timeout))

    @exclusive
    def perform(
        self, make: Callable[[int], m.Invoke | m.Install | m.Proceed | m.Query], *, timeout: float | None = None
    ) -> Core[Result]:
        """Send the request that `make` builds for the number of the next step, and give its result."""
        self.check_waiting()
        limit = timeout_of(self.policy, timeout)
        self.step += 1
        self.supervisor.sources.last = ""
        request = make(self.step)
        result = yield from self._act(request, self.step, limit, atomic=False)
        return self._told(self.code, result, request.path) if type(request) is m.Invoke else self._told(None, result)

    def sql(self, query: str, name: str | None, timeout: float | None) -> Core[Result]:
        """Run one SQL query as a step; a result is bound to the variable `name`, if there is one."""
        text = yield from apart(weight(query), partial(checked_query, query, name))
        bound = None if name is None else spelt(name)
        return (yield from self.perform(lambda step: m.Query(step, text, bound), timeout=timeout))

    def _act(
        self,
        request: m.Execute | m.Invoke | m.Install | m.Proceed | m.Query | m.Compile,
        number: int,
        timeout: float,
        atomic: bool,
        listeners: Listeners = NOBODY,
        given: StandardInput | None = None,
    ) -> Core[Result]:
        """Do step `number` (0: a check, which changes nothing) and return its result. It ends in one of these ways:

        | what ended it | where | the state then |
        | --- | --- | --- |
        | nothing: steps before it were lost | `_not_run` | as it was |
        | its own end, well or with an error | `_answered` | with the step, or undone where errors undo it |
        | the host: a limit, `cancel`, a call that has to wait | `_ended` | restored |
        | its process died, or broke the protocol | `_crashed` | restored |
        | its caller was interrupted: Ctrl-C, a cancelled task | `_interrupted` | undone, and the exception goes on |
        | nobody drives it any more | `_let_go` | undone by the next call: `Supervisor.finish_interrupted` |
        """
        processes, runner = self.processes, self.processes.runner
        supervisor, woke = self.supervisor, 0.0
        if runner is None or supervisor.diverged or not supervisor.settled:
            began = monotonic()
            runner = yield from supervisor.ready_runner(step=True)
            woke = monotonic() - began
            if supervisor.take_diverged():
                return self._not_run()
        if number and self.has_branched:
            yield from self._own_files()
        copy_socket = processes.begin_state(number) if number else None
        supervisor.transition(STEPPING)
        self.calls_of_step, calls_before = 0, supervisor.tool_records.total
        room = None if processes.workspace is None else self.watched.room
        step = supervisor.begin_step(number, runner, timeout, room, self._answer_tool, listeners, woke)
        try:
            end = yield from step.run(request, copy_socket, given)
            calls = self.calls
            if calls is not None and calls.earlier_answers is not None and not isinstance(end, Verdict):
                end = calls.earlier_answers.unmade() or end
            if number and processes.workspace is not None and not isinstance(end, Verdict):
                end = (yield from self._count_files(processes.workspace, step)) or end
            # A `cancel` that returned True must win, even if the step has ended meanwhile.
            end = step.close() or end
        except (Gone, ProtocolError) as error:
            return (yield from self._crashed(step, error, calls_before))
        except GeneratorExit:
            self._let_go(step)
            raise
        except BaseException:
            yield from self._interrupted(step)
            raise
        if isinstance(end, Verdict):
            return (yield from self._ended(step, end, (yield from step.where()), calls_before))
        result = yield from self._answered(step, request, end, calls_before, atomic)
        if listeners is not NOBODY:
            step.stream_rest()
        if number == 1:
            self.sandbox.session_began()
        return result

    def _not_run(self) -> Result:
        result = Result("crashed", error=ErrorInfo("StepKilled", NOT_RUN), step=self.step, state="diverged")
        return replace(result, remaining=self.supervisor.remaining())

    def _answered(self, step: Step, request: Any, done: m.StepDone, calls_before: int, atomic: bool) -> Core[Result]:
        """Return the result of a step that its process has answered, once it is part of the session, or is undone.
        `calls_before`: how many calls of tools there were before it.
        """
        supervisor, log = self.supervisor, self.supervisor.tool_records
        records = log.since(calls_before) if log.total != calls_before else ()
        self.more, self.held, self.threads = done.more, done.held, done.threads
        if self.tells_frames:
            self.frames = frames_of(done.frames)
        self.fingerprint = (done.did, step.cpu * 1000) if done.again and not records else None
        result = step.result(done, self.step, records)
        if step.number:
            must_go = done.outcome not in ("ok", "rejected") and (atomic or self.policy.on_error == "restore")
            if must_go:
                result = yield from self._undone(result)
            else:
                repeatable = self.policy.checkpoints == "idle" and not (done.due or records)
                result = self._kept(result, request if repeatable else None, done.did)
        if supervisor.state is STEPPING:
            supervisor.transition(IDLE)
        return result

    def _own_files(self) -> Core[None]:
        """Put the files back as they are in the state: a branch may have changed modes and times, which Landlock does
        not cover. Not where threads of the guest may have written meanwhile.
        """
        processes, files = self.processes, self.processes.history.current.files
        if processes.workspace is not None and files is not None and not self.threads:
            processes.workspace.give_access()
            problems = yield from processes.on_files(partial(processes.workspace.restore, files), files)
            self.supervisor.notes_next += problems
            self.supervisor.refresh_file_baseline()

    def _answer_tool(self, call: m.ToolRequest, deadline: float | None) -> Core[m.ToolReply]:
        return self.toolbox.answer(call, self, deadline)

    def _count_files(self, workspace: Workspace, step: Step) -> Core[Verdict | None]:
        """Take in the files that the step leaves. The verdict if it has filled the workspace between two looks."""
        try:
            if self.policy.checkpoints != "off":
                step.files = yield from self.processes.on_files(workspace.snapshot)
                step.marks = workspace.marks
            else:
                step.marks = yield from self.processes.on_files(workspace.marks_now)
        except WorkspaceError as error:
            return too_much_in_files(error)
        return None

    def _kept(self, result: Result, repeatable_request: Any = None, did: int = 0) -> Result:
        """Make the step part of the session. `repeatable_request`: if it can be repeated, and will do `did` again."""
        processes, step = self.processes, self.supervisor.doing
        assert step is not None
        repeats = processes.commit(step.files, self.supervisor.tool_records.total, repeatable_request, did)
        notes = result.notes
        if self.policy.checkpoints != "off":
            self.sandbox.steps["journalled" if repeats else "copied"] += 1
            if not repeats and not processes.history.undoable:
                notes = (*notes, CANNOT_UNDO)
        workspace = processes.workspace
        files = workspace.changes(self.supervisor.marks, step.marks) if workspace is not None else ()
        self.supervisor.marks = step.marks
        if files or notes is not result.notes:
            result = replace(result, files=files, notes=notes)
        return result

    def _undone(self, result: Result) -> Core[Result]:
        """Undo a step that failed: it leaves no trace."""
        processes = self.processes
        if self.policy.checkpoints == "off" and next(processes.history.ways_back(), None) is None:
            # To go back to nothing would lose more than what the step has done.
            return self._kept(replace(result, notes=(*result.notes, NOT_UNDONE)))
        step = self.supervisor.doing
        assert step is not None
        workspace = processes.workspace
        if workspace is not None and (files := workspace.changes(self.supervisor.marks, step.marks)):
            result = replace(result, files=files)
        notes = yield from self.supervisor.undo_step()
        return restored(result, notes, self.supervisor.remaining(), self.supervisor.take_diverged())

    def _crashed(self, step: Step, error: Exception, calls_before: int) -> Core[Result]:
        """Return the result of a step whose process died, or broke the protocol: the first cause that is known."""
        found = yield from step.died(error)
        # A look may have found it before the step, and ended the process late; a value that was announced before the
        # deadline may not have come by then.
        verdict = step.close() or self.supervisor.idle_violation or step.watch.exceeded()
        if verdict is None and not self.sandbox.alive:
            yield from self.supervisor.stop()
            raise SessionClosed("the zygote of this sandbox died and took the session with it; reopen the sandbox")
        if verdict is None and self.processes.ran_out_of_memory():
            limit = self.policy.limits.memory_mb
            verdict = Verdict(
                "memory", f"the kernel ended a process: the session held too much; limits.memory_mb is {limit}"
            )
        return (yield from self._ended(step, verdict or found, Place(), calls_before))

    def _ended(self, step: Step, verdict: Verdict, place: Place, calls_before: int) -> Core[Result]:
        """Return the result of a step that was killed or died, after the state before it has been brought back."""
        yield from self.supervisor.stop()
        records = self.supervisor.tool_records.since(calls_before)
        result = step.killed(verdict, place, self.supervisor.sources, self.step, records)
        notes = yield from self.supervisor.restore_after_step()
        return restored(result, notes, self.supervisor.remaining(), self.supervisor.take_diverged())

    def _interrupted(self, step: Step) -> Core[None]:
        """Undo a step whose caller was interrupted. A callback that raises is one way."""
        step.close()
        yield from step.secure(SECURE_SECONDS)
        self.supervisor.notes_next += yield from self.supervisor.undo_step()

    def _let_go(self, step: Step) -> None:
        """Let go of a step that nobody drives any more: nothing can be waited for. Its process ends at once, unless the
        copy of the state before it may still be coming from there.
        """
        step.hand_in(Verdict("cancelled", "nobody waits for the step any more"))
        history, runner = self.processes.history, self.processes.runner
        if runner is not None and all(copy.seen() is not None for copy in history.copies_of(history.current.memory)):
            runner.channel.kill()

    # Ending a step, and what the watch asks of it: from any thread

    def cancel(self, why: str = "the step was cancelled by the host") -> bool:
        """Stop the running step from another thread; the session goes on. Whether there was one."""
        step = self.supervisor.doing
        return step is not None and step.hand_in(Verdict("cancelled", why))

    def exceed(self, verdict: Verdict) -> bool:
        """End the step for what the session uses. False: no caller ends it, so its processes are to be killed here.
        From the accountant's thread.
        """
        step = self.supervisor.doing
        if step is not None and step.hand_in(verdict):
            return not (step.in_tool or step.listening)
        self.supervisor.idle_violation = verdict
        return False

    def overdue(self) -> Verdict | None:
        """Return the verdict on a step that is past its deadline, where its caller does not end it. From any thread."""
        step = self.supervisor.doing
        return None if step is None else step.overdue()

    def period(self) -> Period:
        """Return the step that runs, or else the use or the rest that goes on. From any thread."""
        step = self.supervisor.doing
        if step is not None and not step.closed:
            return Period(step.watch.started, step.runner_pid, step.watch.cpu_start)
        return Period((self.used, self._turn.goes_on))

    @property
    def forks_requested(self) -> int:
        """How many processes its runner may have been asked to make, beside the copies that were promised."""
        return 1 if self.supervisor.state is ASKING else 0

    # Checkpoints

    @exclusive
    def checkpoint(self, name: str) -> Core[None]:
        """Keep the state as it is now under `name`."""
        check_name(name)
        history, limit = self.processes.history, self.policy.limits.checkpoints
        if name not in history.named and len(history.named) >= limit:
            raise CheckpointError(
                f"this session already has {len(history.named)} named checkpoints, and limits.checkpoints allows "
                f"{limit}; drop one first: {', '.join(history.named)}"
            )
        copy = yield from self.supervisor.new_copy()
        copy.name = name
        self.processes.release(history.keep(name, copy))

    @exclusive
    def rollback(self, name: str | None, steps: int) -> Core[list[ToolCallRecord]]:
        """Go back to a named checkpoint, or to before the last `steps` steps. Returns the tool calls that cannot be
        undone.
        """
        if not isinstance(steps, int) or steps < 1 or (name is not None and steps != 1):
            raise ValueError(f"steps={steps!r}: a number of steps from 1 on, without a name")
        self.check_waiting()
        if self.supervisor.state is not IDLE and self.supervisor.state is not RESTING:
            yield from self.supervisor.finish_interrupted()
        processes = self.processes
        state, copies = self._target(name, steps)
        for copy in copies:
            if (yield from copy.has_frozen(monotonic() + patient(FREEZE_SECONDS))):
                processes.history.note_frozen(copy)
                break
        else:
            if name is not None:
                raise CheckpointError(f"the checkpoint {name!r} is gone (its process was killed)")
            if copies:
                raise CheckpointError(NO_LONGER_KEPT)
        since = list(self.supervisor.tool_records.since(state.tool_calls))
        # Decided: whoever is interrupted from here on finds the session in that state.
        processes.release(processes.history.arrive(state))
        yield from self.supervisor.stop()
        notes = yield from self.supervisor.restore(asked=True)
        self.supervisor.notes_next += notes
        if self.supervisor.take_diverged() or processes.history.current.memory is not state.memory:
            what = "the state before the last step" if name is None else f"the checkpoint {name!r}"
            raise CheckpointError(f"{what} could not be brought back; {self.supervisor.became(notes)}")
        return since

    def _target(self, name: str | None, steps: int) -> tuple[State, list[Checkpoint]]:
        """Return the state to go back to, and the copies of it. Raises `CheckpointError`."""
        history = self.processes.history
        if name is not None:
            state, copy = history.find(name)
            return state, [copy]
        if history.current.undo_to is None:
            raise CheckpointError(NOTHING_TO_UNDO)
        if self.policy.checkpoints == "off":
            raise CheckpointError("checkpoints are off in this session: roll back to a named checkpoint")
        state = history.before_last(steps)
        return state, history.copies_below(state)

    @exclusive
    def branch(self, count: int, checkpoints: str | None = None) -> Core[list[SessionCore]]:
        """Return `count` new sessions that go on from the state as it is now. `checkpoints`: when theirs are made."""
        if not isinstance(count, int) or count < 1:
            raise ValueError("a session branches into at least one")
        policy = self.policy
        if checkpoints is not None:
            if checkpoints not in ("idle", "before-step", "off"):
                raise ValueError(f"checkpoints={checkpoints!r}: idle, before-step or off")
            policy = replace(policy, checkpoints=checkpoints)
        yield from self.supervisor.ensure_ready()
        self.processes.check_branches(count)
        self.has_branched = True
        copy = yield from self.supervisor.shared_copy()
        branches: list[SessionCore] = []
        arrived = 0
        try:
            while arrived < count:
                if len(branches) < count and len(branches) - arrived < COMING:
                    branches.append(self.new_branch(policy))
                    yield from branches[-1].processes.begin_branch(self.processes, copy)
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

    def new_branch(self, policy: Policy) -> SessionCore:
        """Return a session that is to go on from the state as it is now: `begin_branch` of its processes, then
        `arrive`.
        """
        branch = type(self)(self.sandbox, policy)
        branch.mechanisms = self.mechanisms
        branch.step = self.step
        branch.supervisor.tool_records = self.supervisor.tool_records.copy()
        branch.toolbox = self.toolbox
        branch.label = self.label
        branch.template = self.template
        branch.supervisor.sources = self.supervisor.sources.copy()
        return branch

    def arrive(self, copy: Checkpoint) -> Core[None]:
        """Wait for the process of a branch, which was asked for."""
        self.supervisor.notes_next = list((yield from self.processes.arrive_branch(copy)))
        self.supervisor.refresh_file_baseline()
        self.supervisor.transition(IDLE)
        self.sandbox.session_opened(self)

    def checkpoint_rows(self) -> list[CheckpointInfo]:
        return Rows(rows_of(self.processes.history))

    def drop(self, name: str) -> None:
        """Drop a named checkpoint."""
        drive(self._drop(name))

    @exclusive
    def _drop(self, name: str) -> Core[None]:
        _, copy = self.processes.history.find(name)
        dropped = self.processes.history.drop(name)
        copy.name = None
        self.processes.release(dropped)
        yield from ()

    # The recording

    def note(self, text: str, score: float | None) -> None:
        """Add a remark to the recording. Raises `RecordingError` where there is none."""
        self._recorded().note(self, text, score)

    def pending(self) -> list[PendingCall]:
        """Return the deferred calls of host tools that have not been carried out, in order."""
        return [] if self.effects is None else self.effects.pending()

    @exclusive
    def carry_out(self) -> Core[list[str]]:
        """Carry them out. Returns what went wrong, in words."""
        return [] if self.effects is None else (yield from self.effects.carry_out())

    def history(self) -> Any:
        """Return what the recording says of this session and its branches. Raises `RecordingError` where there is
        none.
        """
        return self._recorded().history()

    def _recorded(self) -> RecordsSession:
        if self.recorder is None:
            raise RecordingError("this session is not recorded: open it with session(record=True), or with a path")
        return self.recorder

    # Variables

    @exclusive
    def fetch(self, name: str, *, arrays: bool = False) -> Core[tuple[bool, Any]]:
        """Tell whether there is such a variable, and its value."""
        if not may_be_bound(name):
            return False, None
        for spelling in dict.fromkeys((name, spelt(name))):
            answer, value = yield from self.supervisor.ask(partial(self._fetched, spelling, arrays))
            if answer.found:
                return True, value
        return False, None

    def _fetched(self, name: str, arrays: bool, runner: Runner) -> Core[tuple[m.Fetched, Any]]:
        answer = yield from runner.ask(m.Fetch(name, arrays), m.Fetched)
        if answer.pending:
            return answer, (yield from runner.deliver(answer.pending, arrays=arrays))
        return answer, (yield from runner.value(answer.value, arrays=arrays)) if answer.found else None

    def assign(self, name: str, value: Any) -> Core[None]:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        yield from self._change((yield from self._assignment(name, value)))

    def _assignment(self, name: str, value: Any) -> Core[m.Assign]:
        bounds = {"value_kb": self.policy.limits.value_kb, "value_depth": self.policy.limits.value_depth}
        payload = yield from apart(weight(value), partial(encode_payload, name, value, **bounds))
        return m.Assign(spelt(name), payload)

    def remove(self, name: str) -> Core[None]:
        """Unbind a variable. Raises KeyError."""
        if not may_be_bound(name):
            raise KeyError(f"no variable {name!r}")
        there = name == spelt(name) or name in (yield from self.names())
        yield from self._change(m.Remove(name if there else spelt(name)))

    @exclusive
    def _change(self, request: m.Assign | m.Remove) -> Core[None]:
        self.check_waiting()
        yield from self._changed(request)

    def _changed(self, request: m.Assign | m.Remove) -> Core[None]:
        try:
            answer = yield from self.supervisor.tell(lambda runner, fds: runner.ask(request, m.Done, fds=fds), request)
        except (Gone, ProtocolError) as error:
            yield from self.supervisor.restore_and_raise(error)
        if answer.problem:
            raise KeyError(answer.problem)

    @exclusive
    def _ask(self, request: Any, kind: type) -> Core[Any]:
        return (yield from self.supervisor.ask(lambda runner: runner.ask(request, kind)))

    def names(self) -> Core[list[str]]:
        return (yield from self._ask(m.ListNames(), m.Names)).names  # type: ignore[no-any-return]

    @exclusive
    def variables(self) -> Core[list[Variable]]:
        described = yield from self.supervisor.ask(lambda runner: runner.ask(m.Describe(), m.Described))
        rows = described.variables
        size = sum(len(row.text) for row in rows)
        return Rows((yield from self.bill.reading(size, partial(variables_of, rows))))

    @exclusive
    def protection(self) -> Core[tuple[Mechanism, ...]]:
        """Return what holds this session, and what does not and why: as planned, and as its process finds by trying."""
        found = {row.name: row for row in (*self.mechanisms, *groups.mechanisms())}
        for name in (groups.NAME, groups.CORE):
            if self.processes.group is None and found[name].active:
                found[name] = Mechanism(name, False, NO_GROUP)
        if self.template is not None:
            found["own-lineage"] = Mechanism("own-lineage", False, SHARED.format(self.template))
        found["watch"] = accountant.mechanism(self.policy, self.sandbox.policy.limits)
        for act in (yield from self.supervisor.ask(self._self_test)):
            row = found.get(act.name, act)
            detail = act.detail if row is act or not row.detail else f"{row.detail}; {act.detail}"
            found[act.name] = Mechanism(act.name, act.active and row.active, detail)
        return tuple(found.values())

    def _self_test(self, runner: Runner) -> Core[list[Mechanism]]:
        """Return one row per forbidden act; `active` where it was refused."""
        gate = self.sandbox.gate
        if (yield from self.processes.secured(monotonic())):
            gate.withdraw(runner.pid)  # no checkpoint is due: what is left of an earlier one is not the self-test's
        with gate.refusing(runner.pid):
            return list((yield from runner.ask(m.SelfTest(self.policy.limits.processes), m.Tested)).rows)

    # Durable states

    @exclusive
    def save(self, path: str | os.PathLike[str], timeout: float | None) -> Core[dict[str, str]]:
        """Write the variables and the workspace's files to a file. Returns what could not be saved, and why."""
        from safeexec.engine.host.files import state_file

        put = partial(state_file.write, state_file.target(path))
        waiting = yield from self.written_wait()
        return (yield from self.saving(timeout).save(put, self.step, waiting))

    def written_wait(self) -> Core[bytes]:
        """Return the step that waits, as a saved state keeps it; nothing where none does. Hook: `RecordedSession`
        overrides it.
        """
        yield from ()
        return b""

    def wait_again(self, written: bytes) -> Core[None]:
        """Wait for what a saved state has written. Hook: `RecordedSession` overrides it. Raises `RecordingError`."""
        yield from ()
        raise RecordingError("a step of it waits for an answer, and nothing here keeps such steps")

    @exclusive
    def load(self, fd: int, timeout: float | None) -> Core[None]:
        """Bind the variables of a saved payload."""
        yield from self.saving(timeout).load(fd)

    def saving(self, timeout: float | None) -> Saving:
        """Return what saves and loads its state, by whoever has a turn."""
        from safeexec.engine.host.session.saving import Saving  # with hashlib and its like 10 ms

        return Saving(self.supervisor, timeout_of(self.policy, timeout))

    # Files

    @exclusive
    def command(self, argv: Sequence[str], directory: str, timeout: float | None) -> Core[CommandResult]:
        """Run a program in the session's workspace. Its changes to the files are the session's."""
        from safeexec.engine.host import commands  # with shutil 5 ms

        self.check_waiting()
        workspace = self.processes.workspace
        if workspace is None:
            raise WorkspaceError(f"the policy {self.policy.name!r} gives no workspace to run a command in")
        place = workspace.path
        if directory not in ("", "."):
            os.close(workspace.open(directory, os.O_PATH | os.O_DIRECTORY))
            place = os.path.join(place, directory)
        yield from self.supervisor.ensure_ready()  # there is no control group without a process
        self.commanding = True
        try:
            result = yield from commands.run(self.sandbox, argv, workspace, place, timeout, self.processes.group)
        finally:
            self.commanding = False
        self.processes.history.change_files((yield from self.processes.on_files(workspace.snapshot_or_undo)))
        self.files_changed = True
        return result

    def read_file(self, name: str, max_bytes: int | None = None) -> bytes:
        """Return the bytes of a file of the workspace. Raises `WorkspaceError`, also for more than `max_bytes`."""
        most = self.policy.limits.workspace_mb << 20
        return self._files().read(name, most if max_bytes is None else min(most, max_bytes))

    def write_file(self, name: str, data: bytes | str) -> None:
        """Put a file into the workspace; it belongs to the state as it is now. Raises `WorkspaceError`."""
        drive(self._write_file(name, as_bytes(data)))

    @exclusive
    def _write_file(self, name: str, data: bytes) -> Core[None]:
        self.check_waiting()
        workspace, history = self._files(), self.processes.history
        path, files = yield Work(partial(workspace.write, name, data, history.current.files))
        history.change_files(files)
        self.files_changed = True
        if path in files:
            self.supervisor.marks[path] = files[path].mark

    @exclusive
    def put_files(self, files: Mapping[str, str | bytes | os.PathLike[str]]) -> Core[None]:
        """Copy files of the host (paths), or bytes, into the workspace. Raises `WorkspaceError`, OSError."""
        self.check_waiting()
        workspace = self.processes.workspace
        assert workspace is not None

        def put() -> Snapshot:
            for name, content in files.items():
                workspace.put(name, content)
            return workspace.snapshot()

        self.processes.history.change_files((yield Work(put)))
        self.files_changed = True
        self.supervisor.marks = workspace.marks

    def list_files(self) -> list[str]:
        """Return the names of the regular files of the workspace, sorted."""
        return self._files().names()

    def _files(self) -> Workspace:
        """Return the workspace. Raises `SessionClosed`, or `WorkspaceError` where there is none."""
        if self.supervisor.why_closed is not None:
            raise SessionClosed(self.supervisor.why_closed)
        if self.durable is not None and self.durable.note_if_lost(self):
            drive(self.arouse())
        if self.processes.workspace is None:
            raise WorkspaceError(
                f"the policy {self.policy.name!r} gives sessions no workspace "
                f"(filesystem.workspace, {self.policy.origin('filesystem.workspace') or 'not set'})"
            )
        return self.processes.workspace
