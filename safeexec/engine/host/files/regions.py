"""Regions: the places of the files of a session and of its branches, in the directory of their sandbox.

A session has a region, which it cannot list, and in it its workspace, `w`. The region is named in its Landlock rule
before lockdown, and a fork cannot widen that later; so the region of a branch lies within that of the session that it
comes from, under a name that nobody can guess. When a branch wakes it enters one more layer of Landlock, with its own
region alone (`branch_ruleset` in `host.startup.confinement`): it reaches neither ancestors nor siblings. Snapshots lie
beside all of that, where no guest can write.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import count

from safeexec.engine.host.files import tree
from safeexec.errors import WorkspaceError

MAX_BRANCHINGS = 14
"""Branches of branches. A process has 16 layers of Landlock: the zygote's, the session's, one for each of these."""
UNDONE = (OSError, MemoryError)
"""Exceptions with which a removal ends early, for want of descriptors or memory: the sandbox removes what stays."""


@contextlib.contextmanager
def needing_room(path: str) -> Iterator[None]:
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


class FileLineage:
    """Shared by the branches of one session: the store of file contents, its numbering, the limits."""

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
        """True once no session has files of it any more."""

    def own(self, fd: int, name: str) -> None:
        """Give the entry of this name in a directory to the children's user."""
        if self.owner is not None:
            os.chown(name, *self.owner, dir_fd=fd, follow_symlinks=False)


class WorkspaceRegion:
    """A directory that guests pass through and cannot list: the workspace of one session, and the regions of branches.

    A root host owns it. An ordinary user's host has the guest's own user: there the mode keeps a guest from listing it
    that may not change modes; and this descriptor, from before, is how the host lists it.
    """

    def __init__(self, path: str, lineage: FileLineage, above: WorkspaceRegion | None) -> None:
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

    def branch(self) -> WorkspaceRegion:
        """Return a region within it. Raises `WorkspaceError` where no process could have another layer."""
        if self.depth >= MAX_BRANCHINGS:
            raise WorkspaceError(
                f"this session is a branch of a branch, {self.depth} deep, and {MAX_BRANCHINGS} is as deep as branches "
                "with files of their own go (a process has 16 layers of Landlock): branch from an older session"
            )
        self.give_access()
        return WorkspaceRegion(os.path.join(self.path, os.urandom(16).hex()), self.lineage, self)

    def release(self) -> None:
        """Count one user fewer: its session, or a region within. With the last one it is removed."""
        self._users -= 1
        if self._users:
            return
        os.close(self.fd)
        above = self._above
        with contextlib.suppress(*UNDONE):
            if above is not None:
                above.give_access()
            tree.remove_tree(self.path)
            if above is None:
                self.lineage.over = True
                tree.remove_tree(self.lineage.store)
        if above is not None:
            above.inner.discard(os.path.basename(self.path))
            above.release()
