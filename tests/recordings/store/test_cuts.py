"""Calls of tools keep their key wherever the store and its host are cut off, and what is lost is told.

The store is in memory. Each of its answers, and each call of a tool, is a place to cut: the store does what it was
asked and its answer is lost, it does not, the host is killed, or the machine with all that was not on its disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from safeexec import Sandbox, tool
from safeexec.engine.host.waiting import drive
from safeexec.errors import SandboxError, StoreError
from safeexec.recordings.store import StoreOptions
from safeexec.recordings.store.interface import Claim, StoredSession

STEPS = ["a = pay(1)\ndone = 1", "import time\nt = time.time()\nb = pay(a + 1)\nc = pay(b + 1)\ndone = 2"]
DEADLY = ["killed", "power"]
CUTS = ["refused", "unanswered", *DEADLY]


class Memory:
    """What was written, and how much of that is on a disk."""

    def __init__(self, cuts: dict[int, str] | None = None, later: int = 0) -> None:
        self.written: list[tuple[str, int, bytes | None]] = []
        """Part, place and bytes of each append; None: the part was removed."""
        self.on_disk = self.owners = self.count = 0
        self.cuts = cuts or {}
        """What happens at which of its answers, and of the calls of tools."""
        self.later = later
        """So many answers after the first saved state, whose answer is lost, the host is killed. 0: neither."""

    def parts(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for part, at, data in self.written:
            if data is None:
                found.pop(part, None)
            else:
                found[part] = found.get(part, b"")[:at] + data
        return found


class MemoryStore:
    """What one host sees of it."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.dead = memory, False
        self.options = StoreOptions(at="memory")

    def cut(self, write: tuple[str, int, bytes | None] | None = None, sync: bool = False) -> None:
        """Do what is asked, and what happens then. Raises `StoreError`."""
        memory = self.memory
        if self.dead:
            raise StoreError("the host is dead")
        memory.count += 1
        if memory.later and write is not None and write[:2] == ("000002.jsonl", 0):
            memory.cuts = {memory.count: "unanswered", memory.count + memory.later: "killed"}
            memory.later = 0
        cut = memory.cuts.get(memory.count, "")
        if write is None and cut not in DEADLY:
            return
        if write is not None and cut != "refused":
            memory.written.append(write)
            memory.on_disk = len(memory.written) if sync else memory.on_disk
        if cut == "power":
            del memory.written[memory.on_disk :]
        self.dead = cut in DEADLY
        if cut:
            raise StoreError(cut)

    def claim(self, label: str) -> Claim:
        self.memory.owners += 1
        parts = {part: len(data) for part, data in self.memory.parts().items()}
        return Claim(label, self.memory.owners, parts)

    def release(self, claim: Claim) -> None: ...

    def append(self, claim: Claim, part: str, at: int, data: bytes, *, sync: bool = False) -> None:
        self.cut((part, at, data), sync)

    def read(self, claim: Claim, part: str) -> Iterator[bytes]:
        yield self.memory.parts()[part]

    def list(self) -> Iterator[StoredSession]:
        yield from ()

    def remove(self, claim: Claim, part: str | None = None) -> None:
        assert part is not None
        self.cut((part, 0, None))

    def close(self) -> None: ...

    def forget(self) -> None: ...


class Runs:
    """Runs the steps, on as many hosts as it takes: one sandbox stands for them all."""

    def __init__(self, durable: Any) -> None:
        @tool(idempotent=True)
        def pay(number: int, effect_key: str) -> int:
            self.paid.append((number, effect_key))
            self.store.cut()
            return number

        self.paid: list[tuple[int, str]] = []
        self.store = MemoryStore(Memory())
        self.sandbox = Sandbox("calculator", tools=[pay], store=os.devnull, durable=durable)

    def check(self, memory: Memory) -> None:
        """Each call has one key, and no other call has it."""
        self._endure(memory)
        keys = {number: {key for one, key in self.paid if one == number} for number in (1, 2, 3)}
        assert [len(of_one) for of_one in keys.values()] == [1, 1, 1], (memory.cuts, keys)
        assert len(set.union(*keys.values())) == 3, (memory.cuts, keys)

    def _endure(self, memory: Memory) -> None:
        self.paid.clear()
        over = False
        while not over:
            core: Any = self.sandbox._core
            self.store = core.store = MemoryStore(memory)
            while not over and not self.store.dead:
                with suppress(SandboxError):
                    over = self._go_on()
            for session in core.sessions.of_callers():
                with suppress(StoreError):  # its last steps may be lost
                    drive(session.close())

    def _go_on(self) -> bool:
        session = self.sandbox.session_for("ada")
        done = session.get("done", 0)
        while done < len(STEPS):
            result = session.run(STEPS[done])
            if self.store.dead:
                return False
            if result.ok:
                done += 1
                turns: Any = session._core.turns
                drive(turns.attend(partial(turns.durable.flush, session._core)))  # as while it is idle
                result = session.run("1 / 0")  # the numbers of steps are not those of what is done
            if result.outcome != "error":  # what is run next is the step that was lost: so its calls are known
                done = session.get("done", 0)
        assert (session.get("a"), session.get("b"), session.get("c")) == (1, 2, 3)
        return not self.store.dead


@pytest.fixture
def runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr("safeexec.engine.host.watch.idle.TICK_SECONDS", 600.0)
    monkeypatch.setattr("safeexec.recordings.store.open_store", lambda _: MemoryStore(Memory()))
    made = Runs(request.param)
    with made.sandbox:
        yield made


@pytest.mark.parametrize(
    ("runs", "every"),
    [("second", False), *(pytest.param(each, True, marks=pytest.mark.slow) for each in ("second", "step"))],
    indirect=["runs"],
)
def test_a_call_keeps_its_key_wherever_it_is_cut(runs: Runs, every: bool) -> None:
    """At each place in one of the four ways, in turn; in every one of them where slow tests run."""
    whole = Memory()
    runs.check(whole)
    for place in range(1, whole.count + 1):
        for cut in CUTS if every else [CUTS[place % len(CUTS)]]:
            runs.check(Memory({place: cut, place + 2: "killed"}))


@pytest.mark.parametrize("runs", ["second"], indirect=True)
def test_a_saved_state_of_which_its_host_was_not_told_is_left_alone(runs: Runs) -> None:
    for later in range(1, 10):
        runs.check(Memory(later=later))
