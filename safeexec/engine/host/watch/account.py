"""The account of one session: what it has used since its step began, or since it has been idle, and what it may use.

An account is pure: figures and times are handed in. A `Subject` is who has one. The first verdict on a step stands; the
step's caller carries it out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.host.watch.bill import Bill
from safeexec.engine.host.watch.census import Process
from safeexec.engine.host.watch.room import Room
from safeexec.engine.host.watch.verdict import Verdict

if TYPE_CHECKING:
    from safeexec.engine.host.files.workspace import Workspace
    from safeexec.engine.linux.cgroups import Group
    from safeexec.engine.policy.model import Limits

MOST_UNORDERED_FORKS = 64
"""Forks that the host has not requested, of a session that may have none: in one step, or during one rest."""
GROWTH_BYTES = 16 << 20
"""By how much a frozen copy may grow, which only waits."""
WORKED_SECONDS = 0.25
"""CPU time of a frozen copy that does more than wait: to be made takes it 1 ms, to be resumed 2.5 ms."""
EXACT_SECONDS = 1.0
"""How often memory is counted page by page: 14 ms per GB of a process."""


class OrderedProcesses(NamedTuple):
    """The processes of a session that the host has requested."""

    runner: int | None
    copies: Collection[int]
    """The frozen copies that have announced themselves."""
    promised: int
    """How many more are requested of the runner."""


class Period(NamedTuple):
    """The time that the figures are of: a step, another use of the session, or the rest after one."""

    key: object
    """Tells one period from the next."""
    runner: int | None = None
    """The process in which it began, having used `cpu` seconds; by default as the last look found it."""
    cpu: float = 0.0


ProportionalMemory = Callable[[Collection[int]], "int | None"]
"""Bytes that processes hold together, each page divided by the number of its holders; None where nobody may ask."""


class AtBeginning(NamedTuple):
    """The figures of an account when its period began."""

    runner: int | None = None
    runner_cpu: float = 0.0
    others_cpu: float = 0.0
    forks: int = 0
    host_cpu: float = 0.0


class Account:
    """The figures of one session, or of one command. CPU time is in seconds."""

    def __init__(self, limits: Limits, bill: Bill | None = None, *, forks: bool = False) -> None:
        """`bill`: what it costs the host. `forks`: its processes may start others, as many as the kernel allows."""
        self._limits = limits
        self._bill = bill or Bill()
        self._forks = forks or limits.processes > 0
        self._period: object = None
        self._begun = AtBeginning()
        self.inherited_bytes = 0
        """Memory that its first process was born with, which no limit counts."""
        # As of the last look:
        self._runner: int | None = None
        self._runner_cpu = 0.0
        self._runner_held = 0
        self._others_cpu = 0.0
        """That of all but the runner, those that have ended included."""
        self._counted_cpu = 0.0
        """That of all processes that a look has found, since there is an account."""
        self._missed_cpu = 0.0
        """That of processes which no look has found: only the control group knows."""
        self._group_before: float | None = None
        """CPU seconds that the control group had counted before the first look at it."""
        self._unordered_forks = 0
        self._guests: list[Process] = []
        """Forks of guest code."""
        self._copies: list[Process] = []
        self._headless: list[int] = []
        self._growth = 0
        """Bytes that ordered processes beside the runner hold beyond those at their first look."""
        self._exact_at = float("-inf")
        """Monotonic time when memory was last counted page by page."""
        self.ran = False
        """True if any of its processes has run since the look before."""
        self.uncounted = False
        """True while its memory may be too much, and waits for its turn to be counted exactly."""

    def begin(self, period: Period) -> None:
        """Count for `period` from now on. What others than the runner used since the last look counts in it."""
        key, runner, cpu = period
        if key == self._period:
            return
        self._period = key
        if runner is None:
            runner, cpu = self._runner, self._runner_cpu
        others = self._others_cpu + self._missed_cpu
        self._begun = AtBeginning(runner, cpu, others, self._unordered_forks, self._bill.cpu)

    def take(self, members: Iterable[Process], ordered: OrderedProcesses, total: float | None = None) -> None:
        """Take in what a look has found. `total`: CPU seconds of the control group, with processes that no look saw."""
        runner, copies, promised = ordered
        if runner != self._runner:
            self._runner, self._runner_cpu, self._runner_held = runner, 0.0, 0
        self._guests, self._copies, self._headless, self._growth, self.ran = [], [], [], 0, False
        for process in members:
            if process.headless:
                self._headless.append(process.pid)
            self._counted_cpu += process.spent
            self.ran = self.ran or process.spent > 0
            if process.pid == runner:
                self._runner_cpu, self._runner_held = process.cpu, process.held
                continue
            self._others_cpu += process.spent
            if process.pid in copies or process.parent in copies:
                # The child of a copy is a runner to be.
                process.worked += process.spent if process.looks > 1 else 0.0
                self._copies.append(process)
            elif promised and process.parent == runner:
                promised -= 1
            else:
                self._unordered_forks += process.looks == 1
                self._guests.append(process)
                continue
            self._growth += max(0, process.held - process.first)
        if total is None:
            self._group_before = None
        elif self._group_before is None:
            self._group_before = total - self._counted_cpu - self._missed_cpu
        else:
            self._missed_cpu = max(self._missed_cpu, total - self._group_before - self._counted_cpu)

    @property
    def cpu_seconds(self) -> float:
        """CPU time since `begin`, of its processes and of the host for it."""
        own = self._runner_cpu - (self._begun.runner_cpu if self._runner == self._begun.runner else 0.0)
        return max(0.0, own) + self._others_cpu + self._missed_cpu - self._begun.others_cpu + self.host_seconds

    @property
    def total_seconds(self) -> float:
        """All CPU time so far, as of the last look, and of the host for it."""
        return self._counted_cpu + self._missed_cpu + self._bill.cpu

    @property
    def host_seconds(self) -> float:
        """CPU time of the host since `begin`, to read what its processes say."""
        return self._bill.cpu - self._begun.host_cpu

    def check_limits(self, now: float, exact: ProportionalMemory) -> Verdict | None:
        """Return the first limit that is passed, if any."""
        limits = self._limits
        if (cpu := self.cpu_seconds) > limits.cpu_seconds:
            host = self.host_seconds
            part = f", {host:.1f} s of it in the host, to read what it sent" if host > cpu / 10 else ""
            return Verdict(
                "cpu", f"the session used {cpu:.1f} s of CPU time{part}; limits.cpu_seconds is {limits.cpu_seconds:g}"
            )
        if (forks := self._unordered_forks - self._begun.forks) > MOST_UNORDERED_FORKS and not self._forks:
            return Verdict("violation", f"the session started {forks} processes; limits.processes is 0")
        if self._headless:
            message = "a process went on without its first thread: nobody can count its memory and files"
            return Verdict("violation", message, rule="limits.memory_mb")
        held = self._held(now, exact) >> 20
        if held > limits.memory_mb:
            return Verdict("memory", f"the session holds {held} MiB; limits.memory_mb is {limits.memory_mb}")
        return None

    def _held(self, now: float, exact: ProportionalMemory) -> int:
        """Return bytes, without what frozen copies share with the runner. Where the host may not ask for the exact
        figure: at least what the limit counts.
        """
        own = max(0, self._runner_held - self.inherited_bytes) + self._growth
        # A fork holds its parent's pages, too. One that was born just now may be gone, or known, by the next look.
        guests = [process for process in self._guests if process.looks > 1]
        most = own + sum(process.held for process in guests)
        self.uncounted = False
        if not guests or most >> 20 <= self._limits.memory_mb:
            return most
        if now - self._exact_at < EXACT_SECONDS:
            self.uncounted = True
            return own
        self._exact_at = now
        counted = [process.pid for process in guests] + ([self._runner] if self._runner is not None else [])
        shares = exact(counted)
        if shares is None:
            return most
        # What the first process was born with is shared with the zygote and the copies, too.
        born = self.inherited_bytes * len(counted) // (len(counted) + len(self._copies) + 1)
        return max(own, shares - born + self._growth)

    def guests(self) -> list[int]:
        """Return the processes that guest code has forked, as far as the last look has found them."""
        return [process.pid for process in self._guests]

    def processes_to_end(self) -> list[int]:
        """Return what to end with the runner: what nobody can count, forks of guest code, frozen copies that do more
        than wait.
        """
        worked = min(WORKED_SECONDS, self._limits.cpu_seconds / 4)
        busy = [copy for copy in self._copies if copy.held - copy.first > GROWTH_BYTES or copy.worked > worked]
        return [*self._headless, *(process.pid for process in (*self._guests, *busy))]


class Subject:
    """A session or command that is watched. Its methods are called from the accountant's thread and do not wait."""

    def __init__(self, limits: Limits, bill: Bill | None = None, *, forks: bool = False) -> None:
        """`bill`, `forks`: as of `Account`."""
        self.account = Account(limits, bill, forks=forks)
        self.room = Room(limits, self.files)
        self.idle = False
        """True while the next look may be far away. Whoever begins to use it, and finds that, calls `Rotation.wake`."""

    def lineage_leaders(self) -> Collection[int]:
        """Return the first process of each lineage that it has processes of."""
        raise NotImplementedError

    def in_use(self) -> bool:
        """Return whether a caller waits for it."""
        return True

    def ordered(self) -> OrderedProcesses:
        """Return the processes that the host has requested."""
        return OrderedProcesses(None, (), 0)

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
        """Return the verdict on files and streams, which its processes do not show."""
        return self.room.count()

    def exceed(self, verdict: Verdict, hostile: Collection[int]) -> None:
        """End what uses too much. `hostile`: processes to end with the runner."""
        raise NotImplementedError
