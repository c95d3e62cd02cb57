"""The directory of one sandbox, with the files of all its sessions."""

from __future__ import annotations

import contextlib
import fcntl
import os
from functools import partial
from itertools import count
from tempfile import mkdtemp
from weakref import finalize

from safeexec.engine.host.files import tree
from safeexec.engine.host.files.regions import FileLineage, WorkspaceRegion, needing_room
from safeexec.engine.host.files.workspace import Workspace
from safeexec.errors import SandboxBusy, WorkspaceError


class WorkspaceRoot:
    """The directory of one sandbox, with its lineages. Removed with all in it by `close`, or when the program ends."""

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
        """True if there may be one lineage at a time, as nothing keeps the files of two apart."""
        self._newest: FileLineage | None = None
        self._numbers = count(1)
        # Others may pass through to their own directory; only the host can list.
        os.chmod(self.path, 0o711)

    def new_workspace(self, max_bytes: int, max_files: int) -> Workspace:
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
        with needing_room(self.path):
            store = f"{home}.{os.urandom(16).hex()}.store"
            tree.reached(store, partial(os.mkdir, mode=0o700))
            lineage = self._newest = FileLineage(store, self.owner, max_bytes, max_files)
            return Workspace(WorkspaceRegion(home, lineage, None))

    def close(self) -> None:
        """Remove the directory."""
        self._ended()
        self.disown()

    def disown(self) -> None:
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
