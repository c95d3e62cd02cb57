"""Decides whose turn it is to be looked at. Pure: time is handed in.

A session in use is looked at each time, an idle one a few times a second, or more rarely where there are many: each
takes the next of the slots that are 1.4 ms apart. So a thousand of them do not delay the look at one that runs.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator

from safeexec.engine.host.watch.account import Subject

IDLE_LOOK_SECONDS = 0.25
"""How often an idle session is looked at."""
IDLE_RATE = 700
"""How many idle sessions are looked at in a second at most, for 1 % of a core: each of a thousand every 1.4 s."""


class Rotation:
    """Knows all who are looked at. `enter`, `remove` and `wake` may come from any thread, the others from one."""

    def __init__(self) -> None:
        self._subjects: dict[int, weakref.ref[Subject]] = {}
        """By identity. Read and changed in calls of C code alone: from any thread, and by what the collector ends."""
        self._due: dict[int, float] = {}
        """Time of the next look at each; 0: each time. Changed in the same way."""
        self._lineages: dict[int, list[int]] = {}
        """The subjects whose processes are in each, as of its last turn."""
        self._slot = 0.0
        """Time at which the last of the idle ones is due."""

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
        """Return the sessions to look at now, by lineage, with all that share it; and which lineages are in use."""
        todo = [key for key, due in list(self._due.items()) if due <= now]
        seen, lineages = {*todo}, dict[int, list[Subject]]()
        for key in todo:
            for subject in self._living(key):
                for leader in subject.lineage_leaders():
                    lineages.setdefault(leader, []).append(subject)
                    others = [other for other in self._lineages.get(leader, ()) if other not in seen]
                    seen.update(others)
                    todo += others
        waiting = self._subjects.keys() - seen
        for leader in [leader for leader, last in self._lineages.items() if waiting.isdisjoint(last)]:
            del self._lineages[leader]
        used = set()
        for leader, subjects in lineages.items():
            self._lineages[leader] = [id(subject) for subject in subjects]
            if sum(map(_in_use, subjects)):  # of all: each is marked
                used.add(leader)
        return lineages, used

    def leaders(self) -> Collection[int]:
        """Return all lineages, as of the last turn."""
        return self._lineages.keys()

    def looked(self, lineages: dict[int, list[Subject]], now: float) -> None:
        """Say when those of a turn are due again."""
        for key, subject in {id(subject): subject for subjects in lineages.values() for subject in subjects}.items():
            if subject.idle:
                self._slot = max(self._slot + 1 / IDLE_RATE, now + IDLE_LOOK_SECONDS)
            self._due[key] = self._slot
            if not subject.idle:  # in use, or `wake` was called meanwhile, maybe before the line above
                self._due[key] = 0.0

    def _living(self, key: int) -> Iterator[Subject]:
        reference = self._subjects.get(key)
        if reference is not None and (subject := reference()) is not None:
            yield subject
        else:
            self._forget(key)


def _in_use(subject: Subject) -> bool:
    """Return whether it is in use; mark it as idle if not. The mark comes first: whoever begins to use it meanwhile is
    either seen here, or sees the mark.
    """
    subject.idle = True
    if subject.in_use():
        subject.idle = False
    return not subject.idle
