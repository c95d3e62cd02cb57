"""A session's directory of files: one per lineage, a subdirectory per branch, and snapshots that follow the
checkpoints.

The directory of a lineage is named in its Landlock rule before lockdown, and a fork cannot widen that later; so every
branch lives below it. Snapshots lie beside it, where no guest can write. The tree is hostile: links are never followed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, count
from typing import NamedTuple

from safeexec.errors import WorkspaceError
from safeexec.text import one_line

MAX_PATH = 2000
"""Bytes of a path inside a workspace. What lies beyond PATH_MAX (4096) could be neither counted nor copied."""
MAX_DEPTH = 100
FICLONE = 0x40049409
"""ioctl that shares the blocks of a file with another one, on file systems that can (btrfs, xfs)."""


class Entry(NamedTuple):
    """One path of a snapshot. `stored` is where its bytes lie; `mark` tells whether the living file is still the
    same.
    """

    mode: int
    mark: tuple[int, int, int, int]
    stored: Stored | None = None
    target: str = ""


Snapshot = dict[str, Entry]


class Stored:
    """The bytes of one file in the store. They go with the last snapshot that has them."""

    __slots__ = ("_pid", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._pid = os.getpid()

    def __del__(self, getpid: Callable[[], int] = os.getpid, unlink: Callable[[str], None] = os.unlink) -> None:
        # Not in a fork of the host, whose copies of the snapshots are not the last ones.
        if getpid() == self._pid:
            with contextlib.suppress(OSError):
                unlink(self.path)


@contextlib.contextmanager
def _needs_room(path: str) -> Iterator[None]:
    """A file system that is full or read-only is told as that, with what to do."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        raise WorkspaceError(
            f"there is no room for a workspace's files below {os.path.dirname(path)}: {error.strerror}; "
            "set TMPDIR to a directory that can be written and has room"
        ) from None


