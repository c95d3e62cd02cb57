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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from safeexec.common.text import one_line, printable
from safeexec.engine.host.files import tree
from safeexec.errors import PolicyError, WorkspaceError
from safeexec.results import FileChange
from safeexec.untrusted.below import read_descriptor, replace_file

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy

MAX_FILES = 10_000
"""Files that are listed."""
NAME_CHARACTERS = 4096
"""The most characters of a name that is told: the kernel takes no longer path."""
MAX_BYTES = 64 << 20
"""The most bytes of one file that is read or written, where the caller says no other bound."""
MAX_DEPTH = 32
"""Directories in each other, in a name that the host asks for."""
MAX_NAME = 255
"""Bytes of one component of a path, as Linux has it."""
_KINDS = {stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "FIFO", stat.S_IFSOCK: "socket"}
_UNKNOWN = "application/octet-stream"
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "is a link, and links are not followed",
    errno.ENOTDIR: "leads through a file or a link",
    errno.EISDIR: "is a directory",
    errno.ENXIO: "is a FIFO or a socket, not a regular file",
}
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
    path = path_of(name)
    with _refusing(name), tree.held(tree.open_beneath(top, path, os.O_RDONLY)) as fd:
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
    with _refusing(name), tree.parent_of(top, path, make=True, owner=owner) as (parent, last):
        replace_file(parent, last, data, mode=0o600, owner=owner)


def changed_since(before: Marks, after: Marks) -> tuple[FileChange, ...]:
    """Return the files created, changed and deleted between two looks at a workspace, sorted by name."""
    from mimetypes import guess_type

    found: list[tuple[str, Any, int]] = [(name, "deleted", 0) for name in before if name not in after]
    for name, mark in after.items():
        if before.get(name) != mark:
            found.append((name, "changed" if name in before else "created", mark[1]))
    return tuple(
        FileChange(one_line(name, NAME_CHARACTERS), change, size, guess_type(name, strict=False)[0] or _UNKNOWN)
        for name, change, size in sorted(found)
    )


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """Raise what the system refuses in the body as a `WorkspaceError` about the file `name`."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"cannot be used: {error.strerror}")
        raise WorkspaceError(f"{shown(name)} {reason}") from None


def path_of(name: str, *, new: bool = False) -> str:
    """Return what a file is called that is asked for as `name`; that of a `new` one must be printable. Raises
    `WorkspaceError` for a name outside, TypeError.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a file in the workspace is str, not {type(name).__name__}")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts or "\0" in name or len(parts) - 1 > MAX_DEPTH:
        raise WorkspaceError(f"{shown(name)!r} is not the name of a file inside the workspace")
    try:
        too_long = any(len(os.fsencode(part)) > MAX_NAME for part in parts)
    except UnicodeEncodeError:  # a lone surrogate that no bytes of a name stand behind
        raise WorkspaceError(f"{shown(name)!r} cannot be the name of a file") from None
    if too_long:
        raise WorkspaceError(f"{shown(name)!r} is too long for a file name")
    if new and not name.isprintable():
        raise WorkspaceError(f"{name[:300]!r} holds control characters: give the file another name")
    return "/".join(parts)


def shown(name: str) -> str:
    """Return a name for an error message."""
    return printable(name)[:300].replace("\n", "\\n").replace("\t", "\\t")


def check_given(files: object, policy: Policy) -> None:
    """Check that the policy has a place for files, and each has a name that `write_file` takes and is there to be
    copied. Raises `PolicyError`, FileNotFoundError, `WorkspaceError`, TypeError.
    """
    if not isinstance(files, Mapping):
        paths = list(files) if isinstance(files, (list, tuple, set)) else [files]
        shown = ", ".join(f"{os.path.basename(path)!r}: {path!r}" for path in map(str, paths[:3]))
        raise TypeError(
            f"files= maps the names that guest code sees to files of the host, files={{{shown}}}; "
            f"found {type(files).__name__}"
        )
    if policy.filesystem.workspace == "none":
        raise PolicyError(
            f"files= needs a workspace, and the policy {policy.name!r} has none "
            f"(filesystem.workspace, {policy.origin('filesystem.workspace')}); data-analysis, for one, has it"
        )
    for name, content in files.items():
        path_of(name, new=True)
        if isinstance(content, bytes):
            continue
        try:
            mode = os.stat(content).st_mode
        except (OSError, ValueError) as error:
            text = f"the file for {name!r}"
            if isinstance(content, str) and ("\n" in content or not os.path.dirname(content)):
                text += " (a str is a path of the host; content is given as bytes)"
            if isinstance(error, OSError):
                raise type(error)(error.errno, f"{error.strerror}: {text}", os.fspath(content)) from None
            raise WorkspaceError(f"{text}: {error}") from None
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise WorkspaceError(f"files[{name!r}]: {os.fsdecode(content)} is neither a regular file nor a directory")
