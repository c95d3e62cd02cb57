"""A session that has been left alone for a while rests: it gives up its process, or memory that only the next step
needs. After `idle_seconds`, if the sandbox has that, it is closed, and soon if no caller has it any more. A spare child
that is missing is requested.

One thread per sandbox does all this. A session that does not answer holds up nothing but that of others.
"""

from __future__ import annotations

import _thread
import weakref
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from safeexec.engine.host.waiting import BRIEF_SECONDS, Core, Wait, drive
from safeexec.errors import SandboxError

if TYPE_CHECKING:
    from safeexec.engine.host.session.interfaces import CountsSessions


TICK_SECONDS = 0.5
"""How often to see which sessions are to rest or to be closed: that is a glance at two numbers each."""
LEAST_TICK_SECONDS = 0.01
LATE = 8
"""A session that rests is closed by the eighth part of `idle_seconds` late at most: ten thousand take 15 ms to see."""


class IdleSessions:
    """The thread that has sessions rest, closes those that nobody uses, and has spares made. It ends with its sandbox,
    and keeps none alive.
    """

    def __init__(self, sessions: CountsSessions, close_after: float | None) -> None:
        """`close_after`: seconds without use after which a session is closed."""
        self._sessions = weakref.ref(sessions)
        self._close_after = close_after
        self._tick = (
            TICK_SECONDS if close_after is None else min(TICK_SECONDS, max(LEAST_TICK_SECONDS, close_after / 4))
        )
        self._next = 0.0
        """Monotonic time of the next look at those that rest."""
        self._stop = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        self._stop.acquire()
        self._ended.acquire()
        self._thread = 0
        # Not threading.Thread, whose start waits for the thread: 0.1 ms of every cold start.
        _thread.start_new_thread(self._watch, ())

    def _watch(self) -> None:
        self._thread = _thread.get_ident()
        try:
            while not self._stop.acquire(timeout=self._tick):
                if not self._go_round():
                    return
        finally:
            self._ended.release()

    def _go_round(self) -> bool:
        """Look at each session once, but for most of those that rest. Returns whether the sandbox is still there:
        between two rounds nothing here holds it.
        """
        if (sessions := self._sessions()) is None:
            return False
        sessions.replenish()
        for chore in sessions.chores:
            with suppress(SandboxError, OSError):  # as below: without this thread no session rests any more
                chore()
        awake = self._close_after is None or monotonic() < self._next
        if self._close_after is not None and not awake:
            self._next = monotonic() + max(self._tick, self._close_after / LATE)
        for session in sessions.of_callers(awake=awake):
            try:
                turns = session.turns
                if turns.durable is not None and turns.durable.overdue:
                    drive(turns.attend(partial(turns.durable.flush, session)))
                if session.can_rest():
                    drive(turns.attend(session.rest))
                if session.unowned and not sessions.labelled(session):
                    drive(session.close_if_idle(0.0))
                elif self._close_after is not None:
                    drive(session.close_if_idle(self._close_after))
            except (SandboxError, OSError):
                continue  # closed meanwhile, or the zygote has gone: the next use says so
        return True

    def close(self) -> Core[None]:
        """End the thread, and wait until it has; not from the thread itself, the last to hold a sandbox at times."""
        self._stop.release()
        if self._thread == _thread.get_ident():
            return
        while not self._ended.acquire(timeout=BRIEF_SECONDS):
            yield Wait((), monotonic() + BRIEF_SECONDS)
