"""Control groups of sessions, in two tiers.

With the controllers of memory and processes: a hard bound on what a session, its checkpoints and its commands hold
together. The host's own look names the outcome; the group's bound lies above it, for what grows between two looks.
Without them, which needs no controller: what has been born and ended between two looks is counted, and all end at once.

Used where this process was given a hierarchy that it may divide (`linux.cgroups`).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.linux import cgroups
from safeexec.engine.policy.kernel import COMMAND_THREADS, session_processes
from safeexec.protocol.confinement import Mechanism

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy

SLACK_MB = 64
"""Beyond what the policy grants: tables of the kernel, pages that a child copies of what it shares with the zygote."""
NAME = "cgroup"
CORE = "cgroup-core"
_numbers = count(1)
_left: list[tuple[int, cgroups.Group]] = []
"""Groups whose last process had not quite gone when they were given up, and the process that made them."""


class _Parent(NamedTuple):
    """The group below which others are made."""

    path: str
    """Below which groups have limits; "" where none have, for the `reason`."""
    reason: str
    anywhere: str
    """Below which groups can be made at all."""
    anywhere_reason: str


@cache
def _parent_of(pid: int) -> _Parent:
    """Return the parent of this process's groups, looked for once, and again in a process forked from it."""
    path, reason = _found(cgroups.prepare_parent_with_limits)
    return _Parent(path, reason, *((path, "") if path else _found(cgroups.prepare_parent_without_limits)))


def _found(look: Callable[[], str]) -> tuple[str, str]:
    try:
        return look(), ""
    except (cgroups.Unavailable, OSError) as error:
        return "", str(error)


@cache
def _may_exist() -> bool:
    """Return whether it is worth looking for a parent: 20 us, where to look would cost a start 0.5 ms."""
    for place in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        try:
            with open(f"{place}/cgroup.controllers", encoding="utf-8") as file:
                return "memory" in file.read().split() or os.access(f"{place}/cgroup.procs", os.W_OK)
        except OSError:
            continue
    return False


def mechanisms() -> list[Mechanism]:
    """Return what groups do here, or why there are none, one row for each tier."""
    parent = _parent_of(os.getpid())
    instead = "the host's look counts the memory of a session, and limits bound each of its processes"
    sampled = "of a process that ends, CPU time counts as the last look has seen it"
    return [
        Mechanism(NAME, True, f"memory and processes of a session are bounded together, below {parent.path}")
        if parent.path
        else Mechanism(NAME, False, f"not available ({parent.reason}): {instead}"),
        Mechanism(CORE, True, f"CPU time of ended processes counts where guests may start any, below {parent.anywhere}")
        if parent.anywhere
        else Mechanism(CORE, False, f"not available ({parent.anywhere_reason}): {sampled}"),
    ]


def new_group(policy: Policy) -> cgroups.Group | None:
    """Return a group for one session of `policy`, or None where there are none, or none is needed."""
    if not _may_exist():
        return None
    parent = _parent_of(os.getpid())
    # To move a process into a group takes 0.13 ms. Who may not fork has no processes that end between two looks.
    forks = policy.limits.processes > 0 or bool(policy.danger_allow_commands)
    is_required = any(CORE in entry.split(" or ") for entry in policy.require)
    if not (parent.path or (parent.anywhere and (forks or is_required))):
        return None
    finish()
    limits = policy.limits
    memory = limits.memory_mb + limits.checkpoint_memory_mb + limits.workspace_mb + SLACK_MB
    try:
        group = cgroups.Group(f"{parent.anywhere}/safeexec-{os.getpid()}-{next(_numbers)}")
        if parent.path:
            group.limit(memory_bytes=memory << 20, processes=processes(policy))
    except OSError:
        return None
    return group


def processes(policy: Policy) -> int:
    """Return how many processes and threads a session and its commands may have."""
    return session_processes(policy.limits) + (COMMAND_THREADS if policy.danger_allow_commands else 0)


def give_up(group: cgroups.Group) -> None:
    """End what is in it and remove it, now or when the last process has gone."""
    with contextlib.suppress(OSError):
        group.kill()
    if not _is_removed(group):
        _left.append((os.getpid(), group))


def finish() -> None:
    """Remove what was left of groups that this process made: when a sandbox is closed, its processes have ended."""
    _left[:] = [(pid, group) for pid, group in _left if pid == os.getpid() and not _is_removed(group)]


def _is_removed(group: cgroups.Group) -> bool:
    try:
        return group.remove()
    except OSError:
        return False
