"""pidfds, identities, descriptors and orphans, with real processes."""

from __future__ import annotations

import errno
import io
import os
import resource
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from safeexec.engine.host.session.copy import own_bytes
from safeexec.engine.linux import processes, seccomp
from safeexec.engine.linux.libc import syscall
from safeexec.engine.linux.probe import probe
from safeexec.engine.syscalls import Check, allow, allow_if, refuse
from safeexec.engine.syscalls.numbers import numbers
from tests.engine.linux.forked import exit_status, in_a_fork, sleeper, sleeping
from tests.footprint import until

PATIENCE = 60.0
needs_seccomp = pytest.mark.skipif(not probe().seccomp.works, reason="it takes a filter to take something away")


def test_a_pidfd_tells_life_and_end() -> None:
    pid = sleeper()
    descriptor = os.pidfd_open(pid)
    used = processes.cpu_seconds(pid)
    assert used is not None and 0 <= used < PATIENCE and not processes.has_ended(descriptor)
    assert processes.kill(descriptor)
    until(lambda: processes.has_ended(descriptor))
    os.waitpid(pid, 0)
    assert not processes.kill(descriptor), "a signal to a reaped process goes nowhere"
    # How it ended, though somebody else has waited for it: the kernel keeps that from 6.15 on.
    assert processes.exit_status(descriptor) in (None, signal.SIGKILL)
    os.close(descriptor)


def test_the_peak_of_a_process() -> None:
    with sleeping() as pid:
        assert 1 << 20 < processes.peak_memory(pid) <= processes.peak_memory(os.getpid()), "it is a fork of this one"
    own = processes.peak_memory(os.getpid()) >> 10
    assert own == pytest.approx(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, rel=0.01)
    assert processes.peak_memory(None) == 0


def test_memory_of_another_process() -> None:
    """What it has written itself is its own; what it shares with its parent is counted in part or not at all."""
    shared = bytearray(os.urandom(1 << 20) * 32)
    with sleeping(lambda: held.append(bytearray(os.urandom(1 << 20) * 16))) as pid:
        whole = processes.memory_without_files(pid)
        assert whole >= 48 << 20 and abs(processes.anonymous_memory(pid) - whole) < 8 << 20
        part = processes.proportional_memory(pid)
        assert part is not None and 32 << 20 <= part < whole
        assert 16 << 20 <= own_bytes(pid) <= whole - len(shared)
        assert processes.shared_memory(pid) < 1 << 20


def test_what_is_swapped_out_is_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kernel with swap tells it: this one may have none."""
    told = b"RssAnon: 1024 kB\nRssFile: 9 kB\nVmSwap: 2048 kB\nPss_Anon: 512 kB\nSwap: 2048 kB\nSwapPss: 1024 kB\n"
    monkeypatch.setattr(processes, "_read", lambda name: told)
    monkeypatch.setattr(processes, "open", lambda *_: io.BytesIO(told), raising=False)
    assert processes.memory_without_files(1) == 3 << 20
    assert processes.proportional_memory(1) == 3 << 19


held: list[bytearray] = []


def test_nothing_is_told_of_a_process_that_is_not_there() -> None:
    nobody = 2**22 - 1
    sizes = (processes.memory_without_files, processes.anonymous_memory, processes.proportional_memory)
    assert [told(nobody) for told in (*sizes, processes.shared_memory, own_bytes)] == [0] * 5
    facts = (processes.cpu_seconds, processes.session_of, processes.process_of, processes.process_stat)
    assert [told(nobody) for told in (*facts, processes.children_of)] == [None] * 5
    assert processes.exit_status(0) is None, "no pidfd"

    def act() -> int | None:
        if os.geteuid() == 0:
            os.setresuid(61234, 61234, 61234)
        return processes.proportional_memory(1)

    assert in_a_fork(act) is None, "it may not be asked"


def test_the_kernel_says_who_sent() -> None:
    """Whatever the message says."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    with ours, theirs, sleeping(lambda: theirs.send(b"I am somebody else")) as pid:
        told, descriptor = processes.sender(ours.recvmsg(100, processes.IDENTITY_SPACE)[1])
        assert told == pid and not processes.has_ended(descriptor)
        os.close(descriptor)


