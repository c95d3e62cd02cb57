"""Files below a directory that a stranger filled: found, read and written by descriptor.

No link is followed below the top, whatever is renamed meanwhile; only regular files are opened for good; sizes are
checked before a byte is read. What is refused is an OSError whose `strerror` says why. `read_named` and `open_named`
take a path that the user wrote down: a link is the user's own and is followed, all else holds there too.

The files of /proc and /sys say that they are regular and empty; one (/proc/kmsg) waits for ever. So a file without a
size is read only where its file system has blocks.

    with opened("project") as top:
        for found in walk(top, max_entries=1000):
            data = read_file(found.directory, found.name, max_bytes=1 << 20)
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

MAX_DEPTH = 64
"""Directories below the top: the descriptors that a walk holds at once."""


def _flags(*names: str) -> int:
    """Return the flags of these names that the system has: Windows has few, and no descriptors of directories."""
    return sum(getattr(os, name, 0) for name in names)


_DIRECTORY = _flags("O_DIRECTORY", "O_CLOEXEC")
_NO_LINK = _flags("O_NOFOLLOW")
MAX_PATH = 4096
"""Characters of a path: what Linux takes."""
_FILE = _flags("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
"""A FIFO is not waited for, a terminal does not become this process's."""
_KINDS = {
    stat.S_IFLNK: "it is a link, and links are not followed",
    stat.S_IFIFO: "it is a FIFO, not a regular file",
    stat.S_IFSOCK: "it is a socket, not a regular file",
}
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """One entry of a walk. `path` is relative to the top with ``/``; `directory` is the descriptor that `name` is in,
    open until the next entry is asked for; `mode` is `st_mode`.
    """

    path: str
    directory: int
    name: str
    mode: int
    size: int


@contextmanager
def opened(directory: str | os.PathLike[str], *, make: bool = False) -> Iterator[int]:
    """Yield the descriptor of a directory that the caller names (a link there is followed); made with `make`."""
    if make:
        os.makedirs(directory, exist_ok=True)
    top = os.open(directory, _DIRECTORY)
    try:
        yield top
    finally:
        os.close(top)


def walk(top: int, *, max_entries: int, leave_out: Callable[[int, str], bool] | None = None) -> Iterator[Found]:
    """Yield everything below `top` in order: directories before what is in them, links and special files as such.

    `leave_out` is asked of each entry by descriptor and name. OSError where there are more than `max_entries`, or
    directories below more than `MAX_DEPTH` others.
    """
    yield from _walk(top, "", leave_out, MAX_DEPTH, [max_entries])


def _walk(
    directory: int, prefix: str, leave_out: Callable[[int, str], bool] | None, depth: int, left: list[int]
) -> Iterator[Found]:
    for name in _names(directory, left):
        if leave_out is not None and leave_out(directory, name):
            continue
        try:
            info = os.lstat(name, dir_fd=directory)
        except FileNotFoundError:
            continue  # it vanished meanwhile
        yield Found(prefix + name, directory, name, info.st_mode, info.st_size)
        if stat.S_ISDIR(info.st_mode):
            if not depth:
                raise OSError(errno.ELOOP, "directories are nested too deeply", prefix + name)
            inner = os.open(name, _DIRECTORY | _NO_LINK, dir_fd=directory)
            try:
                yield from _walk(inner, f"{prefix}{name}/", leave_out, depth - 1, left)
            finally:
                os.close(inner)


def _names(directory: int, left: list[int]) -> list[str]:
    names = []
    with os.scandir(directory) as entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.EFBIG, "there are too many files")
            names.append(entry.name)
    return sorted(names)


def read_file(directory: int, path: str, *, max_bytes: int) -> bytes:
    """Return the bytes of a regular file. OSError for another kind, a link on the way, and more than `max_bytes`."""
    with _parent(directory, path) as (parent, name):
        _check_kind(os.lstat(name, dir_fd=parent))
        fd = os.open(name, _FILE | _NO_LINK, dir_fd=parent)
    try:
        return read_descriptor(fd, max_bytes=max_bytes)
    finally:
        os.close(fd)


def read_named(path: str | os.PathLike[str], *, max_bytes: int) -> bytes:
    """Return the bytes of a regular file that the caller names: links to it are followed. OSError as `read_file`."""
    fd = open_named(path, max_bytes=max_bytes)
    try:
        return read_descriptor(fd, max_bytes=max_bytes)
    finally:
        os.close(fd)


