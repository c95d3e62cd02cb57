"""Watches the clock, the output and the files of a running step, and finds out where it is when it is stopped.

The accountant looks at CPU time, memory, forks, and at files too. The first verdict stands, whoever hands it in.
Figures come from the kernel and the host's own clock, never from the child.
"""

from __future__ import annotations

import signal
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec.engine.host.waiting import Core, Wait
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.linux import processes
from safeexec.errors import PolicyError
from safeexec.protocol.plan import OUTPUT_CEILING
from safeexec.results import ErrorInfo
from safeexec.untrusted import stack_dump as dumps

if TYPE_CHECKING:
    from safeexec.engine.host.session.channel import Channel
    from safeexec.engine.host.session.output import OutputFile, Printed
    from safeexec.engine.host.watch.gate import ForkGate
    from safeexec.engine.host.watch.room import Room
    from safeexec.engine.policy.model import Limits, Policy

STEP_LOOK_SECONDS = 0.05
"""How often a running step looks at its clock and its output."""
WHERE_SECONDS = 0.02
"""How long a process may take to report where its guest code is."""
UNSCHEDULED_SECONDS = 0.5
"""How much longer it may take when the machine is so busy that the signal has not even been delivered. With six
programs that compute on two cores, one process in 30 waited for more than 0.1 s.
"""
WHERE_SIGNAL = signal.SIGUSR1
_SHOWN = 200
"""Characters of a source line in the message of an error."""


def timeout_of(policy: Policy, timeout: float | None) -> float:
    """Return the limit of a step or a command in seconds: the caller's, or else the policy's own. Raises
    TypeError, `PolicyError`.
    """
    limits = policy.limits
    if timeout is None:
        return limits.wall_seconds
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r:.60}")
    if not 0 < timeout <= limits.max_wall_seconds:
        raise PolicyError(
            f"timeout={timeout!r} is out of bounds: the policy {policy.name!r} allows more than 0 and at most "
            f"{limits.max_wall_seconds:g} s (limits.max_wall_seconds, {policy.origin('limits.max_wall_seconds')})"
        )
    return float(timeout)


class Place(Struct, frozen=True):
    """The place where the guest was: file, line and function of each of its frames, the innermost first."""

    frames: tuple[tuple[str, int, str], ...] = ()

    @property
    def innermost(self) -> str:
        """The file of the innermost frame, or an empty string."""
        return self.frames[0][0] if self.frames else ""

    def line(self, file: str) -> int | None:
        """Return the innermost line in `file`, the step that was stopped."""
        return next((line for name, line, _ in self.frames if name == file), None)

    def source_line(self, file: str, sources: dict[str, str]) -> str:
        """Return the text of that line, or an empty string."""
        line = self.line(file)
        return _line_of(sources.get(file, "").splitlines(), line) if line is not None else ""

    def traceback(self, sources: dict[str, str]) -> str:
        """Return the guest's call chain as Python would print it. Each source is cut into lines once."""
        texts = {file: sources.get(file, "").splitlines() for file, _, _ in self.frames}
        rows = []
        for file, line, function in reversed(self.frames):
            rows.append(f'  File "{file}", line {line}, in {function}')
            if text := _line_of(texts[file], line).strip():
                rows.append(f"    {_shortened(text)}")
        return "\n".join(["Traceback (most recent call last):", *rows, ""]) if rows else ""


def _line_of(lines: list[str], line: int) -> str:
    return lines[line - 1] if 0 < line <= len(lines) else ""


