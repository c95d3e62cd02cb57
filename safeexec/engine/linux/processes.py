"""Processes: pidfds and their facts, death signals, subreapers, descriptors, and who sent a message.

Exit information needs 6.15; the signal to a whole process group by pidfd 6.9.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import functools
import os
import re
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from safeexec.engine.linux.libc import Call, prctl, prepared, syscall

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_PIDFD_SIGNAL_PROCESS_GROUP = 1 << 2
# PIDFD_GET_INFO = _IOWR(0xFF, 11, 64 bytes); a later kernel fills as much as the size in the number asks for
_PIDFD_GET_INFO = 3 << 30 | 64 << 16 | 0xFF << 8 | 11
_INFO_EXIT = 1 << 3
_PF_EXITING = 1 << 2
_PENDING_KILL = 1 << signal.SIGKILL - 1
_ENDED = "ZX"
"""States of a thread that has ended."""
SCM_RIGHTS, SCM_CREDENTIALS, SCM_PIDFD = 1, 2, 4
SO_PASSCRED, SO_PASSPIDFD = 16, 76
_PAGE = os.sysconf("SC_PAGE_SIZE")
SWEEP_SECONDS = 1.0
"""Time for the end of orphans."""
_RSS = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB", re.M)
_PSS = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB", re.M)
_RSS_SHARED = re.compile(rb"^RssShmem:\s+(\d+) kB", re.M)
_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.M)
_TGID = re.compile(rb"^Tgid:\s+(\d+)", re.M)


def open_descriptors() -> int:
    """Return how many descriptors are open here. Since 6.2 the directory has that size; to list 15,000 takes 10 ms."""
    return os.stat("/proc/self/fd").st_size or len(os.listdir("/proc/self/fd"))


def has_ended(descriptor: int) -> bool:
    """Return whether the process of this pidfd has exited (reaped or not)."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(0))


def send_signal(descriptor: int, number: int) -> bool:
    """Signal the process of a pidfd; False if it has gone. Raises PermissionError."""
    try:
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    return True


def kill(descriptor: int) -> bool:
    """Send SIGKILL to the process of a pidfd; False if it has gone."""
    return send_signal(descriptor, signal.SIGKILL)


def exit_status(descriptor: int) -> int | None:
    """Return the wait status of the process of a pidfd, though another has reaped it. None while it lives, and where
    the kernel does not know: it keeps that from 6.15 on.
    """
    buffer = bytearray(64)
    struct.pack_into("=Q", buffer, 0, _INFO_EXIT)
    try:
        fcntl.ioctl(descriptor, _PIDFD_GET_INFO, buffer)
    except OSError:  # ENOTTY, EINVAL before 6.13; ESRCH: reaped before the kernel kept exit information
        return None
    (mask,) = struct.unpack_from("=Q", buffer, 0)
    status: int = struct.unpack_from("=i", buffer, 60)[0]
    return status if mask & _INFO_EXIT else None


def cpu_clock(pid: int) -> int:
    """Return the clock of `time.clock_gettime` for the CPU time of process `pid`, all threads. Needs no permission."""
    return (~pid << 3) | 2  # as clock_getcpuclockid(3) makes it: 2 is CPUCLOCK_SCHED, 4 one thread


def cpu_seconds(pid: int) -> float | None:
    """Return what that clock says; None if there is no such process."""
    try:
        return time.clock_gettime(cpu_clock(pid))
    except OSError:
        return None


def main_thread_seconds(pid: int) -> float | None:
    """Return the CPU seconds of the first thread of `pid`; None where nobody knows. Needs no permission on it."""
    fields = (_read(f"{pid}/task/{pid}/schedstat") or b"").split()
    return int(fields[0]) / 1e9 if fields else None