@contextlib.contextmanager
def _told(problems: list[str], path: str, what: str) -> Iterator[None]:
    """One file that cannot be restored is told, and the others are."""
    try:
        yield
    except (OSError, WorkspaceError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        problems.append(f"{ascii(path)[1:-1][:200]} in the workspace could not be {what}: {reason}")


class WorkspaceRoot:
    """The directory of one sandbox, below which its lineages live. Removed with everything in it by `close`."""

    def __init__(self) -> None:
        try:
            from tempfile import mkdtemp  # with shutil and its codecs 4 ms, for sandboxes with workspaces only

            self.path = os.path.realpath(mkdtemp(prefix="safeexec-"))
        except OSError as error:
            raise WorkspaceError(
                f"no directory for workspaces could be made: {error.strerror} ({error.filename}); "
                "set TMPDIR to a directory that can be written and has room"
            ) from None
        self.owner: tuple[int, int] | None = None
        """uid and gid of the children, where they are not the host's own."""
        self._numbers = count(1)
        # Others may pass through to their own directory; only the host can list.
        os.chmod(self.path, 0o711)

    def lineage(self, max_bytes: int, max_files: int) -> Workspace:
        """A directory for a session, which may hold so much."""
        # Nobody can guess it. All sessions of a sandbox are one user, and Landlock judges neither chmod, utime, chdir
        # nor stat: who knew the path could do these to another session's files. Listing is what it refuses.
        home = os.path.join(self.path, f"s{next(self._numbers)}-{os.urandom(16).hex()}")
        with _needs_room(self.path):
            try:
                os.mkdir(home, 0o711)
            except PermissionError:
                regain(self.path)
                os.mkdir(home, 0o711)
            store = f"{home}.{os.urandom(16).hex()}.store"
            os.mkdir(store, 0o700)
            return Workspace(_Lineage(home, store, self.owner, max_bytes, max_files))

    def close(self) -> None:
        """Remove the directory."""
        remove_tree(self.path)


class _Lineage:
    """What the branches of one session share: the directory, the store of file contents, the numbering."""

    def __init__(self, home: str, store: str, owner: tuple[int, int] | None, max_bytes: int, max_files: int) -> None:
        self.home = home
        self.store = store
        self.owner = owner
        self.max_bytes = max_bytes
        self.max_files = max_files
        self.branches = 0
        self.living: set[str] = set()
        """The directories of the branches that are open, by name."""
        self.numbers = count(1)
        self.users = 0
        self.device = os.stat(home).st_dev
        self.free = free_bytes(home)
        """Room in the file system when the session began."""


class Workspace:
    """The files of one session."""

    def __init__(self, lineage: _Lineage) -> None:
        self._lineage = lineage
        lineage.users += 1
        lineage.branches += 1
        self.home = lineage.home
        self.path = os.path.join(lineage.home, f"b{lineage.branches}")
        lineage.living.add(os.path.basename(self.path))
        os.mkdir(self.path, 0o700)
        if lineage.owner is not None:
            os.chown(self.path, *lineage.owner)
        self._last: Snapshot = {}
        self.initial: Snapshot = {}
        """The files that the session began with."""

    @property
    def owner(self) -> tuple[int, int] | None:
        """uid and gid of the children, where they are not the host's own."""
        return self._lineage.owner

    @property
    def device(self) -> int:
        """The file system's number."""
        return self._lineage.device

    def taken(self) -> int:
        """Bytes of its file system that have gone since the session began, whoever took them."""
        return self._lineage.free - free_bytes(self.home)

    def put(self, name: str, content: str | bytes | os.PathLike[str], mode: int = 0o600) -> None:
        """Copy a file of the host (a path), or bytes, to `name` in the workspace. Raises `WorkspaceError` when the file
        system is full.
        """
        with _needs_room(self.home):
            self._put(name, content, mode)

    def _put(self, name: str, content: str | bytes | os.PathLike[str], mode: int) -> None:
        directory = os.path.dirname(name)
        if directory:
            self.make_directories(directory)
        target = open_beneath(self.path, name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            if isinstance(content, bytes):
                with open(target, "wb", closefd=False) as file:
                    file.write(content)
            else:
                source = self._open_of_user(content)
                try:
                    copy_contents(source, target)
                finally:
                    os.close(source)
            if mode != 0o600:
                os.fchmod(target, mode & 0o777)
            if self._lineage.owner is not None:
                os.fchown(target, *self._lineage.owner)
        finally:
            os.close(target)

    def _open_of_user(self, path: str | os.PathLike[str]) -> int:
        """A file that the user named, before a byte of it is copied: a regular one that fits into the workspace."""
        from safeexec.untrusted.below import open_named  # with dataclasses 3 ms, for sandboxes with files only

        try:
            return open_named(path, max_bytes=self._lineage.max_bytes)
        except OSError as error:
            if error.filename is not None:  # the system's own word: there is no such file
                raise
            raise WorkspaceError(
                f"{one_line(os.fsdecode(path))} cannot be copied into the workspace: {error.strerror} "
                f"(limits.workspace_mb is {self._lineage.max_bytes >> 20})"
            ) from None

    def make_temporary(self) -> None:
        """A directory for temporary files beside the workspace, for the programs that insist on one."""
        path = os.path.join(self.home, "tmp")
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            self._own(path)

    def copy_tree(self, source: str | os.PathLike[str], max_bytes: int, max_files: int) -> None:
        """Copy a directory of the host into the workspace: regular files and directories; links are not followed.

        Raises `WorkspaceError` when it holds more than the limits allow.
        """
        top = os.fspath(source)
        size = count = 0
        for path, info in _walk(top):
            count, size = count + 1, size + info.st_size
            if size > max_bytes or count > max_files:
                raise WorkspaceError(
                    f"{top} holds more than a workspace may: {max_bytes >> 20} MiB and {max_files} files "
                    "(limits.workspace_mb, limits.workspace_files)"
                )
            if stat.S_ISDIR(info.st_mode):
                self.make_directories(path)
            elif stat.S_ISREG(info.st_mode):
                self.put(path, os.path.join(top, path))
                if info.st_mode & 0o100:
                    os.chmod(os.path.join(self.path, path), 0o700)

    def make_directories(self, path: str) -> None:
        """The directories on the way to a file, below the workspace, no link followed."""
        here = ""
        for part in path.split("/"):
            if part in ("", ".", ".."):
                continue
            here = os.path.join(here, part)
            full = os.path.join(self.path, here)
            try:
                os.mkdir(full, 0o700)
                self._own(full)
            except FileExistsError:
                os.close(open_beneath(self.path, here, os.O_PATH | os.O_DIRECTORY))

    def branch(self, snapshot: Snapshot | None) -> Workspace:
        """A directory for a branch, with the files of `snapshot`."""
        workspace = Workspace(self._lineage)
        workspace.restore(snapshot or {})
        return workspace

    def snapshot(self) -> Snapshot:
        """The files as they are now. Only what changed since the last snapshot is copied; links and special files
        are not followed.

        Raises `WorkspaceError` for more than the workspace may hold, before anything is copied: between steps guest
        code may go on in threads, and nobody watches.
        """
        lineage = self._lineage
        if (lost := self._lost()) is not None:
            raise WorkspaceError(lost)
        found: list[tuple[str, os.stat_result]] = []
        if (over := _count(_walk(self.path), lineage.max_bytes, lineage.max_files, found)) is not None:
            raise WorkspaceError(over)
        snapshot: Snapshot = {}
        last = self._last
        for path, info in found:
            mark = _mark(info)
            known = last.get(path)
            if known is not None and known.mark == mark:
                snapshot[path] = known
            elif stat.S_ISREG(info.st_mode):
                stored = self._store(path)
                if stored is not None:
                    snapshot[path] = Entry(info.st_mode, mark, stored)
            elif stat.S_ISDIR(info.st_mode):
                snapshot[path] = Entry(info.st_mode, (0, 0, 0, 0))
            elif stat.S_ISLNK(info.st_mode):
                with contextlib.suppress(OSError):
                    target = os.readlink(os.path.join(self.path, path))
                    snapshot[path] = Entry(info.st_mode, mark, None, target)
        self._last = snapshot
        return snapshot

    def restore(self, snapshot: Snapshot) -> list[str]:
        """Make the files what they were: changed and deleted ones come back, new ones go.

        Returns what cannot be brought back, where the file system is full or another branch is at work in the
        directory: it is told, and does not end the session.
        """
        if self._lost() is not None:
            self._remove_all_but_living()
            os.mkdir(self.path, 0o700)
            self._own(self.path)
        present = dict(_walk(self.path))
        problems: list[str] = []
        for path in sorted(present, reverse=True):
            entry = snapshot.get(path)
            info = present[path]
            if entry is None or stat.S_IFMT(entry.mode) != stat.S_IFMT(info.st_mode):
                with _told(problems, path, "removed"):
                    self._remove(path, info)
                    del present[path]
        restored: Snapshot = {}
        for path in sorted(snapshot):
            with _told(problems, path, "brought back"):
                restored[path] = self._bring_back(path, snapshot[path], present.get(path))
        for path in sorted(restored, reverse=True):
            entry = restored[path]
            if stat.S_ISDIR(entry.mode):
                with contextlib.suppress(OSError):
                    _set_mode(os.path.join(self.path, path), entry.mode)
        self._last = restored
        return problems

    def listing(self) -> dict[str, os.stat_result]:
        """All that there is, by path, directories before what is in them."""
        return dict(_walk(self.path))

    def over(self, max_bytes: int, max_files: int) -> str | None:
        """What is too much in the directory, or None. A hole in a file counts like its bytes: a copy would have
        them.
        """
        return self._lost() or _count(chain(_walk(self.path), self._beside()), max_bytes, max_files)

    def _beside(self) -> Iterable[tuple[str, os.stat_result]]:
        """What lies beside the branches' directories, where they may write as well: temporary files of commands."""
        living = self._lineage.living
        return ((path, info) for path, info in _walk(self.home, skip=living) if path not in living)

    def undo(self) -> None:
        """Make the files what they were when they were last looked at, and remove what lies beside them."""
        self.restore(self._last)
        self._remove_all_but_living()

    def _remove_all_but_living(self) -> None:
        for entry in _entries(self.home):
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in self._lineage.living:
                    remove_tree(entry.path)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def _lost(self) -> str | None:
        """Where the guest is the host's own user, it can rename and remove its directory itself."""
        try:
            if stat.S_ISDIR(os.lstat(self.path).st_mode):
                return None
        except PermissionError:
            regain(self.path)
            return None
        except OSError:
            pass
        return "the workspace's own directory was moved or removed"

    def close(self) -> None:
        """Remove the session's directory; with the last branch, the lineage's and its store."""
        remove_tree(self.path)
        self._lineage.living.discard(os.path.basename(self.path))
        self._lineage.users -= 1
        if self._lineage.users == 0:
            remove_tree(self._lineage.home)
            remove_tree(self._lineage.store)

    def _store(self, path: str) -> Stored | None:
        """Copy one file of the guest into the store. None when it is gone or has become something else meanwhile."""
        lineage = self._lineage
        stored = Stored(os.path.join(lineage.store, str(next(lineage.numbers))))
        try:
            source = open_beneath(self.path, path, os.O_RDONLY)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                return None
            with _needs_room(lineage.home), open(stored.path, "wb") as target:
                copy_contents(source, target.fileno())
        finally:
            os.close(source)
        return stored

    def _bring_back(self, path: str, entry: Entry, info: os.stat_result | None) -> Entry:
        full = os.path.join(self.path, path)
        if stat.S_ISDIR(entry.mode):
            if info is None:
                # Its own mode comes last: it may not let the host put files into it.
                os.mkdir(full, 0o700)
                self._own(full)
            return entry
        if info is not None:
            if _mark(info) == entry.mark:
                return entry
            if stat.S_ISREG(info.st_mode) and info.st_ino == entry.mark[0] and info.st_nlink == 1:
                with contextlib.suppress(OSError, WorkspaceError):
                    # The same file, so that what has it open or mapped (a database) goes on with it. Written over and
                    # not emptied first, which on ext4 waits for the disk where the guest has just written: 2 ms.
                    return self._fill(entry, open_beneath(self.path, path, os.O_WRONLY))
            os.unlink(full)
        if stat.S_ISLNK(entry.mode):
            os.symlink(entry.target, full)
            self._own(full)
            return entry._replace(mark=_mark(os.lstat(full)))
        return self._fill(entry, open_beneath(self.path, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))

    def _fill(self, entry: Entry, fd: int) -> Entry:
        """Give the file `fd`, which is closed, the contents of `entry`."""
        try:
            assert entry.stored is not None
            source = os.open(entry.stored.path, os.O_RDONLY)
            try:
                copy_contents(source, fd)
                if os.fstat(fd).st_size > (size := os.fstat(source).st_size):
                    os.ftruncate(fd, size)
            finally:
                os.close(source)
            os.fchmod(fd, stat.S_IMODE(entry.mode) & 0o777)
            if self._lineage.owner is not None:
                os.fchown(fd, *self._lineage.owner)
            os.utime(fd, ns=(entry.mark[2], entry.mark[2]))
            return entry._replace(mark=_mark(os.fstat(fd)))
        finally:
            os.close(fd)

    def _remove(self, path: str, info: os.stat_result) -> None:
        full = os.path.join(self.path, path)
        if stat.S_ISDIR(info.st_mode):
            remove_tree(full)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(full)

    def _own(self, path: str) -> None:
        if self._lineage.owner is not None:
            os.chown(path, *self._lineage.owner, follow_symlinks=False)


def _set_mode(path: str, mode: int) -> None:
    """Give a directory its mode. No link is followed."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if stat.S_IMODE(os.fstat(fd).st_mode) != stat.S_IMODE(mode) & 0o777:
            os.fchmod(fd, stat.S_IMODE(mode) & 0o777)
    finally:
        os.close(fd)


def _mark(info: os.stat_result) -> tuple[int, int, int, int]:
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _walk(top: str, *, skip: Collection[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Every path below `top`, relative, directories before what they hold. No link is followed.

    Of the directories in `skip` nothing is shown but themselves.
    """
    pending = [""]
    while pending:
        below = pending.pop()
        for entry in _entries(os.path.join(top, below)):
            path = os.path.join(below, entry.name)
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield path, info
            if stat.S_ISDIR(info.st_mode) and path not in skip and not _is_too_deep(path):
                pending.append(path)


def _count(
    paths: Iterable[tuple[str, os.stat_result]],
    max_bytes: int,
    max_files: int,
    found: list[tuple[str, os.stat_result]] | None = None,
) -> str | None:
    """What is too much in `paths`, or None. Collects them in `found`."""
    size = 0
    for files, (path, info) in enumerate(paths, 1):
        if stat.S_ISDIR(info.st_mode) and _is_too_deep(path):
            return f"directories of the workspace nest more than {MAX_DEPTH} deep, or have {MAX_PATH} bytes of names"
        size += max(info.st_blocks * 512, info.st_size if stat.S_ISREG(info.st_mode) else 0)
        if size > max_bytes:
            return f"the workspace holds more than {max_bytes >> 20} MiB (limits.workspace_mb)"
        if files > max_files:
            return f"the workspace holds more than {max_files} files (limits.workspace_files)"
        if found is not None:
            found.append((path, info))
    return None


def _entries(path: str) -> list[os.DirEntry[str]]:
    try:
        try:
            return list(os.scandir(path))
        except PermissionError:
            regain(path)
            return list(os.scandir(path))
    except OSError:
        return []


def _is_too_deep(path: str) -> bool:
    return path.count("/") >= MAX_DEPTH or len(os.fsencode(path)) > MAX_PATH


def open_beneath(top: str, path: str, flags: int, mode: int = 0o600) -> int:
    """Open `path` below `top` without following a link in any component. Raises OSError, or `WorkspaceError` for
    `..`.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise WorkspaceError(f"{path!r} is not a path inside the workspace")
    directory = os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            os.close(directory)
            directory = inner
        # O_NONBLOCK: a FIFO of the guest must not make the host wait for its writer.
        return os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, mode, dir_fd=directory)
    finally:
        os.close(directory)


def copy_contents(source: int, target: int) -> None:
    """Copy the bytes that a file has now, sharing blocks where the file system can. What grows meanwhile is not
    followed.
    """
    try:
        fcntl.ioctl(target, FICLONE, source)
        return
    except OSError:
        pass
    left = os.fstat(source).st_size
    while left > 0 and (sent := os.sendfile(target, source, None, min(left, 1 << 30))):
        left -= sent


def remove_tree(path: str) -> None:
    """Remove a directory of the guest with all that is in it. What cannot be removed stays.

    No recursion and two descriptors, however deep it is (`shutil.rmtree` of 3.11 raises RecursionError at 1000 levels):
    a directory that is met is moved up, and its turn comes. No link is followed.
    """
    above, name = os.path.split(path)
    try:
        top = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        regain(above)
        try:
            top = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return
    except OSError:
        return
    try:
        pending = [name]
        for number in count():
            if not pending:
                return
            moved = f".{os.urandom(6).hex()}.{number}."
            pending += _empty(top, pending.pop(), moved)
    finally:
        os.close(top)


def _empty(top: int, name: str, moved: str) -> list[str]:
    """Remove one directory but for those in it, which become its siblings: their names, `moved` and a number."""
    found: list[str] = []
    try:
        _give_access(top, name)
        here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=top)
    except OSError:
        return found
    try:
        for inner in os.listdir(here):
            with contextlib.suppress(OSError):
                try:
                    os.unlink(inner, dir_fd=here)
                except IsADirectoryError:
                    _give_access(here, inner)
                    os.rename(inner, f"{moved}{len(found)}", src_dir_fd=here, dst_dir_fd=top)
                    found.append(f"{moved}{len(found)}")
    finally:
        os.close(here)
    with contextlib.suppress(OSError):
        os.rmdir(name, dir_fd=top)
    return found


def free_bytes(path: str) -> int:
    """Room in the file system of `path`, a directory of guests."""
    try:
        info = os.statvfs(path)
    except PermissionError:
        regain(path)
        info = os.statvfs(path)
    return info.f_bavail * info.f_frsize


def regain(path: str) -> None:
    """Make a directory, and the two above it, accessible again.

    An ordinary user's host has the guest's rights and no more, and a guest may take away those to its own directory, to
    that of its branches and to the one of all sessions (Landlock does not judge chmod): files would stay uncounted.
    """
    parts = path.rstrip("/").split("/")
    for length in range(max(2, len(parts) - 2), len(parts) + 1):
        above, name = os.path.split("/".join(parts[:length]))
        with contextlib.suppress(OSError):
            fd = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _give_access(fd, name)
            finally:
                os.close(fd)


def _give_access(above: int, name: str) -> None:
    """A guest may have taken away the rights to its own directories, which an ordinary user's host then lacks, too."""
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        if os.fstat(fd).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)
