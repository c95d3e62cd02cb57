"""The clock and the output of a running step; where it is when it is stopped; and the end of a session's processes.

The accountant looks at CPU time, memory, forks and files. The first verdict stands, whoever hands it in. Figures come
from the kernel and the host's own clock, never from the child.
"""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Callable, Collection
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from safeexec.host.waiting import Core, Wait
from safeexec.host.watch.groups import give_up
from safeexec.host.watch.library import NO_LIBRARY, LateLibrary
from safeexec.host.watch.verdict import OUTPUT_CEILING, Verdict
from safeexec.linux import processes
from safeexec.results import ErrorInfo
from safeexec.untrusted import frames as dumps

if TYPE_CHECKING:
    from safeexec.host.session.channel import Channel
    from safeexec.host.session.output import OutputFile, Printed
    from safeexec.host.watch.gate import ForkGate
    from safeexec.linux.cgroups import Group
    from safeexec.policy.model import Limits

TICK_SECONDS = 0.05
"""How often a running step is looked at."""
KILL_SECONDS = 5.0
"""How long a killed process may take to be gone: tearing down 4 GB took 0.4 s."""
WHERE_SECONDS = 0.02
UNSCHEDULED_SECONDS = 0.1
"""How much longer when the machine is so busy that the signal has not even been delivered."""
WHERE_SIGNAL = signal.SIGUSR1
_SHOWN = 200
"""Characters of a source line in the message of an error."""


class Place(Struct, frozen=True):
    """Where the guest was: file, line and function of each of its frames, the innermost first."""

    frames: tuple[tuple[str, int, str], ...] = ()

    @property
    def innermost(self) -> str:
        """The file of the innermost frame, or an empty string."""
        return self.frames[0][0] if self.frames else ""

    def line(self, file: str) -> int | None:
        """The innermost line in `file`, the step that was stopped."""
        return next((line for name, line, _ in self.frames if name == file), None)

    def source_line(self, file: str, sources: dict[str, str]) -> str:
        """The text of that line, or an empty string."""
        line = self.line(file)
        return _line_of(sources.get(file, "").splitlines(), line) if line is not None else ""

    def traceback(self, sources: dict[str, str]) -> str:
        """The guest's call chain as Python would print it. Each source is cut into lines once."""
        texts = {file: sources.get(file, "").splitlines() for file, _, _ in self.frames}
        rows = []
        for file, line, function in reversed(self.frames):
            rows.append(f'  File "{file}", line {line}, in {function}')
            if text := _line_of(texts[file], line).strip():
                rows.append(f"    {_shortened(text)}")
        return "\n".join(["Traceback (most recent call last):", *rows, ""]) if rows else ""


def _line_of(lines: list[str], line: int) -> str:
    return lines[line - 1] if 0 < line <= len(lines) else ""


