"""Control groups of sessions: a hard bound on what a session, its checkpoints and its commands hold together.

Used where this process was given a hierarchy that it may divide (`linux.cgroups`); everywhere else the host's own watch
stands alone, which is also what names the outcome: the group's bound lies above it, for what grows between two looks.
"""

from __future__ import annotations

import contextlib
import os
from itertools import count
from typing import TYPE_CHECKING

from safeexec.linux import cgroups
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.policy.model import Policy

SLACK_MB = 64
"""Beyond what the policy grants: tables of the kernel, pages that a child copies of what it shares with the zygote."""
NAME = "cgroup"
_numbers = count(1)
_left: list[cgroups.Group] = []
"""Groups whose last process had not quite gone when they were given up."""


class _Place:
    """Where groups are made: looked for once per process, again in a process forked from it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.path = ""
        self.reason = ""
        try:
            self.path = cgroups.delegated()
        except (cgroups.Unavailable, OSError) as error:
            self.reason = str(error)


_places: list[_Place] = []


def _place() -> _Place:
    if not _places or _places[0].pid != os.getpid():
        _places[:] = [_Place()]
        _left.clear()
    return _places[0]


def mechanism() -> Mechanism:
    """What groups do here, or why there are none."""
    place = _place()
    if not place.path:
        carries_on = "the host's watch counts the memory of a session, and limits bound each of its processes"
        return Mechanism(NAME, False, f"not available ({place.reason}): {carries_on}")
    return Mechanism(NAME, True, f"memory and processes of a session are bounded together, below {place.path}")


def new_group(policy: Policy) -> cgroups.Group | None:
    """A group for one session of `policy`, or None where there are none."""
    place = _place()
    if not place.path:
        return None
    _remove_left()
    limits = policy.limits
    memory = limits.memory_mb + limits.checkpoint_memory_mb + limits.workspace_mb + SLACK_MB
    try:
        group = cgroups.Group(f"{place.path}/safeexec-{os.getpid()}-{next(_numbers)}")
        group.limit(memory_bytes=memory << 20, processes=processes(policy))
    except OSError:
        return None
    return group


def processes(policy: Policy) -> int:
    """Processes and threads of a session and its commands."""
    from safeexec.host.sandbox import COMMAND_THREADS
    from safeexec.host.startup.confinement import session_processes

    return session_processes(policy.limits) + (COMMAND_THREADS if policy.danger_allow_commands else 0)


def give_up(group: cgroups.Group) -> None:
    """End what is in it and remove it, now or when the last process has gone."""
    with contextlib.suppress(OSError):
        group.kill()
        if group.remove():
            return
    _left.append(group)


def _remove_left() -> None:
    _left[:] = [group for group in _left if not _is_removed(group)]


def _is_removed(group: cgroups.Group) -> bool:
    try:
        return group.remove()
    except OSError:
        return False


def finish() -> None:
    """Remove what was left when a sandbox is closed: all its processes have ended."""
    if _places and _places[0].pid == os.getpid():
        _remove_left()
