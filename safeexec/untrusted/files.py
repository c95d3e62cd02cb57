"""Files of strangers: regular ones only, their size first, no link followed below a root that is held by descriptor.

`Root` reads below a directory that a stranger filled: a plugin, a repository, an unpacked archive. `read_named` and
`open_named` read one path that the user or the caller wrote down: there a link is the user's own and is followed, and
what it leads to must be a regular file all the same. A FIFO is never waited for, a device never read, and a file that
grows meanwhile is read to its limit and then refused. The files of /proc and /sys claim to be regular and empty; one
such (/proc/kmsg) waits for ever, so a file without a size on a file system without blocks is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NamedTuple

from safeexec.errors import InputError

MAX_NAME = 255
"""Bytes of one component of a path: what Linux file systems allow."""
MAX_DEPTH = 32
"""Directories on the way to a file."""
MAX_ENTRIES = 20_000
"""Files and directories that one listing looks at."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO must not wait for its writer. O_NOCTTY: nor may a terminal become this process's.
_REGULAR = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a link, and links are not followed",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is a link, and links are not followed",
    errno.ENOTDIR: "leads through a link or a file",
    errno.ENXIO: "is a FIFO or a socket, not a regular file",
}


class Found(NamedTuple):
    """One thing that a listing met. `name` is relative to the root, with ``/``; `problem` is empty for a regular
    file.
    """

    name: str
    size: int
    """Bytes, holes included."""
    problem: str


class Root:
    """A directory that a stranger filled, held by its descriptor. Use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the directory; a link there is the caller's own. Raises `InputError`."""
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise _refused(os.fspath(path), error) from None

    def __enter__(self) -> Root:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.fd)

    def read(self, name: str, max_bytes: int) -> bytes:
        """The bytes of one file below the root. Raises `InputError` for a name that leads out, for whatever is not a
        regular file, and for more than `max_bytes`.
        """
        *above, last = _components(name)
        here = self.fd
        try:
            for part in above:
                inner = os.open(part, _DIRECTORY, dir_fd=here)
                if here != self.fd:
                    os.close(here)
                here = inner
            fd = os.open(last, _REGULAR | os.O_NOFOLLOW, dir_fd=here)
        except (OSError, ValueError) as error:
            raise _refused(name, error) from None
        finally:
            if here != self.fd:
                os.close(here)
        try:
            return _read(fd, name, max_bytes)
        finally:
            os.close(fd)

    def list(
        self, enter: Callable[[str], bool] = lambda name: True, *, max_entries: int = MAX_ENTRIES
    ) -> Iterator[Found]:
        """What is below the root, directories that `enter` says yes to (by their path) included, links never followed.

        Sorted within a directory. Raises `InputError` beyond `max_entries`, which count whatever is met.
        """
        budget = [max_entries]
        yield from _list(self.fd, "", enter, budget, MAX_DEPTH)


def _list(here: int, prefix: str, enter: Callable[[str], bool], budget: list[int], depth: int) -> Iterator[Found]:
    entries = []
    with os.scandir(here) as found:
        for entry in found:
            budget[0] -= 1
            if budget[0] < 0:
                raise InputError("there are too many files and directories to look at")
            entries.append(entry.name)
    for name in sorted(entries):
        try:
            info = os.stat(name, dir_fd=here, follow_symlinks=False)
        except OSError:
            continue  # gone meanwhile
        path = prefix + name
        if not stat.S_ISDIR(info.st_mode):
            yield Found(path, info.st_size, "" if stat.S_ISREG(info.st_mode) else _kind(info))
        elif enter(path):
            if depth == 0:
                raise InputError(f"{shown(path)} lies more than {MAX_DEPTH} directories deep")
            try:
                inner = os.open(name, _DIRECTORY, dir_fd=here)
            except OSError as error:
                raise _refused(path, error) from None
            try:
                yield from _list(inner, f"{path}/", enter, budget, depth - 1)
            finally:
                os.close(inner)


def read_named(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """The bytes of a file that the user named. Raises `InputError` for whatever is not a regular file of at most
    `max_bytes`.
    """
    fd = open_named(path, max_bytes)
    try:
        return _read(fd, os.fspath(path), max_bytes)
    finally:
        os.close(fd)


def open_named(path: str | os.PathLike[str], max_bytes: int) -> int:
    """A descriptor of a file that the user named, to copy from; the caller closes it. Raises `InputError`.

    The file may grow afterwards: who copies counts.
    """
    name = os.fspath(path)
    try:
        # Looked at before it is opened, too: opening a device may act (a tape rewinds).
        info = os.stat(name)
        fd = os.open(name, _REGULAR) if stat.S_ISREG(info.st_mode) else -1
    except (OSError, ValueError) as error:
        raise _refused(name, error) from None
    if fd < 0:
        raise InputError(f"{shown(name)} is {_kind(info)}, not a regular file")
    try:
        _check(fd, name, max_bytes)
    except BaseException:
        os.close(fd)
        raise
    return fd


def text_of(data: bytes, name: str) -> str:
    """`data` as UTF-8. Raises `InputError` that names line and byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{shown(name)} is not UTF-8 text: byte {error.start}, in line {line}, is {data[error.start]:#04x}"
        ) from None


def shown(name: str) -> str:
    """A stranger's name within a message: on one line, every sign that is not plainly visible escaped."""
    name = name[:300]
    return name if name.isprintable() else ascii(name)[1:-1]


def _components(name: str) -> list[str]:
    parts = [part for part in name[:65_536].split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts or "\0" in name or len(parts) > MAX_DEPTH:
        raise InputError(f"'{shown(name)}' is not the name of a file inside the directory")
    if any(len(part.encode("utf-8", "surrogatepass")) > MAX_NAME for part in parts):
        raise InputError(f"'{shown(name)}' is too long for a file name")
    return parts


def _kind(info: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(info.st_mode), "no regular file")


def _check(fd: int, name: str, max_bytes: int) -> None:
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise InputError(f"{shown(name)} is {_kind(info)}, not a regular file")
    if info.st_size > max_bytes:
        raise InputError(f"{shown(name)} has {info.st_size} bytes, and at most {max_bytes} are read")
    if info.st_size == 0 and os.fstatvfs(fd).f_blocks == 0:
        raise InputError(f"{shown(name)} is a file of the kernel (as those in /proc), not one on a disk")


def _read(fd: int, name: str, max_bytes: int) -> bytes:
    """To the end of the file, which may still grow."""
    _check(fd, name, max_bytes)
    pieces: list[bytes] = []
    left = max_bytes + 1
    try:
        while left > 0 and (piece := os.read(fd, min(left, 1 << 20))):
            pieces.append(piece)
            left -= len(piece)
    except OSError as error:
        raise _refused(name, error) from None
    if left <= 0:
        raise InputError(f"{shown(name)} grew beyond the {max_bytes} bytes that are read")
    return b"".join(pieces)


def _refused(name: str | bytes, error: OSError | ValueError) -> InputError:
    if not isinstance(error, OSError):  # NUL or a lone surrogate in the name
        return InputError(f"'{shown(os.fsdecode(name))}' cannot be the name of a file")
    reason = _REASONS.get(error.errno or 0, f"cannot be read: {error.strerror}")
    return InputError(f"{shown(os.fsdecode(name))} {reason}")