@pytest.mark.parametrize("count", [1, 2])
def test_descriptors_in_place_of_who_sent(count: int) -> None:
    """They leave no room for the pidfd, and by its number alone a sender that has gone could be somebody else."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    with ours, theirs:
        before = os.listdir("/proc/self/fd")
        socket.send_fds(theirs, [b"hello"], [0] * count)
        ancillary = ours.recvmsg(100, processes.IDENTITY_SPACE)[1]
        if processes._pidfds_pass():
            with pytest.raises(ProcessLookupError):
                processes.sender(ancillary)
        else:
            os.close(processes.sender(ancillary)[1])
        assert os.listdir("/proc/self/fd") == before


def test_a_sender_out_of_sight_is_refused_and_leaves_no_descriptor() -> None:
    """One of another pid namespace: the kernel gives a pidfd, and no number."""
    read_end, write_end = os.pipe()
    told = [
        (socket.SOL_SOCKET, processes.SCM_CREDENTIALS, struct.pack("=iII", 0, 1, 1)),
        (socket.SOL_SOCKET, processes.SCM_PIDFD, struct.pack("=i", read_end)),
    ]
    with pytest.raises(ProcessLookupError):
        processes.sender(told)
    with pytest.raises(OSError):
        os.fstat(read_end)
    os.close(write_end)


def _of_an_older_kernel() -> None:
    """Refuse what 5.9, 6.5, 6.9 and 6.13 have brought, by the errno that says so."""
    rules = dict.fromkeys(numbers(), allow()) | {
        "close_range": refuse(errno.ENOSYS),
        "setsockopt": allow_if((Check(2, 0xFFFFFFFF, processes.SO_PASSCRED),), error=errno.ENOPROTOOPT),
        "pidfd_send_signal": allow_if((Check(3, 0xFFFFFFFF, 0),), error=errno.EINVAL),
        "ioctl": refuse(errno.ENOTTY),
    }
    seccomp.install(rules)
    processes._pidfds_pass.cache_clear()


@needs_seccomp
def test_an_older_kernel_names_a_sender_and_signals_a_group_by_number() -> None:
    """A group only while a member lives: then the number cannot be another group's."""

    def act() -> list[Any]:
        _of_an_older_kernel()
        ours, theirs = socket.socketpair()
        processes.pass_identity(ours, True)
        theirs.send(b"x")
        pid, descriptor = processes.sender(ours.recvmsg(100, processes.IDENTITY_SPACE)[1])
        told = [pid == os.getpid(), processes.exit_status(descriptor) is None, not processes.has_ended(descriptor)]
        session = _in_a_session(lambda: None)
        descriptor = os.pidfd_open(session)
        ended = [processes.signal_group(descriptor, session, signal.SIGKILL)]
        ended.append(os.waitstatus_to_exitcode(os.waitpid(session, 0)[1]) == -signal.SIGKILL)
        return [*told, *ended, not processes.signal_group(descriptor, session, signal.SIGKILL)]

    assert in_a_fork(act) == [True] * 6


@pytest.mark.parametrize("before", [lambda: None, pytest.param(_of_an_older_kernel, marks=needs_seccomp)])
def test_only_the_kept_descriptors_stay_open(before: Callable[[], None]) -> None:
    read_end, write_end = os.pipe()

    def act() -> None:
        before()
        opened = [os.dup(0) for _ in range(20)]
        processes.close_all_but((0, 1, 2, write_end, opened[7]))
        left = []
        for descriptor in range(3, 1024):
            try:
                os.fstat(descriptor)
                left.append(descriptor)
            except OSError:
                continue
        os.write(write_end, repr(left == sorted((write_end, opened[7]))).encode())

    assert exit_status(act) == 0
    assert os.read(read_end, 10) == b"True"
    os.close(read_end)
    os.close(write_end)


