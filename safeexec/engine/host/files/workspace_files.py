"""Files of a workspace, read and written by the host while hostile code owns the directory.

Every function takes a descriptor of the directory and walks from there one component at a time, following
no link, so that a directory which becomes a link between two calls leads to an error and not out of the workspace. Only
regular files with one name are read: a FIFO would block, a device would act, a hard link may be somebody else's file.
Writing makes a new file and renames it into place, so it never writes through a name that the guest prepared.

Knows no policy: the limits are arguments.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice

from safeexec.common.text import one_line
from safeexec.engine.host.files import tree
from safeexec.engine.host.files.names import MAX_DEPTH, new_name, path_of, shown
from safeexec.errors import WorkspaceError
from safeexec.results import FileChange

MAX_FILES = 10_000
"""Files that are listed."""
NAME_CHARACTERS = 4096
"""The most characters of a name that is told: the kernel takes no longer path."""
MAX_BYTES = 64 << 20
"""The most bytes of one file that is read or written, where the caller says no other bound."""
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}
Marks = dict[str, tuple[int, int, int, int]]
"""The regular files of a workspace: inode, size, and the times of the last change of bytes and of the inode. The last
one is the kernel's, so that setting the other back hides nothing.
"""


def list_files(top: int, *, max_files: int = MAX_FILES) -> list[str]:
    """Return the names of the regular files below a directory, sorted; at most `max_files` of them and 32 directories
    deep.

    Links, FIFOs, sockets and devices are left out, and so is what vanishes meanwhile.
    """
    found = tree.walk(top, regains=False)
    files = (path for path, info in found if stat.S_ISREG(info.st_mode) and path.count("/") <= MAX_DEPTH)
    return sorted(islice(files, max_files))


def read_file(top: int, name: str, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of one file. Raises `WorkspaceError` for a name outside, another kind of file, over
    `max_bytes`.
    """
    with _refusing(name):
        fd = tree.open_beneath(top, path_of(name), os.O_RDONLY)
    try:
        info = os.fstat(fd)
        _check_regular(name, info)
        if info.st_size > max_bytes:
            raise WorkspaceError(f"{shown(name)} has {info.st_size} bytes, and {max_bytes} may be read at once")
        return _read_all(name, fd, max_bytes)
    finally:
        os.close(fd)


def write_file(
    top: int, name: str, data: bytes, *, max_bytes: int = MAX_BYTES, owner: tuple[int, int] | None = None
) -> None:
    """Put `data` into a new file, in place of what had that name; directories on the way are made.

    `owner` is the uid and gid that get file and directories. Raises `WorkspaceError` for a name that leaves the
    workspace or that holds control characters, for a directory of that name, and for more than `max_bytes`.
    """
    if len(data) > max_bytes:
        raise WorkspaceError(f"{shown(name)} would have {len(data)} bytes, and {max_bytes} are allowed")
    path = new_name(name)
    with _refusing(name):
        tree.make_directories(top, os.path.dirname(path), owner)
        with tree.parent_of(top, path) as (parent, last):
            _put(parent, last, data, owner)


def _put(parent: int, name: str, data: bytes, owner: tuple[int, int] | None) -> None:
    temporary = f".{os.getpid()}.{os.urandom(6).hex()}.tmp"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o600, dir_fd=parent)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if owner is not None:
                os.fchown(fd, *owner)
        finally:
            os.close(fd)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise


def changed_since(before: Marks, after: Marks) -> tuple[FileChange, ...]:
    """Return the files created, changed and deleted between two looks at a workspace, sorted by name."""
    changes = [
        FileChange(one_line(name, NAME_CHARACTERS), "changed" if name in before else "created", mark[1], _type(name))
        for name, mark in after.items()
        if before.get(name) != mark
    ]
    changes += [
        FileChange(one_line(name, NAME_CHARACTERS), "deleted", 0, _type(name)) for name in before if name not in after
    ]
    return tuple(sorted(changes, key=lambda change: change.name))


def _type(name: str) -> str:
    import mimetypes

    return mimetypes.guess_type(name, strict=False)[0] or "application/octet-stream"


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Raise what the system refuses in the body as a `WorkspaceError` about the file `name`."""
    try:
        yield
    except OSError as error:
        raise _refused(name, error) from None


def _check_regular(name: str, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        kind = _KINDS.get(stat.S_IFMT(info.st_mode), "device")
        raise WorkspaceError(f"{shown(name)} is a {kind}, not a regular file")
    if info.st_nlink > 1:
        raise WorkspaceError(f"{shown(name)} has {info.st_nlink} names (hard links); only files with one name are read")


def _read_all(name: str, fd: int, max_bytes: int) -> bytes:
    """Read to the end of the file, which may still grow."""
    pieces: list[bytes] = []
    left = max_bytes + 1
    while left > 0:
        piece = os.read(fd, min(left, 1 << 20))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
    raise WorkspaceError(f"{shown(name)} grew beyond the {max_bytes} bytes that may be read at once")


def _refused(name: str, error: OSError) -> WorkspaceError:
    reasons = {
        errno.ENOENT: "does not exist",
        errno.ELOOP: "is a link, and links are not followed",
        errno.ENOTDIR: "leads through a file or a link",
        errno.EISDIR: "is a directory",
        errno.ENXIO: "is a FIFO or a socket, not a regular file",
    }
    return WorkspaceError(f"{shown(name)} {reasons.get(error.errno or 0, f'cannot be used: {error.strerror}')}")
