"""Counts the sessions of a sandbox: open, idle, resting, queued and restored ones, by label."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, to_builtins

__all__ = ["SandboxStats", "SessionCounts", "count"]


class SessionCounts(Struct, frozen=True):
    """Sessions, by what they do."""

    open: int = 0
    busy: int = 0
    """Open sessions in which a step or a call is under way."""
    idle: int = 0
    """Open sessions that nobody uses."""
    queued: int = 0
    """Sessions that were asked for, and wait for one of `max_sessions` to be closed."""
    restored: int = 0
    """Open sessions that were brought back at least once, after a step was stopped or its process died."""
    resting: int = 0
    """Idle sessions without a process until they are used again."""
    waiting: int = 0
    """Idle sessions in which a step waits for an answer."""


class SandboxStats(SessionCounts, frozen=True):
    """The sessions of one sandbox, and the same by the label that the host gave them (None: no label)."""

    by_label: Mapping[str | None, SessionCounts] = {}
    spare: int = 0
    """Processes that wait for sessions to come."""
    room: int | None = None
    """Further sessions that this process has file descriptors for (`ulimit -n`); None: they are not limited."""
    steps_journalled: int = 0
    """Steps so far that are undone by doing those before them once more, from the last copy of the process."""
    steps_copied: int = 0
    """Steps so far after which the process was copied."""
    steps_lost: int = 0
    """Journalled steps that came out otherwise when they were repeated, and were lost."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as what `json.dumps` takes, for a page of your service."""
        fields: dict[str, Any] = to_builtins(self)
        return fields


def count(
    sessions: Iterable[tuple[str | None, Mapping[str, bool]]],
    queued: Mapping[str | None, int],
    spare: int,
    room: int | None,
    steps: Mapping[str, int],
) -> SandboxStats:
    """Return the numbers, of what waits and of what is open: the label of each, and which fields count it."""
    rows: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
    for label, fields in sessions:
        for name, holds in fields.items():
            rows[label][name] += holds
    for label, number in queued.items():
        if number:
            rows[label]["queued"] = number
    return SandboxStats(
        **sum(rows.values(), Counter[str]()),
        by_label={label: SessionCounts(**row) for label, row in rows.items()},
        spare=spare,
        room=room,
        steps_journalled=steps["journalled"],
        steps_copied=steps["copied"],
        steps_lost=steps["lost"],
    )
