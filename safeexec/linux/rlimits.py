"""Resource limits: set soft and hard together, and the address space relative to what is already used."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Mapping

__all__ = ["NAMES", "PAGE", "address_space", "set_limits"]

PAGE = resource.getpagesize()

NAMES: dict[str, int] = {
    name.removeprefix("RLIMIT_").lower(): getattr(resource, name)
    for name in dir(resource)
    if name.startswith("RLIMIT_")
} | {"locks": 10}
"""Limit name (``as``, ``nofile``, ``nproc`` …) → its number. RLIMIT_LOCKS is missing in the standard library."""


def address_space() -> int:
    """Bytes of address space of the calling process. Raises OSError where ``/proc`` is missing."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split(None, 1)[0]) * PAGE


def set_limits(limits: Mapping[int, int] | Iterable[tuple[int, int]]) -> None:
    """Set soft and hard limit of each number to the same value, never above the present hard limit. Raises OSError."""
    for number, value in limits.items() if isinstance(limits, Mapping) else limits:
        try:
            resource.setrlimit(number, (value, value))
        except ValueError:  # the present hard limit is lower: it holds even better
            hard = resource.getrlimit(number)[1]
            resource.setrlimit(number, (hard, hard))
