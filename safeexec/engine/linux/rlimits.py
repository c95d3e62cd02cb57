"""Resource limits: set soft and hard together, and the address space relative to what is already used."""

from __future__ import annotations

import ctypes
import resource
import struct

from safeexec.engine.linux.libc import Call, address, prepared

PAGE = resource.getpagesize()

NAMES: dict[str, int] = {
    name.removeprefix("RLIMIT_").lower(): getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_")
} | {"locks": 10}
"""Limit name (``as``, ``nofile``, ``nproc`` …) → its number. RLIMIT_LOCKS is missing in the standard library."""


def address_space() -> int:
    """Return how many bytes of address space the calling process has. Raises OSError where ``/proc`` is missing."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split(None, 1)[0]) * PAGE


def setting_limit(number: int, value: int) -> Call:
    """Return the call that sets soft and hard limit of `number`, to the present hard limit where that is lower."""
    hard = resource.getrlimit(number)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    limit = ctypes.create_string_buffer(struct.pack("=QQ", value, value), 16)
    return prepared("prlimit64", 0, number, address(limit), memory=limit, what=f"setrlimit({number})")