class Watch:
    """The clock of one step, and what it prints. All else that bounds a step is the accountant's to look at."""

    __slots__ = (
        "_deadline",
        "_library",
        "_limits",
        "_outputs",
        "_runner",
        "_timeout",
        "cpu_start",
        "paused",
        "started",
    )

    def __init__(
        self,
        runner: Channel,
        limits: Limits,
        timeout: float,
        outputs: tuple[OutputFile, OutputFile],
        library: LateLibrary = NO_LIBRARY,
    ) -> None:
        self.paused = 0.0
        """Seconds during which the step's clock stood still (a host tool ran)."""
        self._runner = runner
        self._limits = limits
        self._timeout = timeout
        self._outputs = outputs
        self._library = library
        self.start_again()

    def start_again(self) -> None:
        """The step begins only now."""
        self.cpu_start = processes.cpu_seconds(self._runner.pid) or 0.0
        self.started = monotonic()
        self._deadline = self.started + self._timeout

    @property
    def deadline(self) -> float:
        return self._deadline + self.paused

    def next_look(self) -> float:
        return min(self._deadline + self.paused, monotonic() + TICK_SECONDS)

    def cpu_seconds(self) -> float:
        """CPU time of this step so far, by the kernel's count."""
        return max(0.0, (processes.cpu_seconds(self._runner.pid) or 0.0) - self.cpu_start)

    def look(self) -> Verdict | None:
        """The first limit that the step is over, if any."""
        return self.late() or (self.flood() if self.is_flood(self._most()) else None)

    def _most(self) -> int:
        """Bytes in the fuller stream."""
        return max(output.size() for output in self._outputs)

    def late(self) -> Verdict | None:
        """The verdict on a step that is past its deadline."""
        if monotonic() < self.deadline:
            return None
        self._deadline = self._library.clock_begins(self.started) + self._timeout
        if monotonic() < self.deadline:
            return None
        return Verdict("timeout", f"the step was stopped after its limit of {self._timeout:g} s", self._timeout)

    def printed(self) -> tuple[Printed, Printed]:
        """What the streams hold, as a result tells it."""
        cap = self._limits.output_kb << 10
        stdout, stderr = self._outputs
        return stdout.text(cap), stderr.text(cap)

    def is_flood(self, size: int) -> bool:
        """Whether so many bytes in one stream are past the ceiling."""
        return size > self._limits.output_kb * 1024 * OUTPUT_CEILING

    def flood(self) -> Verdict:
        """The verdict on a step that printed too much, or raised an exception with a message as long as that."""
        size = self._most() >> 10
        ceiling = self._limits.output_kb * OUTPUT_CEILING
        printed = (
            f"the step printed {size} KiB" if size > ceiling else "the message of the step's exception is too long"
        )
        return Verdict("output", f"{printed}; {ceiling} KiB ({OUTPUT_CEILING} x limits.output_kb) end a step")


def where(runner: Channel, stderr: OutputFile, gate: ForkGate) -> Core[Place]:
    """Ask a running child for its guest frames. Waits 20 ms at most: a broken-out guest can block the signal or lie.

    The handler takes 4 us once it runs; 0.1 ms is about a trip through the scheduler.
    """
    mark = stderr.mark()
    if runner.pidfd < 0 or not processes.send_signal(runner.pidfd, WHERE_SIGNAL):
        return Place()
    gate.release(runner.pid)  # a fork that waits takes no signal, but the one that kills
    deadline = monotonic() + WHERE_SECONDS
    latest = deadline + UNSCHEDULED_SECONDS
    while True:
        if (told := dumps.read(stderr.tail_since(mark, dumps.DUMP_BYTES))) is not None:
            frames, ended = told
            if ended or monotonic() >= deadline:
                stderr.hide(mark)
                return Place(frames)
        if monotonic() >= deadline:
            if monotonic() < latest and _undelivered(runner.pid):
                deadline = monotonic() + 0.001
                continue
            stderr.hide(mark)
            return Place()
        yield Wait((runner.pidfd,), monotonic() + 0.0001)


