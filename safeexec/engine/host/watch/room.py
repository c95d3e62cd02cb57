"""What a session holds in files, removed ones that are open still included, and how soon that can be too much.

A count takes 0.1 to 3 ms and is made at the looks of `accountant`. A step whose workspace could be full before the
next of these asks the file system meanwhile, which takes 2 us, and counts when that says that half of the room may be
gone. So what is written beyond the limit is what can be written in a few milliseconds, not in 50.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from time import monotonic, thread_time
from typing import TYPE_CHECKING

from safeexec.engine.host.waiting import Core, Work
from safeexec.engine.host.watch import unnamed
from safeexec.engine.host.watch.verdict import Verdict, too_much_in_files
from safeexec.errors import WorkspaceError

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.policy.model import Limits

RATE = 8 << 30
"""Bytes that guests write in a second: one core makes 2 to 3 GB, and whoever is to look wakes late."""
LEAST_SECONDS = 0.001
SHARE = 3
"""A count is followed by this many times as much without one."""
RESERVE_BYTES = 1 << 30
RESERVE_SHARE = 20
"""What a file system keeps, as 1 / share of its size and at most so many bytes: guests do not take the last of it."""
MOST_LOCKS = 10_000
"""Record locks of one session: each takes the kernel 200 bytes that no process holds."""
RULE = "limits.workspace_mb"


class Room:
    """Of one session or command. A count may come from the accountant's thread and from its caller's at once."""

    def __init__(self, limits: Limits, held: Callable[[], tuple[Workspace | None, Collection[int]]]) -> None:
        """`held`: the workspace, and the processes that may have files of it open."""
        self._limits = limits
        self._held = held
        self._left = limits.workspace_mb << 20
        self._free: int | None = None
        """What the file system had left when `_left` was counted. None: not counted in this step."""
        self.due = 0.0
        """When the room can be gone at the earliest."""

    @property
    def patience(self) -> float:
        """For how long a process that has filled it may go on, to tell where it is: it fills a sixteenth more."""
        seconds = (self._limits.workspace_mb << 20) / 16 / RATE
        return seconds if seconds >= LEAST_SECONDS else 0.0

    def begin(self) -> None:
        """A step begins."""
        self._free = None
        self.due = monotonic() + self._left / RATE

    def look(self) -> Core[Verdict | None]:
        """The verdict, if it may have changed."""
        if monotonic() < self.due:
            return None
        workspace, _ = self._held()
        if workspace is not None and self._free is not None:
            left = self._left - max(0, self._free - workspace.free)
            if left > self._left // 2:
                self.due = monotonic() + max(LEAST_SECONDS, left / RATE)
                return None
        return (yield Work(self.count))  # type: ignore[no-any-return]

    def count(self) -> Verdict | None:
        """The verdict on what is held now."""
        began = thread_time()
        workspace, pids = self._held()
        try:
            return self._over(workspace, pids)
        finally:
            took = thread_time() - began
            self.due = monotonic() + max(LEAST_SECONDS, self._left / RATE, SHARE * took)

    def _over(self, workspace: Workspace | None, pids: Collection[int]) -> Verdict | None:
        limits = self._limits
        if unnamed.locks(pids, MOST_LOCKS) > MOST_LOCKS:
            message = f"the session holds more than {MOST_LOCKS:,} locks on files"
            return Verdict("violation", f"{message}, which are memory of the kernel", rule="limits.memory_mb")
        free = None if workspace is None else workspace.free
        found = unnamed.find(pids, -1 if workspace is None else workspace.device) or unnamed.NOTHING
        if (memory := sum(found.shared.values()) >> 20) > limits.memory_mb:
            message = f"the session holds {memory} MiB of shared memory"
            return Verdict("memory", f"{message}; limits.memory_mb is {limits.memory_mb}")
        if workspace is None or free is None:
            return None
        most = limits.workspace_mb << 20
        try:
            named = workspace.count(most, limits.workspace_files)
        except WorkspaceError as over:
            return too_much_in_files(over)
        removed = sum(found.files.values())
        self._left, self._free = most - removed - named, free
        if self._left < 0:
            message = (
                f"the session holds {most - self._left >> 20} MiB in files, {removed >> 20} of them in removed ones"
            )
            return Verdict("violation", f"{message} that are open; {RULE} is {limits.workspace_mb}", rule=RULE)
        if (taken := workspace.taken()) > most:
            info = os.statvfs(workspace.home)
            if free < min(RESERVE_BYTES, info.f_blocks * info.f_frsize // RESERVE_SHARE):
                message = f"the file system of the workspaces runs full: {taken >> 20} MiB went meanwhile"
                return Verdict("violation", message, rule=RULE)
        return None
