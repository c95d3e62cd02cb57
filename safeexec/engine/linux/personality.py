"""Address randomisation of a process: a flag of its execution domain, which an exec takes along."""

from __future__ import annotations

import ctypes
from typing import Any

from safeexec.engine.linux.libc import libc

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF


def stop_randomizing() -> bool:
    """Ask for fixed addresses from the next exec on. False if they are fixed already, or the kernel refuses.

    Docker's default seccomp profile refuses it (EPERM): it lets five values of personality(2) pass, not this flag.
    """
    call: Any = libc["personality"]
    call.argtypes = [ctypes.c_ulong]
    current: int = call(_ASK)
    if current < 0 or current & _ADDR_NO_RANDOMIZE:
        return False
    granted: int = call(current | _ADDR_NO_RANDOMIZE)
    return granted >= 0
