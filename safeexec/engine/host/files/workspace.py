"""A session's directory of files, those of its branches, and snapshots that follow the checkpoints.

A session has a region, which it cannot list, and in it its workspace, `w`. The region is named in its Landlock rule
before lockdown, and a fork cannot widen that later; so the region of a branch lies within that of the session that it
comes from, under a name that nobody can guess. When a branch wakes it enters one more layer of Landlock, with its own
region alone (`branch_ruleset` in `host.startup.confinement`): it reaches neither ancestors nor siblings. Snapshots lie
beside all of that, where no guest can write.

The files are hostile: `host.files.tree` has what may be done with them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import count
from tempfile import mkdtemp
from typing import NamedTuple
from weakref import finalize

from safeexec.common.text import one_line
from safeexec.engine.host.files import tree, workspace_files
from safeexec.engine.host.files.names import path_of, shown
from safeexec.engine.host.files.workspace_files import Marks
from safeexec.errors import SandboxBusy, WorkspaceError
from safeexec.untrusted.below import open_named, opened

MAX_BRANCHINGS = 14
"""Branches of branches. A process has 16 layers of Landlock: the zygote's, the session's, one for each of these."""

_UNDONE = (OSError, MemoryError)
"""What lets a removal end early, for want of descriptors or memory: the sandbox removes what stays."""
BLOCK = 4096
"""Bytes that a file or directory may take beyond those that it has."""


class Entry(NamedTuple):
    """One path of a snapshot. `stored` is where its bytes lie; `mark` tells whether the living file is the same."""

    mode: int
    mark: tuple[int, int, int, int]
    stored: Stored | None = None
    target: str = ""


Snapshot = dict[str, Entry]


class Stored:
    """The bytes of one file in the store. They go after the last snapshot that has them, when it is tidied up next."""

    __slots__ = ("_gone", "path")

    def __init__(self, path: str, gone: deque[str]) -> None:
        self.path = path
        self._gone = gone

    def __del__(self) -> None:
        self._gone.append(self.path)  # a thousand unlinked here would hold an event loop


@contextlib.contextmanager
def _needs_room(path: str) -> Iterator[None]:
    """Have an error of a file system that is full or read-only say so, and what to do."""
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
def _noting(problems: list[str], path: str, what: str) -> Iterator[None]:
    """Have a file that cannot be restored add a line to `problems`; the others are restored all the same."""
    try:
        yield
    except (OSError, WorkspaceError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        problems.append(f"{ascii(path)[1:-1][:200]} in the workspace could not be {what}: {reason}")


class WorkspaceRoot:
    """The directory of one sandbox, below which its lineages live. Removed with everything in it by `close`, or when
    the program ends.
    """

    def __init__(self) -> None:
        self._lock, self.path = -1, ""
        try:
            self.path = made = os.path.realpath(mkdtemp(prefix=f".{tree.PREFIX}"))
            # Locked before it gets its name: by the lock others see that its host lives.
            self._lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            self.path = os.path.join(os.path.dirname(made), os.path.basename(made)[1:])
            os.rename(made, self.path)
            remove_orphans(os.path.dirname(self.path))
        except OSError as error:
            with contextlib.suppress(OSError):
                os.rmdir(self.path)  # which takes no descriptor
            tree.remove_tree(self.path)
            if self._lock >= 0:
                os.close(self._lock)
            raise WorkspaceError(
                f"no directory for workspaces could be made: {error.strerror} ({error.filename}); "
                "set TMPDIR to a directory that can be written and has room"
            ) from None
        self._ended = finalize(self, _remove_own, self.path, os.getpid())
        self.owner: tree.Owner = None
        """uid and gid of the children, where they are not the host's own."""
        self.turns = False
        """Whether there may be one lineage at a time, as nothing keeps the files of two apart."""
        self._newest: _Lineage | None = None
        self._numbers = count(1)
        # Others may pass through to their own directory; only the host can list.
        os.chmod(self.path, 0o711)

    def lineage(self, max_bytes: int, max_files: int) -> Workspace:
        """Return a directory for a session, which may hold so much. Raises `SandboxBusy` where it is not its turn."""
        if self.turns and self._newest is not None and not self._newest.over:
            raise SandboxBusy(
                "one session with files at a time: without Landlock, and without user and mount namespaces for each "
                "session, nothing on this machine keeps the files of two apart; close the one that is open, or open "
                "another sandbox"
            )
        # Nobody can guess it. All sessions of a sandbox are one user, and Landlock judges neither chmod, utime, chdir
        # nor stat: who knew the path could do these to another session's files. Listing is what it refuses.
        home = os.path.join(self.path, f"s{next(self._numbers)}-{os.urandom(16).hex()}")
        with _needs_room(self.path):
            store = f"{home}.{os.urandom(16).hex()}.store"
            tree.reached(store, partial(os.mkdir, mode=0o700))
            lineage = self._newest = _Lineage(store, self.owner, max_bytes, max_files)
            return Workspace(lineage, _Region(home, lineage, None))

    def close(self) -> None:
        """Remove the directory."""
        self._ended()
        self.forget()

    def forget(self) -> None:
        """Let go of the lock, by which others see that its host lives: a fork of the host is another process."""
        self._ended.detach()
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def _remove_own(path: str, owner: int) -> None:
    """Remove it at the end of a program that has not closed its sandbox, too; not at the end of a fork of it."""
    if os.getpid() == owner:
        tree.remove_tree(path)


