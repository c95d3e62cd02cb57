"""Counts the sessions that this process has descriptors for: each reserves its own as it opens, or is refused.

A session that gets none for its next checkpoint, or to go back, cannot go on; two hundred that were opened at once each
found room for one.
"""

from __future__ import annotations

import _thread
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from safeexec.engine.linux import processes
from safeexec.errors import SandboxBusy

SESSION_DESCRIPTORS = 17
"""The most that one session takes while it opens, and later with a few named checkpoints: 10 after its first steps."""
RESERVED_DESCRIPTORS = 6
"""Descriptors that an open session may still come to take beyond those that it has."""


class _Ledger:
    """The sessions of this process, those that open and those that are open."""

    def __init__(self) -> None:
        self.coming = self.open = 0
        self.lock = _thread.allocate_lock()


_ledger = _Ledger()
# A fork has no session of its parent's, and its lock may be held by a thread that is not there.
os.register_at_fork(after_in_child=_ledger.__init__)  # type: ignore[misc]


@contextmanager
def reserved() -> Iterator[None]:
    """Reserve descriptors while a session opens. Raises `SandboxBusy` where there are too few for one more."""
    with _ledger.lock:
        if (most := _most()) is not None and (left := _left(most)) < SESSION_DESCRIPTORS:
            there = _ledger.open + _ledger.coming
            raise SandboxBusy(
                f"{max(0, left)} file descriptors are left to this process beside what its {there} sessions need; a "
                f"session more takes {SESSION_DESCRIPTORS}: close some, or raise RLIMIT_NOFILE ({most}, `ulimit -n`)"
            )
        _ledger.coming += 1
    try:
        yield
    finally:
        with _ledger.lock:
            _ledger.coming -= 1


def count(change: int) -> None:
    """So many sessions have opened; a negative number: have closed."""
    with _ledger.lock:
        _ledger.open = max(0, _ledger.open + change)


def room() -> int | None:
    """Return how many sessions more this process has descriptors for; None where they are not limited."""
    most = _most()
    return None if most is None else max(0, _left(most) // SESSION_DESCRIPTORS)


def _most() -> int | None:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if most == resource.RLIM_INFINITY else most


def _left(most: int) -> int:
    """Return the descriptors that nobody needs: a session that opens has some of its own already, which count twice."""
    needed = SESSION_DESCRIPTORS * _ledger.coming + RESERVED_DESCRIPTORS * _ledger.open
    return most - processes.open_descriptors() - needed
