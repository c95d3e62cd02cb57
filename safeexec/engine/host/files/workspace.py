"""A session's directory of files, as the host uses it: its files by name, its size, its branches, and snapshots that
follow the checkpoints.

The files are hostile: `host.files.tree` has what may be done with them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from functools import partial

from safeexec.common.text import one_line
from safeexec.engine.host.files import tree, workspace_files
from safeexec.engine.host.files.file_names import path_of, shown
from safeexec.engine.host.files.regions import UNDONE, WorkspaceRegion, needing_room
from safeexec.engine.host.files.snapshots import Snapshot, Snapshots, mark_of
from safeexec.engine.host.files.workspace_files import Marks
from safeexec.errors import WorkspaceError
from safeexec.untrusted.below import open_named, opened


class Workspace:
    """The files of one session."""

    def __init__(self, region: WorkspaceRegion) -> None:
        """Own `region`, also where the workspace cannot be made: then it is released."""
        self._region = region
        self._lineage = lineage = region.lineage
        self.home = region.path
        """The session's region: what the kernel lets it reach, the workspace and what lies beside it."""
        self.path = os.path.join(region.path, tree.WORKSPACE)
        self.is_branch = region.depth > 0
        """True if it lies within the region of another session."""
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
        self._snapshots = Snapshots(lineage)
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
        """Enter it for a descriptor of the directory, for files that the host names. Raises `WorkspaceError`."""
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
        """Return a descriptor of what is at `path`, no link followed. Raises OSError, `WorkspaceError` for `..`."""
        return tree.reached(self.path, partial(tree.open_beneath, path=path, flags=flags))

    def directory(self, name: str) -> str:
        """Return the path of a directory in it. Raises `WorkspaceError`, also for a link."""
        path = path_of(name)
        with workspace_files.refusing(name):
            os.close(self.open(path, os.O_PATH | os.O_DIRECTORY))
        return os.path.join(self.path, path)

    def names(self) -> list[str]:
        """Return the names of the regular files, sorted. Raises `WorkspaceError`."""
        with self._of_host() as top:
            return workspace_files.list_files(top, self._lineage.max_files)

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
        if files is not self._snapshots.last or self._snapshots.is_too_much(path, len(data)):
            self.snapshot()
            if self._snapshots.is_too_much(path, len(data)):
                raise WorkspaceError(
                    f"{shown(path)} with {len(data)} bytes is more than there is room for: a workspace "
                    f"may hold {self._lineage.max_bytes >> 20} MiB (limits.workspace_mb) and {self._lineage.max_files} "
                    "files (limits.workspace_files)"
                )
        with self._of_host() as top:
            workspace_files.write_file(top, path, data, max_bytes=self._lineage.max_bytes, owner=self.owner)
            try:
                return path, self._snapshots.take_path(top, path)
            except OSError:
                return path, self.snapshot()  # a thread of the guest was faster

    changes = staticmethod(workspace_files.changed_since)

    def put(self, name: str, content: str | bytes | os.PathLike[str]) -> None:
        """Copy a file of the host (a path), or bytes, to `name` in the workspace; of a directory all that is in it.
        Raises `WorkspaceError` when the file system is full.
        """
        if not isinstance(content, bytes) and os.path.isdir(content):
            self.copy_tree(content, name)
            return
        with needing_room(self.home), self._opened() as top, self._new_file(top, name) as target:
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
        with needing_room(self.home), self._opened() as top, self._new_file(top, name, mode) as target:
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
        """Return a file that the user named, before a byte is copied: a regular one that fits into the workspace."""
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
        with needing_room(self.home), self._opened() as target, opened(top) as fd:
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
        """Return a branch's directory, with the files of `snapshot`. Raises `WorkspaceError` if not all can be had."""
        workspace = Workspace(self._region.branch())
        try:
            if problems := workspace.restore(snapshot or {}):
                raise WorkspaceError(f"the branch cannot have the session's files: {'; '.join(problems[:3])}")
        except BaseException:
            workspace.close()
            raise
        return workspace

    def snapshot(self) -> Snapshot:
        """Return the files as they are now, as `Snapshots.take` does. Raises `WorkspaceError`."""
        self._check_there()
        with self._opened() as top:
            return self._snapshots.take(top)

    @property
    def marks(self) -> Marks:
        """The files as they were when they were last looked at, or brought back."""
        return self._snapshots.marks

    def marks_now(self) -> Marks:
        """Return the files as they are, without a snapshot. Raises `WorkspaceError` for more than there may be."""
        self._check_there()
        return {path: mark_of(info) for path, info in self.listing().items() if stat.S_ISREG(info.st_mode)}

    def tidy(self) -> None:
        """Remove what no snapshot has any more."""
        gone = self._lineage.gone
        while gone:
            with contextlib.suppress(OSError):
                os.unlink(gone.popleft())

    def is_empty(self) -> bool:
        """Return whether there is nothing in it, and nothing to tidy up: then no look at it takes long."""
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
        with self._opened() as top:
            os.fchmod(top, 0o700)  # a guest may have taken away its own right to enter it
            return self._snapshots.bring_back(top, snapshot)

    def listing(self) -> dict[str, os.stat_result]:
        """Return all that there is, by path, directories before their entries. Raises `WorkspaceError` for too much."""
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
            return self._snapshots.held[0]
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
            self.restore(self._snapshots.last)
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
        with contextlib.suppress(*UNDONE):
            self._remove_beside()
            tree.remove_below(self._region.fd, tree.WORKSPACE)
        self._snapshots.last, self.initial = {}, {}
        self.tidy()
        self._region.release()

    def disown(self) -> None:
        """Close this process's descriptor of it, in a fork of the process that has it."""
        os.close(self._region.fd)
