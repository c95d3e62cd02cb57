"""The cost of a session to the host: CPU time of reading what its processes say, beside what they use themselves.

It is part of the session's CPU time (`limits.cpu_seconds`), of a step's usage, and of what a tenant is charged.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import TYPE_CHECKING, Any, TypeVar

from safeexec.common.identity import AT_ONCE
from safeexec.engine.host.waiting import worked

if TYPE_CHECKING:
    from safeexec.engine.host.waiting import Core

R = TypeVar("R")

SMALL_BYTES, SMALL_SECONDS = 512, 20e-6
"""So many bytes at most are charged at a flat rate: to ask for the CPU time is a system call."""


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
        if size <= AT_ONCE:
            return self.charged(size, read)
        return (yield from worked(lambda: self.charged(size, read)))
