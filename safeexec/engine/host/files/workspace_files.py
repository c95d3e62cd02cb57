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
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

from safeexec.common.text import one_line
from safeexec.engine.host.files import tree
from safeexec.engine.host.files.file_names import MAX_DEPTH, path_of, shown
from safeexec.errors import WorkspaceError
from safeexec.results import FileChange
from safeexec.untrusted.below import read_descriptor, replace_file

NAME_CHARACTERS = 4096
"""The most characters of a name: the kernel takes no longer path."""
MAX_BYTES = 64 << 20
"""The most bytes of one file that is read or written, where the caller says no other bound."""
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}
_UNKNOWN = "application/octet-stream"
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is a link, and links are not followed",
    errno.ENOTDIR: "leads through a file or a link",
    errno.EISDIR: "is a directory",
    errno.ENXIO: "is a FIFO or a socket, not a regular file",
}


class FileMark(NamedTuple):
    """Shows whether a file is still the same. The last time is the kernel's: setting the other back hides nothing."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


Marks = dict[str, FileMark]
"""The regular files of a workspace."""


def list_files(top: int, max_files: int) -> list[str]:
    """Return the names of the regular files below a directory, sorted; at most `max_files` of them and 32 directories
    deep.

    Links, FIFOs, sockets and devices are left out, and so is what vanishes meanwhile.
    """
    found = tree.walk(top, regains=False)
    files = (path for path, info in found if stat.S_ISREG(info.st_mode) and path.count("/") <= MAX_DEPTH)
    return sorted(islice(files, max_files))


def read_file(top: int, name: str, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of one file. Raises `WorkspaceError` for a name outside, another kind, over `max_bytes`."""
    path = path_of(name)
    with refusing(name), tree.held(tree.open_beneath(top, path, os.O_RDONLY)) as fd:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = _KINDS.get(stat.S_IFMT(info.st_mode), "device")
            raise WorkspaceError(f"{shown(name)} is a {kind}, not a regular file")
        if info.st_nlink > 1:
            raise WorkspaceError(
                f"{shown(name)} has {info.st_nlink} names (hard links); only files with one name are read"
            )
        if info.st_size > max_bytes:
            raise WorkspaceError(f"{shown(name)} has {info.st_size} bytes, and {max_bytes} may be read at once")
        return read_descriptor(fd, max_bytes=max_bytes)


def write_file(top: int, name: str, data: bytes, *, max_bytes: int = MAX_BYTES, owner: tree.Owner = None) -> None:
    """Put `data` into a new file, in place of what had that name; directories on the way are made.

    `owner` is the uid and gid that get file and directories. Raises `WorkspaceError` for a name that leaves the
    workspace or that holds control characters, for a directory of that name, and for more than `max_bytes`.
    """
    if len(data) > max_bytes:
        raise WorkspaceError(f"{shown(name)} would have {len(data)} bytes, and {max_bytes} are allowed")
    path = path_of(name, new=True)
    with refusing(name), tree.parent_of(top, path, make=True, owner=owner) as (parent, last):
        replace_file(parent, last, data, mode=0o600, owner=owner)


def changed_since(before: Marks, after: Marks) -> tuple[FileChange, ...]:
    """Return the files created, changed and deleted between two looks at a workspace, sorted by name."""
    from mimetypes import guess_type

    found: list[tuple[str, Any, int]] = [(name, "deleted", 0) for name in before if name not in after]
    for name, mark in after.items():
        if before.get(name) != mark:
            found.append((name, "changed" if name in before else "created", mark.size))
    return tuple(
        FileChange(one_line(name, NAME_CHARACTERS), change, size, guess_type(name, strict=False)[0] or _UNKNOWN)
        for name, change, size in sorted(found)
    )


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Raise what the system refuses in the body as a `WorkspaceError` about the file `name`."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise WorkspaceError(f"{shown(name)} {reason}") from None
