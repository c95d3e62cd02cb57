"""The steps of a session: what is run in it, one after the other, and how each of them ends.

`run`, `perform` and `check` make the request of a step, `_act` has it done, as a `Step` that the supervisor begins, and
takes in its end: it becomes part of the session, or is undone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from safeexec.common.identity import AT_ONCE, weight
from safeexec.common.text import can_be_name, spelt
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.decode import frames_of, restored
from safeexec.engine.host.session.listeners import NOBODY, Listeners, listening
from safeexec.engine.host.session.standard_input import Given, StandardInput, checked_arguments
from safeexec.engine.host.session.step import SECURE_SECONDS, Step
from safeexec.engine.host.session.supervisor import IDLE, STEPPING, Supervisor
from safeexec.engine.host.session.tool_calls import StepCalls, ToolLog
from safeexec.engine.host.session.turns import exclusive
from safeexec.engine.host.waiting import Core, Work, apart, ending, worked
from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.host.watch.clock import Place, timeout_of
from safeexec.engine.host.watch.verdict import Verdict, too_much_in_files
from safeexec.errors import ProtocolError, SessionClosed, WorkspaceError
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments, exceeded, foreign
from safeexec.results import ErrorInfo, Result

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.files import SessionFiles
    from safeexec.engine.host.session.interfaces import SandboxInterface, ToolAnswers
    from safeexec.engine.host.session.listeners import Callbacks
    from safeexec.engine.host.session.tool_calls import AnswersAgain, Waits
    from safeexec.engine.host.session.turns import Turns
    from safeexec.engine.host.session.variables import Variables
    from safeexec.engine.host.tools.answers import Decided, PutOff
    from safeexec.engine.policy.model import Policy
    from safeexec.engine.policy.settings import Limits
    from safeexec.results.outcomes import Frame

NOT_UNDONE = "checkpoints are off, so what the step did before it failed was not undone"
NOT_RUN = "the step was not run: steps before it are lost, as they came out otherwise when they were repeated"
CANNOT_UNDO = "the state before this step has no checkpoint: this step cannot be rolled back"


class SessionName(NamedTuple):
    """Number and label of a session, as an audit log has them."""

    number: int
    label: str | None = None
    """The principal whose session it is, in the words of the host."""


class Steps:
    """The steps of one session. Its host tools see it as who calls them: `tools.answers.Caller`."""

    def __init__(
        self,
        sandbox: SandboxInterface,
        name: SessionName,
        turns: Turns,
        supervisor: Supervisor,
        variables: Variables,
        files: SessionFiles,
        waits: Waits,
    ) -> None:
        """`waits` keeps the step that waits for the answer to a call."""
        self.turns = turns
        self.supervisor = supervisor
        self.waits = waits
        self.sandbox = sandbox
        self.policy = supervisor.processes.policy
        self._name = name
        self._variables = variables
        self._files = files
        self.number = 0
        """That of the last step, or of the one that runs."""
        self.plugin_source = b""
        """The source of the plugin that is loaded."""
        self.told_cpu = 0.0
        """CPU seconds that results have reported."""
        # Of the step that runs
        self.toolbox: ToolAnswers = self.sandbox.toolbox
        """Answers its calls."""
        self.calls_of_step = 0
        self.calls: StepCalls | None = None
        """Its calls, where it may wait for the answer to one."""
        self.identity = ""
        """Beginning of the keys of its calls: the same wherever the session goes on."""
        self.call_key = ""
        """The key of the call that is made, where calls are written down."""
        self.tells_frames = False
        """True if an error leaves the variables of the functions that were running in `frames`."""
        # Of the last step
        self.frames: list[Frame] = []
        self.fingerprint: tuple[int, float] | None = None
        """A number for what it did, and its CPU milliseconds; None where no other process could repeat it."""
        self.generator_goes_on = False
        """True if it returned a generator that goes on."""
        self.held = False
        """True if the child keeps what it returned, which cannot cross."""
        self.threads = False
        """True if threads ran in it."""

    @exclusive("run")
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
        if self.waits.waiting is not None or earlier_answers is not None:
            self.waits.check(earlier_answers)
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
                assignments.append((yield from self._variables.assignment(name, value)))
            for assignment in assignments:
                yield from self._variables.change(assignment)
        self.number += 1
        self.supervisor.sources.add(self.number, source)
        if earlier_answers is not None:
            self.tool_records.forget_since(self.waits.calls_before)
        if self.sandbox.toolbox.tools:
            self.calls = StepCalls(source, timeout, atomic, stdin, argv, earlier_answers)
        request = m.Execute(
            self.number,
            text,
            stdin=stdin is not None,
            argv=arguments,
            shows=listeners.display is not None,
            frames=self.tells_frames,
            copied=self.supervisor.processes.copying.must_copy(text),
            judged=self.policy.checkpoints == "idle",
        )
        try:
            if stdin is None:
                result = yield from self._act(request, self.number, limit, atomic, listeners)
            else:
                result = yield from self._fed(StandardInput(stdin), request, limit, atomic, listeners)
        finally:
            self.calls = None
        return self._reported(text, result)

    def _refused(self, text: bytes, refusal: ErrorInfo) -> Core[Result]:
        """Take in a step that is not sent. It counts, and is reported, as any other that the policy rejects."""
        if self.supervisor.state is not IDLE:
            yield from self.supervisor.finish_interrupted()
        self.number += 1
        self.supervisor.sources.last = ""
        processes = self.supervisor.processes
        processes.release(processes.history.pass_over(self.number))
        return self._reported(text, Result(outcome="rejected", error=refusal, step=self.number))

    def _reported(self, source: bytes | None, result: Result, call: str | None = None) -> Result:
        """Return the result of a step as its caller gets it: with what happened while nobody used the session.
        The observer hears of it where it has a `source`, which was run as a whole, or by a `call` of what it defines.
        """
        self.told_cpu += result.usage.cpu_ms / 1000
        if notes := self.supervisor.notes_next:
            self.supervisor.notes_next = []
            result = replace(result, notes=(*notes, *result.notes))
        if source is not None and (observer := self.sandbox.observer) is not None:
            observer.step_done(self._name, source, result, call)
        return result

    def _fed(
        self, given: StandardInput, request: m.Execute, timeout: float, atomic: bool, listeners: Listeners
    ) -> Core[Result]:
        """Have a step done that reads what the host gives it."""
        try:
            yield from apart(given.size, given.fill)
            result = yield from self._act(request, self.number, timeout, atomic, listeners, given)
        finally:
            yield from ending(given.size, given.close)
        if given.problem is not None:
            result = replace(result, notes=(*result.notes, f"the standard input ended early: {given.problem}"))
        return result

    @exclusive("check")
    def check(self, source: str, stdin: bool) -> Core[Result]:
        """Return what the policy refuses in `source`; nothing runs. The child parses: a source can exhaust a parser."""
        text, refusal = yield from apart(weight(source), partial(checked_source, self.policy, source))
        if refusal is not None:
            return Result(outcome="rejected", error=refusal, step=self.number)
        return (yield from self._act(m.Compile(text, stdin), 0, timeout_of(self.policy, None), False))

    def invoke(
        self, path: str, args: tuple[Any, ...], kwargs: dict[str, Any], *, timeout: float | None = None, **how: Any
    ) -> Core[Result]:
        """Call an object of the namespace with values of the host, as a step. `how`: the other fields of `Invoke`."""
        encoding = partial(arguments_for, path, args, kwargs, self.policy.limits)
        arguments = yield from apart(weight(args) + weight(kwargs), encoding)
        return (yield from self.perform(lambda step: m.Invoke(step, path, arguments, **how), timeout=timeout))

    @exclusive("perform")
    def perform(
        self, make: Callable[[int], m.Invoke | m.Install | m.Proceed | m.Query], *, timeout: float | None = None
    ) -> Core[Result]:
        """Send the request that `make` builds for the number of the next step, and give its result."""
        self.waits.check()
        limit = timeout_of(self.policy, timeout)
        self.number += 1
        self.supervisor.sources.last = ""
        request = make(self.number)
        result = yield from self._act(request, self.number, limit, atomic=False)
        if type(request) is m.Invoke:
            return self._reported(self.plugin_source, result, request.path)
        return self._reported(None, result)

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
        supervisor, processes = self.supervisor, self.supervisor.processes
        runner = processes.runner
        if runner is None or supervisor.diverged or not supervisor.settled:
            runner = yield from supervisor.ready_runner(step=True)
            if supervisor.take_diverged():
                return self._not_run()
        if number and self._files.branched and not self.threads:  # threads of the guest may have written meanwhile
            yield from self._files.take_back()
        copy_socket = processes.begin_state(number) if number else None
        supervisor.transition(STEPPING)
        self.calls_of_step = 0
        room = None if processes.workspace is None else self._files.room
        step = supervisor.begin_step(number, runner, timeout, room, self._answer_tool, listeners)
        try:
            end = yield from step.run(request, copy_socket, given)
            if given is not None and given.size > AT_ONCE:
                yield from worked(given.close)  # before the step is kept, so that a cancellation meanwhile undoes it
            calls = self.calls
            if calls is not None and calls.earlier_answers is not None and not isinstance(end, Verdict):
                end = calls.earlier_answers.unmade() or end
            if number and processes.workspace is not None and not isinstance(end, Verdict):
                end = (yield from self._count_files(processes.workspace, step)) or end
            # A `cancel` that returned True must win, even if the step has ended meanwhile.
            end = step.close() or end
        except (Gone, ProtocolError) as error:
            return (yield from self._crashed(step, error))
        except GeneratorExit:
            self._let_go(step)
            raise
        except BaseException:
            yield from self._interrupted(step)
            raise
        if isinstance(end, Verdict):
            return (yield from self._ended(step, end, (yield from step.where())))
        result = yield from self._answered(step, request, end, atomic)
        if listeners is not NOBODY:
            step.stream_rest()
        if number == 1:
            self.sandbox.sessions.first_step_done()
        return result

    def _not_run(self) -> Result:
        result = Result("crashed", error=ErrorInfo("StepKilled", NOT_RUN), step=self.number, state="diverged")
        return replace(result, remaining=self.supervisor.remaining())

    def _answered(self, step: Step, request: Any, done: m.StepDone, atomic: bool) -> Core[Result]:
        """Return the result of a step that its process has answered, once it is part of the session, or is undone."""
        supervisor, log = self.supervisor, self.supervisor.tool_records
        records = log.since(step.calls_before) if log.total != step.calls_before else ()
        self.generator_goes_on, self.held, self.threads = done.more, done.held, done.threads
        if self.tells_frames:
            self.frames = frames_of(done.frames)
        self.fingerprint = (done.did, step.cpu * 1000) if done.repeatable and not records else None
        result = step.result(done, self.number, records)
        if step.number:
            must_go = done.outcome not in ("ok", "rejected") and (atomic or self.policy.on_error == "restore")
            if must_go:
                result = yield from self._undone(step, result)
            else:
                journalled = self.policy.checkpoints == "idle" and done.repeatable and not (done.due or records)
                result = self._kept(step, result, request if journalled else None, done.did)
        if supervisor.state is STEPPING:  # where the step was undone, the restore has led to another state
            supervisor.transition(IDLE)
        return result

    def _answer_tool(self, call: m.ToolRequest, deadline: float | None) -> Core[m.ToolReply]:
        return self.toolbox.answer(call, self, deadline)

    def _count_files(self, workspace: Workspace, step: Step) -> Core[Verdict | None]:
        """Take in the files that the step leaves. The verdict if it has filled the workspace between two looks."""
        try:
            if self.policy.checkpoints != "off":
                step.files = yield from self.supervisor.processes.on_files(workspace.snapshot)
                step.marks = workspace.marks
            else:
                step.marks = yield from self.supervisor.processes.on_files(workspace.marks_now)
        except WorkspaceError as error:
            return too_much_in_files(error)
        return None

    def _kept(self, step: Step, result: Result, repeatable_request: Any = None, did: int = 0) -> Result:
        """Make the step part of the session. `repeatable_request`: if it can be repeated, and will do `did` again."""
        processes = self.supervisor.processes
        repeats = processes.commit(step.files, self.supervisor.tool_records.total, repeatable_request, did)
        notes = result.notes
        if self.policy.checkpoints != "off":
            self.sandbox.children.steps["journalled" if repeats else "copied"] += 1
            if not processes.history.undoable:
                notes = (*notes, CANNOT_UNDO)
        workspace = processes.workspace
        files = workspace.changes(self.supervisor.marks, step.marks) if workspace is not None else ()
        self.supervisor.marks = step.marks
        if files or notes is not result.notes:
            result = replace(result, files=files, notes=notes)
        return result

    def _undone(self, step: Step, result: Result) -> Core[Result]:
        """Undo a step that failed: it leaves no trace."""
        processes = self.supervisor.processes
        if self.policy.checkpoints == "off" and next(processes.history.ways_back(), None) is None:
            # To go back to nothing would lose more than what the step has done.
            return self._kept(step, replace(result, notes=(*result.notes, NOT_UNDONE)))
        workspace = processes.workspace
        if workspace is not None and (files := workspace.changes(self.supervisor.marks, step.marks)):
            result = replace(result, files=files)
        notes = yield from self.supervisor.undo_step()
        return restored(result, notes, self.supervisor.remaining(), self.supervisor.take_diverged())

    def _crashed(self, step: Step, error: Exception) -> Core[Result]:
        """Return the result of a step whose process died, or broke the protocol: the first cause that is known."""
        found = yield from step.verdict_on_death(error)
        # A look may have found it before the step, and ended the process late; a value that was announced before the
        # deadline may not have come by then.
        verdict = step.close() or self.supervisor.idle_violation or step.watch.check()
        if verdict is None and not self.sandbox.children.alive:
            yield from self.supervisor.stop()
            raise SessionClosed("the zygote of this sandbox died and took the session with it; reopen the sandbox")
        if verdict is None and self.supervisor.processes.ran_out_of_memory():
            limit = self.policy.limits.memory_mb
            verdict = Verdict(
                "memory", f"the kernel ended a process: the session held too much; limits.memory_mb is {limit}"
            )
        return (yield from self._ended(step, verdict or found, Place()))

    def _ended(self, step: Step, verdict: Verdict, place: Place) -> Core[Result]:
        """Return the result of a step that was killed or died, after the state before it has been brought back."""
        processes = self.supervisor.processes
        before = processes.history.current.memory
        yield from self.supervisor.stop()
        records = self.supervisor.tool_records.since(step.calls_before)
        # Before the restore, which empties the files that the step has printed to.
        result = step.killed_result(verdict, place, self.supervisor.sources, self.number, records)
        notes = yield from self.supervisor.restore_after_step()
        result = restored(result, notes, self.supervisor.remaining(), self.supervisor.take_diverged())
        if verdict.outcome != "waiting" or self.calls is None:
            return result
        if processes.history.current.memory is not before:
            return replace(result, outcome="crashed")  # it cannot run again from where it began
        return replace(result, waiting_for=(yield from self.waits.begin(self.calls, step.calls_before)))

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
        processes = self.supervisor.processes
        history, runner = processes.history, processes.runner
        if runner is not None and all(
            copy.is_frozen() is not None for copy in history.copies_of(history.current.memory)
        ):
            runner.channel.kill()

    # The interface of tools, beside attributes above

    @property
    def tool_records(self) -> ToolLog:
        """The calls that steps have made."""
        return self.supervisor.tool_records

    @property
    def bill(self) -> Bill:
        """The CPU time that the host spends for the session."""
        return self.supervisor.processes.bill

    def earlier_answer(self, call: m.ToolRequest) -> tuple[m.ToolReply | None, Decided]:
        """Return what the call got when its step ran before, or what is decided about it. Neither: it is made now."""
        calls = self.calls
        if calls is None or calls.earlier_answers is None:
            return None, None
        return calls.earlier_answers.turn(call, self)

    def keep_answer(self, call: m.ToolRequest, reply: m.ToolReply, outcome: Any, *, deferred: bool) -> None:
        """Keep what a call got, where the step may come to wait and run again."""
        if self.calls is not None:
            self.calls.note(call, reply, outcome, self.call_key, deferred=deferred)

    def put_off(self, call: m.ToolRequest, later: PutOff) -> Core[str]:
        """Have the step wait for the answer to this call. Returns why it cannot, or ""."""
        return self.waits.put_off(call, later, self)

    def next_key(self) -> str:
        """Return the key of the call of a tool that comes next."""
        self.identity = self.identity or os.urandom(8).hex()
        return f"{self.identity}-{self.number}-{self.calls_of_step + 1}"

    def secured(self) -> Core[None]:
        """Wait until the records of its recording are written, where there is one."""
        if self.turns.recorder is not None:
            yield from self.turns.recorder.secured(intent=True)


def checked_source(policy: Policy, source: str) -> tuple[bytes, ErrorInfo | None]:
    """Return a source as it crosses, and what is wrong with it if the policy allows fewer bytes. Raises TypeError."""
    if not isinstance(source, str):
        raise TypeError(f"source must be str, not {type(source).__name__}")
    text, allowed = source.encode("utf-8", "surrogatepass"), policy.limits.step_source_kb
    if len(text) <= allowed << 10:
        return text, None
    return text, ErrorInfo(
        type="PolicyViolation",
        message=f"the source has more than {allowed} KiB, which limits.step_source_kb allows",
        rule=policy.origin("limits.step_source_kb"),
        hint="Send the program in several smaller steps; variables are kept between them.",
    )


def arguments_for(path: str, args: tuple[Any, ...], kwargs: dict[str, Any], limits: Limits) -> bytes:
    """Return the arguments of a call as they cross. Raises TypeError for those that cannot."""
    payload = encode_arguments(args, kwargs, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
    if payload.opaque:
        problem = exceeded(payload, value_kb=limits.value_kb, value_depth=limits.value_depth)
        problem = problem or foreign(args, kwargs, max_depth=limits.value_depth)
        raise TypeError(f"an argument of {path}() cannot cross into the sandbox: {problem}")
    return payload.data


def checked_query(query: str, name: str | None) -> bytes:
    """Return a SQL query as it crosses. Raises TypeError, and ValueError where `name` is no variable's."""
    if not isinstance(query, str):
        raise TypeError(f"query must be str, not {type(query).__name__}")
    if name is not None and not can_be_name(name):
        raise ValueError(f"{name!r} is not a variable name")
    return query.encode("utf-8", "surrogatepass")
