"""A machine of a script's making: processes that fork, run, grow and end, and the truth about them."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from safeexec.engine.host.watch.census import Birth

FIRST = 300
ACTIONS = st.sampled_from(["fork", "fork-exit", "double-fork", "thread", "end", "run", "stranger", "look"])


class ScriptedProcess:
    def __init__(self, pid: int, parent: int, session: int, start: int, held: int) -> None:
        self.pid, self.parent, self.session, self.start, self.held = pid, parent, session, start, held
        self.cpu = 0.0


class ScriptedMachine:
    """Numbers are given out upwards, to threads as well, and begin anew at `last`."""

    def __init__(self, last: int = 32768) -> None:
        self.living: dict[int, ScriptedProcess] = {}
        self.threads: dict[int, int] = {}
        self.used: dict[int, float] = {}
        """CPU seconds by session, with what has ended."""
        self.beheaded: set[int] = set()
        """Processes whose first thread has ended before others."""
        self.readable = True
        self.listed = 0
        self._last = last
        self._newest = FIRST - 1
        self._births = 0

    # The script

    def leader(self, held: int = 0) -> int:
        pid = self._number()
        self.living[pid] = ScriptedProcess(pid, 1, pid, self._births, held)
        self.used[pid] = 0.0
        return pid

    def fork(self, parent: int) -> int:
        """By any of its threads: the kernel tells the process alone."""
        pid, by = self._number(), self.living[parent]
        self.living[pid] = ScriptedProcess(pid, parent, by.session, self._births, by.held)
        return pid

    def thread(self, pid: int) -> None:
        self.threads[self._number()] = pid

    def run(self, pid: int, seconds: float) -> None:
        self.living[pid].cpu += seconds
        self.used[self.living[pid].session] += seconds

    def end(self, pid: int) -> None:
        """Its children fall to process 1."""
        del self.living[pid]
        self.threads = {thread: of for thread, of in self.threads.items() if of != pid}
        for process in self.living.values():
            if process.parent == pid:
                process.parent = 1

    def members(self, session: int) -> dict[int, ScriptedProcess]:
        return {pid: process for pid, process in self.living.items() if process.session == session}

    def _number(self) -> int:
        self._births += 1
        while True:
            self._newest = self._newest + 1 if self._newest + 1 < self._last else FIRST
            if self._newest not in self.living and self._newest not in self.threads:
                return self._newest

    # What it shows

    def newest(self) -> int:
        return self._newest

    def limit(self) -> int:
        return self._last

    def pids(self) -> Iterable[int]:
        self.listed += 1
        return list(self.living)

    def session_of(self, pid: int) -> int | None:
        process = self.living.get(self.threads.get(pid, pid))
        return None if process is None else process.session

    def birth(self, pid: int) -> Birth | None:
        process = self.living.get(self.threads.get(pid, pid))
        return None if process is None else Birth(process.parent, process.start)

    def cpu_seconds(self, pid: int) -> float | None:
        process = self.living.get(pid)
        return None if process is None else process.cpu

    def resident(self, pid: int) -> int:
        return self.living[pid].held if pid in self.living and pid not in self.beheaded else 0

    def headless(self, pid: int) -> bool:
        return pid in self.beheaded

    def shares(self, pid: int) -> int | None:
        return self.resident(pid) // 2 if self.readable else None


def act(machine: ScriptedMachine, leader: int, action: str, choice: int) -> None:
    """One thing that happens in a lineage whose leader lives on; `choice` picks the member."""
    members = sorted(machine.members(leader))
    pid = members[choice % len(members)]
    if action == "fork":
        machine.fork(pid)
    elif action == "fork-exit" and pid != leader:
        machine.fork(pid)
        machine.end(pid)
    elif action == "double-fork":
        machine.fork(child := machine.fork(pid))
        machine.end(child)
    elif action == "thread":
        machine.thread(pid)
    elif action == "end" and pid != leader:
        machine.end(pid)
    elif action == "run":
        machine.run(pid, 0.25)
    elif action == "stranger":
        machine.run(machine.leader(), 0.25)