def remove_orphans(place: str) -> None:
    """Remove the directories that hosts of this user have left in `place` when they were killed."""
    for name in os.listdir(place):
        if not name.startswith(tree.PREFIX):
            continue
        path = os.path.join(place, name)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # another user's, or it has just been removed
        try:
            if os.fstat(fd).st_uid == os.geteuid():
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                tree.remove_tree(path)
        except OSError:
            continue  # its host lives, and holds the lock
        finally:
            os.close(fd)


class _Lineage:
    """What the branches of one session share: the store of file contents, its numbering, the limits."""

    def __init__(self, store: str, owner: tree.Owner, max_bytes: int, max_files: int) -> None:
        self.store = store
        self.owner = owner
        self.max_bytes = max_bytes
        self.max_files = max_files
        self.numbers = count(1)
        self.gone: deque[str] = deque()
        """Files of the store that no snapshot has any more."""
        self.device = os.stat(store).st_dev
        self.free = tree.free_bytes(store)
        """Room in the file system when the session began."""
        self.over = False
        """Whether no session has files of it any more."""

    def own(self, fd: int, name: str) -> None:
        """Give the entry of this name in a directory to the children's user."""
        if self.owner is not None:
            os.chown(name, *self.owner, dir_fd=fd, follow_symlinks=False)


class _Region:
    """A directory that guests pass through and cannot list: the workspace of one session, and the regions of branches.

    A root host owns it. An ordinary user's host has the guest's own user: there the mode keeps a guest from listing it
    that may not change modes; and this descriptor, from before, is how the host lists it.
    """

    def __init__(self, path: str, lineage: _Lineage, above: _Region | None) -> None:
        self.path = path
        self.lineage = lineage
        self.depth: int = 0 if above is None else above.depth + 1
        self._above = above
        self.inner: set[str] = set()
        """Names of the regions in it that are in use."""
        self._users = 1
        tree.reached(path, partial(os.mkdir, mode=0o700))
        self.fd = tree.reached(path, partial(os.open, flags=tree.LISTABLE))
        self._mode = 0o711 if lineage.owner is not None else 0o311
        self.give_access()
        if above is not None:
            above.inner.add(os.path.basename(path))
            above._users += 1

    def give_access(self) -> None:
        """Set the mode, which a guest of the same user may have changed."""
        os.fchmod(self.fd, self._mode)

    def branch(self) -> _Region:
        """Return a region within it. Raises `WorkspaceError` where no process could have another layer."""
        if self.depth >= MAX_BRANCHINGS:
            raise WorkspaceError(
                f"this session is a branch of a branch, {self.depth} deep, and {MAX_BRANCHINGS} is as deep as branches "
                "with files of their own go (a process has 16 layers of Landlock): branch from an older session"
            )
        self.give_access()
        return _Region(os.path.join(self.path, os.urandom(16).hex()), self.lineage, self)

    def release(self) -> None:
        """Count one user fewer: its session, or a region within. With the last one it is removed."""
        self._users -= 1
        if self._users:
            return
        os.close(self.fd)
        above = self._above
        with contextlib.suppress(*_UNDONE):
            if above is not None:
                above.give_access()
            tree.remove_tree(self.path)
            if above is None:
                self.lineage.over = True
                tree.remove_tree(self.lineage.store)
        if above is not None:
            above.inner.discard(os.path.basename(self.path))
            above.release()


