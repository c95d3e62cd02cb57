"""Whose turn it is to be looked at. Pure: time is handed in.

A session in use is looked at each time, an idle one a few times a second, and one that has been quiet for long once a
second, or more rarely where there are many. A few of the quiet ones come at each look, so that a thousand of them do
not delay the look at one that runs.
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Collection, Iterable
from math import ceil
from typing import Generic, Protocol, TypeVar

IDLE_LOOK_SECONDS = 0.25
"""How often an idle session is looked at."""
QUIET_AFTER_SECONDS, QUIET_LOOK_SECONDS = 5.0, 1.0
"""An idle session of which nothing has run for so long is quiet: it is looked at once a second. Meanwhile a fork waits
for permission, and the address space is bounded.
"""
QUIET_RATE = 200
"""How many quiet lineages are looked at in a second at most, for 1 % of a core: each of a thousand every 5 s."""


class Sleeper(Protocol):
    """What the rotation asks of a session or a command."""

    idle: bool
    """Whether the next look may be a while away. Whoever begins to use it, and finds that, has it woken."""

    def lineage_leaders(self) -> Collection[int]:
        """The first process of each lineage that it has processes of."""
        ...

    def in_use(self) -> bool:
        """Tell whether a caller waits for it."""
        ...


S = TypeVar("S", bound=Sleeper)


class LastLook:
    """What is remembered of a lineage until the next one."""

    __slots__ = ("due", "quiet", "ran", "subjects")

    def __init__(self, now: float) -> None:
        self.due = now
        self.ran = now
        """When a look last found something of it running."""
        self.quiet = False
        self.subjects: list[int] = []
        """Whose processes are in it."""


class Rotation(Generic[S]):
    """All who are looked at. `enter`, `remove` and `wake` may come from any thread, the others from one."""

    def __init__(self) -> None:
        self._subjects: dict[int, weakref.ref[S]] = {}
        """By identity. Read and changed in calls of C code alone: from any thread, and by what the collector ends."""
        self._awake: set[int] = set()
        """Those that no look leaves out. Changed in the same way."""
        self._lineages: dict[int, LastLook] = {}
        self._quiet: collections.OrderedDict[int, None] = collections.OrderedDict()
        """The lineages that only sleepers have, the longest not looked at first."""
        self._last = 0.0

    def __len__(self) -> int:
        return len(self._subjects)

    def enter(self, subject: S) -> None:
        self._subjects[id(subject)] = weakref.ref(subject)
        self._awake.add(id(subject))

    def remove(self, subject: S) -> None:
        self._subjects.pop(id(subject), None)
        self._awake.discard(id(subject))

    def wake(self, subject: S) -> None:
        """It is in use again."""
        subject.idle = False
        self._awake.add(id(subject))

    def turn(self, now: float) -> tuple[dict[int, list[S]], set[int]]:
        """By lineage, all who share it: of those awake, and of the quiet whose turn it is. And the lineages in use."""
        count = ceil(min(len(self._quiet) / QUIET_LOOK_SECONDS, QUIET_RATE) * min(QUIET_LOOK_SECONDS, now - self._last))
        self._last = now
        lineages = self._awakened()
        used = {leader for leader, subjects in lineages.items() if any(map(_in_use, subjects))}
        for _ in range(min(count, len(self._quiet))):
            leader, _none = self._quiet.popitem(last=False)
            subjects = [one for one in self._living(self._lineages[leader].subjects) if leader in one.lineage_leaders()]
            if subjects:
                lineages[leader] = subjects
        kept = {leader: self._lineages[leader] for leader in self._quiet}
        for leader, subjects in lineages.items():
            kept[leader] = lineage = self._lineages.get(leader) or LastLook(now)
            lineage.subjects = [id(subject) for subject in subjects]
        self._lineages = kept
        return lineages, used

    def leaders(self) -> Collection[int]:
        """All lineages, as of the last turn."""
        return self._lineages.keys()

    def due(self, leader: int, now: float) -> bool:
        """Tell whether a lineage that nobody uses is to be looked at."""
        return now >= self._lineages[leader].due

    def looked(self, leader: int, now: float, *, ran: bool) -> None:
        """A lineage has been looked at."""
        lineage = self._lineages[leader]
        if ran:
            lineage.ran = now
        lineage.quiet = now - lineage.ran >= QUIET_AFTER_SECONDS
        lineage.due = now + IDLE_LOOK_SECONDS

    def retire(self, lineages: dict[int, list[S]]) -> None:
        """After the looks of a turn: a subject that has been quiet for long is left out of most looks to come."""
        quiet: dict[int, S] = {}
        for leader, subjects in lineages.items():
            if not self._lineages[leader].quiet:
                self._awake.update(self._lineages[leader].subjects)
                continue
            quiet |= {id(subject): subject for subject in subjects}
            if all(map(self._sleeps, subjects)):
                self._quiet[leader] = None
        for key, subject in quiet.items():
            self._awake.discard(key)
            # In use since a moment, it may have been woken before it was left out.
            if subject.in_use() or any(leader not in self._quiet for leader in subject.lineage_leaders()):
                self._awake.add(key)

    def _sleeps(self, subject: S) -> bool:
        seen = [self._lineages.get(leader) for leader in subject.lineage_leaders()]
        return subject.idle and all(lineage is not None and lineage.quiet for lineage in seen)

    def _awakened(self) -> dict[int, list[S]]:
        """The lineages of those awake. Who shares one with them is awake as well."""
        lineages: dict[int, list[S]] = {}
        todo = list(self._awake)
        for key in todo:
            for subject in self._living([key]):
                for leader in subject.lineage_leaders():
                    lineages.setdefault(leader, []).append(subject)
                    if leader in self._quiet:
                        del self._quiet[leader]
                        others = [other for other in self._lineages[leader].subjects if other not in self._awake]
                        self._awake.update(others)
                        todo += others
        return lineages

    def _living(self, keys: Iterable[int]) -> Iterable[S]:
        for key in keys:
            reference = self._subjects.get(key)
            if reference is not None and (subject := reference()) is not None:
                yield subject
            else:
                self._subjects.pop(key, None)
                self._awake.discard(key)


def _in_use(subject: Sleeper) -> bool:
    """Tell whether it is in use; marks it as idle if not. The mark comes first: whoever begins to use it meanwhile is
    either seen here, or sees the mark.
    """
    subject.idle = True
    if subject.in_use():
        subject.idle = False
    return not subject.idle
