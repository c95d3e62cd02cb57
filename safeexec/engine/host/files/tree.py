"""Directories that guests write in: listed, counted, opened, copied and removed from descriptor to descriptor.

No link is followed, no depth is unbounded, and rights that a guest has taken away are given back.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from typing import TypeVar

from safeexec.errors import WorkspaceError

Answer = TypeVar("Answer")

PREFIX = "safeexec-workspaces-"
"""Begins the name of a sandbox's directory, in the directory for temporary files."""
WORKSPACE = "w"
"""The name of a session's own directory in its region."""
MAX_PATH = 2000
"""Bytes of a path inside a workspace. What lies beyond PATH_MAX (4096) could be neither counted nor copied."""
MAX_DEPTH = 100
"""Directories in each other that are counted and copied."""
LISTABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
ENTERED = _PASSED | os.O_NOFOLLOW


@contextlib.contextmanager
def held(fd: int) -> Iterator[int]:
    """Yield a descriptor, and close it at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


def remove(above: int, name: str, info: os.stat_result) -> None:
    """Remove the entry of this name from a directory."""
    if stat.S_ISDIR(info.st_mode):
        remove_below(above, name)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=above)


def set_mode(above: int, name: str, mode: int) -> None:
    """Give a directory its mode. No link is followed."""
    with held(os.open(name, LISTABLE, dir_fd=above)) as fd:
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode & 0o777:
            os.fchmod(fd, mode & 0o777)


def size_of(info: os.stat_result) -> int:
    """Return what a path counts: the bytes that a copy would have, holes included, or the blocks that it takes."""
    return max(info.st_blocks * 512, info.st_size if stat.S_ISREG(info.st_mode) else 0)


Walk = Generator[tuple[str, os.stat_result], None, None]


def walk(top: int, below: str = "", *, skip: Collection[str] = (), regains: bool = True) -> Walk:
    """Yield every path below an open directory, relative to it, directories before what they hold. No link is followed.

    Entries at the top whose name is in `skip` are left out. `regains`: directories without rights are given some.
    """
    inner = []
    for name, info in entries_of(top):
        if name in skip:
            continue
        path = below + name
        yield path, info
        if stat.S_ISDIR(info.st_mode) and not is_too_deep(path):
            inner.append(name)
    for name in inner:
        try:
            fd = list_directory(top, name, regains=regains)
        except OSError:
            continue  # gone meanwhile, or something else by now
        with held(fd):
            yield from walk(fd, f"{below}{name}/", regains=regains)


def counted(trees: Iterable[Walk], max_bytes: int, max_files: int) -> list[tuple[str, os.stat_result]]:
    """Return all that `trees` yield. Raises `WorkspaceError` as soon as they hold too much."""
    found, size = [], 0
    for tree in trees:
        # A walk that is left in its middle has directories open, until it is closed.
        with contextlib.closing(tree):
            for path, info in tree:
                if stat.S_ISDIR(info.st_mode) and is_too_deep(path):
                    raise WorkspaceError(
                        f"directories of the workspace nest more than {MAX_DEPTH} deep, or have {MAX_PATH} bytes of "
                        "names: make fewer levels, with shorter names"
                    )
                found.append((path, info))
                size += size_of(info)
                if size > max_bytes:
                    rule = "limits.workspace_mb"
                    raise WorkspaceError(f"the workspace holds more than {max_bytes >> 20} MiB ({rule})", rule=rule)
                if len(found) > max_files:
                    rule = "limits.workspace_files"
                    raise WorkspaceError(f"the workspace holds more than {max_files} files ({rule})", rule=rule)
    return found


def entries_of(fd: int) -> list[tuple[str, os.stat_result]]:
    """Return name and state of what is in an open directory; without what vanishes meanwhile."""
    found = []
    with os.scandir(fd) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def list_directory(above: int, name: str, *, regains: bool = True) -> int:
    """Return a descriptor to list a directory with, to which a guest may have taken away the rights. Raises OSError."""
    try:
        return os.open(name, LISTABLE, dir_fd=above)
    except PermissionError:
        if not regains:
            raise
        give_access(above, name)
        return os.open(name, LISTABLE, dir_fd=above)


def is_too_deep(path: str) -> bool:
    """Return whether a directory's path is longer than what is counted and copied."""
    return path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH


Owner = tuple[int, int] | None
"""The uid and gid that get what is new; None: the host's own."""


def open_beneath(top: str | int, path: str, flags: int, *, make: bool = False, owner: Owner = None) -> int:
    """Open `path` below the directory `top`, following no link. Raises as `parent_of`, which knows `make`."""
    with parent_of(top, path, make=make, owner=owner) as (parent, name):
        # O_NONBLOCK: a FIFO of the guest must not make the host wait for its writer.
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=parent)


@contextlib.contextmanager
def parent_of(top: str | int, path: str, *, make: bool = False, owner: Owner = None) -> Iterator[tuple[int, str]]:
    """Yield the directory that `path` is in, reached without following a link, and the last component. With `make` it
    is made, with those on the way to it. Raises OSError, or `WorkspaceError` for `..`.
    """
    parts = _parts(path)
    with _entered(top, parts[:-1], make, owner) as directory:
        yield directory, parts[-1]


