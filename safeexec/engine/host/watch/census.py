"""The processes that there are, by lineage: found by looking at the machine, without the help of any of them.

What the machine shows is handed in (`Machine`). A lineage is a kernel session: no member can leave it where
setsid is refused, so whoever forks, a thread, an orphan, the child of one that has ended, belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from msgspec import Struct

from safeexec.engine.linux import processes

LARGEST_RANGE = 1000
"""Numbers that are looked up one by one. Where more were given out since the last look, listing is cheaper."""
LIST_SECONDS = 1.0
"""How often all processes are listed although the numbers show every birth: in a container somebody else may make up
what ``/proc/loadavg`` says.
"""


class Birth(NamedTuple):
    """The time of birth, which tells a process from a later one of the same number, and who forked it."""

    parent: int
    start: int


class Machine:
    """Shows the kernel's facts about processes, by ``/proc`` and its clocks. Every method answers for a process
    that has ended meanwhile. No right is needed but for `shares`.
    """

    def __init__(self) -> None:
        with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
            self._limit = int(file.read())
        self.pids: Callable[[], Iterable[int]] = processes.pids
        """Returns every process."""
        self.session_of: Callable[[int], int | None] = processes.session_of
        """Returns the kernel session of a process or a thread; None: there is none of that number."""
        self.cpu_seconds: Callable[[int], float | None] = processes.cpu_seconds
        """Returns CPU time of all threads; None when it has gone, and for the number of a thread."""
        self.resident: Callable[[int], int] = processes.anonymous_memory
        """Returns bytes in memory that no file backs."""
        self.headless: Callable[[int], bool] = processes.is_headless
        """Return whether threads go on though the first one has ended: nobody sees the memory of that process."""
        self.shares: Callable[[int], int | None] = processes.proportional_memory
        """Returns bytes in memory, each page divided by its number of holders; None where nobody may ask. Slow."""

    def newest(self) -> int:
        """Return the number given out last, to a process or a thread."""
        with open("/proc/loadavg", "rb", buffering=0) as file:
            return int(file.read().rpartition(b" ")[2])

    def limit(self) -> int:
        """Return the number above which they begin anew."""
        return self._limit

    def birth(self, pid: int) -> Birth | None:
        stat = processes.process_stat(pid)
        return None if stat is None else Birth(stat.ppid, stat.start)


class Process(Struct, eq=False):
    """A member of a lineage as the last looks have found it. Times in seconds, sizes in bytes."""

    pid: int
    parent: int
    """The process that forked it; the nearest ancestor that lives, as long as looks have seen those between."""
    start: int
    looks: int = 0
    cpu: float = 0.0
    spent: float = 0.0
    """CPU time since the look before."""
    worked: float = 0.0
    """CPU time that a frozen copy has used since it was first seen."""
    held: int = 0
    first: int = 0
    """Bytes that it held when it was first seen: of a fork, nearly all is its parent's, too."""
    headless: bool = False
    """True where threads go on though its first one has ended."""


class Census:
    """The members of every lineage that is watched."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._newest = 0
        self._listed = float("-inf")
        self.lineages: dict[int, dict[int, Process]] = {}

    def watch(self, leader: int) -> None:
        """Count the lineage of the process `leader` from now on."""
        self.lineages[leader] = {}
        self._enter(leader)

    def forget(self, leaders: Collection[int]) -> None:
        """Count these no more."""
        for leader in leaders:
            self.lineages.pop(leader, None)

    def find(self, now: float) -> None:
        """Enter who was born since the last call. Costs as much as there were births on the machine, not processes.

        Numbers are given out upwards and begin anew at the limit, so a birth is missed only if all numbers were given
        out between two calls.
        """
        newest, last = self._machine.newest(), self._newest
        self._newest = newest
        count = (newest - last) % self._machine.limit()
        if now - self._listed >= LIST_SECONDS or count > LARGEST_RANGE:
            self._listed = now
            known = {pid for members in self.lineages.values() for pid in members}
            for pid in self._machine.pids():
                # A number that was given out since then may be another process's than the known one.
                if pid not in known or (pid - last - 1) % self._machine.limit() < count:
                    self._enter(pid)
        else:
            for number in range(last + 1, last + 1 + count):
                self._enter(number % self._machine.limit())

    def _enter(self, pid: int) -> None:
        members = self.lineages.get(self._machine.session_of(pid))  # type: ignore[arg-type]
        if members is None:
            return
        birth = self._machine.birth(pid)
        known = members.get(pid)
        if birth is None or self._machine.cpu_seconds(pid) is None or (known and known.start == birth.start):
            return
        members[pid] = Process(pid, *birth)

    def measure(self, leader: int) -> list[Process]:
        """Return those that live of a lineage, with the clock of each, and the memory of those that have run."""
        members, machine = self.lineages[leader], self._machine
        ended: dict[int, int] = {}
        for pid, process in members.items():
            cpu = machine.cpu_seconds(pid)
            if cpu is None:
                ended[pid] = process.parent
                continue
            process.spent = cpu - process.cpu
            process.cpu = cpu
            process.looks += 1
            if process.spent or process.looks == 1:
                process.held = machine.resident(pid)
                process.headless = not process.held and machine.headless(pid)
                if process.looks == 1:
                    process.first = process.held
        if ended:
            for pid in ended:
                del members[pid]
            for process in members.values():
                while process.parent in ended:
                    process.parent = ended[process.parent]
        return list(members.values())


def owner_of(process: Process, members: dict[int, Process], known: dict[int, int]) -> int | None:
    """Return whose a process is; `known`: the owners of those that the host requested. None for orphans."""
    pid = process.pid
    for _ in range(len(members) + 1):
        if pid in known:
            return known[pid]
        if pid not in members:
            return None
        pid = members[pid].parent
    return None
