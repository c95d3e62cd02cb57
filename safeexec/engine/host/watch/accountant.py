"""The one look at all sessions of the host, whatever they do: run a step, call a tool, make a copy, rest.

A thread looks every 50 ms while any session is in use and every 250 ms otherwise. It takes 1 % of a core at most: with
many sessions it looks more rarely. `rotation` says who is looked at, `account` what is too much. Nothing that a guest
does can hold it up. It reads the kernel's figures and sends signals; what takes longer is done by whoever uses the
session next.
"""

from __future__ import annotations

import _thread
import collections
import contextlib
import os
import weakref
from collections.abc import Callable, Collection
from functools import partial
from time import monotonic, thread_time
from typing import TYPE_CHECKING

from safeexec.engine.host.watch.account import Subject
from safeexec.engine.host.watch.census import Census, Machine, Process, owner_of
from safeexec.engine.host.watch.rotation import IDLE_LOOK_SECONDS, IDLE_RATE, Rotation
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.policy.kernel import SPARE_DESCRIPTORS, address_space
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Limits, Policy

LOOK_SECONDS = 0.05
SHARE = 100
"""A look that took so much CPU time is followed by this many times as much without one: 1 % of a core at most."""
NEWBORN_LOOKS = 2
"""Looks after which a process that has not run is as it was: the second one counts its memory."""
LONGEST_SECONDS = 1.0
"""The longest pause between two looks."""
DEEP_SHARE = 100
"""Files and descriptors take 0.1 to 0.6 ms per session, and have 1 % of a core: one session after the other."""
LOOK_MICROSECONDS = 14
"""CPU time of a look at one running session."""
SOCKET_BYTES, PIPE_BYTES = 240 << 10, 32 << 10
"""Bytes that one end holds at most, by the kernel's sizes, which guests may not change: 28 MB at 120 descriptors."""
LINGER_LOOKS = 8
"""Looks at nothing after which the thread ends."""


