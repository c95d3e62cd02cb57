"""Snapshots of a workspace: which files there were, and where their bytes are kept.

The files are hostile: `host.files.tree` has what may be done with them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from safeexec.engine.host.files import tree
from safeexec.engine.host.files.regions import FileLineage, needing_room
from safeexec.engine.host.files.workspace_files import FileMark, Marks
from safeexec.errors import WorkspaceError

BLOCK = 4096
"""Bytes that a file or directory may take beyond those that it has."""
_NO_MARK = FileMark(0, 0, 0, 0)
"""That of a directory, which changes with each file in it."""


class Entry(NamedTuple):
    """One path of a snapshot. `stored` is where its bytes lie; `mark` shows whether the living file is the same."""

    mode: int
    mark: FileMark
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
def _noting(problems: list[str], path: str, what: str) -> Iterator[None]:
    """Have a file that cannot be restored add a line to `problems`; the others are restored all the same."""
    try:
        yield
    except (OSError, WorkspaceError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        problems.append(f"{ascii(path)[1:-1][:200]} in the workspace could not be {what}: {reason}")


class Snapshots:
    """Takes snapshots of one workspace, and brings them back. Each method is given a descriptor of the directory."""

    def __init__(self, lineage: FileLineage) -> None:
        self._lineage = lineage
        self.last: Snapshot = {}
        """The files as they were when they were last looked at, or brought back."""
        self.held = (0, 0)
        """Bytes and paths that were counted for it, where it was taken and not brought back."""

    def take(self, top: int) -> Snapshot:
        """Return the files as they are now. Only what changed since the last snapshot is copied; links and special
        files are not followed.

        Raises `WorkspaceError` for more than the workspace may hold: guest code may go on in threads, and nobody
        watches. All is counted before anything is copied, no more is copied than was counted, and what has grown
        meanwhile is counted again.
        """
        lineage = self._lineage
        snapshot: Snapshot = {}
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
        self.last, self.held = snapshot, (held, len(found))
        return snapshot

    def take_path(self, top: int, path: str) -> Snapshot:
        """Return the files of the last look, with one that the host has written since and the directories that it is
        in. Raises OSError where it is gone.
        """
        snapshot = dict(self.last)
        held, files = self.held
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
                return self.take(top)
            held += tree.size_of(info) + grown - (known.mark.size if known is not None else 0)
            files += known is None
            snapshot[part] = entry
        self.last, self.held = snapshot, (held, files)
        return snapshot

    def is_too_much(self, path: str, size: int) -> bool:
        """Return whether a file of `size` bytes may be too much, by the last look."""
        above, known = path.split("/")[:-1], self.last.get(path)
        new = sum("/".join(above[: depth + 1]) not in self.last for depth in range(len(above)))
        held, files = self.held
        held += size + (new + 1) * BLOCK - (known.mark.size if known is not None else 0)
        files += new + (known is None)
        return held > self._lineage.max_bytes or files > self._lineage.max_files or tree.is_too_deep("/".join(above))

    def _entry(self, top: int, path: str, info: os.stat_result) -> tuple[Entry | None, int]:
        """Return one path for a snapshot, and by how many bytes its file has grown since `info`: the one of the last
        snapshot if it has not changed, else what lies there is copied. None for what is gone, and for special files.
        """
        mark = mark_of(info)
        known = self.last.get(path)
        if known is not None and known.mark == mark:
            return known, 0
        if stat.S_ISREG(info.st_mode):
            stored, grown = self._store(top, path, info.st_size)
            return (None if stored is None else Entry(info.st_mode, mark, stored)), grown
        if stat.S_ISDIR(info.st_mode):
            return Entry(info.st_mode, _NO_MARK), 0
        if stat.S_ISLNK(info.st_mode):
            with contextlib.suppress(OSError, WorkspaceError), tree.parent_of(top, path) as (parent, name):
                return Entry(info.st_mode, mark, None, os.readlink(name, dir_fd=parent)), 0
        return None, 0

    @property
    def marks(self) -> Marks:
        """The regular files, as `last` has them."""
        return {path: entry.mark for path, entry in self.last.items() if stat.S_ISREG(entry.mode)}

    def bring_back(self, top: int, snapshot: Snapshot) -> list[str]:
        """Make the files what they were: changed and deleted ones come back, new ones go. Returns what could not be."""
        problems: list[str] = []
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
                restored[path] = self._brought_back(top, path, snapshot[path], present.get(path))
        for path in sorted(restored, reverse=True):
            entry = restored[path]
            if stat.S_ISDIR(entry.mode):
                with contextlib.suppress(OSError, WorkspaceError), tree.parent_of(top, path) as (parent, name):
                    tree.set_mode(parent, name, entry.mode)
        self.last = restored
        return problems

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
            with needing_room(lineage.store), tree.reached(stored.path, partial(open, mode="wb")) as target:
                tree.copy_contents(source, target.fileno(), size)
            return stored, max(0, os.fstat(source).st_size - size)

    def _brought_back(self, top: int, path: str, entry: Entry, info: os.stat_result | None) -> Entry:
        if info is not None and (stat.S_ISDIR(entry.mode) or mark_of(info) == entry.mark):
            return entry
        with tree.parent_of(top, path) as (parent, name):
            if stat.S_ISDIR(entry.mode):
                # Its own mode comes last: it may not let the host put files into it.
                os.mkdir(name, 0o700, dir_fd=parent)
                self._lineage.own(parent, name)
                return entry
            if info is not None:
                if stat.S_ISREG(info.st_mode) and info.st_ino == entry.mark.inode and info.st_nlink == 1:
                    with contextlib.suppress(OSError, WorkspaceError):
                        # The same file, so that what has it open or mapped (a database) goes on with it. Written over
                        # and not emptied first, which on ext4 waits for the disk where the guest has just written: 2 ms
                        return self._fill(entry, tree.open_beneath(parent, name, os.O_WRONLY))
                os.unlink(name, dir_fd=parent)
            if stat.S_ISLNK(entry.mode):
                os.symlink(entry.target, name, dir_fd=parent)
                self._lineage.own(parent, name)
                return entry._replace(mark=mark_of(os.stat(name, dir_fd=parent, follow_symlinks=False)))
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
            if self._lineage.owner is not None:
                os.fchown(fd, *self._lineage.owner)
            os.utime(fd, ns=(entry.mark.modified_ns, entry.mark.modified_ns))
            return entry._replace(mark=mark_of(os.fstat(fd)))


def mark_of(info: os.stat_result) -> FileMark:
    """Return the mark of a file, by its status."""
    return FileMark(info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
