"""Counts what a session holds in files, with removed ones that are open still, and how soon that can be too much.

No directory tells of a removed file that is open, and no resident size of shared memory that nobody maps in. The kernel
does, by the descriptors and mappings of each process. An ordinary user's host may not look at those of a process that
cannot be dumped; it still notices that the file system runs full.

A count takes 0.1 to 3 ms and is made at the looks of `accountant`. A step whose workspace could be full before the
next of these reads the file system's figure meanwhile, which takes 2 us, and counts when by that half of the room may
be gone. So what is written beyond the limit is what can be written in a few milliseconds, not in 50.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable
from time import monotonic, thread_time
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.host.waiting import Core, Work
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
"""The part of a file system that guests are kept out of: 1 / share of its size, and at most so many bytes."""
MOST_LOCKS = 10_000
"""Record locks of one session: each takes the kernel 200 bytes that no process holds."""
RULE = "limits.workspace_mb"


class Room:
    """Counts the files of one session or command. A count may come from the accountant's thread and from its caller's
    at once.
    """

    def __init__(self, limits: Limits, held: Callable[[], tuple[Workspace | None, Collection[int]]]) -> None:
        """`held`: the workspace, and the processes that may have files of it open."""
        self._limits = limits
        self._held = held
        self._left = limits.workspace_mb << 20
        self._free: int | None = None
        """Bytes that the file system had left when `_left` was counted. None: not counted in this step."""
        self.due = 0.0
        """Monotonic time at which the room can be gone at the earliest."""

    @property
    def patience(self) -> float:
        """For how long a process that has filled it may go on, to report where it is: it fills a sixteenth more."""
        seconds = (self._limits.workspace_mb << 20) / 16 / RATE
        return seconds if seconds >= LEAST_SECONDS else 0.0

    def begin(self) -> None:
        """Begin to count for a step."""
        self._free = None
        self.due = monotonic() + self._left / RATE

    def look(self) -> Core[Verdict | None]:
        """Return the verdict, if it may have changed."""
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
        """Return the verdict on what is held now."""
        began = thread_time()
        workspace, pids = self._held()
        try:
            return self._over(workspace, pids)
        finally:
            took = thread_time() - began
            self.due = monotonic() + max(LEAST_SECONDS, self._left / RATE, SHARE * took)

    def _over(self, workspace: Workspace | None, pids: Collection[int]) -> Verdict | None:
        limits = self._limits
        if locks_of(pids, MOST_LOCKS) > MOST_LOCKS:
            message = f"the session holds more than {MOST_LOCKS:,} locks on files"
            return Verdict("violation", f"{message}, which are memory of the kernel", rule="limits.memory_mb")
        free = None if workspace is None else workspace.free
        found = find_unnamed(pids, -1 if workspace is None else workspace.device) or NOTHING_UNNAMED
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


class Unnamed(NamedTuple):
    """Bytes by inode, each counted once whoever holds it."""

    files: dict[int, int]
    shared: dict[int, int]


NOTHING_UNNAMED = Unnamed({}, {})


def locks_of(pids: Collection[int], most: int) -> int:
    """Return how many record locks these processes hold; `most` and one where there are more."""
    found = 0
    try:
        with open("/proc/locks", "rb") as file:
            for line in file:
                # "7: POSIX  ADVISORY  WRITE 4711 08:01:123 0 EOF"; "-> " stands before the kind of one that waits
                place = line.find(b"WRITE") if b"WRITE" in line else line.find(b"READ")
                found += int(line[place:].split(maxsplit=2)[1]) in pids
                if found > most:
                    break
    except (OSError, ValueError, IndexError):
        return 0  # nobody may look here
    return found


def find_unnamed(pids: Iterable[int], device: int) -> Unnamed | None:
    """Return what these processes hold without a name, of files those on `device`. None where the host may not look."""
    found = Unnamed({}, {})
    for pid in pids:
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):
                _count(f"/proc/{pid}/fd/{name}", found.files, device)
            with open(f"/proc/{pid}/maps", "rb") as file:
                lines = [line for line in file if line.endswith(b" (deleted)\n")]
        except PermissionError:
            return None
        except OSError:
            continue  # it has ended
        for line in lines:
            place = f"/proc/{pid}/map_files/{line.split(maxsplit=1)[0].decode()}"
            if line.endswith(b" /dev/zero (deleted)\n"):  # so the kernel calls shared memory without a file
                _count(place, found.shared)
            else:
                _count(place, found.files, device)
    return found


def _count(path: str, sizes: dict[int, int], device: int | None = None) -> None:
    try:
        info = os.stat(path)  # not `lstat`: such a link leads to what is open, whatever its name says
    except OSError:
        return
    if stat.S_ISREG(info.st_mode) and not info.st_nlink and device in (None, info.st_dev):
        sizes[info.st_ino] = info.st_blocks * 512
