"""The C library by ctypes: `syscall` with a Python error, `prctl`, and buffers that the kernel reads.

Every argument travels as a C long: ctypes' default, a C int, would cut addresses and 64-bit flags.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from safeexec.engine.syscalls.numbers import numbers

AT_FDCWD = -100

libc = ctypes.CDLL(None, use_errno=True)

# By an index each is a function of its own, whose types are nobody else's.
raw_syscall: Any = libc["syscall"]
raw_syscall.argtypes = [ctypes.c_long] * 7
raw_syscall.restype = ctypes.c_long

_prctl: Any = libc["prctl"]
_prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_prctl.restype = ctypes.c_int


def check(result: int, what: str) -> int:
    """Return `result`. Raises OSError, with the C library's errno and `what`, where it is negative."""
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result


def syscall(name: str, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0) -> int:
    """Make system call `name`. Raises OSError (ENOSYS where the kernel or this machine's table lacks it)."""
    return check(raw_syscall(numbers().get(name, -1), a, b, c, d, e, f), name)


class Call(NamedTuple):
    """A system call made ready: making it touches these few objects and nothing else of Python's."""

    what: str
    """The name of the call in an error."""
    words: tuple[int, ...]
    """Its number and six arguments."""
    memory: object = None
    """Keeps alive the memory that its arguments point to."""


def prepared(name: str, *arguments: int, what: str | None = None, memory: object = None) -> Call:
    """Return system call `name`, for `make`."""
    return Call(what or name, (numbers().get(name, -1), *arguments, *[0] * (6 - len(arguments))), memory)


def make(calls: Iterable[Call]) -> None:
    """Make the calls in their order, up to the first that fails: that one raises OSError."""
    for what, words, _ in calls:
        if raw_syscall(*words) < 0:
            check(-1, what)


def prctl(option: int, argument: int = 0) -> int:
    """Call prctl(2). Raises OSError."""
    result: int = _prctl(option, argument, 0, 0, 0)
    return check(result, f"prctl({option})")


def write_file(path: str, data: bytes) -> None:
    """Write a file of the kernel in one call, which takes it whole or refuses it. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def wipe_variable(name: str) -> None:
    """Remove a variable from this process's environment, and overwrite it where the exec has left it: that memory is
    what /proc/self/environ shows.
    """
    entries = (ctypes.c_void_p * (len(os.environ) + 1)).from_address(ctypes.c_void_p.in_dll(libc, "environ").value or 0)
    start = os.fsencode(f"{name}=")
    places = [place for place in entries if place and ctypes.string_at(place, len(start)) == start]
    del os.environ[name]
    for place in places:
        ctypes.memset(place, 0, len(ctypes.string_at(place)))


def address(buffer: Any) -> int:
    """Return the address of a ctypes object, which the caller must keep alive during the call."""
    return ctypes.addressof(buffer)
