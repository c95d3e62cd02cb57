"""No process of a sandbox forks without the host's permission: every fork waits in the kernel for the answer from here.

The host announces the forks that it has requested: a checkpoint after an answer, a runner from a copy, a child of the
zygote. A fork that was not announced waits, which costs nothing, until the look at its session finds it: that is a
verdict. It is never answered with an error: a guest tries 70,000 times a second, and each answer takes the host's time.

The filter is the zygote's (`zygote.server`), and all children inherit it; commands come from a fork of the zygote that
has none, as they may start what they like. A thread answers, since a checkpoint is made
in think time, when nobody drives the session. Where the kernel has no user notification there is no gate; then forks
are counted (`limits.processes` as RLIMIT_NPROC) and ended when they are found.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import select
import signal
from collections.abc import Callable, Iterator
from time import monotonic
from typing import NamedTuple

from msgspec import Struct

from safeexec.engine.host.waiting import Core, Wait
from safeexec.engine.linux import notify, processes

AGAIN = 2
"""How often a fork may ask again after the host has stopped its process: once, as the stop interrupted it, and once
more for a signal that came while it waited.
"""
END_SECONDS = 1.0
"""How long to wait for the thread; it ends within 0.1 ms."""


class Fork(NamedTuple):
    """A fork that nobody announced. Process and thread are the same where its main thread forks."""

    id: int
    thread: int
    process: int
    lineage: int | None
    """The kernel session that it is in."""


class _Allowed(Struct):
    """How many forks a process may still make, of those that the host has requested."""

    announced: int = 0
    again: int = 0
    """How often it may ask once more for one that was let go on."""


class ForkGate:
    """Answers the forks of one sandbox. Without a listener (-1) there is no gate, and nothing ever waits."""

    def __init__(self, listener: int, zygote: int) -> None:
        self._listener = listener
        self._zygote = zygote
        self._lock = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        self._allowed: dict[int, _Allowed] = {}
        """By process: those whose forks the host has announced."""
        self._stopped: list[int] = []
        self._refused: set[int] = set()
        self._allowances: dict[int, Callable[[], bool]] = {}
        self._waiting: dict[int, Fork] = {}
        self._stop = -1
        if listener >= 0:
            notify.prefer_one_core(listener)
            self._stop = os.eventfd(0, os.EFD_CLOEXEC)
            self._ended.acquire()
            _thread.start_new_thread(self._serve, ())

    def announce(self, process: int | None, *, alone: bool = False) -> None:
        """Let this process fork once more, as the host requests it; `alone`: what was announced before is void."""
        if process is None or self._listener < 0:
            return
        with self._lock:
            allowed = self._allowed.setdefault(process, _Allowed())
            allowed.announced += 1
            if alone:
                allowed.announced, allowed.again = 1, 0
            waiting = self._of(process) if self._waiting else None
            if waiting is not None:
                self._judge(waiting)

    def withdraw(self, process: int | None) -> None:
        """Void what was announced for this process: the reason for it has gone."""
        if process is not None and self._listener >= 0:
            self._allowed.pop(process, None)  # one call of C code: `interrupted` comes here with the lock held

    @contextlib.contextmanager
    def stopping(self, lineage: int) -> Iterator[None]:
        """Note that the host stops a kernel session and continues it."""
        self._stopped.append(lineage)
        try:
            yield
        finally:
            self._stopped.remove(lineage)

    def interrupted(self, lineage: int) -> None:
        """Note that the host has stopped and continued a kernel session: a fork let go on then comes once more,
        however late that comes and whatever is announced until then.

        fork(2) starts over when a signal is pending. All others than these two the child blocks (`linux.fork`).
        """
        if self._listener < 0:
            return
        with self._lock:
            # What is announced and not let go on yet may have been requested before the stop.
            again = set()
            for pid, allowed in list(self._allowed.items()):
                session = processes.session_of(pid)
                if session is None:
                    self.withdraw(pid)
                elif session == lineage:
                    allowed.again = AGAIN
                    again.add(pid)
            for fork in [fork for fork in self._waiting.values() if fork.thread in again]:
                self._judge(fork)

    @contextlib.contextmanager
    def refusing(self, process: int | None) -> Iterator[None]:
        """Have a fork of this process that was not announced fail (EPERM): for a self-test, which tries one."""
        assert process is not None
        self._refused.add(process)
        try:
            yield
        finally:
            self._refused.discard(process)

    def allow(self, lineage: int, may_fork: Callable[[], bool]) -> None:
        """Let processes of this kernel session fork on their own account, as long as `may_fork` says so."""
        if self._listener < 0:
            return
        with self._lock:
            self._allowances[lineage] = may_fork
            for fork in [fork for fork in self._waiting.values() if fork.lineage == lineage]:
                self._judge(fork)

    def forget_lineage(self, lineage: int) -> None:
        """Forget a kernel session whose processes have been ended."""
        self._allowances.pop(lineage, None)

    def waiting(self, lineage: int) -> list[Fork]:
        """Return the forks of a kernel session that nobody announced. Those whose process has gone are dropped. An
        empty list while the host stops the session: forks that it had announced ask again, and `interrupted` has not
        been called yet.
        """
        if not self._waiting or lineage in self._stopped:
            return []
        with self._lock:
            for fork in [fork for fork in self._waiting.values() if not notify.is_waiting(self._listener, fork.id)]:
                del self._waiting[fork.id]
            return [fork for fork in self._waiting.values() if fork.lineage == lineage]

    def waits(self, fork: Fork) -> bool:
        """Return whether it still does: the host may have requested it meanwhile."""
        return fork.id in self._waiting

    def kill(self, fork: Fork) -> None:
        """End the process that waits to fork."""
        try:
            pidfd = os.pidfd_open(fork.process)
        except OSError:
            return
        try:
            # While its call waits, the number is its own: so the pidfd is of no process that came later.
            if notify.is_waiting(self._listener, fork.id):
                processes.send_signal(pidfd, signal.SIGKILL)
        finally:
            os.close(pidfd)

    def release(self, process: int | None) -> None:
        """Fail the waiting fork of a process that is about to be ended, so that it can report where it was."""
        with self._lock:
            fork = self._of(process)
            if fork is not None:
                del self._waiting[fork.id]
                notify.answer(self._listener, fork.id, errno.EAGAIN)

    def close(self) -> Core[None]:
        """End the thread, and wait until it has. All that could fork is gone already."""
        if self._stop < 0:
            return
        os.eventfd_write(self._stop, 1)
        deadline = monotonic() + END_SECONDS
        while not self._ended.acquire(blocking=False):
            if monotonic() >= deadline:
                return
            yield Wait((), monotonic() + 0.0001)
        self.disown()

    def disown(self) -> None:
        """Close this process's descriptors. The thread has ended, or is another process's."""
        for fd in (self._listener, self._stop):
            if fd >= 0:
                os.close(fd)
        self._listener = self._stop = -1

    # The thread

    def _serve(self) -> None:
        poller = select.poll()
        poller.register(self._listener, select.POLLIN)
        poller.register(self._stop, select.POLLIN)
        try:
            while True:
                for fd, event in poller.poll():
                    if fd == self._stop or not event & select.POLLIN:  # or the last process has ended
                        return
                    request = notify.receive(self._listener)
                    if request is not None:
                        # A thread's number, in place of that of its process: only what nobody announced is looked up.
                        with self._lock:
                            self._judge(Fork(request.id, request.thread, request.thread, None))
        finally:
            self._ended.release()

    def _judge(self, fork: Fork) -> None:
        """Answer a fork, or let it wait. The lock is held since the fork was found waiting: each is answered once."""
        if not self._is_announced(fork.thread):
            if fork.thread in self._refused:
                notify.answer(self._listener, fork.id, errno.EPERM)
                return
            lineage = processes.session_of(fork.thread)
            may_fork = self._allowances.get(lineage) if lineage is not None else None
            if may_fork is None or not may_fork():
                process = processes.process_of(fork.thread) or fork.thread
                self._waiting[fork.id] = Fork(fork.id, fork.thread, process, lineage)
                return
        self._waiting.pop(fork.id, None)
        notify.answer(self._listener, fork.id)

    def _is_announced(self, process: int) -> bool:
        """Return whether the host has requested this fork; then it has requested one fewer."""
        if process == self._zygote:
            return True
        allowed = self._allowed.get(process)
        if allowed is None or not (allowed.announced or allowed.again):
            return False
        if allowed.announced:
            allowed.announced -= 1
        else:
            allowed.again -= 1
        return True

    def _of(self, process: int | None) -> Fork | None:
        """Return the fork with which the main thread of a process waits. The lock is held."""
        return next((fork for fork in self._waiting.values() if fork.thread == process), None)


NO_GATE = ForkGate(-1, -1)
"""The gate of a sandbox that is not open."""
