"""Answer the calls that wait at a seccomp filter: what the process does that holds the filter's listener.

The filter is installed by `seccomp.install_fork_gate`, in the process that is to wait.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import struct
from typing import NamedTuple

_RECEIVE, _SEND, _ID_VALID, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082102, 0x40082104
_SYNC_WAKE_UP = 1
_CONTINUE = 1
_REQUEST_BYTES = 80
_HEAD = struct.Struct("=QI")
_ANSWER = struct.Struct("=QqiI")


class Request(NamedTuple):
    """A call that waits. `thread` is the caller's thread id as the reader's pid namespace counts; 0: out of sight."""

    id: int
    thread: int


def prefer_one_core(listener: int) -> None:
    """Have caller and answerer wake each other on one core, where the kernel can (6.6)."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(listener, _SET_FLAGS, struct.pack("=Q", _SYNC_WAKE_UP))


def receive(listener: int) -> Request | None:
    """Return the next call that waits. None when its caller has been killed meanwhile."""
    buffer = bytearray(_REQUEST_BYTES)  # all zero: any other byte is EINVAL, so that the struct may grow
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
        # To have it made is safe: what the filter judged, the flags of clone, lies in a register, and not in memory.
        fcntl.ioctl(listener, _SEND, _ANSWER.pack(request, 0, -error, 0 if error else _CONTINUE))
    except OSError as problem:
        if problem.errno != errno.ENOENT:
            raise
        return False
    return True


def is_waiting(listener: int, request: int) -> bool:
    """Return whether the caller still waits. If so, a process looked at by its number before was the caller."""
    try:
        fcntl.ioctl(listener, _ID_VALID, struct.pack("=Q", request))
    except OSError:
        return False
    return True
