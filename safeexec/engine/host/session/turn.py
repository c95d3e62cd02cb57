"""Who uses a session: one caller at a time, a second one is refused at once.

No lock is held, for none could be lost: a turn is a generator of the core, and lasts exactly as long as that runs or
waits. However it ends, by returning, by an exception of a signal handler at any byte code, or by being forgotten, the
next caller finds it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar
from weakref import ref

from msgspec import Struct

from safeexec.engine.host.waiting import Core, Wait
from safeexec.errors import SessionBusy

R = TypeVar("R")
T = TypeVar("T")

First = dict[None, T]
"""Holds one thing for ever: the first that anybody puts there, by `setdefault(None, thing)`. That is one call of C
code: of threads and handlers of signals that come at once all get the same.
"""
BRIEF_SECONDS = 0.0005
"""How long to wait at a time for whoever looks after idle sessions: a look takes 0.1 ms."""
BUSY_SECONDS = 0.02
"""How often at least to ask whether a session that somebody waits for is free."""


def _nobody() -> None:
    return None


class Turn(Struct, eq=False):
    """One caller's use of a session."""

    brief: bool = False
    """Whether it is the host's own and soon over, so that others wait for it."""
    thread: int = 0
    """The thread that began it."""
    _core: Callable[[], Any] = _nobody
    next: First[Turn] = {}
    """The turn that follows, once there is one."""

    def belongs_to(self, core: Core[R]) -> Core[R]:
        """`core`, the generator whose life is that of the turn."""
        self._core = ref(core)
        return core

    @property
    def goes_on(self) -> bool:
        """Whether its generator runs, or waits for something."""
        core = self._core()
        return core is not None and (core.gi_running or core.gi_suspended)


def patiently(seconds: float, operation: Callable[[], Core[R]]) -> Core[R]:
    """Do `operation` when the session is free, within so many seconds. Raises `SessionBusy` after that."""
    deadline, pause = monotonic() + seconds, BRIEF_SECONDS
    while True:
        try:
            return (yield from operation())
        except SessionBusy:
            if (left := deadline - monotonic()) <= 0:
                raise
        pause = min(2 * pause, BUSY_SECONDS)
        yield Wait((), monotonic() + min(pause, left))
