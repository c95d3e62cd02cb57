"""What a session costs the host itself: CPU time of reading what its processes say, beside what they use themselves.

It is part of the session's CPU time (`limits.cpu_seconds`), of a step's usage, and of what a tenant is charged.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import TYPE_CHECKING, Any, TypeVar

from safeexec.engine.host.waiting import worked

if TYPE_CHECKING:
    from safeexec.engine.host.waiting import Core

R = TypeVar("R")

SMALL_BYTES, SMALL_SECONDS = 512, 20e-6
"""What is so small is charged at a flat rate: to ask for the CPU time is a system call."""
AT_ONCE_BYTES = 16 << 10
"""So much is read where it arrives, on an event loop too: 6 ms at most. More is read in a thread."""
LARGE_BYTES = AT_ONCE_BYTES + 1
"""Stands for a size that nobody knows, or that does not tell how long it takes."""


class Bill:
    """The CPU seconds of the host for one session. Written by whoever has the session's turn, read by any thread."""

    __slots__ = ("cpu",)

    def __init__(self) -> None:
        self.cpu = 0.0

    def charged(self, size: int, read: Callable[..., R], *arguments: Any) -> R:
        """Return what `read` makes of `size` bytes; what it takes is charged."""
        if size <= SMALL_BYTES:
            self.cpu += SMALL_SECONDS
            return read(*arguments)
        began = thread_time()
        try:
            return read(*arguments)
        finally:
            self.cpu += thread_time() - began

    def reading(self, size: int, read: Callable[[], R]) -> Core[R]:
        """Return as `charged`, in a thread where that may hold an event loop."""
        if size <= AT_ONCE_BYTES:
            return self.charged(size, read)
        return (yield from worked(lambda: self.charged(size, read)))
