"""Open files across a fork: a copy of a process shares the offset of every open file with the original.

At a freeze path, flags and offset of each regular file that is open are noted, whoever opened it; a thawed runner opens
each again at its own offset, so that neither reads or writes what the other moved, and a branch opens its own copy.
"""

from __future__ import annotations

import fcntl
import os
import resource
import stat
from typing import NamedTuple

_FIRST = 3
"""Below are the standard streams, which the host provides."""
_DELETED = " (deleted)"


class OpenFile(NamedTuple):
    """One descriptor of a regular file."""

    fd: int
    path: str
    flags: int
    offset: int
    inode: tuple[int, int]
    """Device and number: what it is, whatever it is called by now."""


class OpenFiles:
    """The regular files that are open now."""

    __slots__ = ("_directory", "_files")

    def __init__(self) -> None:
        self._files = [found for fd in _descriptors() if (found := _describe(fd)) is not None]
        self._directory = os.getcwd() if self._files else ""

    def restore(self, workspace: str | None) -> list[str]:
        """Open each file again at its offset, on the same descriptor; in `workspace`, where a branch has its own
        directory.

        Returns a note for each that could not be.
        """
        notes = []
        for file in self._files:
            # matplotlib closes its fonts in every fork (`os.register_at_fork`), and the runner's new socket may have
            # got the number: what is not this file any more is not brought back.
            now = _describe(file.fd)
            if now is None or now.inode != file.inode:
                continue
            path = file.path
            if workspace is not None and path.startswith(self._directory + "/"):
                path = workspace + path[len(self._directory) :]
            try:
                fd = os.open(path, file.flags | os.O_CLOEXEC)
            except OSError as error:
                notes.append(
                    f"the open file {_shown(file, self._directory)!r} could not be carried over: {error.strerror}"
                )
                continue
            os.lseek(fd, file.offset, os.SEEK_SET)
            os.dup2(fd, file.fd, inheritable=False)
            os.close(fd)
        return notes


def _descriptors() -> list[int]:
    """Every descriptor but the standard streams. Without ``/proc``, which Landlock alone does not open, each is
    tried: 0.1 ms.
    """
    try:
        return [fd for name in os.listdir("/proc/self/fd") if (fd := int(name)) >= _FIRST]
    except OSError:
        return list(range(_FIRST, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _describe(fd: int) -> OpenFile | None:
    """The file behind `fd`; None for what is not a regular file with a name, such as the memfd of a tool."""
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        path = os.readlink(f"/proc/self/fd/{fd}")
        if not path.startswith("/") or path.startswith("/memfd:"):
            return None
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        return OpenFile(
            fd, path, flags & (os.O_ACCMODE | os.O_APPEND), os.lseek(fd, 0, os.SEEK_CUR), (info.st_dev, info.st_ino)
        )
    except OSError:
        return None


def _shown(file: OpenFile, directory: str) -> str:
    return file.path.removesuffix(_DELETED).removeprefix(directory + "/")
