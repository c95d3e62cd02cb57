"""One step from request to result: sent, watched, served with tools, ended by itself or by the host."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from msgspec.structs import replace

from safeexec.errors import (
    PolicyError,
    ProtocolError,
    SessionClosed,
    WorkspaceError,
)
from safeexec.host.session.channel import Channel, Gone
from safeexec.host.session.decode import build_killed, build_result, decode_payload, restored
from safeexec.host.session.output import OnOutput
from safeexec.host.session.runner import FREEZE_SECONDS, THAW_SECONDS
from safeexec.host.session.standard_input import Given, StandardInput, checked_arguments
from safeexec.host.session.undo import Undo
from safeexec.host.waiting import Core
from safeexec.host.watch import supervisor
from safeexec.host.watch.supervisor import Place, Verdict, Watch
from safeexec.linux import processes
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import encode_arguments
from safeexec.results import ErrorInfo, Result

OnProgress = Callable[[str, float, "float | None"], object]
"""Gets description, how much is done, and of how much (None: unknown), as the guest's progress bars move."""
STREAM_SECONDS = 0.003
"""How far behind the guest `on_output` may be."""
STREAM_BYTES = 1 << 20
NOT_UNDONE = "checkpoints are off, so what the step did before it failed was not undone"
DESCRIPTION = 200
NAMES_REMAINING, NAME_CHARACTERS = 200, 100
"""Characters of what a progress bar says of itself; a child that sends more is none of ours."""


