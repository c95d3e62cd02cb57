"""Decides whose turn it is to be looked at. Pure: time is handed in.

A session in use is looked at each time, an idle one a few times a second, and one that has been quiet for long once a
second, or more rarely where there are many: each quiet one takes the next of the slots that are 5 ms apart. So a
thousand of them do not delay the look at one that runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator

from safeexec.engine.host.watch.subject import Subject

IDLE_LOOK_SECONDS = 0.25
"""How often an idle session is looked at."""
QUIET_AFTER_SECONDS, QUIET_LOOK_SECONDS = 5.0, 1.0
"""An idle session of which nothing has run for so long is quiet: it is looked at once a second. Meanwhile a fork waits
for permission, and the address space is bounded.
"""
QUIET_RATE = 200
"""How many quiet sessions are looked at in a second at most, for 1 % of a core: each of a thousand every 5 s."""


class LastLook:
    """Holds what is remembered of a lineage until the next look."""

    __slots__ = ("ran", "subjects")

    def __init__(self, now: float) -> None:
        self.ran = now
        """When a look last found something of it running."""
        self.subjects: list[int] = []
        """Whose processes are in it."""


class Rotation:
    """Knows all who are looked at. `enter`, `remove` and `wake` may come from any thread, the others from one."""

    def __init__(self) -> None:
        self._subjects: dict[int, weakref.ref[Subject]] = {}
        """By identity. Read and changed in calls of C code alone: from any thread, and by what the collector ends."""
        self._due: dict[int, float] = {}
        """When each is looked at next; 0: each time. Changed in the same way."""
        self._lineages: dict[int, LastLook] = {}
        self._slot = 0.0
        """When the last of the quiet ones is due."""

    def __len__(self) -> int:
        return len(self._subjects)

    def enter(self, subject: Subject) -> None:
        self._subjects[id(subject)] = weakref.ref(subject)
        self._due[id(subject)] = 0.0

    def remove(self, subject: Subject) -> None:
        self._forget(id(subject))

    def _forget(self, key: int) -> None:
        self._subjects.pop(key, None)
        self._due.pop(key, None)

    def wake(self, subject: Subject) -> None:
        """Look at it each time: it is in use again."""
        subject.idle = False
        self._due[id(subject)] = 0.0

    def turn(self, now: float) -> tuple[dict[int, list[Subject]], set[int]]:
        """Return those to look at, by lineage, with all who share it; and which of these lineages are in use."""
        todo = [key for key, due in list(self._due.items()) if due <= now]
        seen, lineages = {*todo}, dict[int, list[Subject]]()
        for key in todo:
            for subject in self._living(key):
                for leader in subject.lineage_leaders():
                    lineages.setdefault(leader, []).append(subject)
                    if (last := self._lineages.get(leader)) is not None:
                        others = [other for other in last.subjects if other not in seen]
                        seen.update(others)
                        todo += others
        waiting = self._subjects.keys() - seen
        for leader in [leader for leader, last in self._lineages.items() if waiting.isdisjoint(last.subjects)]:
            if leader not in lineages:
                del self._lineages[leader]
        used = set()
        for leader, subjects in lineages.items():
            self._lineages.setdefault(leader, LastLook(now)).subjects = [id(subject) for subject in subjects]
            if sum(map(_in_use, subjects)):  # of all: each is marked
                used.add(leader)
        return lineages, used

    def leaders(self) -> Collection[int]:
        """Return all lineages, as of the last turn."""
        return self._lineages.keys()

    def looked(self, lineages: dict[int, list[Subject]], ran: Iterable[int], now: float) -> None:
        """Say when those of a turn are due again, of which the lineages `ran` were found running."""
        for leader in ran:
            self._lineages[leader].ran = now
        soon: set[int] = set()
        for leader, subjects in lineages.items():
            if now - self._lineages[leader].ran < QUIET_AFTER_SECONDS:
                soon.update(map(id, subjects))
        for key, subject in {id(subject): subject for subjects in lineages.values() for subject in subjects}.items():
            if key not in soon:
                self._slot = max(self._slot + 1 / QUIET_RATE, now + QUIET_LOOK_SECONDS)
            self._due[key] = now + IDLE_LOOK_SECONDS if key in soon else self._slot
            if not subject.idle:  # in use, or `wake` was called meanwhile, maybe before the line above
                self._due[key] = 0.0

    def _living(self, key: int) -> Iterator[Subject]:
        reference = self._subjects.get(key)
        if reference is not None and (subject := reference()) is not None:
            yield subject
        else:
            self._forget(key)


def _in_use(subject: Subject) -> bool:
    """Tell whether it is in use; mark it as idle if not. The mark comes first: whoever begins to use it meanwhile is
    either seen here, or sees the mark.
    """
    subject.idle = True
    if subject.in_use():
        subject.idle = False
    return not subject.idle