def make_directories(top: int, path: str, owner: Owner) -> None:
    """Make a directory, and those on the way to it, below `top`, following no link. Raises as `parent_of`."""
    with _entered(top, _parts(path), True, owner):
        pass


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise WorkspaceError(f"{path!r} is not a path inside the workspace")
    return parts


@contextlib.contextmanager
def _entered(top: str | int, parts: list[str], make: bool, owner: Owner) -> Iterator[int]:
    directory = os.dup(top) if isinstance(top, int) else os.open(top, ENTERED)
    try:
        for part in parts:
            made = False
            with contextlib.suppress(FileExistsError):
                if make:
                    os.mkdir(part, 0o700, dir_fd=directory)
                    made = True
            inner = os.open(part, ENTERED, dir_fd=directory)
            os.close(directory)
            directory = inner
            if made and owner is not None:  # as in `give_access`
                os.chown(f"/proc/self/fd/{directory}", *owner)
        yield directory
    finally:
        os.close(directory)


def copy_contents(source: int, target: int, size: int) -> int:
    """Copy at most the next `size` bytes of a file: the first of one that was just opened. What grows meanwhile is not
    followed. Returns how many were missing.
    """
    # Shares blocks where the file system can (btrfs, xfs). EXDEV: from another one.
    with contextlib.suppress(OSError):
        while size > 0 and (sent := os.copy_file_range(source, target, min(size, 1 << 30))):
            size -= sent
    while size > 0 and (sent := os.sendfile(target, source, None, min(size, 1 << 30))):
        size -= sent
    return size


def remove_tree(path: str) -> None:
    """Remove a directory of guests with all that is in it. What cannot be removed stays."""
    above, name = os.path.split(path)
    if not os.access(above, os.R_OK | os.W_OK | os.X_OK, effective_ids=True):
        regain(above)
    # A region cannot be listed, which this does not need.
    with contextlib.suppress(OSError), held(os.open(above, _PASSED)) as top:
        remove_below(top, name)


def remove_below(top: int, name: str) -> None:
    """Remove a directory in an open one.

    No recursion and two descriptors, however deep it is (`shutil.rmtree` of 3.11 raises RecursionError at 1000 levels):
    a directory that is met is moved up, and its turn comes. No link is followed.
    """
    pending, number = [name], 0
    while pending:
        moved = f".{os.urandom(6).hex()}.{number}."
        pending += _empty(top, pending.pop(), moved)
        number += 1


def _empty(top: int, name: str, moved: str) -> list[str]:
    """Remove one directory but for those in it, which become its siblings: their names, `moved` and a number."""
    found: list[str] = []
    try:
        give_access(top, name)
        opened = os.open(name, LISTABLE, dir_fd=top)
    except OSError:
        return found
    with held(opened) as here:
        for inner in os.listdir(here):
            with contextlib.suppress(OSError):
                try:
                    os.unlink(inner, dir_fd=here)
                except IsADirectoryError:  # as Linux says, where POSIX has EPERM
                    give_access(here, inner)
                    os.rename(inner, f"{moved}{len(found)}", src_dir_fd=here, dst_dir_fd=top)
                    found.append(f"{moved}{len(found)}")
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=top)
    return found


def free_bytes(path: str) -> int:
    """Return the room in the file system of `path`, a directory of guests."""
    info = reached(path, os.statvfs)
    return info.f_bavail * info.f_frsize


def reached(path: str, call: Callable[[str], Answer]) -> Answer:
    """Return what `call` says of a path among the directories of guests, who may have taken away the rights on the way
    to it. Raises OSError.
    """
    try:
        return call(path)
    except PermissionError:
        regain(path)
        return call(path)


def regain(path: str) -> None:
    """Make a directory of guests, and those above it up to that of the sandbox, accessible again.

    An ordinary user's host has the guest's rights and no more, and a guest may take away those to its own directory, to
    its regions and to the one of all sessions (Landlock does not judge chmod): files would stay uncounted.
    """
    parts = path.rstrip("/").split("/")
    first = next((place for place, part in enumerate(parts) if part.startswith(PREFIX)), len(parts) - 1)
    for length in range(first + 1, len(parts) + 1):
        above, name = os.path.split("/".join(parts[:length]))
        with contextlib.suppress(OSError), held(os.open(above, _PASSED)) as fd:
            give_access(fd, name, 0o700 if name == WORKSPACE else 0o300)


def give_access(above: int, name: str, rights: int = 0o700) -> None:
    """Give back rights to a directory, which a guest may have taken away: an ordinary user's host then lacks them."""
    with held(os.open(name, ENTERED, dir_fd=above)) as fd:
        mode = os.fstat(fd).st_mode
        if mode & rights != rights:
            # By its name in /proc: fchmod takes no descriptor of O_PATH (EBADF), and no other opens without rights.
            os.chmod(f"/proc/self/fd/{fd}", mode & 0o777 | rights)