class Workspace:
    """The files of one session."""

    def __init__(self, lineage: _Lineage, region: _Region) -> None:
        """The region is its own, also where the workspace cannot be made: then it is released."""
        self._lineage = lineage
        self._region = region
        self.home = region.path
        """The session's region: what the kernel lets it reach, the workspace and what lies beside it."""
        self.path = os.path.join(region.path, tree.WORKSPACE)
        self.is_branch = region.depth > 0
        """Whether it lies within the region of another session."""
        self.owner = lineage.owner
        """uid and gid of the children, where they are not the host's own."""
        self.device = lineage.device
        """The file system's number."""
        try:
            self._make()
        except BaseException:
            region.release()
            raise
        self._closed = False
        self._last: Snapshot = {}
        self._held = (0, 0)
        """Bytes and paths that were counted for it, where it was taken and not brought back."""
        self.initial: Snapshot = {}
        """The files that the session began with."""

    def _make(self) -> None:
        os.mkdir(tree.WORKSPACE, 0o700, dir_fd=self._region.fd)
        self._lineage.own(self._region.fd, tree.WORKSPACE)

    def _opened(self) -> contextlib.AbstractContextManager[int]:
        """Enter it for a descriptor of the directory. Raises OSError."""
        return tree.held(tree.list_directory(self._region.fd, tree.WORKSPACE))

    @property
    def free(self) -> int:
        """Bytes that its file system has left."""
        return tree.free_bytes(self.home)

    def taken(self) -> int:
        """Return how many bytes of its file system were taken since the session began, by whomever."""
        return self._lineage.free - tree.free_bytes(self._lineage.store)

    def _of_host(self) -> contextlib.AbstractContextManager[int]:
        """Enter it for a descriptor of the directory, for files that the host asks for. Raises `WorkspaceError`."""
        try:
            return tree.held(tree.reached(self.path, partial(os.open, flags=tree.LISTABLE)))
        except OSError as error:
            raise WorkspaceError(f"the workspace cannot be opened: {error.strerror}") from None

    def give_access(self) -> None:
        """Open the way for a process that will go by its path: guests of the host's own user may have barred it, to
        this one or to all of the sandbox.
        """
        if self.owner is None:
            tree.regain(self.path)

    def open(self, path: str, flags: int) -> int:
        """Return a descriptor of what lies at `path`, no link followed. Raises OSError, or `WorkspaceError` for
        `..`.
        """
        return tree.reached(self.path, partial(tree.open_beneath, path=path, flags=flags))

    def names(self) -> list[str]:
        """Return the names of the regular files, sorted. Raises `WorkspaceError`."""
        with self._of_host() as top:
            return workspace_files.list_files(top)

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return the bytes of a file. Raises `WorkspaceError`."""
        with self._of_host() as top:
            return workspace_files.read_file(top, name, max_bytes=max_bytes)

    def write(self, name: str, data: bytes, files: Snapshot | None) -> tuple[str, Snapshot]:
        """Put a file in place of what had that name, and say what it is called and what the files are then: `files`,
        those of the state, with this one. The others are not looked at again, unless the last look was not at `files`,
        or this one might be too much. Raises `WorkspaceError`, and nothing is written then.
        """
        path = path_of(name)
        if files is not self._last or self._too_much(path, len(data)):
            self.snapshot()
            if self._too_much(path, len(data)):
                raise WorkspaceError(
                    f"{shown(path)} with {len(data)} bytes is more than there is room for: a workspace "
                    f"may hold {self._lineage.max_bytes >> 20} MiB (limits.workspace_mb) and {self._lineage.max_files} "
                    "files (limits.workspace_files)"
                )
        with self._of_host() as top:
            workspace_files.write_file(top, path, data, max_bytes=self._lineage.max_bytes, owner=self.owner)
            try:
                return path, self._with_path(top, path)
            except OSError:
                return path, self.snapshot()  # a thread of the guest was faster

    def _too_much(self, path: str, size: int) -> bool:
        """Tell whether a file of `size` bytes may be too much, by the last look."""
        above, known = path.split("/")[:-1], self._last.get(path)
        new = sum("/".join(above[: depth + 1]) not in self._last for depth in range(len(above)))
        held, files = self._held
        held += size + (new + 1) * BLOCK - (known.mark[1] if known is not None else 0)
        files += new + (known is None)
        return held > self._lineage.max_bytes or files > self._lineage.max_files or tree.is_too_deep("/".join(above))

    def _with_path(self, top: int, path: str) -> Snapshot:
        """Return the files of the last look, with one that the host has written since and the directories that it is
        in. Raises OSError where it is gone.
        """
        snapshot = dict(self._last)
        held, files = self._held
        parts = path.split("/")
        for depth in range(len(parts)):
            part = "/".join(parts[: depth + 1])
            known = snapshot.get(part)
            if known is not None and stat.S_ISDIR(known.mode) and part != path:
                continue
            with tree.parent_of(top, part) as (parent, name):
                info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            entry, grown = self._entry(top, part, info)
            if entry is None or (known is not None and stat.S_IFMT(known.mode) != stat.S_IFMT(entry.mode)):
                return self.snapshot()
            held += tree.size_of(info) + grown - (known.mark[1] if known is not None else 0)
            files += known is None
            snapshot[part] = entry
        self._last, self._held = snapshot, (held, files)
        return snapshot

    changes = staticmethod(workspace_files.changed_since)

    def put(self, name: str, content: str | bytes | os.PathLike[str]) -> None:
        """Copy a file of the host (a path), or bytes, to `name` in the workspace; of a directory all that is in it.
        Raises `WorkspaceError` when the file system is full.
        """
        if not isinstance(content, bytes) and os.path.isdir(content):
            self.copy_tree(content, name)
            return
        with _needs_room(self.home), self._opened() as top, self._new_file(top, name) as target:
            if isinstance(content, bytes):
                with open(target, "wb", closefd=False) as file:
                    file.write(content)
                return
            with tree.held(self._open_of_user(content)) as source:
                tree.copy_contents(source, target, os.fstat(source).st_size)

    def put_part(self, name: str, source: int, size: int, mode: int) -> None:
        """Copy the next `size` bytes of an open file to `name` in the workspace. Raises `WorkspaceError` when the file
        system is full, or where there are fewer.
        """
        with _needs_room(self.home), self._opened() as top, self._new_file(top, name, mode) as target:
            if tree.copy_contents(source, target, size):
                raise WorkspaceError("what was to be copied ended early")

    @contextlib.contextmanager
    def _new_file(self, top: int, name: str, mode: int = 0o600) -> Iterator[int]:
        """Yield a descriptor to write the file `name` below `top`, which then gets its mode and its owner."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with tree.held(tree.open_beneath(top, name, flags, make=True, owner=self.owner)) as target:
            yield target
            if mode != 0o600:
                os.fchmod(target, mode & 0o777)
            if self.owner is not None:
                os.fchown(target, *self.owner)

    def _open_of_user(self, path: str | os.PathLike[str]) -> int:
        """Return a file that the user named, before a byte of it is copied: a regular one that fits into the
        workspace.
        """
        try:
            return open_named(path, max_bytes=self._lineage.max_bytes)
        except OSError as error:
            if error.filename is not None:  # the system says it: there is no such file
                raise
            raise WorkspaceError(
                f"{one_line(os.fsdecode(path))} cannot be copied into the workspace: {error.strerror} "
                f"(limits.workspace_mb is {self._lineage.max_bytes >> 20})"
            ) from None

    def make_temporary(self) -> None:
        """Make a directory for temporary files beside the workspace, for the programs that insist on one."""
        self.give_access()
        with contextlib.suppress(FileExistsError):
            os.mkdir("tmp", 0o700, dir_fd=self._region.fd)
            self._lineage.own(self._region.fd, "tmp")

    def copy_tree(self, source: str | os.PathLike[str], into: str = "") -> None:
        """Copy a directory of the host into the workspace, below `into`: regular files and directories; no link is
        followed, and what a link stands for does not come along.

        Raises `WorkspaceError` when it holds more than the limits allow.
        """
        top = os.fspath(source)
        prefix = f"{into}/" if into else ""
        max_bytes, max_files = self._lineage.max_bytes, self._lineage.max_files
        size = count = 0
        if into:
            self.make_directories(into)
        with _needs_room(self.home), self._opened() as target, opened(top) as fd:
            for path, info in tree.walk(fd, regains=False):
                count, size = count + 1, size + info.st_size
                if size > max_bytes or count > max_files:
                    raise WorkspaceError(
                        f"{top} holds more than a workspace may: {max_bytes >> 20} MiB and {max_files} files "
                        "(limits.workspace_mb, limits.workspace_files)"
                    )
                if stat.S_ISDIR(info.st_mode):
                    tree.make_directories(target, prefix + path, self.owner)
                elif stat.S_ISREG(info.st_mode):
                    with tree.held(tree.open_beneath(fd, path, os.O_RDONLY)) as file:
                        now = os.fstat(file)  # it may be another by now
                        if stat.S_ISREG(now.st_mode) and now.st_size <= max_bytes:
                            with self._new_file(target, prefix + path, 0o700 if now.st_mode & 0o100 else 0o600) as copy:
                                tree.copy_contents(file, copy, now.st_size)

    def make_directories(self, path: str) -> None:
        """Make a directory, and those on the way to it, below the workspace, following no link."""
        with self._opened() as top:
            tree.make_directories(top, path, self.owner)

    def branch(self, snapshot: Snapshot | None) -> Workspace:
        """Return a directory for a branch, with the files of `snapshot`. Raises `WorkspaceError` if not all can be
        copied.
        """
        workspace = Workspace(self._lineage, self._region.branch())
        try:
            if problems := workspace.restore(snapshot or {}):
                raise WorkspaceError(f"the branch cannot have the session's files: {'; '.join(problems[:3])}")
        except BaseException:
            workspace.close()
            raise
        return workspace

    def snapshot(self) -> Snapshot:
        """Return the files as they are now. Only what changed since the last snapshot is copied; links and special
        files are not followed.

        Raises `WorkspaceError` for more than the workspace may hold: guest code may go on in threads, and nobody
        watches. All is counted before anything is copied, no more is copied than was counted, and what has grown
        meanwhile is counted again.
        """
        lineage = self._lineage
        self._check_there()
        snapshot: Snapshot = {}
        with self._opened() as top:
            found = tree.counted([tree.walk(top)], lineage.max_bytes, lineage.max_files)
            held = sum(tree.size_of(info) for _, info in found)
            for path, info in found:
                entry, grown = self._entry(top, path, info)
                if (held := held + grown) > lineage.max_bytes:
                    raise WorkspaceError(
                        f"the workspace grew beyond {lineage.max_bytes >> 20} MiB (limits.workspace_mb) while it "
                        "was copied: something that the last step has left running writes to it",
                        rule="limits.workspace_mb",
                    )
                if entry is not None:
                    snapshot[path] = entry
        self._last, self._held = snapshot, (held, len(found))
        return snapshot

    def _entry(self, top: int, path: str, info: os.stat_result) -> tuple[Entry | None, int]:
        """Return one path for a snapshot, and by how many bytes its file has grown since `info`: the one of the last
        snapshot if it has not changed, else what lies there is copied. None for what is gone, and for special files.
        """
        mark = _mark(info)
        known = self._last.get(path)
        if known is not None and known.mark == mark:
            return known, 0
        if stat.S_ISREG(info.st_mode):
            stored, grown = self._store(top, path, info.st_size)
            return (None if stored is None else Entry(info.st_mode, mark, stored)), grown
        if stat.S_ISDIR(info.st_mode):
            return Entry(info.st_mode, (0, 0, 0, 0)), 0
        if stat.S_ISLNK(info.st_mode):
            with contextlib.suppress(OSError, WorkspaceError), tree.parent_of(top, path) as (parent, name):
                return Entry(info.st_mode, mark, None, os.readlink(name, dir_fd=parent)), 0
        return None, 0

    @property
    def marks(self) -> Marks:
        """The files as they were when they were last looked at, or brought back."""
        return {path: entry.mark for path, entry in self._last.items() if stat.S_ISREG(entry.mode)}

    def marks_now(self) -> Marks:
        """Return the files as they are, without a snapshot. Raises `WorkspaceError` for more than there may be."""
        self._check_there()
        return {path: _mark(info) for path, info in self.listing().items() if stat.S_ISREG(info.st_mode)}

    def tidy(self) -> None:
        """Remove what no snapshot has any more."""
        gone = self._lineage.gone
        while gone:
            with contextlib.suppress(OSError):
                os.unlink(gone.popleft())

    def is_empty(self) -> bool:
        """Tell whether there is nothing in it, and nothing to tidy up: then no look at it takes long."""
        if self._lineage.gone:
            return False
        try:
            with self._opened() as top, os.scandir(top) as entries:
                return next(entries, None) is None
        except OSError:
            return False

    def restore(self, snapshot: Snapshot) -> list[str]:
        """Make the files what they were: changed and deleted ones come back, new ones go.

        Returns what cannot be brought back, where the file system is full or another branch is at work in the
        directory: the caller reports it, and the session goes on.
        """
        try:
            self._check_there()
        except WorkspaceError:
            self._remove_beside()
            self._make()
        problems: list[str] = []
        with self._opened() as top:
            os.fchmod(top, 0o700)  # a guest may have taken away its own right to enter it
            self._last = self._restore(top, snapshot, problems)
        return problems

    def _restore(self, top: int, snapshot: Snapshot, problems: list[str]) -> Snapshot:
        present = dict(tree.walk(top))
        for path in sorted(present, reverse=True):
            entry = snapshot.get(path)
            info = present[path]
            if entry is None or stat.S_IFMT(entry.mode) != stat.S_IFMT(info.st_mode):
                with _noting(problems, path, "removed"), tree.parent_of(top, path) as (parent, name):
                    tree.remove(parent, name, info)
                    del present[path]
        restored: Snapshot = {}
        for path in sorted(snapshot):
            with _noting(problems, path, "brought back"):
                restored[path] = self._bring_back(top, path, snapshot[path], present.get(path))
        for path in sorted(restored, reverse=True):
            entry = restored[path]
            if stat.S_ISDIR(entry.mode):
                with contextlib.suppress(OSError, WorkspaceError), tree.parent_of(top, path) as (parent, name):
                    tree.set_mode(parent, name, entry.mode)
        return restored

    def listing(self) -> dict[str, os.stat_result]:
        """Return all that there is, by path, directories before what is in them. Raises `WorkspaceError` for more than
        there may be.
        """
        with self._opened() as top:
            return dict(tree.counted([tree.walk(top)], self._lineage.max_bytes, self._lineage.max_files))

    def count(self, max_bytes: int, max_files: int) -> int:
        """Return the bytes of all that is in the directory; holes of a file count, as a copy would have them. Raises
        `WorkspaceError` for more than that.
        """
        self._check_there()
        try:
            with self._opened() as top:
                found = tree.counted((tree.walk(top), self._beside()), max_bytes, max_files)
        except OSError:
            self._check_there()
            return self._held[0]
        return sum(tree.size_of(info) for _, info in found)

    def _beside(self) -> tree.Walk:
        """Return what lies beside the workspace, where it may write as well: temporary files of commands."""
        return tree.walk(self._region.fd, skip={tree.WORKSPACE, *self._region.inner})

    def snapshot_or_undo(self) -> Snapshot:
        """Return the files as they are now. Where that is too much nothing is copied: they become what they were when
        they were last looked at, and what lies beside them is removed.
        """
        try:
            self.count(self._lineage.max_bytes, self._lineage.max_files)
        except WorkspaceError:
            self.restore(self._last)
            self._remove_beside()
        return self.snapshot()

    def _remove_beside(self) -> None:
        self._region.give_access()
        for name, info in tree.entries_of(self._region.fd):
            if name not in self._region.inner and (name != tree.WORKSPACE or not stat.S_ISDIR(info.st_mode)):
                with contextlib.suppress(OSError):
                    tree.remove(self._region.fd, name, info)

    def _check_there(self) -> None:
        """Raise `WorkspaceError` where the directory is gone: a guest that is the host's own user can rename and remove
        its directory itself.
        """
        for attempt in (1, 2):
            try:
                if stat.S_ISDIR(os.stat(tree.WORKSPACE, dir_fd=self._region.fd, follow_symlinks=False).st_mode):
                    return
            except PermissionError:
                if attempt == 1:
                    self._region.give_access()
                    continue
            except OSError:
                pass
            break
        raise WorkspaceError("the workspace's own directory was moved or removed")

    def close(self) -> None:
        """Remove the session's directory, and its region with the last branch in it. Harmless when closed already. What
        is large takes a while; what cannot be removed stays.
        """
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(*_UNDONE):
            self._remove_beside()
            tree.remove_below(self._region.fd, tree.WORKSPACE)
        self._last, self.initial = {}, {}
        self.tidy()
        self._region.release()

    def forget(self) -> None:
        """Close this process's descriptor of it, in a fork of the process that has it."""
        os.close(self._region.fd)

    def _store(self, top: int, path: str, size: int) -> tuple[Stored | None, int]:
        """Copy at most `size` bytes of one file of the guest into the store, and say by how much it has grown since it
        had so many. None when it is gone or has become something else meanwhile.
        """
        lineage = self._lineage
        stored = Stored(os.path.join(lineage.store, str(next(lineage.numbers))), lineage.gone)
        try:
            opened = tree.open_beneath(top, path, os.O_RDONLY)
        except (OSError, WorkspaceError):
            return None, 0
        with tree.held(opened) as source:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                return None, 0
            with _needs_room(lineage.store), tree.reached(stored.path, partial(open, mode="wb")) as target:
                tree.copy_contents(source, target.fileno(), size)
            return stored, max(0, os.fstat(source).st_size - size)

    def _bring_back(self, top: int, path: str, entry: Entry, info: os.stat_result | None) -> Entry:
        if info is not None and (stat.S_ISDIR(entry.mode) or _mark(info) == entry.mark):
            return entry
        with tree.parent_of(top, path) as (parent, name):
            if stat.S_ISDIR(entry.mode):
                # Its own mode comes last: it may not let the host put files into it.
                os.mkdir(name, 0o700, dir_fd=parent)
                self._lineage.own(parent, name)
                return entry
            if info is not None:
                if stat.S_ISREG(info.st_mode) and info.st_ino == entry.mark[0] and info.st_nlink == 1:
                    with contextlib.suppress(OSError, WorkspaceError):
                        # The same file, so that what has it open or mapped (a database) goes on with it. Written over
                        # and not emptied first, which on ext4 waits for the disk where the guest has just written: 2 ms
                        return self._fill(entry, tree.open_beneath(parent, name, os.O_WRONLY))
                os.unlink(name, dir_fd=parent)
            if stat.S_ISLNK(entry.mode):
                os.symlink(entry.target, name, dir_fd=parent)
                self._lineage.own(parent, name)
                return entry._replace(mark=_mark(os.stat(name, dir_fd=parent, follow_symlinks=False)))
            return self._fill(entry, tree.open_beneath(parent, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))

    def _fill(self, entry: Entry, fd: int) -> Entry:
        """Give the file `fd`, which is closed, the contents of `entry`."""
        with tree.held(fd):
            assert entry.stored is not None
            with tree.held(tree.reached(entry.stored.path, partial(os.open, flags=os.O_RDONLY))) as source:
                size = os.fstat(source).st_size
                tree.copy_contents(source, fd, size)
                if os.fstat(fd).st_size > size:
                    os.ftruncate(fd, size)
            os.fchmod(fd, entry.mode & 0o777)
            if self.owner is not None:
                os.fchown(fd, *self.owner)
            os.utime(fd, ns=(entry.mark[2], entry.mark[2]))
            return entry._replace(mark=_mark(os.fstat(fd)))


def _mark(info: os.stat_result) -> tuple[int, int, int, int]:
    return (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
