"""The processes of a session and of all its branches, and how they end: the runner and its orphans, not the copies."""

from __future__ import annotations

import os
import signal
import weakref
from collections.abc import Callable, Collection
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from safeexec.engine.host.patience import patient
from safeexec.engine.host.waiting import Core, Wait, given_up
from safeexec.engine.host.watch import control_groups
from safeexec.engine.linux import processes

if TYPE_CHECKING:
    from safeexec.engine.host.session.channel import Channel
    from safeexec.engine.host.watch.gate import ForkGate
    from safeexec.engine.linux.cgroups import Group

KILL_SECONDS = 5.0
"""How long a killed process may take to be gone: tearing down 4 GB took 0.4 s."""


class Lineage:
    """The processes of a session and of all its branches: one kernel session, one process group.

    Children may neither leave the group nor start one (seccomp refuses setsid and setpgid), so the group is exactly
    what descends from the first child, orphans of an escaped guest included.
    """

    __slots__ = ("__weakref__", "_gate", "_leader_fd", "_reapers", "groups", "leader", "sessions")

    def __init__(self, leader: Channel, reapers: tuple[int, ...], gate: ForkGate) -> None:
        assert leader.pid is not None
        self.leader = leader.pid
        """The kernel session of all its processes: the pid of its first child."""
        self._leader_fd = os.dup(leader.pidfd)  # names the group also when its first process has ended
        self._reapers = reapers
        self._gate = gate
        self.sessions: set[LineageMember] = set()
        self.groups: list[Group] = []
        """The control groups of its sessions. A copy that a branch needs may lie in the group of one that is closed."""

    def end_runner(self, runner: Channel, owner: LineageMember) -> Core[None]:
        """Kill the runner of `owner` and every fork that it left behind, and wait until the runner runs no more, for
        `KILL_SECONDS` at most. Where orphans could not be told from the rest in time, the whole group is killed.
        """
        self._gate.withdraw(runner.pid)
        with self._gate.stopping(self.leader):
            # The group stands still, so that what the runner has forked takes no processor from its end: 20 endless
            # loops on two cores delayed it by 4 ms, and up to 60. A stop makes each fork that waits at the gate ask
            # again: the gate hears of that before they go on; once more for those that were announced in between; and
            # after the end of the orphans, which stops the group, too.
            try:  # around the signal too: an interrupt right after it would leave the copies stopped
                processes.signal_group(self._leader_fd, self.leader, signal.SIGSTOP)
                runner.kill()
                yield from runner.wait_exiting(monotonic() + patient(KILL_SECONDS))
            finally:
                self._gate.interrupted(self.leader)
                processes.signal_group(self._leader_fd, self.leader, signal.SIGCONT)
                self._gate.interrupted(self.leader)
            yield from owner.discover_copies()
            swept = processes.end_orphans(
                self._leader_fd, self.leader, lambda: self._known(owner, runner.pid), self._reapers, runner.pid
            )
            self._gate.interrupted(self.leader)
            if not swept:
                processes.signal_group(self._leader_fd, self.leader, signal.SIGKILL)

    def _known(self, owner: LineageMember, ending: int | None) -> set[int] | None:
        """Return the processes that are no orphans; nor are their children: the next copy of a runner, a runner being
        resumed. `ending`, the runner of `owner`, is none of them: of its children the copies are known.

        None while another branch has lost its runner and its thread has not met the copies yet: they are orphans like
        any orphan. The sweep of that branch, soon, ends the orphans then.
        """
        members = list(self.sessions)
        if any(member.runner_died() for member in members if member is not owner):
            return None
        return {pid for member in members for pid in member.pids() if pid != ending}

    def runners(self) -> set[int | None]:
        """Return the processes that run steps, of all its sessions."""
        return {member.runner_pid() for member in list(self.sessions)}

    def room_for(self, most: int) -> Callable[[], bool]:
        """Return a function that says whether fewer than `most` processes of guest code are known to be alive."""

        weak = weakref.ref(self)  # the thread that calls it keeps no sandbox alive

        def has_room() -> bool:
            if (lineage := weak()) is None:
                return False
            known = {pid for member in list(lineage.sessions) for pid in member.pids()}
            try:
                return sum(stat.pid not in known for stat in processes.session_members(lineage.leader)) < most
            except OSError:  # no descriptor is left to look with
                return False

        return has_room

    def leave(self, member: LineageMember) -> None:
        """Take out a session that is closed. With the last one, everything that is left of the group ends."""
        self.sessions.discard(member)
        if not self.sessions and self._leader_fd >= 0:
            processes.signal_group(self._leader_fd, self.leader, signal.SIGKILL)
            self._gate.forget_lineage(self.leader)
            leader_fd, self._leader_fd = (
                self._leader_fd,
                -1,
            )  # before the close, which an interrupt may come right after
            os.close(leader_fd)
            for group in self.groups:
                control_groups.give_up(group)


class LineageMember(Protocol):
    """A session, as far as the end of its processes needs it. Called from the threads of other branches, too."""

    def runner_pid(self) -> int | None: ...
    def runner_died(self) -> bool: ...
    def discover_copies(self) -> Core[None]: ...
    def pids(self) -> Collection[int]: ...


def wait_and_close(pidfds: list[int]) -> Core[None]:
    """Wait until the processes of these pidfds have gone, and close them; where nobody drives the core any more, these
    alone.
    """
    deadline = monotonic() + patient(KILL_SECONDS)
    try:
        for process in () if given_up() else pidfds:
            yield Wait((process,), deadline)
    finally:
        for process in pidfds:
            os.close(process)