class Accountant:
    """The looks, one after the other. Time is handed in, so are the figures; `run` is what a thread does with it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._census = Census(machine)
        self._rotation = Rotation()
        self._last = 0.0
        self._owed: collections.OrderedDict[weakref.ref[Subject], None] = collections.OrderedDict()
        """Sessions that have run since their files were looked at, the longest waiting first."""
        self.idle = True
        """True while no session is in use, and the next look is a quarter of a second away."""
        self._took = 0.0
        """CPU time of the last look."""
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._lock = _thread.allocate_lock()
        self._alive = False

    def add(self, subject: Subject) -> None:
        """Watch it from now on, until it is removed or nobody has it any more."""
        self.enter(subject)
        with self._lock:
            if not self._alive:
                self._alive = True
                _thread.start_new_thread(self._run, ())

    def enter(self, subject: Subject) -> None:
        """Begin to look at a session without a thread: the caller calls `look`."""
        self._rotation.enter(subject)

    def remove(self, subject: Subject) -> None:
        self._rotation.remove(subject)

    def hurry(self, subject: Subject) -> None:
        """Look soon at a session that is in use, and was found `idle`."""
        self._rotation.wake(subject)
        if self.idle:
            self.idle = False
            with contextlib.suppress(RuntimeError):  # somebody else did at the same time
                self._wake.release()

    def look(self, now: float) -> None:
        """Look at all that is due."""
        began = thread_time()
        lineages, used = self._rotation.turn(now)
        leaders = self._rotation.leaders()
        self._census.forget(self._census.lineages.keys() - leaders)
        for leader in leaders - self._census.lineages.keys():
            self._census.watch(leader)
        self._census.find(now)
        found: dict[Subject, list[Process]] = {}
        for leader, subjects in lineages.items():
            for subject in subjects:
                self._guarded(subject, subject.check_progress)
            members = self._census.measure(leader)
            grown = any(process.spent or process.looks <= NEWBORN_LOOKS for process in members)
            if leader in used or grown or any(subject.account.uncounted for subject in subjects):
                for subject, share in divide(members, subjects):
                    found.setdefault(subject, []).extend(share)
            # Otherwise nothing has run, so nothing has grown.
        self._rotation.looked(lineages, now)
        for subject, share in found.items():
            self._guarded(subject, partial(self._judge, subject, share, now))
        self.idle, self._took = not used, thread_time() - began
        self._look_deeper((now - self._last) / DEEP_SHARE)
        self._last = now

    def pause(self) -> float:
        """Return how many seconds the next look is away."""
        return max(IDLE_LOOK_SECONDS if self.idle else LOOK_SECONDS, min(SHARE * self._took, LONGEST_SECONDS))

    def _judge(self, subject: Subject, members: list[Process], now: float) -> Verdict | None:
        account = subject.account
        account.begin(subject.period())
        account.take(members, subject.ordered(), subject.total_cpu())
        if account.ran:
            self._owed.setdefault(weakref.ref(subject))
        return account.check_limits(now, self._exact)

    def _guarded(self, subject: Subject, judge: Callable[[], Verdict | None]) -> None:
        """Judge a subject, and end it if there is a verdict on it, or if judging it fails."""
        try:
            verdict = judge()
        except OSError:
            return  # out of descriptors: the next look may have some
        except Exception as error:
            verdict = Verdict("crashed", f"the session could not be looked after ({error!r})")
        if verdict is not None:
            subject.exceed(verdict, subject.account.processes_to_end())

    def _look_deeper(self, seconds: float) -> None:
        """Look at files and streams, of one session at least and for so many seconds of CPU time."""
        began = thread_time()
        while self._owed and thread_time() - began <= seconds:
            subject = self._owed.popitem(last=False)[0]()
            if subject is not None:
                self._guarded(subject, subject.check_files)

    def _exact(self, pids: Collection[int]) -> int | None:
        shares = [self._machine.shares(pid) for pid in pids]
        return None if None in shares else sum(share for share in shares if share is not None)

    def _run(self) -> None:
        empty = 0
        try:
            while empty < LINGER_LOOKS or not self._may_end():
                with contextlib.suppress(OSError):
                    self.look(monotonic())
                empty = 0 if self._rotation else empty + 1
                if self._wake.acquire(timeout=self.pause()):
                    # In a hurry, but not at once: many sessions that wake together are one look.
                    self._wake.acquire(timeout=LOOK_SECONDS)
        except BaseException:
            self._alive = False  # the next session starts another one
            raise

    def _may_end(self) -> bool:
        """Return whether nobody is left to look at; then whoever comes next starts another thread."""
        with self._lock:
            self._alive = bool(self._rotation)
            return not self._alive


def divide(members: list[Process], subjects: list[Subject]) -> list[tuple[Subject, list[Process]]]:
    """Share out the processes of a lineage. One that may be any subject's is counted with each of them."""
    if len(subjects) == 1:
        return [(subjects[0], members)]
    by_pid = {process.pid: process for process in members}
    owners: dict[int, int] = {}
    for index, subject in enumerate(subjects):
        runner, copies, _ = subject.ordered()
        owners |= dict.fromkeys(copies, index)
        if runner is not None:
            owners[runner] = index
    shares: list[list[Process]] = [[] for _ in subjects]
    for process in members:
        owner = owner_of(process, by_pid, owners)
        for index in range(len(subjects)) if owner is None else (owner,):
            shares[index].append(process)
    return list(zip(subjects, shares, strict=True))


def mechanism(policy: Policy, sandbox: Limits) -> Mechanism:
    """Return what the looks mean for the limits: how late they see, and how much may be used by then. `sandbox`: the
    limits under which the zygote was prepared, which the policy of a session only lowers.
    """
    limits = policy.limits
    look, idle = round(LOOK_SECONDS * 1000), round(IDLE_LOOK_SECONDS * 1000)
    mapped = address_space(sandbox) - (sandbox.memory_mb - limits.memory_mb << 20)
    ends = "Pipes and socket pairs of a process" if policy.socketpair else "Pipes of a process"
    descriptors = limits.open_files + SPARE_DESCRIPTORS
    buffers = descriptors * (SOCKET_BYTES if policy.socketpair else PIPE_BYTES)
    many = round(1e6 * LOOK_SECONDS / SHARE / LOOK_MICROSECONDS)
    return Mechanism(
        "watch",
        True,
        f"one look at all sessions of the host every {look} ms while any is in use, else every {idle} ms ({IDLE_RATE} "
        f"idle ones a second at most); with more than about {many} in use less often, for it takes "
        f"{100 / SHARE:g} % of a core at most, and {100 / DEEP_SHARE:g} % for files and descriptors. "
        f"What is too much ends {look} ms later at the latest. In {look} ms a core "
        f"makes 250 MB of memory at most, and no process maps more than {mapped >> 20} MiB beyond the zygote's: "
        f"limits.memory_mb{', and room for threads' if sandbox.threads else ''}. {ends} hold {buffers >> 20} MiB at "
        f"most beside that, {descriptors} descriptors of them",
    )


_accountants: dict[int, Accountant] = {}


def accountant() -> Accountant:
    """Return the one of this process; a process forked from it has its own."""
    pid = os.getpid()
    if pid not in _accountants:
        _accountants.clear()
        _accountants.setdefault(pid, Accountant(Machine()))
    return _accountants[pid]