def open_named(path: str | os.PathLike[str], *, max_bytes: int) -> int:
    """Return a descriptor of a regular file that the caller names, to copy from; the caller closes it. OSError as
    `read_file`.

    The file may grow afterwards: who copies it counts.
    """
    try:
        # Before it is opened: opening a device may act (a tape rewinds).
        _check_kind(os.stat(path))
        fd = os.open(path, _FILE)
    except ValueError:
        raise OSError(errno.EINVAL, "it cannot be the name of a file") from None
    try:
        _check(os.fstat(fd), fd, max_bytes)
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_descriptor(fd: int, *, max_bytes: int) -> bytes:
    """Return all bytes of an open regular file. OSError for another kind, and for one that is or grows too large."""
    _check(os.fstat(fd), fd, max_bytes)
    pieces, size = [], 0
    while piece := os.read(fd, _PIECE):
        size += len(piece)
        if size > max_bytes:
            raise OSError(errno.EFBIG, f"it has grown past the {max_bytes} bytes that are allowed")
        pieces.append(piece)
    return b"".join(pieces)


def _check_kind(info: os.stat_result) -> None:
    kind = stat.S_IFMT(info.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, _KINDS.get(kind, "it is a device, not a regular file"))


def _check(info: os.stat_result, fd: int, max_bytes: int) -> None:
    _check_kind(info)
    if info.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"it has {info.st_size} bytes, and {max_bytes} are allowed")
    if info.st_size == 0 and sys.platform != "win32" and os.fstatvfs(fd).f_blocks == 0:
        raise OSError(errno.EINVAL, "it is a file of the kernel, as those in /proc, not one on a disk")


def new_file(directory: int, path: str, data: bytes) -> None:
    """Write a file whose name is not taken yet; directories on the way are made. FileExistsError for one that is."""
    with _parent(directory, path, make=True) as (parent, name):
        _write(parent, name, data)


def put_file(directory: int, path: str, data: bytes, *, mode: int | None = None) -> None:
    """Write a file in place of what has its name: a new file takes that name, so that neither a link nor another name
    of the old file leads to what is written. Directories on the way are made. OSError for a directory of that name.
    """
    with _parent(directory, path, make=True) as (parent, name):
        replace_file(parent, name, data, mode=mode)


def replace_file(
    directory: int, name: str, data: bytes, *, mode: int | None = None, owner: tuple[int, int] | None = None
) -> None:
    """Write a file, as `put_file`, into an open directory. `owner`: the uid and gid that get it."""
    temporary = f".{os.urandom(8).hex()}.tmp"
    _write(directory, temporary, data, mode, owner)
    try:
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def remove_file(directory: int, path: str) -> None:
    """Remove a file, or a link itself. One that does not exist is no error."""
    with suppress(FileNotFoundError), _parent(directory, path) as (parent, name):
        os.unlink(name, dir_fd=parent)


def _write(parent: int, name: str, data: bytes, mode: int | None = None, owner: tuple[int, int] | None = None) -> None:
    """Write a new file, whole or not at all."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
    fd = os.open(name, flags, 0o666 if mode is None else 0o600, dir_fd=parent)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if mode is not None:
            os.chmod(fd, mode)
        if owner is not None and sys.platform != "win32":
            os.chown(fd, *owner)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=parent)
        raise
    finally:
        os.close(fd)


@contextmanager
def directory_below(top: int, path: str, *, make: bool = False) -> Iterator[int]:
    """Yield the descriptor of a directory below `top`; with `make` it is made. OSError for a link on the way."""
    if len(path) > MAX_PATH:
        raise OSError(errno.ENAMETOOLONG, "the path is too long")
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or len(pure.parts) > MAX_DEPTH:
        raise OSError(errno.EINVAL, "not a path below the directory")
    here = os.dup(top)
    try:
        for part in pure.parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            inner = os.open(part, _DIRECTORY | _NO_LINK, dir_fd=here)
            os.close(here)
            here = inner
        yield here
    except UnicodeEncodeError:  # a lone surrogate that no bytes of a name stand behind
        raise OSError(errno.EINVAL, "it cannot be the name of a file") from None
    finally:
        os.close(here)


@contextmanager
def _parent(top: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the directory that the last part of `path` is in, and that part. OSError for a path that leaves `top`."""
    pure = PurePosixPath(path)
    if not pure.name or pure.name == ".." or "\0" in path:
        raise OSError(errno.EINVAL, "not a path below the directory")
    with directory_below(top, str(pure.parent), make=make) as directory:
        yield directory, pure.name