def _in_a_session(act: Callable[[], object]) -> int:
    """The first process of a session and group of its own, which runs `act` and then waits."""

    def begin() -> None:
        os.setsid()
        act()

    return sleeper(begin)


@contextmanager
def _session_that_tells(act: Callable[[], str]) -> Iterator[tuple[int, int, list[int]]]:
    """A session that is killed in the end: its first process, a descriptor of that, the numbers that `act` tells."""
    read_end, write_end = os.pipe()
    session = _in_a_session(lambda: os.write(write_end, act().encode()))
    pidfd = os.pidfd_open(session)
    try:
        yield session, pidfd, [int(pid) for pid in os.read(read_end, 100).split()]
    finally:
        processes.signal_group(pidfd, session, signal.SIGKILL)
        os.waitpid(session, 0)
        for descriptor in (pidfd, read_end, write_end):
            os.close(descriptor)


def _living(session: int) -> set[int]:
    return {stat.pid for stat in processes.session_members(session)}


def test_orphans_of_a_session_are_ended_and_what_is_kept_is_not() -> None:
    """The leader and an orphan end. The one that is to stay stays, with its child."""

    def act() -> str:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        kept = sleeper(lambda: sleeper())
        if os.fork() == 0:
            sleeper()
            os._exit(0)
        return str(kept)

    with _session_that_tells(act) as (session, pidfd, (kept,)):
        until(lambda: len(_living(session)) == 4)
        assert processes.end_orphans(pidfd, session, lambda: {kept})
        until(lambda: len(_living(session)) == 2)
        assert kept in _living(session)
        assert processes.end_orphans(pidfd, session, lambda: None)
        assert len(_living(session)) == 2 and all(stat.state != "T" for stat in processes.session_members(session))
    until(lambda: not _living(session))


def test_parents_that_name_each_other_end_the_search() -> None:
    """Numbers are given out again: what two looks saw may be a circle."""
    assert not processes._descends(2, {2: 3, 3: 2}, {9})


def test_orphans_of_a_process_that_is_still_ending_are_ended() -> None:
    """They lie below it, and it below one that is kept. What has been told of stays there, too."""
    read_end, write_end = os.pipe()

    def runner() -> None:
        os.write(write_end, b"%d %d %d" % (os.getpid(), sleeper(), sleeper()))

    def act() -> str:
        sleeper(runner)
        return os.read(read_end, 100).decode()

    with _session_that_tells(act) as (session, pidfd, (ending, known, orphan)):
        kept = {session, known}
        assert processes.end_orphans(pidfd, session, lambda: kept, (os.getpid(),))
        assert processes.process_stat(orphan) is not None
        assert processes.end_orphans(pidfd, session, lambda: kept, (os.getpid(),), ending)
        until(lambda: _living(session) == {*kept, ending})
    os.close(read_end)
    os.close(write_end)


def test_a_process_runs_as_long_as_one_of_its_threads_does() -> None:
    """Its first one may have ended. Who has been killed runs no more, and is gone some time after that."""

    def alone() -> None:
        threading.Thread(target=time.sleep, args=(3600,)).start()
        syscall("exit")  # of this thread

    pid = os.fork()
    if pid == 0:
        alone()
    until(lambda: (stat := processes.process_stat(pid)) is not None and stat.state == "Z")
    assert not processes.is_exiting(pid) and processes.is_headless(pid)
    assert pid in [stat.pid for stat in processes.descendants(os.getpid())]
    os.kill(pid, signal.SIGKILL)
    assert not processes.is_headless(pid), "it is to end"
    until(lambda: processes.is_exiting(pid))
    assert pid not in [stat.pid for stat in processes.descendants(os.getpid())]
    os.waitpid(pid, 0)
    assert not processes.is_exiting(pid) and not processes.is_exiting(os.getpid())
