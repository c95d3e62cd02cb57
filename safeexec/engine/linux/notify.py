"""seccomp user notification: a call waits in the kernel until another process says whether it may go on.

A filter with a listener, 5.5 (SECCOMP_USER_NOTIF_FLAG_CONTINUE). From 5.19 a caller whose request has been read can be
killed and not otherwise interrupted, so that no signal makes it ask twice.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import struct
from typing import NamedTuple

from safeexec.engine.linux import bpf, seccomp
from safeexec.engine.linux.libc import address, check, raw_syscall
from safeexec.engine.syscalls.numbers import machine, numbers
from safeexec.engine.syscalls.table import FORK_FLAGS

_USER_NOTIF = 0x7FC00000
_NEW_LISTENER, _WAIT_KILLABLE_RECV = 1 << 3, 1 << 5
_SET_MODE_FILTER = 1
_RECEIVE, _SEND, _ID_VALID, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40082104
_SYNC_WAKE_UP = 1
_CONTINUE = 1
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_REQUEST_BYTES = 80
_HEAD = struct.Struct("=QI")
_ANSWER = struct.Struct("=QqiI")


class Request(NamedTuple):
    """A call that waits. `thread` is the caller's thread id as the reader's pid namespace counts; 0: out of sight."""

    id: int
    thread: int


def fork_gate() -> list[bpf.Instruction]:
    """Return the filter that has every fork(2) of the C library wait, and allows the rest: threads and vfork, too."""
    program = bpf.Assembler()
    for offset, value in (
        (_ARCH, seccomp.ARCHITECTURES[machine()]),
        (_NUMBER, numbers()["clone"]),
        (_FIRST_ARGUMENT, FORK_FLAGS),
    ):
        program.load(offset)
        program.branch(bpf.EQUAL, value, if_false="allow")
    program.answer(_USER_NOTIF)
    program.label("allow")
    program.answer(seccomp.ALLOW)
    return program.assemble()


def install_listener(program: list[bpf.Instruction]) -> int:
    """Install the filter on the calling thread and all that it will start; the descriptor on which to answer.

    `seccomp.set_no_new_privs` comes first. Raises OSError: EBUSY under a filter that has a listener already (some
    containers), EINVAL before 5.19.
    """
    ready = seccomp.prepare(program)
    flags = _NEW_LISTENER | _WAIT_KILLABLE_RECV
    number = numbers()["seccomp"]
    return check(raw_syscall(number, _SET_MODE_FILTER, flags, address(ready.program), 0, 0, 0), "seccomp listener")


def prefer_one_core(listener: int) -> None:
    """Have caller and answerer wake each other on one core, where the kernel can (6.6)."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(listener, _SET_FLAGS, struct.pack("=Q", _SYNC_WAKE_UP))


def receive(listener: int) -> Request | None:
    """Return the next call that waits. None when its caller has been killed meanwhile."""
    buffer = bytearray(_REQUEST_BYTES)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    return Request(*_HEAD.unpack_from(buffer))


def answer(listener: int, request: int, error: int = 0) -> bool:
    """Have the call made, or fail with this errno. False when its caller has been killed."""
    try:
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(request, 0, -error, 0 if error else _CONTINUE))
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise
        return False
    return True


def is_waiting(listener: int, request: int) -> bool:
    """Tell whether the caller still waits. If so, a process looked at by its number before was the caller."""
    try:
        fcntl.ioctl(listener, _ID_VALID, struct.pack("=Q", request))
    except OSError:
        return False
    return True
