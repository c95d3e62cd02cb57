"""A fair queue for something of which there are only so many: sessions of a sandbox, the one process of a plugin.

Whoever waits gets an eventfd. So the generators of the core wait for their turn as they wait for a process: on either
API, from any thread, in the order in which they came.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from contextvars import ContextVar
from math import inf
from time import monotonic

from safeexec.engine.host.waiting import Core, Wait


class Turnstile:
    """Lets `places` in at once; the others wait outside, first come first served. With None nobody waits."""

    __slots__ = ("_free", "_lock", "_waiting", "queued")

    def __init__(self, places: int | None) -> None:
        self._free = inf if places is None else places
        self._lock = threading.Lock()
        self._waiting: deque[int] = deque()
        self.queued: Counter[str | None] = Counter()
        """Counts of the callers that wait for a place, by label."""

    def enter(self, deadline: float, label: str | None = None) -> Core[bool]:
        """Wait for a place until `deadline` (monotonic). Returns whether there was one, which `leave` gives back."""
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            mine = os.eventfd(0)
            self._waiting.append(mine)
            self.queued[label] += 1
        try:
            yield Wait((mine,), deadline)
        except BaseException:
            if self._give_up(mine, label):
                self.leave()
            raise
        # Late, and given the place all the same: then it is ours.
        return self._give_up(mine, label)

    def _give_up(self, mine: int, label: str | None) -> bool:
        """Stop waiting. True if the place was given to this one meanwhile."""
        with self._lock:
            self.queued[label] -= 1
            given = mine not in self._waiting
            if not given:
                self._waiting.remove(mine)
        os.close(mine)
        return given

    def leave(self) -> None:
        """Give the place back: to the one who waits longest, if anybody does."""
        with self._lock:
            if self._waiting:
                os.eventfd_write(self._waiting.popleft(), 1)
            else:
                self._free += 1

    @property
    def waiting(self) -> int:
        """The number of those that wait."""
        return self.queued.total()


class OneAtATime:
    """Lets one caller in at a time. A caller who is in can ask whether it would wait for itself: a tool that calls the
    plugin which called it, in the same task or thread, or in one that this has started.
    """

    __slots__ = ("_inside", "_places")

    def __init__(self) -> None:
        self._places = Turnstile(1)
        self._inside: list[OneAtATime] = []
        """This, until the caller who is in leaves. One that is cancelled leaves in another task, whose variables of
        context are not its own: so they hold this list, which is empty then.
        """

    @property
    def would_wait_for_itself(self) -> bool:
        return any(self in inside for inside in _entered.get())

    def enter(self, seconds: float) -> Core[bool]:
        """Wait for the turn, so long at most. Returns whether it came; then it is for `leave`."""
        if not (yield from self._places.enter(monotonic() + seconds)):
            return False
        self._inside = [self]
        _entered.set((*(inside for inside in _entered.get() if inside), self._inside))
        return True

    def leave(self) -> None:
        self._inside.clear()
        self._places.leave()


_entered: ContextVar[tuple[list[OneAtATime], ...]] = ContextVar("safeexec_entered", default=())
"""The turns that this task or thread has, or that the one which started it has."""
