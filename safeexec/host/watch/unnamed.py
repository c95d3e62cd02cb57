"""What a session holds without a name: files that were removed and are still open, shared memory that nobody maps in.

No directory tells of the former and no resident size of the latter. The kernel does, by the descriptors and mappings
of each process. An ordinary user's host may not look at those of a process that cannot be dumped; it still notices that
the file system runs full.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from safeexec.host.watch.verdict import Verdict

if TYPE_CHECKING:
    from safeexec.host.files.workspace import Workspace
    from safeexec.policy.model import Limits

_ROOM = "limits.workspace_mb"
RESERVE_BYTES = 1 << 30
RESERVE_SHARE = 20
"""What a file system keeps, as 1 / share of its size and at most so many bytes: guests do not take the last of it."""


MOST_LOCKS = 10_000
"""Record locks of one session: each takes the kernel 200 bytes that no process holds."""


class Unnamed(NamedTuple):
    """Bytes by inode, each counted once whoever holds it."""

    files: dict[int, int]
    shared: dict[int, int]


def over(pids: Iterable[int], limits: Limits, workspace: Workspace | None) -> Verdict | None:
    """The verdict on processes that hold too much without a name."""
    pids = {*pids}
    if locks(pids) > MOST_LOCKS:
        message = f"the session holds more than {MOST_LOCKS:,} locks on files"
        return Verdict("violation", f"{message}, which are memory of the kernel", rule="limits.memory_mb")
    held = find(pids, -1 if workspace is None else workspace.device)
    if held is not None:
        if (memory := sum(held.shared.values()) >> 20) > limits.memory_mb:
            message = f"the session holds {memory} MiB of shared memory"
            return Verdict("memory", f"{message}; limits.memory_mb is {limits.memory_mb}")
        if (files := sum(held.files.values()) >> 20) > limits.workspace_mb:
            message = f"the session holds {files} MiB in files that were removed"
            return Verdict("violation", f"{message}; {_ROOM} is {limits.workspace_mb}", rule=_ROOM)
    if workspace is not None and (taken := workspace.taken()) > limits.workspace_mb << 20:
        info = os.statvfs(workspace.home)
        if workspace.free < min(RESERVE_BYTES, info.f_blocks * info.f_frsize // RESERVE_SHARE):
            message = f"the file system of the workspaces runs full: {taken >> 20} MiB went meanwhile"
            return Verdict("violation", message, rule=_ROOM)
    return None


def locks(pids: Collection[int]) -> int:
    """How many record locks these processes hold; of very many `MOST_LOCKS` and one."""
    found = 0
    try:
        with open("/proc/locks", "rb") as file:
            for line in file:
                # "7: POSIX  ADVISORY  WRITE 4711 08:01:123 0 EOF"; "-> " stands before the kind of one that waits
                place = line.find(b"WRITE") if b"WRITE" in line else line.find(b"READ")
                found += int(line[place:].split(maxsplit=2)[1]) in pids
                if found > MOST_LOCKS:
                    break
    except (OSError, ValueError, IndexError):
        return 0  # nobody may look here
    return found


def find(pids: Iterable[int], device: int) -> Unnamed | None:
    """What these processes hold without a name, of files those on `device`. None where the host may not look."""
    found = Unnamed({}, {})
    for pid in pids:
        try:
            _files(pid, device, found.files)
            _mappings(pid, device, found)
        except PermissionError:
            return None
        except OSError:
            continue  # it has ended
    return found


def _files(pid: int, device: int, files: dict[int, int]) -> None:
    for name in os.listdir(f"/proc/{pid}/fd"):
        _count(f"/proc/{pid}/fd/{name}", files, device)


def _mappings(pid: int, device: int, found: Unnamed) -> None:
    with open(f"/proc/{pid}/maps", "rb") as file:
        lines = [line for line in file if line.endswith(b" (deleted)\n")]
    for line in lines:
        place = f"/proc/{pid}/map_files/{line.split(maxsplit=1)[0].decode()}"
        if line.endswith(b" /dev/zero (deleted)\n"):
            _count(place, found.shared)
        else:
            _count(place, found.files, device)


def _count(path: str, sizes: dict[int, int], device: int | None = None) -> None:
    try:
        info = os.stat(path)
    except OSError:
        return
    if stat.S_ISREG(info.st_mode) and not info.st_nlink and device in (None, info.st_dev):
        sizes[info.st_ino] = info.st_blocks * 512
