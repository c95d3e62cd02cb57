"""pidfds, identities, descriptors and strays, with real processes."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from safeexec.linux import processes
from safeexec.linux.libc import prctl
from tests.linux.forked import exit_status, in_a_fork

PATIENCE = 60.0
GET_DUMPABLE = 3


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def _sleeper(before: Callable[[], object] = lambda: None) -> int:
    """A fork that has run `before` and sleeps."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        before()
        os.write(write_end, b"x")
        time.sleep(3600)
        os._exit(0)
    os.close(write_end)
    assert os.read(read_end, 1) == b"x"
    os.close(read_end)
    return pid


@pytest.fixture
def sleeper() -> Iterator[int]:
    pid = _sleeper()
    yield pid
    os.kill(pid, signal.SIGKILL)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass


def test_a_pidfd_tells_pid_life_and_end(sleeper: int) -> None:
    descriptor = processes.pidfd_open(sleeper)
    assert not processes.has_ended(descriptor)
    assert processes.kill(descriptor)
    _until(lambda: processes.has_ended(descriptor))
    os.close(descriptor)


def test_a_signal_to_a_reaped_process_goes_nowhere() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    descriptor = processes.pidfd_open(pid)
    os.waitpid(pid, 0)
    assert processes.has_ended(descriptor)
    assert not processes.kill(descriptor)
    os.close(descriptor)


def test_exit_information_outlives_the_reaping() -> None:
    """PIDFD_GET_INFO, 6.15: how a process ended that somebody else has waited for."""
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    descriptor = processes.pidfd_open(pid)
    os.waitpid(pid, 0)
    info = processes.pidfd_info(descriptor)
    os.close(descriptor)
    if info is None or info.exit_status is None:
        pytest.skip("this kernel keeps no exit information")
    assert os.waitstatus_to_exitcode(info.exit_status) == 7


def test_cpu_time_of_another_process(sleeper: int) -> None:
    used = processes.cpu_seconds(sleeper)
    assert used is not None and 0 <= used < PATIENCE
    assert processes.cpu_seconds(2**22 - 1) is None


def test_memory_of_another_process(sleeper: int) -> None:
    assert 1 << 20 < processes.private_memory(sleeper) < 1 << 33
    assert processes.private_memory(2**22 - 1) == 0


def test_the_kernel_says_who_sent() -> None:
    """Whatever the message says."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    pid = os.fork()
    if pid == 0:
        theirs.send(b"I am somebody else")
        time.sleep(3600)
    _, ancillary, _, _ = ours.recvmsg(100, processes.IDENTITY_SPACE)
    told, descriptor = processes.sender(ancillary)
    assert told == pid and not processes.has_ended(descriptor)
    os.close(descriptor)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    ours.close()
    theirs.close()


@pytest.mark.parametrize("count", [1, 2])
def test_descriptors_in_place_of_who_sent(count: int) -> None:
    """They leave no room for the pidfd, and by its number alone a sender that has gone could be somebody else."""
    ours, theirs = socket.socketpair()
    processes.pass_identity(ours, True)
    before = os.listdir("/proc/self/fd")
    socket.send_fds(theirs, [b"hello"], [0] * count)
    _, ancillary, _, _ = ours.recvmsg(100, processes.IDENTITY_SPACE)
    if processes._pidfds_pass():
        with pytest.raises(ProcessLookupError):
            processes.sender(ancillary)
    else:
        os.close(processes.sender(ancillary)[1])
    assert os.listdir("/proc/self/fd") == before
    ours.close()
    theirs.close()


def test_only_the_kept_descriptors_stay_open() -> None:
    read_end, write_end = os.pipe()

    def act() -> None:
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


def test_a_death_signal_follows_the_parent() -> None:
    read_end, write_end = os.pipe()

    def parent() -> None:
        pid = _sleeper(processes.set_death_signal)
        os.write(write_end, b"%d" % pid)

    assert exit_status(parent) == 0
    pid = int(os.read(read_end, 20))
    os.close(read_end)
    os.close(write_end)
    _until(lambda: (stat := processes.process_stat(pid)) is None or stat.state in "ZX")


def _in_a_session(act: Callable[[], None]) -> int:
    """The first process of a session and group of its own, which runs `act` and then waits."""

    def begin() -> None:
        os.setsid()
        act()

    return _sleeper(begin)


def test_strays_of_a_session_are_ended_and_what_is_kept_is_not() -> None:
    """The leader and an orphan end. The one that is to stay stays, with its child."""
    read_end, write_end = os.pipe()

    def act() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        kept = _sleeper(lambda: _sleeper())
        if os.fork() == 0:
            _sleeper()
            os._exit(0)
        os.write(write_end, b"%d" % kept)

    def living() -> set[int]:
        return {stat.pid for stat in processes.session_members(session)}

    session = _in_a_session(act)
    pidfd = processes.pidfd_open(session)
    try:
        kept = int(os.read(read_end, 100))
        _until(lambda: len(living()) == 4)
        assert processes.end_strays(pidfd, session, lambda: {kept})
        _until(lambda: len(living()) == 2)
        assert kept in living()
        assert processes.end_strays(pidfd, session, lambda: None)
        assert len(living()) == 2 and all(stat.state != "T" for stat in processes.session_members(session))
    finally:
        processes.signal_group(pidfd, session, signal.SIGKILL)
        os.waitpid(session, 0)
        for descriptor in (pidfd, read_end, write_end):
            os.close(descriptor)
    _until(lambda: not living())


@pytest.mark.parametrize("doublings", [0, 5])
def test_a_storm_of_forks_is_ended_and_what_is_kept_is_not(doublings: int) -> None:
    """Chains: each process forks the next one and ends, so that no single look sees it for sure. Three, or 96."""
    read_end, write_end = os.pipe()

    def storm() -> None:
        end = time.monotonic() + PATIENCE
        for _ in range(doublings):
            os.fork()
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)

    def act() -> None:
        kept = [_sleeper() for _ in range(3)]
        os.write(write_end, " ".join(map(str, kept)).encode())
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for _ in range(3):
            if os.fork() == 0:
                storm()

    session = _in_a_session(act)
    kept = {int(pid) for pid in os.read(read_end, 100).split()}
    _until(lambda: len(processes.session_members(session)) > 4)
    pidfd = processes.pidfd_open(session)
    try:
        assert processes.end_strays(pidfd, session, lambda: kept)
        _until(lambda: {stat.pid for stat in processes.session_members(session)} == kept)
    finally:
        processes.signal_group(pidfd, session, signal.SIGKILL)
        os.waitpid(session, 0)
        for descriptor in (pidfd, read_end, write_end):
            os.close(descriptor)


def test_dumpable_can_be_switched() -> None:
    def act() -> list[bool]:
        processes.set_dumpable(False)
        first = prctl(GET_DUMPABLE) == 1
        processes.set_dumpable(True)
        return [first, prctl(GET_DUMPABLE) == 1]

    assert in_a_fork(act) == [False, True]


def test_descriptors_are_counted() -> None:
    def count() -> list[int]:
        before = processes.open_descriptors()
        held = [os.dup(0) for _ in range(7)]
        os.dup2(0, 500)  # a gap does not count
        more = processes.open_descriptors()
        for fd in (*held, 500):
            os.close(fd)
        return [more - before, processes.open_descriptors() - before]

    assert in_a_fork(count) == [8, 0]
