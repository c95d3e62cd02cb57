"""What a session holds without a name: files that were removed and are still open, shared memory that nobody maps in.

No directory tells of the former and no resident size of the latter. The kernel does, by the descriptors and mappings
of each process. An ordinary user's host may not look at those of a process that cannot be dumped; it still notices that
the file system runs full.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Unnamed(NamedTuple):
    """Bytes by inode, each counted once whoever holds it."""

    files: dict[int, int]
    shared: dict[int, int]


NOTHING = Unnamed({}, {})


def locks(pids: Collection[int], most: int) -> int:
    """Tell how many record locks these processes hold; `most` and one where there are more."""
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


def find(pids: Iterable[int], device: int) -> Unnamed | None:
    """Return what these processes hold without a name, of files those on `device`. None where the host may not look."""
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