def _undelivered(pid: int | None) -> bool:
    """Whether the question has not reached the process, although it blocks nothing: it was not scheduled since."""
    try:
        with open(f"/proc/{pid}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        pending = int(fields["SigPnd"], 16) | int(fields["ShdPnd"], 16)
        return bool(pending & ~int(fields["SigBlk"], 16) & (1 << WHERE_SIGNAL - 1))
    except (OSError, KeyError, ValueError):
        return False


class Lineage:
    """The processes of a session and of all its branches: one kernel session, one process group.

    Children may neither leave the group nor start one (seccomp refuses setsid and setpgid), so the group is exactly
    what descends from the first child, strays of an escaped guest included.
    """

    __slots__ = ("__weakref__", "_gate", "_leader_fd", "_reapers", "groups", "leader", "sessions")

    def __init__(self, leader: Channel, reapers: tuple[int, ...], gate: ForkGate) -> None:
        assert leader.pid is not None
        self.leader = leader.pid
        """The kernel session of all its processes: the pid of its first child."""
        self._leader_fd = os.dup(leader.pidfd)
        self._reapers = reapers
        self._gate = gate
        self.sessions: set[LineageMember] = set()
        self.groups: list[Group] = []
        """The control groups of its sessions. A copy that a branch needs may lie in the group of one that is closed."""

    def end_runner(
        self, runner: Channel, owner: LineageMember, meanwhile: Callable[[], Core[None]] | None = None
    ) -> Core[bool]:
        """Kill the runner of `owner` and every fork that it left behind; wait until the runner is gone. Whether it
        is. `meanwhile`: what to do as it ends; all others of the group stand still then.
        """
        with self._gate.stopping(self.leader):
            try:  # around the signal too: an interrupt right after it would leave the copies stopped
                processes.signal_group(self._leader_fd, self.leader, signal.SIGSTOP)
                runner.kill()
                if meanwhile is not None:
                    yield from meanwhile()
                gone = yield from runner.ended(monotonic() + KILL_SECONDS)
            finally:
                self._gate.interrupted(self.leader)
                processes.signal_group(self._leader_fd, self.leader, signal.SIGCONT)
                self._gate.interrupted(self.leader)
            yield from owner.meet_checkpoints()
            swept = processes.end_strays(self._leader_fd, self.leader, lambda: self._known(owner), self._reapers)
            self._gate.interrupted(self.leader)
            if not swept:
                # Its checkpoints end with it: what cannot be told apart in time goes as a whole.
                processes.signal_group(self._leader_fd, self.leader, signal.SIGKILL)
        return gone

    def _known(self, owner: LineageMember) -> set[int] | None:
        """The processes that are no strays; nor are their children: the next checkpoint of a runner, a runner being
        thawed.

        None while another branch has lost its runner and its thread has not met the checkpoints yet: they are orphans
        like any stray. That branch's own sweep, soon, ends the strays then.
        """
        members = list(self.sessions)
        if any(member.orphaned() for member in members if member is not owner):
            return None
        return {pid for member in members for pid in member.pids()}

    def runners(self) -> set[int | None]:
        """The processes that run steps, of all its sessions."""
        return {member.runner_pid() for member in list(self.sessions)}

    def room_for(self, most: int) -> Callable[[], bool]:
        """Whether so many processes of guest code are not alive yet, as a function."""

        weak = weakref.ref(self)  # the thread that asks keeps no sandbox alive

        def has_room() -> bool:
            if (lineage := weak()) is None:
                return False
            known = {pid for member in list(lineage.sessions) for pid in member.pids()}
            return sum(stat.pid not in known for stat in processes.session_members(lineage.leader)) < most

        return has_room

    def leave(self, member: LineageMember) -> None:
        """A session of the lineage is closed. With the last one, everything that is left of the group ends."""
        self.sessions.discard(member)
        if not self.sessions and self._leader_fd >= 0:
            processes.signal_group(self._leader_fd, self.leader, signal.SIGKILL)
            self._gate.forget_lineage(self.leader)
            os.close(self._leader_fd)
            self._leader_fd = -1
            for group in self.groups:
                give_up(group)


class LineageMember(Protocol):
    def runner_pid(self) -> int | None:
        """The process that runs steps, if there is one."""
        ...

    def orphaned(self) -> bool:
        """Whether the runner is dead, and checkpoints that it left may be unknown yet."""
        ...

    def meet_checkpoints(self) -> Core[None]:
        """Learn the pid of every checkpoint that has parked. The runner is dead: no more will park."""
        ...

    def pids(self) -> Collection[int]:
        """The processes that this session knows and keeps: its runner and its parked checkpoints."""
        ...


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."


def killed_error(verdict: Verdict, place: Place, file: str, sources: dict[str, str], hint: str | None) -> ErrorInfo:
    """The error of a step that the host ended, with the place where the guest was."""
    if place.line(file) is None:  # a call into a plugin: the module where it was
        file = place.innermost
    line, source = place.line(file), place.source_line(file, sources)
    names = {"timeout": "TimeoutError", "memory": "MemoryError", "cancelled": "CancelledError"}
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
