"""Open files across a fork: a copy of a process shares the offset of every open file with the original.

At a freeze path, flags and offset of each file and directory that is open are noted, whoever opened it; a resumed
runner opens each again at its own offset, so that neither reads or writes what the other moved, and a branch opens its
own copy. What cannot be opened again is cut off. So are, in a branch, pipes and what has no name: each would lead to
the session that was branched, and to its other branches. Sockets and epoll alone stay: an event loop cannot do without
its own.
"""

from __future__ import annotations

import fcntl
import stat
from collections.abc import Collection, Iterable
from typing import NamedTuple

from safeexec.common.own import os, resource, select

_FIRST = 3
"""Below are the standard streams, which the host provides."""
_DELETED = " (deleted)"


class OpenFile(NamedTuple):
    """One descriptor of a regular file or directory."""

    fd: int
    path: str
    flags: int
    offset: int
    inode: tuple[int, int]
    """Device and number: what it is, whatever it is called by now."""


class OpenFiles:
    """The files that are open now, and the directory that the process is in."""

    __slots__ = ("_directory", "_files", "_shared", "_unnamed", "_workspace")

    def __init__(self, workspace: str, own: Collection[int]) -> None:
        """`own`: descriptors of the sandbox itself."""
        self._workspace = workspace
        self._files: list[OpenFile] = []
        self._unnamed: dict[int, tuple[int, int]] = {}
        """Descriptor → device and number of what a copy cannot open for itself: pipes, and files without a name."""
        shared: list[int] = []
        for fd in _descriptors():
            if fd in own:
                continue
            try:
                info = os.fstat(fd)
            except OSError:
                continue
            if stat.S_ISFIFO(info.st_mode) or stat.S_ISSOCK(info.st_mode):
                shared.append(fd)
            elif stat.S_ISCHR(info.st_mode):
                continue
            elif (found := _describe(fd, info)) is not None:
                self._files.append(found)
                continue
            if not stat.S_ISSOCK(info.st_mode) and not _is_epoll(fd):
                self._unnamed[fd] = (info.st_dev, info.st_ino)
        self._shared = dict.fromkeys(shared, False) | dict.fromkeys(_holding(shared), True)
        """Pipes and sockets, which a copy shares with the original, and whether there was something in them."""
        try:
            self._directory = os.getcwd()
        except OSError:  # removed
            self._directory = workspace

    def restore(self, workspace: str) -> list[str]:
        """Open each file again at its offset, on the same descriptor, and go to the same directory; in `workspace`,
        where a branch has its own.

        Returns a note for each that could not be.
        """
        notes = self._enter(workspace)
        unusable = os.open(workspace, os.O_PATH | os.O_CLOEXEC)
        try:
            if workspace != self._workspace:
                notes += self._leave_behind(unusable)
            return notes + self._open_again(workspace, unusable)
        finally:
            os.close(unusable)

    def _leave_behind(self, unusable: int) -> list[str]:
        """Cut off what leads out of a branch. Its number stays taken: something of the guest's will close it."""
        left = [fd for fd, inode in self._unnamed.items() if _inode(fd) == inode]
        for fd in left:
            os.dup2(unusable, fd, inheritable=False)
            self._shared.pop(fd, None)
        if not left:
            return []
        what = "an open pipe or file" if len(left) == 1 else f"{len(left)} open pipes or files"
        return [f"{what} without a name could not be carried over, and cannot be used here"]

    def _open_again(self, workspace: str, unusable: int) -> list[str]:
        notes: list[str] = []
        # One that was empty and still is has lost nothing: the one by which an event loop wakes itself is such a one.
        holding = _holding(self._shared)
        if gone := sum(held or fd in holding for fd, held in self._shared.items()):
            what = "an open pipe or socket" if gone == 1 else f"{gone} open pipes or sockets"
            notes.append(f"{what} could not be carried over: what went through since the copy was made stays gone")
        for file in self._files:
            # matplotlib closes its fonts in every fork (`os.register_at_fork`), and the runner's new socket may have
            # got the number: what is not this file any more is not brought back.
            if _inode(file.fd) != file.inode:
                continue
            try:
                fd = os.open(self._moved(file.path, workspace), file.flags | os.O_CLOEXEC)
            except OSError as error:
                name = file.path.removesuffix(_DELETED).removeprefix(self._workspace + "/")
                notes.append(f"the open file {name!r} could not be carried over: {error.strerror}")
                os.dup2(unusable, file.fd, inheritable=False)
                continue
            if file.offset:
                os.lseek(fd, file.offset, os.SEEK_SET)
            os.dup2(fd, file.fd, inheritable=False)
            os.close(fd)
        return notes

    def _enter(self, workspace: str) -> list[str]:
        """Go to the directory by its name: what has it now may be another one, brought back."""
        try:
            os.chdir(self._moved(self._directory, workspace))
        except OSError as error:
            os.chdir(workspace)
            return [f"the current directory could not be entered ({error.strerror}): it is the workspace's now"]
        return []

    def _moved(self, path: str, workspace: str) -> str:
        """Return where `path` is in `workspace`, if it was in the workspace."""
        inside = path == self._workspace or path.startswith(self._workspace + "/")
        return workspace + path[len(self._workspace) :] if inside else path


def _descriptors() -> list[int]:
    """Return every descriptor past the standard streams. Where ``/proc`` is closed, each is tried: 0.1 ms."""
    try:
        return [fd for name in os.listdir("/proc/self/fd") if (fd := int(name)) >= _FIRST]
    except OSError:
        return list(range(_FIRST, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def _holding(descriptors: Iterable[int]) -> set[int]:
    """Return the pipes and sockets from which something can be read now, be it the end."""
    poller = select.poll()
    for fd in descriptors:
        poller.register(fd, select.POLLIN)
    return {fd for fd, events in poller.poll(0) if events & select.POLLIN}


def _inode(fd: int) -> tuple[int, int] | None:
    """Return device and number of what `fd` is by now; None where it is closed."""
    try:
        info = os.fstat(fd)
    except OSError:
        return None
    return info.st_dev, info.st_ino


def _is_epoll(fd: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}") == "anon_inode:[eventpoll]"
    except OSError:
        return False


def _describe(fd: int, info: os.stat_result) -> OpenFile | None:
    """Return the file or directory behind `fd`; None for one without a name, such as the memfd of a tool."""
    try:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if not path.startswith("/") or path.startswith("/memfd:"):
            return None
        flags = fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND | os.O_DIRECTORY | os.O_PATH)
        offset = 0 if flags & os.O_PATH else os.lseek(fd, 0, os.SEEK_CUR)
        return OpenFile(fd, path, flags, offset, (info.st_dev, info.st_ino))
    except OSError:
        return None
