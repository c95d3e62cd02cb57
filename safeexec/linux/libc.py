"""The C library by ctypes: `syscall` with a Python error, `prctl`, and buffers that the kernel reads.

Every argument travels as a C long: ctypes' default, a C int, would cut addresses and 64-bit flags.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from safeexec.syscalls.numbers import numbers

__all__ = ["AT_EMPTY_PATH", "AT_FDCWD", "address", "call", "check", "libc", "prctl", "raw_syscall", "syscall"]

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000

libc = ctypes.CDLL(None, use_errno=True)

raw_syscall: Any = ctypes.CDLL(None, use_errno=True)["syscall"]
raw_syscall.argtypes = [ctypes.c_long] * 7
raw_syscall.restype = ctypes.c_long

_prctl: Any = ctypes.CDLL(None, use_errno=True)["prctl"]
_prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
_prctl.restype = ctypes.c_int


def check(result: int, what: str) -> int:
    """`result` unless it is negative; then an OSError with the C library's errno that names `what`."""
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")
    return result


def call(number: int, what: str, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0) -> int:
    """System call `number`; an error raises OSError that names `what`."""
    return check(raw_syscall(number, a, b, c, d, e, f), what)


def syscall(name: str, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0) -> int:
    """System call `name`. Raises OSError (ENOSYS where the kernel or this machine's table lacks it)."""
    return check(raw_syscall(numbers().get(name, -1), a, b, c, d, e, f), name)


def prctl(option: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """prctl(2). Raises OSError."""
    result: int = _prctl(option, a, b, c, d)
    return check(result, f"prctl({option})")


def address(buffer: Any) -> int:
    """The address of a ctypes object, which the caller must keep alive during the call."""
    return ctypes.addressof(buffer)