class Steps(Undo):
    """A session that runs steps."""

    def run(
        self,
        source: str,
        *,
        timeout: float | None,
        atomic: bool,
        on_output: OnOutput | None,
        on_progress: OnProgress | None = None,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
    ) -> Core[Result]:
        """Run one step and give its result."""
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        limit = self._timeout(timeout)
        arguments = None if argv is None else checked_arguments(argv)
        with (yield from self._turn()):
            if (size := len(source)) > self.policy.limits.step_source_kb << 10:
                return self._too_long(size)
            self.step += 1
            self._sources.add(self.step, source)
            self.on_progress = on_progress
            request = m.Execute(self.step, source.encode("utf-8", "surrogatepass"), stdin is not None, arguments)
            if stdin is None:
                result = yield from self._act(request, limit, atomic, on_output)
            else:
                result = yield from self._fed(StandardInput(stdin), request, limit, atomic, on_output)
            if self._told_next:
                result = self._told(result)
            if (observer := self.sandbox.observer) is not None:
                observer.step_done(self, request.source, result)
            return result

    def _fed(
        self, given: StandardInput, request: m.Execute, timeout: float, atomic: bool, on_output: OnOutput | None
    ) -> Core[Result]:
        """A step that reads what the host gives it."""
        try:
            result = yield from self._act(request, timeout, atomic, on_output, given)
        finally:
            problem = given.close()
        if problem is not None:
            result = replace(result, notes=(*result.notes, f"the standard input ended early: {problem}"))
        return result

    def _told(self, result: Result) -> Result:
        """The result with what happened before the step, while nobody used the session."""
        told, self._told_next = self._told_next, []
        return replace(result, notes=(*told, *result.notes))

    def check(self, source: str) -> Core[Result]:
        """What the policy refuses in `source`; nothing of it runs. Parsing happens in the child: a hostile source
        can exhaust a parser.
        """
        if not isinstance(source, str):
            raise TypeError(f"source must be str, not {type(source).__name__}")
        with (yield from self._turn()):
            return (
                yield from self._act(m.Check(source.encode("utf-8", "surrogatepass")), self._timeout(None), False, None)
            )

    def invoke(
        self,
        path: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        timeout: float | None = None,
        atomic: bool = False,
    ) -> Core[Result]:
        """Call an object of the namespace with values of the host, as a step."""
        limits = self.policy.limits
        payload = encode_arguments(args, kwargs, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
        if payload.opaque:
            raise TypeError(
                f"an argument of {path}() cannot cross into the sandbox: "
                + (
                    f"it is larger than limits.value_kb ({limits.value_kb} KiB), nested too deep or holds itself"
                    if payload.truncated
                    else "it is, or holds, an object that is no value"
                )
            )
        return (
            yield from self.perform(lambda step: m.Invoke(step, path, payload.data), timeout=timeout, atomic=atomic)
        )

    def perform(
        self,
        make: Callable[[int], m.Invoke | m.Install | m.Proceed | m.Query],
        *,
        timeout: float | None = None,
        atomic: bool = False,
    ) -> Core[Result]:
        """Send the request that `make` builds for the number of the next step, and give its result."""
        limit = self._timeout(timeout)
        with (yield from self._turn()):
            self.step += 1
            request = make(self.step)
            result = yield from self._act(request, limit, atomic, None)
            if self._told_next:
                result = self._told(result)
            if (observer := self.sandbox.observer) is not None and type(request) is m.Invoke:
                observer.step_done(self, self.code, result, call=request.path)
            return result

    def _timeout(self, timeout: float | None) -> float:
        limits = self.policy.limits
        if timeout is None:
            return limits.wall_seconds
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
        request: m.Execute | m.Invoke | m.Install | m.Proceed | m.Query | m.Check,
        timeout: float,
        atomic: bool,
        on_output: OnOutput | None,
        given: StandardInput | None = None,
    ) -> Core[Result]:
        runner = yield from self._living_runner()
        self._lane_step = self.step if type(request) is not m.Check else self.step + 1
        self._unfinished = True
        try:
            fds, lane = self._grant(self.step) if type(request) is not m.Check else ((), None)
        except OSError:
            self._unfinished = False  # no descriptor is left, and nothing has begun
            raise
        self._out.begin()
        self._err.begin()
        self._verdict = None
        self._safe_to_kill = False
        self.calls_of_step = 0
        calls = len(self.tool_records)
        limits, outputs = self.policy.limits, (self._out, self._err)
        watch = Watch(
            runner, limits, timeout, outputs, self.workspace, self._memory_now, self._guests, self.unnamed_over
        )
        self._running = True
        try:
            try:
                if given is None:
                    yield from self._send_granted(runner, request, fds, lane)
                else:
                    yield from self._send_granted(runner, request, (given.fd, *fds), lane)
                    given.sent()
                watched = 0 if type(request) is m.Check else self.step
                done = yield from self._await_done(runner, watch, on_output, watched)
                if not isinstance(done, Verdict):
                    if fds:
                        self.sandbox.gate.announce_one(runner.pid)
                    # In here: a value that is announced and never comes, or cannot be read, is a step that crashed.
                    result = yield from self._result(runner, done, watch, calls)
            finally:
                # Before anything else: a process that comes after this one is not to be hit by `cancel`.
                with self._ending:
                    self._running = False
        except (Gone, ProtocolError) as error:
            return (yield from self._crashed(runner, watch, error, calls))
        except BaseException:
            # Ctrl-C, a cancelled task, an exception of a callback: the step is undone before it goes on.
            yield from self._secured(FREEZE_SECONDS)
            yield from self._stop_undone(runner)
            self._told_next += yield from self._restore()
            raise
        if isinstance(done, Verdict):
            return (yield from self._killed(runner, watch, done, calls))
        # Whoever asked in time for its end, and was told that it runs, finds it ended.
        if (over := self._verdict or self._commit(watch)) is not None:
            return (yield from self._killed(runner, watch, over, calls))
        before = self.reached, self._empty
        if type(request) is not m.Check:
            self.reached, self._empty = self.step, False
        if self.workspace is not None and (files := self._changed_files()):
            result = replace(result, files=files)
        if not result.ok and (atomic or self.policy.on_error == "restore") and result.outcome != "rejected":
            if self.policy.checkpoints == "off" and not self.checkpoints.living():
                # To go back to nothing would lose more than what the step has done.
                result = replace(result, notes=(*result.notes, NOT_UNDONE))
            else:
                self.reached, self._empty = before  # that state is to come back, or an older one
                yield from self._stop_undone(runner)
                notes = yield from self._restore()
                result = restored(result, notes, (yield from self._remaining()))
        self._unfinished = False
        if on_output is not None:
            self._stream_rest(on_output)
        self.sandbox.replenish()
        return result

    def _await_done(
        self, runner: Channel, watch: Watch, on_output: OnOutput | None, watched: int
    ) -> Core[m.StepDone | Verdict]:
        """Wait for the end of step `watched` (0: a check, which has none), serving its tool calls and streaming its
        output. A `Verdict` when it must be killed.
        """
        look = watch.next_look()
        while True:
            if self._verdict is not None:
                return self._verdict
            until = look if on_output is None else min(look, monotonic() + STREAM_SECONDS)
            message = yield from runner.receive(until)
            if on_output is not None:
                self._stream(on_output)
            if isinstance(message, m.StepDone):
                if message.step != watched:
                    raise ProtocolError(f"the end of step {message.step} was told while step {watched} ran")
                # A flood may end itself at RLIMIT_FSIZE, with an OSError about a full file, before a look finds it.
                if message.outcome == "output" or (message.outcome == "error" and watch.flooded()):
                    self._verdict = self._verdict or watch.flood()
                    return self._verdict
                return message
            if isinstance(message, m.ToolCall):
                yield from self._tool_call(runner, message, watch)
            elif isinstance(message, m.Progress) and self.on_progress is not None:
                self.on_progress(message.description[:DESCRIPTION], message.done, message.total)
            if monotonic() >= look:
                if not self._safe_to_kill:
                    yield from self._secured(0.0)
                verdict = self.stray_fork() or watch.look()
                if verdict is not None:
                    if not self._safe_to_kill and self._verdict is None and (yield from self._secured(FREEZE_SECONDS)):
                        # Until now the child made the checkpoint of the state before this step: its time begins here.
                        watch.start_again()
                        look = watch.next_look()
                        continue
                    self._verdict = self._verdict or verdict
                    self._safe_to_kill = True  # or as safe as it gets: it has been waited for
                    return self._verdict
                look = watch.next_look()

    def _secured(self, seconds: float) -> Core[bool]:
        """Whether the state before this step has its checkpoint, waiting so long for it; without one a kill would lose
        that state.

        The child makes it in think time or, when steps come back to back, before it begins the next one.
        """
        before = next((c for c in reversed(self.checkpoints.automatic) if c.step < self._lane_step), None)
        parked = before is None or (yield from before.parked(monotonic() + seconds))
        # A lane that has ended is as good as one that is parked: there is nothing to wait for.
        self._safe_to_kill = parked or (before is not None and before.ended)
        return parked

    def _tool_call(self, runner: Channel, call: m.ToolCall, watch: Watch) -> Core[None]:
        started = monotonic()
        stops = self.policy.tools.clock == "stops"
        reply = yield from self.toolbox.answer(call, self, None if stops else watch.deadline)
        if stops:
            watch.paused += monotonic() - started
        yield from runner.send(reply)

    def _stream(self, on_output: OnOutput) -> None:
        for stream in (self._out, self._err):
            if text := stream.fresh(STREAM_BYTES):
                on_output(text)

    def _stream_rest(self, on_output: OnOutput) -> None:
        for stream in (self._out, self._err):
            if text := stream.rest(STREAM_BYTES):
                on_output(text)

    def _result(self, runner: Channel, done: m.StepDone, watch: Watch, calls: int) -> Core[Result]:
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        self.more = done.more
        if done.pending:
            value = yield from self._deliver(runner, done.pending)
        else:
            value = decode_payload(self, done.value) if done.value else None
        return build_result(self, done, value, wall, cpu, self._out, self._err, self.tool_records.since(calls))

    def _killed(self, runner: Channel, watch: Watch, verdict: Verdict, calls: int) -> Core[Result]:
        if not self._safe_to_kill:
            yield from self._secured(FREEZE_SECONDS)
        place = yield from supervisor.where(runner, self._err, self.sandbox.gate)
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        yield from self._stop_undone(runner)
        return (yield from self._undone(verdict, place, wall, cpu, calls))

    def _crashed(self, runner: Channel, watch: Watch, error: Exception, calls: int) -> Core[Result]:
        wall, cpu = monotonic() - watch.started, watch.cpu_seconds()
        if not (yield from runner.ended(monotonic() + 0.2)):
            reason = str(error) if isinstance(error, ProtocolError) else "it closed its connection to the host"
        else:
            reason = death(runner.pidfd)
        yield from self._stop_undone(runner)
        if self._verdict is not None:
            verdict = self._verdict
        elif not self.sandbox.alive:
            self._closed_by_zygote()
            raise SessionClosed("the zygote of this sandbox died and took the session with it; reopen the sandbox")
        elif self._ran_out_of_memory():
            limit = self.policy.limits.memory_mb
            verdict = Verdict(
                "memory", f"the kernel ended a process: the session held too much; limits.memory_mb is {limit}"
            )
        else:
            verdict = Verdict("crashed", f"the process that ran the step died: {reason}")
        return (yield from self._undone(verdict, Place(), wall, cpu, calls))

    def _undone(self, verdict: Verdict, place: Place, wall: float, cpu: float, calls: int) -> Core[Result]:
        """The result of a step that was killed or died, after the state before it has been brought back."""
        sources = self._sources.copy()
        notes = yield from self._restore()
        remaining = yield from self._remaining()
        told = self.tool_records.since(calls)
        return build_killed(self, verdict, place, wall, cpu, self._out, self._err, told, notes, sources, remaining)

    def _remaining(self) -> Core[tuple[str, ...]]:
        """The names of the variables after a restore; none if the process that was brought back does not tell."""
        runner = yield from self._living_runner()
        try:
            yield from runner.send(m.ListNames())
            names = (yield from self._answer(runner, m.Names, THAW_SECONDS)).names
        except (Gone, ProtocolError):
            yield from self._stop(runner)  # the next use restores again
            return ()
        return tuple(name for name in names if name.isidentifier() and len(name) <= NAME_CHARACTERS)[:NAMES_REMAINING]

    def _commit(self, watch: Watch) -> Verdict | None:
        """The step's state is the session's state: its files belong to the checkpoint that will be made of it.

        The verdict on a step that has filled the workspace between two looks.
        """
        autos = self.checkpoints.automatic
        if not autos or autos[-1].step != self.step:
            return watch.files_over()
        autos[-1].tool_calls = len(self.tool_records)
        if self.workspace is not None:
            try:
                autos[-1].snapshot = self.workspace.snapshot()
            except WorkspaceError as error:
                return Verdict("output", str(error))
            return self.unnamed_over()
        return None


def death(pidfd: int) -> str:
    """How a process ended, in words, as far as the kernel still knows."""
    info = processes.pidfd_info(pidfd)
    if info is None or info.exit_status is None:
        return "killed, or crashed in C code"
    status = info.exit_status
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((one.name for one in signal.Signals if one.value == number), str(number))
        return f"killed by signal {name}"
    return f"it exited with status {os.WEXITSTATUS(status)}"
