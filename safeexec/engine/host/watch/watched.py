"""A session as the accountant sees it, from a thread of its own: what it has, and how it is ended."""

from __future__ import annotations

import weakref
from collections.abc import Collection
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.host.watch.account import OrderedProcesses, Period, Subject
from safeexec.engine.host.watch.accountant import accountant
from safeexec.engine.host.watch.verdict import Verdict
from safeexec.engine.linux import processes
from safeexec.protocol.plan import OUTPUT_CEILING

if TYPE_CHECKING:
    from typing import Protocol

    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.host.session.files import SessionFiles
    from safeexec.engine.host.session.processes import SessionProcesses
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.session.turns import Turns
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Policy

    class Watchable(Protocol):
        """A session, as it is looked at."""

        policy: Policy
        turns: Turns
        supervisor: Supervisor
        files: SessionFiles

        @property
        def processes(self) -> SessionProcesses: ...
        @property
        def closed(self) -> bool: ...


STREAMS_KB = 4 << 10
"""KiB that the files behind both streams may hold beyond their ceilings: areas that are empty, pages that are begun."""


RESTLESS_LOOKS = 3
"""Looks in a row at which the first thread of a process has worked that has nothing to do."""


class Resting(NamedTuple):
    """The looks at a process that waits for a request."""

    of: object = None
    spent: float = 0.0
    looks: int = 0
    """At how many looks in a row it had worked since the one before."""

    def look(self, of: object, spent: float) -> Resting:
        if of != self.of:
            return Resting(of, spent)
        return Resting(of, spent, self.looks + 1 if spent > self.spent else 0)


class WatchedSession(Subject):
    """A session, as it is looked at. It keeps no session alive."""

    def __init__(self, session: Watchable) -> None:
        super().__init__(session.policy.limits, session.processes.bill)
        self._session = weakref.ref(session)
        self.accountant = accountant()
        self._resting = Resting()

    def open(self) -> None:
        """Have the watch look at it from now on."""
        self.accountant.add(self)

    def wake(self) -> None:
        """Have the watch look at it soon: it is in use, and was found `idle`."""
        self.accountant.hurry(self)

    def close(self) -> None:
        self.accountant.remove(self)

    def lineage_leaders(self) -> Collection[int]:
        session = self._session()
        return session.processes.leaders() if session is not None and not session.closed else ()

    def ordered(self) -> OrderedProcesses:
        if (session := self._session()) is None:
            return OrderedProcesses(None, (), 0)
        own = session.processes
        self.account.inherited_bytes = own.memory_base or 0
        frozen = [copy.pid() for copy in own.copies.all()]
        copies = {pid for pid in frozen if pid is not None}
        return OrderedProcesses(own.runner_pid(), copies, frozen.count(None) + session.supervisor.forks_requested)

    def in_use(self) -> bool:
        session = self._session()
        return session is not None and session.turns.in_use

    def period(self) -> Period:
        """Return the step that runs, or else the use or the rest that goes on."""
        session = self._session()
        if session is None:
            return Period(None)
        step = session.supervisor.doing
        if step is not None and not step.closed:
            return Period(step.watch.started, step.runner_pid, step.watch.cpu_start)
        return Period((session.turns.used, session.turns.in_use))

    def group(self) -> Group | None:
        session = self._session()
        return None if session is None or session.supervisor.command is not None else session.processes.group

    def check_progress(self) -> Verdict | None:
        session = self._session()
        if session is None or session.closed:
            return None
        return self._unrequested_fork(session) or session.supervisor.overdue() or self._goes_on(session)

    def _goes_on(self, session: Watchable) -> Verdict | None:
        """Return the verdict on a process that works though it has answered: its first thread does nothing but wait
        then, and for the threads that guest code may leave there is `limits.cpu_seconds`.
        """
        runner, turns, limits = session.processes.runner, session.turns, session.policy.limits
        key, _, _ = self.period()
        if turns.in_use or runner is None or runner.pid is None or monotonic() - turns.used < limits.wall_seconds:
            self._resting = Resting()
            return None
        if (spent := processes.main_thread_seconds(runner.pid)) is None:
            return None
        self._resting = self._resting.look((key, runner.pid), spent)
        if self._resting.looks < RESTLESS_LOOKS:
            return None
        return Verdict(
            "timeout",
            f"code of a step went on {limits.wall_seconds:g} s (limits.wall_seconds) after its end was reported",
        )

    def _unrequested_fork(self, session: Watchable) -> Verdict | None:
        """Return the verdict on a fork that waits and that the host has not requested. A process that is none of the
        lineage's own, or only a frozen copy, is ended instead.

        The main thread of a runner that has answered makes the checkpoint of it. Whoever uses the session announces
        that fork as soon as the answer is read.
        """
        runner, gate = session.processes.runner, session.processes.children.gate
        if runner is None:
            return None
        for fork in gate.waiting(runner.lineage.leader):
            if fork.process != runner.pid:
                if fork.process not in runner.lineage.runners():  # else the look at its own session judges it
                    gate.kill(fork)
                continue
            channel = runner.channel
            unrequested = fork.thread != fork.process or (
                channel.all_read() and (channel.at_work or not session.turns.in_use)
            )
            if unrequested and gate.waits(fork):
                allowed, rule = session.policy.limits.processes, session.policy.origin("limits.processes")
                return Verdict(
                    "violation",
                    f"guest code started {'a process' if not allowed else 'one process too many'}; "
                    f"limits.processes is {allowed}{f' ({rule})' if rule else ''}",
                    rule="limits.processes",
                )
        return None

    def check_files(self) -> Verdict | None:
        session = self._session()
        if session is None or session.closed:
            return None
        limits, own = session.policy.limits, session.processes
        try:
            held = own.output.held() >> 10
        except OSError:
            held = 0
        if held > (ceiling := limits.output_kb * OUTPUT_CEILING * 2 + STREAMS_KB):
            message = f"the streams of the session hold {held} KiB"
            sum_of = f"two times {OUTPUT_CEILING} x limits.output_kb, and {STREAMS_KB}"
            return Verdict("output", f"{message}; {ceiling} KiB ({sum_of}) end a step")
        return self.room.count()

    def files(self) -> tuple[Workspace | None, Collection[int]]:
        session = self._session()
        runner, copies, _ = self.ordered()
        pids = {*copies, *self.account.guests(), *([runner] if runner is not None else [])}
        return None if session is None else session.processes.workspace, pids

    def exceed(self, verdict: Verdict, hostile: Collection[int]) -> None:
        """Have whoever drives a step end it. Where nobody does, its processes end here; the next user restores it."""
        session, leaders = self._session(), self.lineage_leaders()
        if session is None or session.supervisor.exceed(verdict):
            return
        self.account.begin(Period(object()))  # what is left, if anything, has a budget of its own
        for pid in (*hostile, session.processes.runner_pid()):
            for leader in leaders:
                if pid is not None:
                    processes.kill_member(pid, leader)