class Watch(Struct, eq=False):
    """The clock of one step, what it prints and writes. The accountant looks at CPU time, memory and forks."""

    _runner: Channel
    _limits: Limits
    _timeout: float
    _outputs: tuple[OutputFile, OutputFile]
    room: Room | None = None
    """The count of its files, where it has a workspace."""
    cpu_start: float = 0.0
    _bill_start: float = 0.0
    started: float = 0.0
    _deadline: float = 0.0
    paused: float = 0.0
    """Seconds during which the step's clock stood still (a host tool ran)."""
    most_printed: int = 0
    """Bytes in one stream past which the step is ended."""

    def __post_init__(self) -> None:
        """Start the clock: the step begins only now."""
        self.cpu_start = self._runner.cpu_seconds()
        self._bill_start = self._runner.bill.cpu
        self.started = monotonic()
        self._deadline = self.started + self._timeout
        self.most_printed = self._limits.output_kb * 1024 * OUTPUT_CEILING
        if self.room is not None:
            self.room.begin()

    start_again = __post_init__

    @property
    def deadline(self) -> float:
        return self._deadline + self.paused

    def next_look(self) -> float:
        look = min(self._deadline + self.paused, monotonic() + STEP_LOOK_SECONDS)
        return look if self.room is None else min(look, self.room.due)

    def spent(self) -> tuple[float, float]:
        """Return the seconds of this step so far, and its CPU seconds by the kernel: of its process, and of the host to
        read its words.
        """
        own = self._runner.cpu_seconds() - self.cpu_start
        return monotonic() - self.started, max(0.0, own) + self._runner.bill.cpu - self._bill_start

    def check(self) -> Verdict | None:
        """Return the verdict on a step that is past its deadline, or has printed too much."""
        return self.check_deadline() or self.check_output()

    def check_output(self) -> Verdict | None:
        """Return the verdict on a step that has printed too much."""
        return self.output_verdict() if self._fullest() > self.most_printed else None

    def look(self) -> Core[Verdict | None]:
        """Return the verdict of `check`, or the one on a step whose workspace holds too much."""
        verdict = self.check()
        if verdict is None and self.room is not None:
            verdict = yield from self.room.look()
        return verdict

    def _fullest(self) -> int:
        """Return how many bytes the fuller stream holds."""
        return max(output.size() for output in self._outputs)

    def check_deadline(self) -> Verdict | None:
        """Return the verdict on a step that is past its deadline, whatever it has printed."""
        if monotonic() < self.deadline:
            return None
        return Verdict("timeout", f"the step was stopped after its limit of {self._timeout:g} s", self._timeout)

    def read_output(self) -> tuple[Printed, Printed]:
        """Return what the streams hold, as a result has it."""
        cap = self._limits.output_kb << 10
        stdout, stderr = self._outputs
        return stdout.text(cap), stderr.text(cap)

    def output_verdict(self) -> Verdict:
        """Return the verdict on a step that printed too much, or raised an exception with a message as long as that."""
        size = self._fullest() >> 10
        ceiling = self._limits.output_kb * OUTPUT_CEILING
        printed = (
            f"the step printed {size} KiB" if size > ceiling else "the message of the step's exception is too long"
        )
        return Verdict("output", f"{printed}; {ceiling} KiB ({OUTPUT_CEILING} x limits.output_kb) end a step")


def where(runner: Channel, stderr: OutputFile, gate: ForkGate, most: float | None = None) -> Core[Place]:
    """Ask a running child for its guest frames. Waits 20 ms at most, and half a second more while the
    kernel has not delivered the signal: a broken-out guest can block it, or lie.
    `most`: seconds after which it is given up though the machine is busy, as it goes on meanwhile.

    The handler takes 4 us once it runs; 0.1 ms is about a trip through the scheduler.
    """
    mark = stderr.mark()
    if runner.pidfd < 0 or not processes.send_signal(runner.pidfd, WHERE_SIGNAL):
        return Place()
    gate.release(runner.pid)  # a fork that waits takes no signal, but the one that kills
    deadline = monotonic() + (WHERE_SECONDS if most is None else most)
    latest, was_pending = deadline + (UNSCHEDULED_SECONDS if most is None else 0.0), False
    while True:
        if (dump := dumps.read(stderr.tail_since(mark, dumps.DUMP_BYTES))) is not None:
            frames, ended = dump
            if ended or monotonic() >= deadline:
                stderr.hide(mark)
                return Place(frames)
        if monotonic() >= deadline:
            pending = _undelivered(runner.pid)
            if monotonic() >= latest or not (pending or was_pending):
                stderr.hide(mark)
                return Place()
            # Once delivered it has as long again: it may have been interrupted before the handler ran.
            deadline, was_pending = monotonic() + WHERE_SECONDS, pending
            continue
        yield Wait((runner.pidfd,), monotonic() + 0.0001)


def _undelivered(pid: int | None) -> bool:
    """Return whether the signal is pending, and the process does not block it: it has not been scheduled since."""
    try:
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
        return bool(pending & ~int(fields["SigBlk"], 16) & (1 << WHERE_SIGNAL - 1))
    except (OSError, KeyError, ValueError):
        return False


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def killed_error(verdict: Verdict, place: Place, file: str, sources: dict[str, str], hint: str | None) -> ErrorInfo:
    """Return the error of a step that the host ended, with the place where the guest was."""
    if place.line(file) is None:  # a call into a plugin: the module where it was
        file = place.innermost
    line, source = place.line(file), place.source_line(file, sources)
    names = {
        "timeout": "TimeoutError",
        "memory": "MemoryError",
        "cancelled": "CancelledError",
        "waiting": "StepWaiting",
    }
    return ErrorInfo(
        type=names.get(verdict.outcome, "StepKilled"),
        message=verdict.message
        if line is None
        else f"{verdict.message}; it was at line {line}" + (f": {_shortened(source.strip())}" if source else ""),
        line=line,
        source_line=source,
        traceback=place.traceback(sources),
        rule=verdict.rule,
        hint=hint,
        file="" if line is None else file,
    )
