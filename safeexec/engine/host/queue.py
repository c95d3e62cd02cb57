"""A fair queue for something of which there are only so many: sessions of a sandbox, the one process of a plugin.

Whoever waits gets an eventfd. So the generators of the core wait for their turn as they wait for a process: on either
API, from any thread, in the order in which they came.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque

from safeexec.engine.host.waiting import Core, Wait


class Turnstile:
    """Lets `places` in at once; the others wait outside, first come first served."""

    __slots__ = ("_free", "_lock", "_waiting")

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[int] = deque()

    def enter(self, deadline: float) -> Core[bool]:
        """Wait for a place, until `deadline` (monotonic seconds) at most. Whether there was one; then `leave` gives it
        back.
        """
        with self._lock:
            if self._free > 0:
                self._free -= 1
                return True
            mine = os.eventfd(0)
            self._waiting.append(mine)
        try:
            yield Wait((mine,), deadline)
        except BaseException:
            if self._give_up(mine):
                self.leave()
            raise
        # Late, and given the place all the same: then it is ours.
        return self._give_up(mine)

    def _give_up(self, mine: int) -> bool:
        """Stop waiting. True if the place was given to this one meanwhile."""
        with self._lock:
            try:
                self._waiting.remove(mine)
                given = False
            except ValueError:
                given = True
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
        """How many wait."""
        return len(self._waiting)


class Places:
    """The places for the sessions of a sandbox, and who waits for one, by label. Without a number nobody waits."""

    __slots__ = ("_taken", "_turnstile", "number", "queued")

    def __init__(self, number: int | None) -> None:
        self.number = number
        self._turnstile = None if number is None else Turnstile(number)
        self._taken: set[object] = set()
        """The sessions that have one. Branches, and those that hold the state of a template, have none."""
        self.queued: Counter[str | None] = Counter()
        """How many callers wait for a place, by label."""

    def enter(self, label: str | None, deadline: float) -> Core[bool]:
        """Wait for a place, until `deadline` (monotonic seconds) at most. Whether there was one; then it is for `take`
        or `leave`.
        """
        if self._turnstile is None:
            return True
        self.queued[label] += 1
        try:
            return (yield from self._turnstile.enter(deadline))
        finally:
            self.queued[label] -= 1

    def leave(self) -> None:
        """No session came of it: give the place back."""
        if self._turnstile is not None:
            self._turnstile.leave()

    def take(self, session: object) -> None:
        """The place is that of this session."""
        self._taken.add(session)

    def closed(self, session: object) -> None:
        """Give back the place of this session, if it has one."""
        if session in self._taken:
            self._taken.discard(session)
            self.leave()