def _read(name: str) -> bytes | None:
    """Return a file of ``/proc``; None where it is gone, or may not be read. (`open` takes twice as long.)"""
    data = b""
    try:
        descriptor = os.open(f"/proc/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while part := os.read(descriptor, 1 << 14):
                data += part
        finally:
            os.close(descriptor)
    except OSError:
        return None
    return data


def memory_without_files(pid: int) -> int:
    """Return bytes of process `pid` that no file backs, in memory or swapped out; 0 if it is gone.

    Pages still shared with its parent are among them, and so is shared anonymous memory, which ``statm`` counts with
    the files. ``status`` can be read for a process that is not dumpable, ``smaps_rollup`` cannot.
    """
    return _of_status(pid, _RSS)


def anonymous_memory(pid: int) -> int:
    """Return how many bytes of a process are resident and belong to no file, shared memory left out: half the cost."""
    fields = (_read(f"{pid}/statm") or b"").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if fields else 0


def proportional_memory(pid: int) -> int | None:
    """Return how many bytes of process `pid` no file backs, each page divided by the number of processes that map it. 0
    if it is gone, None where it may not be read. 14 ms per GB.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return sum(map(int, _PSS.findall(file.read()))) << 10
    except PermissionError:
        return None
    except OSError:
        return 0


def shared_memory(pid: int) -> int:
    """Return resident bytes of process `pid` in shared anonymous memory and memfds; 0 if it is gone."""
    return _of_status(pid, _RSS_SHARED)


def peak_memory(pid: int | None) -> int:
    """Return the most resident bytes that process `pid` has had, as `ru_maxrss` counts them; 0 if it is gone."""
    return _of_status(pid, _PEAK)


def _of_status(pid: int | None, sizes: re.Pattern[bytes]) -> int:
    """Return the sum of `sizes` in ``/proc/PID/status``, in bytes."""
    return sum(map(int, sizes.findall(_read(f"{pid}/status") or b""))) << 10


def session_of(pid: int) -> int | None:
    """Return the kernel session of process `pid`, None if it has been reaped: ask before the kill."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def process_of(thread: int) -> int | None:
    """Return the process that a thread belongs to, by their numbers; None if it is gone."""
    found = _TGID.search(_read(f"{thread}/status") or b"")
    return None if found is None else int(found[1])


def setting_death_signal() -> Call:
    """Return the call that has this process killed when the thread that forked it ends. A fork clears it, and a change
    of user.
    """
    return prepared("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, what="prctl(PR_SET_PDEATHSIG)")


def set_subreaper() -> None:
    """Make orphans among this process's descendants its own children."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def setting_dumpable(on: bool) -> Call:
    """Return the call that sets whether others of the same user may look into this process (ptrace, its memory)."""
    return prepared("prctl", _PR_SET_DUMPABLE, int(on), what="prctl(PR_SET_DUMPABLE)")


def close_all_but(keep: Iterable[int]) -> None:
    """Close every descriptor that is not in `keep`."""
    first = 0
    for descriptor in sorted(set(keep)):
        if descriptor > first:
            _close_range(first, descriptor - 1)
        first = descriptor + 1
    _close_range(first, 0x7FFFFFFF)


def _close_range(first: int, last: int) -> None:
    try:
        syscall("close_range", first, last)
    except OSError as error:
        if error.errno != errno.ENOSYS:  # before 5.9
            raise
        os.closerange(first, min(last, 1 << 16) + 1)  # one call for each: up to 2**31 that would be minutes


IDENTITY_SPACE = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4)
"""Room in ``recvmsg`` for the credentials and the pidfd of a sender, and for nothing more."""


def pass_identity(sock: socket.socket, on: bool) -> None:
    """Ask the kernel to say with each message who sent it: credentials, and (6.5) a pidfd. Before the peer sends."""
    sock.setsockopt(socket.SOL_SOCKET, SO_PASSCRED, int(on))
    try:  # no contextlib here: it is done for every step
        sock.setsockopt(socket.SOL_SOCKET, SO_PASSPIDFD, int(on))
    except OSError:  # ENOPROTOOPT before 6.5
        return


Messages = Iterable[tuple[int, int, bytes]]
"""The ancillary data that ``recvmsg`` of a Unix socket gives: level, kind and content."""


def take_descriptors(messages: Messages) -> tuple[tuple[int, ...], list[tuple[int, int, bytes]]]:
    """Return the descriptors that came with a message, the caller's to close, and the rest of what came with it."""
    descriptors, rest = array.array("i"), []
    for message in messages:
        if message[:2] == (socket.SOL_SOCKET, SCM_RIGHTS):
            descriptors.frombytes(message[2][: len(message[2]) - len(message[2]) % descriptors.itemsize])
        else:
            rest.append(message)
    return tuple(descriptors), rest


def sender(messages: Messages) -> tuple[int, int]:
    """Return (pid, pidfd) of who sent a message, as the kernel says. The pidfd is the caller's to close.

    Descriptors that the sender attached are closed: nothing is accepted from a child. Raises ProcessLookupError if the
    sender is out of sight or gone.
    """
    pid, pidfd = 0, -1
    descriptors, rest = take_descriptors(messages)
    for descriptor in descriptors:
        os.close(descriptor)
    for _, kind, data in rest:
        if kind == SCM_CREDENTIALS and len(data) >= 12:
            pid, _, _ = struct.unpack_from("=iII", data)
        elif kind == SCM_PIDFD and len(data) >= 4:
            (pidfd,) = struct.unpack_from("=i", data)
    # A number alone may be another process's by now. Where the kernel passes pidfds, one is missing when the sender has
    # been reaped, or sent descriptors that took its place: SCM_RIGHTS comes first. 0: it is out of sight.
    if not pid or (pidfd < 0 and _pidfds_pass()):
        if pidfd >= 0:
            os.close(pidfd)
        raise ProcessLookupError("the kernel names no sender")
    return pid, pidfd if pidfd >= 0 else os.pidfd_open(pid)


@functools.cache
def _pidfds_pass() -> bool:
    """Return whether this kernel gives senders by pidfd (6.5)."""
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.setsockopt(socket.SOL_SOCKET, SO_PASSPIDFD, 1)
        except OSError:
            return False
    return True


class ProcessStat(NamedTuple):
    """A line of ``/proc/PID/stat``. `start` is in clock ticks since boot and tells a reused pid apart."""

    pid: int
    state: str
    """That of its first thread."""
    ppid: int
    pgid: int
    threads: int
    start: int

    @property
    def lives(self) -> bool:
        """False if all of its threads have ended."""
        return self.state not in _ENDED or self.threads > 1


def process_stat(pid: int) -> ProcessStat | None:
    fields = _stat_fields(pid)
    if fields is None:
        return None
    state, *numbers = fields
    return ProcessStat(pid, state.decode(), *(int(numbers[place]) for place in (0, 1, 16, 18)))


def is_exiting(pid: int) -> bool:
    """Return whether process `pid` has run its last instruction, in all threads. What is left of its end is the
    kernel's: 1.5 ms, or 10 ms with 100 MB of objects. False where there is none of that number.
    """
    fields = _stat_fields(pid)
    return fields is not None and bool(int(fields[6]) & _PF_EXITING) and int(fields[17]) <= 1


def is_headless(pid: int) -> bool:
    """Return whether threads of process `pid` go on though its first one has ended, and nobody ends them. Of such a
    process ``/proc`` shows neither memory nor files, but below the numbers of threads that may be gone by then.
    """
    stat = process_stat(pid)
    if stat is None or stat.state not in _ENDED or not stat.lives:
        return False
    try:
        return any(_runs(int(thread)) for thread in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False


def _runs(thread: int) -> bool:
    """Return whether a thread has not ended, does not end, and is not to be killed."""
    fields = _stat_fields(thread)
    if fields is None or fields[0].decode() in _ENDED:
        return False
    return not int(fields[6]) & _PF_EXITING and not int(fields[28]) & _PENDING_KILL


def _stat_fields(pid: int) -> list[bytes] | None:
    """Return a line of ``/proc/PID/stat`` from the state on, which is field 3 of proc(5)."""
    # Behind the last bracket: a guest chooses what its processes are called (PR_SET_NAME), brackets and all.
    line = _read(f"{pid}/stat")
    return line.rpartition(b")")[2].split() if line else None


def pids() -> list[int]:
    """Return every process that this ``/proc`` shows."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def session_members(sid: int) -> list[ProcessStat]:
    """Return the processes of one kernel session that live. No member can leave where setsid is refused."""
    found = (process_stat(pid) for pid in pids() if session_of(pid) == sid)
    return [stat for stat in found if stat is not None and stat.lives]


def descendants(pid: int) -> list[ProcessStat]:
    """Return all processes below `pid` that live. Complete under a subreaper, or while no parent has died."""
    children: dict[int, list[ProcessStat]] = {}
    for one in pids():
        if (stat := process_stat(one)) is not None:
            children.setdefault(stat.ppid, []).append(stat)
    found, queue = [], [pid]
    while queue:
        for stat in children.get(queue.pop(), ()):
            queue.append(stat.pid)
            if stat.lives:
                found.append(stat)
    return found


def signal_group(leader_fd: int, leader: int, number: int) -> bool:
    """Signal every process of the group whose first one `leader_fd` is a pidfd of. False if none is left.

    One pass under the kernel's lock of tasks: a fork that is in progress either sees the signal, or its child is in the
    group by then. So nothing of a storm of forks escapes.
    """
    try:
        signal.pidfd_send_signal(leader_fd, number, None, _PIDFD_SIGNAL_PROCESS_GROUP)
    except ProcessLookupError:
        return False
    except OSError as error:
        if error.errno != errno.EINVAL:  # before 6.9
            raise
        # While a member lives the number cannot be another group's.
        if not session_members(leader):
            return False
        try:
            os.killpg(leader, number)
        except ProcessLookupError:
            return False
    return True


def kill_groups_below(pid: int) -> None:
    """Kill the process groups of all that descends from `pid`, but for its own, until none is left."""
    own = os.getpgid(pid)
    while groups := {stat.pgid for stat in descendants(pid)} - {own}:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        time.sleep(0.001)


def children_of(pid: int) -> list[int] | None:
    """Return the children of process `pid`; None if it is gone or the kernel has no list (CONFIG_PROC_CHILDREN)."""
    children = _read(f"{pid}/task/{pid}/children")
    return None if children is None else [int(child) for child in children.split()]


def end_orphans(
    leader_fd: int,
    leader: int,
    keep: Callable[[], Collection[int] | None],
    reapers: Collection[int] = (),
    ending: int | None = None,
) -> bool:
    """Kill every process of a session and group but those that `keep` names and what descends from them. Whether a last
    look found none. `ending`: one that has been killed, and may be there still as the parent of what it forked.

    The group is stopped meanwhile, so what a look does not find does not exist: 500 processes that fork without end
    are gone after 3 to 65 ms, and nobody else is. `keep` is called after each look; None says that it does not know
    all that it keeps, and nothing is killed. With `reapers`, the processes that orphans fall to, a group without
    orphans is let go at once: 0.05 ms.
    """
    try:  # around the signal too: an interrupt right after it would leave everything stopped
        if not signal_group(leader_fd, leader, signal.SIGSTOP):
            return True
        return _kill_orphans(leader, keep, reapers, ending, time.monotonic() + SWEEP_SECONDS)
    finally:
        signal_group(leader_fd, leader, signal.SIGCONT)


def _kill_orphans(
    leader: int,
    keep: Callable[[], Collection[int] | None],
    reapers: Collection[int],
    ending: int | None,
    deadline: float,
) -> bool:
    if not _has_orphans(leader, keep, reapers, ending):
        return True
    killed: set[int] = set()
    while True:
        found = {stat.pid: stat.ppid for stat in session_members(leader) if stat.pid != ending}
        kept = keep()
        if kept is None:
            return True
        orphans = [pid for pid in found if not _descends(pid, found, kept)]
        if killed.issuperset(orphans):
            return True
        if time.monotonic() >= deadline:
            return False
        for pid in orphans:
            kill_member(pid, leader)
        killed.update(orphans)


def _has_orphans(
    leader: int, keep: Callable[[], Collection[int] | None], reapers: Collection[int], ending: int | None
) -> bool:
    """Return whether a process of the session has fallen to one of the `reapers`, as the first of what a dead one
    leaves, or will when `ending` has gone.
    """
    # In this order: what `ending` has left meanwhile is with the others by then.
    left = (children_of(ending) or []) if ending is not None else []
    orphans = [children_of(reaper) for reaper in reapers]
    if not orphans or any(pids is None for pids in orphans):
        return True
    found = [pid for pids in (left, *orphans) for pid in pids or () if session_of(pid) == leader]
    kept = {ending, *(keep() or ())}
    return any(pid not in kept for pid in found)


def _descends(pid: int, parents: dict[int, int], kept: Collection[int]) -> bool:
    """Return whether a process is one of `kept` or lies below one."""
    for _ in range(len(parents) + 1):
        if pid in kept:
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False


def kill_member(pid: int, session: int) -> None:
    """Send SIGKILL to a process if it is of this session still: its number may have gone to another one."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if session_of(pid) == session:
                kill(descriptor)
        finally:
            os.close(descriptor)
