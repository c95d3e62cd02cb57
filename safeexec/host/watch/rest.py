"""What a session does between its steps: in threads, forks and handlers of signals that a step has left behind.

Nobody waits for a session at rest, so nobody would end it. It may use as much as one step may, all in all; a session
that uses more goes back to its newest checkpoint, without what it had running. One thread per sandbox looks every two
seconds. It asks the kernel for the CPU time of each process, and goes on only where somebody has been busy.

A session that has been left alone for a while settles: it gives up the memory that only the next step would need.
"""

from __future__ import annotations

import _thread
import weakref
from time import monotonic
from typing import TYPE_CHECKING

from safeexec.errors import SandboxError
from safeexec.host.session.session import BRIEF_SECONDS, SessionCore
from safeexec.host.waiting import Core, Wait, drive
from safeexec.linux import processes

if TYPE_CHECKING:
    from safeexec.host.sandbox import SandboxCore

TICK_SECONDS = 0.25
"""How often to see which sessions are to settle: that is a glance at two numbers each."""
TICKS_PER_LOOK = 8
"""A look at a session takes 0.1 ms: 100 sessions at rest cost half a percent of a core."""
BUSY_SECONDS = 0.002
"""CPU time since the last look below which a session has slept: a checkpoint in think time takes 1 ms."""
GROWTH_BYTES = 16 << 20
"""By how much a parked copy may grow. One that only waits does not."""
BIRTHS = 64
"""Processes that may appear while a session rests. One that forks and ends in turn is too short to be measured."""


class Rest:
    """What a session has used since its last step, by process."""

    __slots__ = ("_births", "_cpu", "_known", "_memory", "_spent", "_used")

    def __init__(self) -> None:
        self._used = 0.0
        self._begin(0.0)

    def _begin(self, used: float) -> None:
        self._used = used
        self._cpu: dict[int, float] = {}
        self._memory: dict[int, int] = {}
        self._known: set[int] = set()
        self._births = 0
        self._spent = 0.0

    def over(self, session: SessionCore) -> str | None:
        """What is too much since the last step, or None. Nobody uses the session meanwhile."""
        if self._used != session.used:
            self._begin(session.used)
        if session.line.stray_fork() is not None:
            return "started a process"
        guests = session.line.guests()
        runner, copies = session.runner_pid(), session.pids()
        everyone = {*guests, *copies}
        first = not self._known
        if not first:
            self._births += len(everyone - self._known)
        self._known = everyone
        spent = 0.0
        for pid in everyone:
            cpu = processes.cpu_seconds(pid) or 0.0
            spent += cpu - self._cpu.setdefault(pid, cpu)
        limits = session.policy.limits
        if spent > limits.cpu_seconds:
            return f"used {spent:.1f} s of CPU time; limits.cpu_seconds is {limits.cpu_seconds:g}"
        if self._births > BIRTHS:
            return f"started {self._births} processes, each by the one before"
        grown = sum(self._growth(pid) for pid in copies if pid != runner)
        busy, self._spent = spent - self._spent > BUSY_SECONDS, spent
        if not busy and not first:
            return None
        held = (session.line.memory() + grown) >> 20
        if held > limits.memory_mb:
            return f"held {held} MiB; limits.memory_mb is {limits.memory_mb}"
        if (unnamed := session.unnamed_over()) is not None:
            return f"went over a limit ({unnamed.message})"
        if session.workspace is None:
            return None
        files = session.workspace.over(limits.workspace_mb << 20, limits.workspace_files)
        return None if files is None else f"went over a limit ({files})"

    def _growth(self, pid: int) -> int:
        """Bytes by which a parked copy has grown since it was first seen."""
        now = processes.private_memory(pid)
        return max(0, now - self._memory.setdefault(pid, now))

    def hostile(self, pid: int) -> bool:
        """Whether a parked copy has been at work, or has grown: it is none."""
        cpu = processes.cpu_seconds(pid) or 0.0
        return cpu - self._cpu.get(pid, cpu) > BUSY_SECONDS or self._growth(pid) > GROWTH_BYTES


def mind(session: SessionCore) -> Core[None]:
    """Look at a session if it is at rest, and end what uses too much. A caller who comes meanwhile waits for it."""
    return session.attend(lambda: _look_at(session))


def _look_at(session: SessionCore) -> Core[None]:
    """Nobody else uses the session meanwhile."""
    if session.rest is None:
        session.rest = Rest()
    if (over := session.rest.over(session)) is not None:
        yield from session.end_rest(over, session.rest.hostile)
    elif session.restless():
        yield from session.settle()


class Minder:
    """The thread that looks. It ends with its sandbox."""

    __slots__ = ("_ended", "_sandbox", "_stop")

    def __init__(self, sandbox: SandboxCore) -> None:
        self._sandbox = weakref.ref(sandbox)
        self._stop = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        self._stop.acquire()
        self._ended.acquire()
        # Not threading.Thread, whose start waits for the thread: 0.1 ms of every cold start.
        _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        try:
            ticks = 0
            while not self._stop.acquire(timeout=TICK_SECONDS):
                ticks += 1
                if not self._go_round(closely=ticks % TICKS_PER_LOOK == 0):
                    return
        finally:
            self._ended.release()

    def _go_round(self, *, closely: bool) -> bool:
        """See to the sessions there are. Whether there is a sandbox still: between two rounds nothing here holds it."""
        if (sandbox := self._sandbox()) is None:
            return False
        for session in sandbox.open_sessions():
            if closely or session.restless():
                try:
                    drive(mind(session))
                except (SandboxError, OSError):
                    continue  # closed meanwhile, or the zygote has gone: the next use says so
        return True

    def close(self) -> Core[None]:
        """End the thread, and wait until it has."""
        self._stop.release()
        while not self._ended.acquire(timeout=BRIEF_SECONDS):
            yield Wait((), monotonic() + BRIEF_SECONDS)
