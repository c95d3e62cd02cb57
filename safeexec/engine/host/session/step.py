"""One step from request to verdict: sent, watched, served with tools, ended by itself or by the host."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct

from safeexec.common.text import one_line
from safeexec.engine import advice
from safeexec.engine.host.patience import patient
from safeexec.engine.host.session.channel import Gone
from safeexec.engine.host.session.decode import (
    LINE_CHARACTERS,
    MESSAGE_BYTES,
    NO_CHANGES,
    changes_of,
    content_bytes,
    contents_of,
    displays,
    notes_of,
    text,
)
from safeexec.engine.host.session.listeners import NOBODY, Listeners
from safeexec.engine.host.session.output import NOTHING, Printed
from safeexec.engine.host.session.processes import SessionProcesses
from safeexec.engine.host.session.runner import Runner
from safeexec.engine.host.waiting import CallTool, Core
from safeexec.engine.host.watch.clock import Place, Watch, killed_error, where
from safeexec.engine.host.watch.room import RULE
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.linux import processes
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import TooMuch
from safeexec.protocol.printed import EVERYWHERE
from safeexec.results import Result, ToolCallRecord, Usage

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace_files import Marks
    from safeexec.engine.host.session.listeners import Streams
    from safeexec.engine.host.session.standard_input import StandardInput
    from safeexec.engine.host.waiting import First

A = TypeVar("A", m.StepDone, m.Saved, m.Done)
"""The answer to a request that is watched."""
AnswerTool = Callable[[m.ToolRequest, "float | None"], Core[m.ToolReply]]
"""Answers a tool call of the guest, by the deadline of the step where its clock goes on."""
STREAM_SECONDS = 0.003
"""How far behind the guest those may be who listen to its output."""
STREAM_BYTES = 1 << 20
"""Bytes of one stream that its listeners get at a time."""
LEAST_DELIVER_SECONDS = 0.1
"""How long a value may take that a step announces just before its deadline: 1 MB takes 0.3 ms."""
DESCRIPTION = 200
"""Characters of what a progress bar says of itself; a child that sends more does not run our code."""
SHOWN_BYTES = 64 << 20
"""The most bytes of displays and the news of progress bars that come as the step runs: a child may update one without
end, and its listener may keep them all.
"""
EVENT_BYTES = 1000
"""Bytes that one of them takes beside its data: many small ones are no less."""
SECURE_SECONDS = 3.0
"""How long a step that must end may go on because the state before it has no checkpoint yet."""
NO_VERDICT: Final = Verdict("ok", "")
"""Stands where the verdict would on a step that nobody has ended."""


class Step(Struct, eq=False):
    """One request of a runner, from when it is sent until it is answered, or somebody ends it."""

    number: int
    """Number of the step; 0 for a check, which runs nothing."""
    _processes: SessionProcesses
    _runner: Runner
    watch: Watch
    _answer_tool: AnswerTool | None = None
    """None for a request that may call no tool."""
    _listeners: Listeners = NOBODY
    _streams: Streams = ()
    """The streams that somebody listens to, and who."""
    calls_before: int = 0
    """How many calls of tools the session had made before it."""
    woke: float = 0.0
    """Seconds before it in which its process was brought back."""
    value: Any = None
    _contents: dict[str, Any] = {}
    """The fields of its result that it reported itself and that may be large."""
    _printed: tuple[Printed, Printed] = (NOTHING, NOTHING)
    """Its standard output and error."""
    files: Any = None
    """The files of the state after it."""
    marks: Marks = {}
    """The marks of these files, by which changes are found."""
    wall: float = 0.0
    cpu: float = 0.0
    peak: int = 0
    """Bytes that its process held at most, of one that the host ends; the child reports that of another."""
    in_tool: bool = False
    """True while a host tool runs: until it returns, the step's caller does not see a verdict."""
    listening: bool = False
    """True while a listener runs: as long as it does, nobody looks at the deadline but the accountant."""
    _shown_bytes: int = 0
    _calls: int = 0
    """How many calls of tools have come."""
    closed: bool = False
    """True once its end has been taken in, by `close`. A verdict may have been handed in before. From any thread."""
    _first_verdict: First[Verdict] = {}
    """The verdict that stands: the first that was handed in, or `NO_VERDICT` once the step is closed without one."""
    _secured: bool = False
    """True once the state before it is known to have its copy, or to get none: only then may the step be ended."""

    def run(self, request: Struct, copy_socket: Any, given: StandardInput | None = None) -> Core[m.StepDone | Verdict]:
        """Send the request, with the socket of its next copy if the process has none, and wait for its end. A `Verdict`
        when it must be killed. Raises `Gone` or `ProtocolError` when its process died, or broke the protocol.
        """
        fds = () if copy_socket is None else (copy_socket.fileno(),)
        try:
            yield from self._runner.channel.send(request, fds if given is None else (given.fd, *fds))
        finally:
            if copy_socket is not None:
                # Only without an end of our own does the other one show that all who had it have ended.
                copy_socket.close()
        if given is not None:
            given.sent()
        done = yield from self._answer(m.StepDone)
        if isinstance(done, m.StepDone):
            if done.step != self.number:
                raise ProtocolError(f"the end of step {done.step} came while step {self.number} ran")
            # A flood may end by itself between two looks: well, or at the end of the file, with an OSError.
            # The same program then has the same outcome, however long the host took to look.
            self._printed = stdout, stderr = self.watch.read_output()
            if done.outcome == "output" or max(stdout.size, stderr.size) > self.watch.most_printed:
                done = self._first_verdict.setdefault(None, self.watch.output_verdict())
            elif self.number and done.due:
                self._processes.copies.announce(self._runner)
        self.wall, self.cpu = self.watch.spent()
        if isinstance(done, Verdict):
            return done
        bill, limits = self._processes.bill, self._processes.policy.limits
        charged = bill.cpu
        if done.error is not None or done.displays or done.refusals:
            self._contents = yield from bill.reading(content_bytes(done), partial(contents_of, done, limits))
        if done.value or done.pending:
            # Read here, so that a step crashes whose value is announced and never comes, or cannot be read.
            # What a function returned keeps its type; a step's value is what JSON could be made of.
            arrays = isinstance(request, m.Invoke | m.Proceed)
            if done.pending:
                self.value = yield from self._runner.deliver(done.pending, arrays=arrays, seconds=self._left())
            else:
                self.value = yield from self._runner.value(done.value, arrays=arrays)
        self.cpu += bill.cpu - charged
        return done

    def ask(self, request: Struct, kind: type[A], fds: tuple[int, ...]) -> Core[A | Verdict]:
        """Send a request that runs guest code and is no step, and wait for its answer. Returns a `Verdict` if it must
        end; the process is left as it is then. Raises `Gone` or `ProtocolError`.
        """
        try:
            yield from self._runner.channel.send(request, fds)
            answer = yield from self._answer(kind)
            if isinstance(answer, Verdict):
                yield from self.secure(SECURE_SECONDS)
            return answer
        finally:
            self.close()

    def _left(self) -> float:
        """Return how many seconds are left for what a step has announced to come."""
        return max(LEAST_DELIVER_SECONDS, self.watch.deadline - monotonic())

    def hand_in(self, verdict: Verdict) -> bool:
        """Have it end, with `verdict` if that is the first one. False if it is closed already. May be called from any
        thread, and from a handler of signals.
        """
        if self.closed or self._first_verdict.setdefault(None, verdict) is NO_VERDICT:
            return False
        self._runner.channel.wake()
        return True

    def close(self) -> Verdict | None:
        """Take no verdict any more: the step is over. Returns the one that was handed in before."""
        verdict = self._first_verdict.setdefault(None, NO_VERDICT)
        self.closed = True
        return None if verdict is NO_VERDICT else verdict

    @property
    def verdict(self) -> Verdict | None:
        """The reason why it must end, if it must."""
        return self._first_verdict.get(None)

    @property
    def runner_pid(self) -> int | None:
        """The process that runs it."""
        return self._runner.pid

    def _answer(self, kind: type[A]) -> Core[A | Verdict]:
        """Wait for the answer, whatever comes before."""
        watch, channel, streams = self.watch, self._runner.channel, self._streams
        look = watch.next_look()
        while True:
            if self._first_verdict:
                return self._first_verdict[None]
            until = look if not streams else min(look, monotonic() + STREAM_SECONDS)
            try:
                message = yield from channel.receive(until)
            except Gone:
                if self._first_verdict:  # `hand_in` has shut the socket, which reads as the end of the process
                    return self._first_verdict[None]
                raise
            if streams:
                if isinstance(message, m.Shown):
                    self.stream_rest(message.printed)
                else:
                    self._stream()
            if isinstance(message, kind):
                return message
            if isinstance(message, m.ToolRequest) and self._answer_tool is not None:
                yield from self._tool_call(message, self._answer_tool)
            elif isinstance(message, m.Progress):
                if (hear := self._listeners.progress) is not None and self._may_show(0):
                    self._notify(hear, one_line(message.description, DESCRIPTION), message.done, message.total)
            elif isinstance(message, m.Shown):
                size = sum(map(len, message.display.data.values()))
                if (show := self._listeners.display) is not None and self._may_show(size):
                    reading = partial(displays, [message.display])
                    self._notify(show, (yield from self._processes.bill.reading(size, reading))[0])
            elif message is not None:
                raise ProtocolError(f"{type(message).__name__} came instead of {kind.__name__}")
            if monotonic() >= look:
                if (verdict := (yield from self._look())) is not None:
                    return verdict
                look = watch.next_look()

    def _may_show(self, size: int) -> bool:
        """Return whether a listener hears of one thing more, with `size` bytes of data."""
        self._shown_bytes += EVENT_BYTES + size
        return self._shown_bytes <= SHOWN_BYTES

    def _look(self) -> Core[Verdict | None]:
        """Return the first limit that the step is over, if any."""
        if not self._secured:
            yield from self.secure(0.0)
        verdict = yield from self.watch.look()
        if verdict is None:
            return None
        if not self._secured and not self._first_verdict and (yield from self.secure(SECURE_SECONDS)):
            # Until now the child made the copy of the state before this step: its time begins here.
            self.watch.start_again()
            return None
        self._secured = True  # or as safe as it gets: it has been waited for
        return self._first_verdict.setdefault(None, verdict)

    def secure(self, seconds: float) -> Core[bool]:
        """Return whether the state before this step has its copy, waiting so long for it; without one the end of the
        process would lose that state.
        """
        if not self._secured:
            self._secured = yield from self._processes.copies.have_current(monotonic() + patient(seconds))
        return self._secured

    def _tool_call(self, call: m.ToolRequest, answer_tool: AnswerTool) -> Core[None]:
        rules = self._processes.policy.tools
        self._calls += 1
        if call.pending and self._calls <= rules.max_calls:  # of those beyond, nothing is read
            arguments = yield from self._runner.deliver_bytes(call.pending, self._left())
            call = m.ToolRequest(call.call, call.tool, arguments)
        answer = answer_tool(call, None if rules.clock == "stops" else self.watch.deadline)
        reply = yield from self._clocked(answer, stops=rules.clock == "stops")
        if self._first_verdict or self.watch.check_deadline():
            return  # whoever waits for the answer is ended now, or by the look that follows
        yield from self._runner.channel.send(reply)

    def _clocked(self, answer: Core[m.ToolReply], *, stops: bool) -> Core[m.ToolReply]:
        """Return the answer to a call. While a function of the host runs, and only then, the step's clock may stand
        still: to read what a guest passes is a part of the step.
        """
        try:
            request = next(answer)
            while True:
                started, self.in_tool = monotonic(), type(request) is CallTool
                try:
                    given = yield request
                except BaseException as error:
                    self._called(started, stops)
                    request = answer.throw(error)
                else:
                    self._called(started, stops)
                    request = answer.send(given)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _called(self, started: float, stops: bool) -> None:
        if self.in_tool and stops:
            self.watch.paused += monotonic() - started
        self.in_tool = False

    def _stream(self) -> None:
        """Pass on the lines that have come. Not if a display has come, too: what was printed before goes with it."""
        # Where the streams end is read first: a display that comes after is then behind all that is passed on here.
        ends = [file.position() for file, _ in self._streams]
        if not self._runner.channel.all_read():
            return
        for (file, ears), end in zip(self._streams, ends, strict=True):
            if text := file.fresh(STREAM_BYTES, end):
                for hear in ears:
                    self._notify(hear, text)

    def _notify(self, hear: Callable[..., object], *news: Any) -> None:
        """Call a listener, which may take as long as it likes."""
        self.listening = True
        try:
            hear(*news)
        finally:
            self.listening = False

    def overdue(self) -> Verdict | None:
        """Return the verdict on a step past its deadline while a listener runs. From the accountant's thread."""
        return self.watch.check_deadline() if self.listening else None

    def stream_rest(self, printed: tuple[int, int, int] = EVERYWHERE) -> None:
        """Pass on what was printed by then, an unfinished line included."""
        for file, ears in self._streams:
            until = printed[:2] if file is self._processes.output.stdout else (0, printed[2])
            if text := file.rest(STREAM_BYTES, until):
                for hear in ears:
                    self._notify(hear, text)

    def where(self) -> Core[Place]:
        """Return where its code is: read before it is killed, and after the state before it has got its copy."""
        yield from self.secure(SECURE_SECONDS)
        self.peak = processes.peak_memory(self._runner.pid)  # before the kill: a zombie has no memory
        verdict, room = self.verdict, self.watch.room
        fills = verdict is not None and verdict.rule == RULE
        most = room.patience if room is not None and fills else None
        if most is None or most > 0:
            place = yield from where(
                self._runner.channel, self._processes.output.stderr, self._processes.children.gate, most
            )
        else:
            place = Place()
        self.wall, self.cpu = self.watch.spent()
        return place

    def verdict_on_death(self, error: Exception) -> Core[Verdict]:
        """Return how its process ended, by what the kernel and the process itself say of that."""
        self.wall, self.cpu = self.watch.spent()
        channel, exited = self._runner.channel, None
        # The kernel closes the files of a process that dies, its socket among them, before the pidfd shows the end.
        if not (yield from channel.wait_ended(monotonic() + 0.2)):
            reason = str(error) if isinstance(error, ProtocolError) else "it closed its connection to the host"
        else:
            status = processes.exit_status(channel.pidfd)
            exited = None if status is None else _exited(status)
            if exited == m.OUT_OF_MEMORY:
                limit = self._processes.policy.limits.memory_mb
                return Verdict(
                    "memory", f"the process had no memory left to go on with what it holds; limits.memory_mb is {limit}"
                )
            reason = death(status)
        if isinstance(error, TooMuch):
            return Verdict("output", f"the step sent the host more than it reads: {error}")
        return Verdict("crashed", f"the process that ran the step died: {reason}", exit_status=exited)

    def result(self, done: m.StepDone, step: int, calls: tuple[ToolCallRecord, ...]) -> Result:
        """Return the result of a step that the child ended itself."""
        facts = self._facts(self._printed, done.peak_kb / 1024, step, calls)
        facts["truncated"] |= done.truncated
        return Result(
            outcome=done.outcome,
            value=self.value,
            text=text(done.text, MESSAGE_BYTES * 4) if done.text else "",
            changes=NO_CHANGES if done.changes is None else changes_of(done.changes),
            notes=tuple(notes_of(done.notes)) if done.notes else (),
            exit_status=done.exit_status,
            **self._contents,
            **facts,
        )

    def killed_result(
        self, verdict: Verdict, place: Place, sources: dict[str, str], step: int, calls: tuple[ToolCallRecord, ...]
    ) -> Result:
        """Return the result of a step that the host ended, or whose process died; before its state is brought back."""
        file = f"<step {step}>"
        line = place.source_line(file, sources) or place.source_line(place.innermost, sources)
        hint = advice.limit_hint(
            "exited" if verdict.exit_status is not None else verdict.rule or verdict.outcome,
            self._processes.policy.limits_plan(),
            wall_seconds=verdict.seconds,
            source_line=line[:LINE_CHARACTERS],
        )
        error = killed_error(verdict, place, file, sources, hint)
        facts = self._facts(self.watch.read_output(), self.peak / (1 << 20), step, calls)
        return Result(outcome=verdict.outcome, error=error, exit_status=verdict.exit_status, **facts)

    def _facts(
        self, printed: tuple[Printed, Printed], peak_mb: float, step: int, calls: tuple[ToolCallRecord, ...]
    ) -> dict[str, Any]:
        """Return what the host itself knows of the step, as fields of its result."""
        stdout, stderr = printed
        usage = Usage(self.wall * 1e3, self.cpu * 1e3, peak_mb, stdout.size + stderr.size, self.woke * 1e3)
        return {
            "stdout": stdout.text,
            "stderr": stderr.text,
            "usage": usage,
            "step": step,
            "truncated": stdout.left_out > 0 or stderr.left_out > 0,
            "tool_calls": calls,
        }


def death(status: int | None) -> str:
    """Return how a process ended, in words. `status`: as `os.waitpid` gives it; None where the kernel does not know."""
    if status is None:
        return "killed, or crashed in C code"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = next((one.name for one in signal.Signals if one.value == number), str(number))
        return f"killed by signal {name}"
    return f"it exited with status {_exited(status)}"


def _exited(status: int) -> int | None:
    """Return the status with which a process exited by itself."""
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
