"""What the accountant looks at: the base of a session and of a command, as its thread sees them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from safeexec.engine.host.watch.account import Account, Known, Period
from safeexec.engine.host.watch.room import Room
from safeexec.engine.host.watch.verdict import Verdict

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.watch.bill import Bill
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Limits


class Subject:
    """What is watched. Its methods are called from the accountant's thread and do not wait."""

    def __init__(self, limits: Limits, bill: Bill | None = None, *, forks: bool = False) -> None:
        """`bill`, `forks`: as of `Account`."""
        self.account = Account(limits, bill, forks=forks)
        self.room = Room(limits, self.files)
        self.idle = False
        """Whether the next look may be a while away. Whoever begins to use it, and finds that, calls
        `Rotation.wake`.
        """

    def lineage_leaders(self) -> Collection[int]:
        """Return the first process of each lineage that it has processes of."""
        raise NotImplementedError

    def in_use(self) -> bool:
        """Tell whether a caller waits for it."""
        return True

    def known(self) -> Known:
        """Return the processes that the host has asked for."""
        return Known(None, (), 0)

    def period(self) -> Period:
        """Return what its figures are of at the moment."""
        return Period(None)

    def files(self) -> tuple[Workspace | None, Collection[int]]:
        """Return its workspace, and all processes that may have something of it open."""
        raise NotImplementedError

    def group(self) -> Group | None:
        """Return its control group, if it has one whose CPU time is all its own."""
        return None

    def total_cpu(self) -> float | None:
        """Return CPU seconds of all its processes by its control group, if it has one."""
        try:
            return None if (group := self.group()) is None else group.cpu_seconds()
        except OSError:
            return None

    def check_progress(self) -> Verdict | None:
        """Return the verdict on a fork that waits for the host, and on a late step whose caller is busy."""
        return None

    def check_files(self) -> Verdict | None:
        """Return the verdict on files and streams: what its processes do not tell."""
        return self.room.count()

    def exceed(self, verdict: Verdict, hostile: Collection[int]) -> None:
        """End what uses too much. `hostile`: processes to end with the runner."""
        raise NotImplementedError
