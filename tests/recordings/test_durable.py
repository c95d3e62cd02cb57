"""Sessions in a store: what comes back, in whichever process, and what is told to be lost."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import safeexec
from safeexec import Allow, AsyncSandbox, Later, Sandbox, Session, StepWaiting, tool
from safeexec.api.loops import Driver
from safeexec.engine.host.session import session as session_module
from safeexec.errors import (
    PolicyError,
    RecordingError,
    SandboxBusy,
    SandboxError,
    SessionClosed,
    StoreError,
)
from safeexec.recordings import format as form
from safeexec.recordings import writer
from safeexec.recordings.reader import Recording
from safeexec.recordings.store import StoreOptions, directory
from tests.conftest import OpenSandbox
from tests.engine.host.inside import may_rest
from tests.engine.linux.forked import exit_status
from tests.footprint import until
from tests.recordings.store.kills import below


async def test_a_session_whose_opening_was_cancelled_begins_as_any_other(tmp_path: Path) -> None:
    """At whichever of its waits."""
    async with AsyncSandbox("calculator", store=tmp_path) as sandbox:
        for waits in itertools.count(1):
            label, given = str(waits), {"namespace": {"x": 0}}
            opening = Driver(sandbox._core.session_for(label, None, given))
            if not all([await opening.go_on() for _ in range(waits)]):
                break
            await opening.interrupt(asyncio.CancelledError())
            async with sandbox.session_for(label, namespace={"x": 0}) as session:
                assert await session.get("x") == 0
        assert waits > 3


def test_a_session_that_could_not_be_opened_is_not_in_the_store(tmp_path: Path) -> None:
    with Sandbox("calculator", store=tmp_path, max_sessions=1) as sandbox:
        with sandbox.session_for("ada"):
            with pytest.raises(SandboxBusy):
                sandbox.session_for("bob", queue_seconds=0.0)
            with pytest.raises(PolicyError):
                sandbox.session_for("eve", memory_mb=10**9)
            assert [row.label for row in sandbox.stored()] == ["ada"]
        with pytest.raises(TypeError):
            sandbox.session_for("bob", namespace={"x": 1, "y": object()})
        assert [row.label for row in sandbox.stored()] == ["ada"]


def test_a_result_tells_what_it_took_to_bring_a_session_back_from_its_rest_or_from_the_store(tmp_path: Path) -> None:
    with Sandbox("standard", store=tmp_path) as sandbox:
        session = sandbox.session_for("ada")
        assert session.run("x = 1").usage.wake_ms == 0
        assert may_rest(session)
        assert session.run("x").usage.wake_ms > 0
        assert session.run("x").usage.wake_ms == 0
    with Sandbox("standard", store=tmp_path, idle_seconds=0.05) as sandbox:
        session = sandbox.session_for("ada")
        until(lambda: sandbox.stats().open == 0)
        assert session.run("x").usage.wake_ms > 0


def test_who_asks_for_a_session_as_it_is_closed_here_gets_it_when_that_is_done(tmp_path: Path) -> None:
    """What closes it has to wait for a tool: a second caller is not told that it is open elsewhere."""
    called, end, found = threading.Event(), threading.Event(), []

    def wait() -> None:
        called.set()
        end.wait()

    def use() -> None:
        with suppress(SessionClosed):
            session.run("wait()")

    with Sandbox("calculator", store=tmp_path, tools=[wait]) as sandbox:
        session = sandbox.session_for("ada", namespace={"x": 7})
        acts = (use, session.close, lambda: found.append(sandbox.session_for("ada")))
        threads = [threading.Thread(target=act) for act in acts]
        threads[0].start()
        called.wait()
        threads[1].start()
        until(lambda: session._core.closed)
        threads[2].start()
        threads[2].join(0.1)
        end.set()
        for thread in threads:
            thread.join()
        assert found[0].get("x") == 7


def test_who_uses_a_session_as_it_is_closed_here_is_told_that_whoever_has_it_then(tmp_path: Path) -> None:
    """It waits for its turn to come back from the store; meanwhile it is closed, and another process takes it."""
    end, told = threading.Event(), []

    def use() -> None:
        with pytest.raises(SessionClosed):
            session.run("1")
        told.append(True)

    options: dict[str, Any] = {"store": tmp_path, "idle_seconds": 0.05, "max_sessions": 1, "queue_seconds": 60.0}
    with Sandbox("calculator", tools={"wait": end.wait}, **options) as sandbox:
        session = sandbox.session_for("ada")
        until(lambda: not sandbox.stats().open)
        first = sandbox.session()
        threads = [threading.Thread(target=act) for act in (lambda: first.run("wait()"), use, session.close)]
        threads[0].start()
        until(lambda: sandbox.stats().busy == 1)
        threads[1].start()
        until(lambda: sandbox.stats().queued == 1)
        threads[2].start()
        until(lambda: session._core.closed)
        with Sandbox("calculator", store=tmp_path) as other, other.session_for("ada") as taken:
            end.set()
            for thread in threads:
                thread.join()
            assert told and taken.run("1").ok


async def test_who_removes_a_session_that_is_being_opened_here_waits_for_that(tmp_path: Path) -> None:
    async with AsyncSandbox("calculator", store=tmp_path) as sandbox:
        opening = Driver(sandbox._core.session_for("ada", None, {}))
        for _ in range(3):
            assert await opening.go_on()
        removing = asyncio.create_task(sandbox.forget("ada"))
        await asyncio.wait({removing}, timeout=0.1)
        while await opening.go_on():
            pass
        await removing
        assert opening.result.closed
        assert await sandbox.stored() == []


async def test_steps_that_are_cancelled_when_they_have_ended_are_told_by_the_next(tmp_path: Path) -> None:
    """Whatever they waited for then: two in a row, so that the second one takes what is told of the first."""
    async with (
        AsyncSandbox("calculator", store=tmp_path, durable="step") as sandbox,
        sandbox.session_for("ada", namespace={"x": 0}) as session,
    ):
        x, waits, ended, ever = 0, 0, False, 0
        while not ended:
            for _ in range(2):
                step = Driver(session._core.steps.run("x += 1", timeout=None, atomic=False))
                for _ in range(waits + 1):
                    ended = ended or not await step.go_on()
                if ended:
                    break
                await step.interrupt(asyncio.CancelledError())
            waits += 1
            result = await session.run("x")
            told = sum("had ended when it was cancelled" in note for note in result.notes)
            x, ever = x + told + ended, max(ever, told)
            assert result.value == x, (waits, result.notes)
        assert ever == 2


def stored(folder: Path, **options: Any) -> Sandbox:
    return Sandbox("calculator", store=folder / "store", **options)


class Tools:
    """Tools that note their calls. Some end the host that they are in, or put themselves off."""

    def __init__(self, note: Callable[[str], object], end_host: Callable[[], object] = bool) -> None:
        put_off: set[int] = set()

        def pay(amount: int) -> Any:
            if amount in range(7, 11) and amount not in put_off:
                put_off.add(amount)
                return Later("whoever pays")
            note(f"pay {amount}")
            if amount == 8 or amount > 100:
                end_host()
            return amount * 2

        @tool(idempotent=True)
        def book(seat: str, effect_key: str) -> str:
            note(f"book {seat} {effect_key}")
            end_host()
            return seat.upper()

        @tool(effect="deferred")
        def send(to: str | int) -> None:
            note(f"send {to}")
            if to == "last":
                end_host()

        @tool(undo=lambda value: end_host())
        def rent() -> None: ...

        self.all = [pay, book, send, rent]


def killed_host(folder: Path, acts: dict[str, Sequence[str | Callable[[Session], object]]], durable: Any) -> None:
    """Have a host do this with a session of each label, steps and other acts, and kill it when all have come to their
    end, or to a call that ends it. The calls are noted in a file of the label's name.
    """

    def host() -> None:
        ended = threading.Semaphore(0)

        def end_host() -> None:
            ended.release()
            threading.Event().wait()

        def note(call: str) -> None:
            with open(folder / threading.current_thread().name, "a") as file:
                print(call, file=file)

        def use(label: str) -> None:
            with suppress(Exception):
                session = sandbox.session_for(label)
                for act in acts[label]:
                    session.run(act) if isinstance(act, str) else act(session)
            ended.release()

        with stored(folder, durable=durable, tools=Tools(note, end_host).all) as sandbox:
            for label in acts:
                threading.Thread(target=use, args=(label,), name=label, daemon=True).start()
            for _ in acts:
                ended.acquire()
            os.kill(os.getpid(), signal.SIGKILL)

    assert exit_status(host) == -signal.SIGKILL


@pytest.fixture(scope="module")
def kept(_own_temporary_directory: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Sandbox, Path]]:
    """A sandbox with a store, and the folder of the sessions there: each test has one of its own label."""
    folder = tmp_path_factory.mktemp("kept")
    with stored(folder) as sandbox:
        yield sandbox, folder / "store" / "default"


def test_a_session_goes_on_where_it_was_closed(tmp_path: Path) -> None:
    with stored(tmp_path) as sandbox:
        sandbox.template("t", prepare="base = 40")
        with sandbox.session_for("bea", template="t") as session:
            session.run("x = base + 2").check()
        with sandbox.session_for("ada") as session:
            session.run("x = [1]\ndef f(n): return n + x[0]")
            session.set("rate", 0.5)
            session.run("y = x", namespace={"given": {"a": 1}})
        session = sandbox.session_for("ada")
        result = session.run("x.append(2)\nf(1), y, rate, given")
        assert (result.value, result.notes, result.step) == ((2, [1, 2], 0.5, {"a": 1}), (), 3)
    with stored(tmp_path) as sandbox:
        session = sandbox.session_for("ada")
        assert sandbox.session_for("bea").run("x, base").value == (42, 40), "a template is saved with the first state"
        assert session.run("f(1), y is x, rate").value == (2, True, 0.5)
        session.rollback(steps=2)
        assert session.run("y").value == [1]  # to undo a step of the process before


def test_files_are_part_of_the_state(tmp_path: Path) -> None:
    def opened() -> Sandbox:
        return Sandbox("confined-python", store=tmp_path / "store", durable="step", files={"given.txt": b"first"})

    with opened() as sandbox, sandbox.session_for("ada") as session:
        session.write_file("in.txt", b"7")
        session.run("x = int(open('in.txt').read())\nimport os\nos.remove('given.txt')\nopen('out.txt', 'w').write('')")
    with opened() as sandbox:
        with sandbox.session_for("ada") as session:
            assert session.list_files() == ["in.txt", "out.txt"]
            session.write_file("later.txt", b"9")
            assert session.run("x").value == 7
        assert sandbox.session_for("ada").list_files() == ["in.txt", "later.txt", "out.txt"]


def test_what_cannot_be_kept_is_told_before_it_is_missed(kept: tuple[Sandbox, Path]) -> None:
    with kept[0].session_for("unkept") as session:
        session.run("import time\nt = time.time()\ng = (n for n in range(3))\nnext(g)\nz = 3")
        session.checkpoint("clean")
    with kept[0].session_for("unkept") as session:
        result = session.run("z")
        assert result.value == 3
        assert any("'g' could not be kept: " in note for note in result.notes), result.notes
        assert any("clean cannot be gone back to" in note for note in result.notes), result.notes
        assert session.run("z").notes == ()


LOST = "import time\nt = time.time()\nx = pay(1)"
TWICE = "a = pay(1)\nb = pay(200)\na"
ACTS: dict[str, Sequence[str | Callable[[Session], object]]] = {
    "not ended": ["x = 1", "x = 2\npay(200)"],
    "run again": [TWICE],
    "another program": ["pay(1)\npay(200)"],
    "repeated": ["a = pay(1)\nb = book('last')\na, b"],
    "deferred": ["send('last')\nsend('ben')"],
    "rolled back": ["x = 1", "x = 2", Session.rollback],
    "amid a rollback": ["x = 1", "send(5)\nrent()\n1 / 0", Session.rollback, "1"],
    "led to by nothing": ["x = 1", LOST, Session.rollback, lambda session: session.set("y", 2)],
    "random": ["import random\nrandom.seed(4)\na = random.random()"],
    "waits": ["import random\ntotal = random.choice([1, 2, 3])", "total += 1\nreceipt = pay(7)\nreceipt"],
    "waits and sends": ["send(1)\npay(9)\nsend(2)"],
    "waits and is given up": ["send(1)\npay(10)\nsend(2)"],
    "carried out": ["x = pay(8)", lambda session: session.answer(Allow())],
}
"""What the host does with a session of each label before it is killed."""

NOT_AGAIN = "nobody knows what became of it: not called again"
FOUND: dict[str, tuple[str, object, list[str], list[str]]] = {
    "not ended": ("x", 1, ["step 2 had not ended", "pay(200) of step 2 was begun: nobody knows"], ["pay 200"]),
    "run again": (TWICE, None, ["pay(1) of step 1 was made, with the outcome ok", NOT_AGAIN], ["pay 1", "pay 200"]),
    "another program": ("pay(1)", 2, [], ["pay 1", "pay 200", "pay 1"]),
    "deferred": ("1", 1, ["send('last') of step 1, a call with an effect: nobody"], ["send last", "send ben"]),
    "rolled back": ("y = x\nx, y", (1, 1), [], []),
    "amid a rollback": ("x", 1, [], []),
    "led to by nothing": ("x, y", (1, 2), [], ["pay 1"]),
    "carried out": ("1", 1, ["pay(8) of step", "nobody knows what became of it"], ["pay 8"]),
}
"""A step that the next host runs there, its value, what is told in its notes or error, and all calls of the label."""


class NextHost:
    """This process, after a host that was killed in the midst of `ACTS`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []
        killed_host(folder, ACTS, "step")
        self.sandbox = stored(folder, durable="step", tools=Tools(self.made.append).all)

    def calls(self, label: str) -> list[str]:
        """The calls of both hosts."""
        before = self.folder / label
        return [*(before.read_text().splitlines() if before.exists() else ()), *self.made]


@pytest.fixture(scope="module")
def next_host(_own_temporary_directory: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NextHost]:
    opened = NextHost(tmp_path_factory.mktemp("killed"))
    with opened.sandbox:
        yield opened


@pytest.fixture
def left(next_host: NextHost) -> NextHost:
    next_host.made.clear()
    return next_host


@pytest.mark.parametrize("label", FOUND)
def test_what_the_next_host_finds(left: NextHost, label: str) -> None:
    source, value, told, calls = FOUND[label]
    with left.sandbox.session_for(label) as session:
        result = session.run(source)
        said = "\n".join([*result.notes, str(result.error)])
        assert result.value == value and [part for part in told if part not in said] == [], said
        assert session.waiting_for is None
    assert left.calls(label) == calls


def test_random_numbers_go_on_and_an_idempotent_call_is_repeated_with_the_same_key(left: NextHost) -> None:
    same = random.Random(4)
    with left.sandbox.session_for("random") as session:
        session.run("b = random.random()").check()
        assert session.run("a, b, random.random()").value == tuple(same.random() for _ in range(3))
    with left.sandbox.session_for("repeated") as session:
        assert session.run(ACTS["repeated"][0]).value == (2, "LAST")
    paid, first, again = left.calls("repeated")
    assert paid == "pay 1" and first == again


@pytest.mark.parametrize(
    ("label", "answer", "calls"),
    [
        ("waits and sends", lambda session: session.answer(14).check(), ["send 1", "send 2"]),
        ("waits and is given up", Session.cancel_waiting, []),
    ],
)
def test_what_a_step_that_waits_has_deferred_is_its_own(
    left: NextHost, label: str, answer: Callable[[Session], object], calls: list[str]
) -> None:
    with left.sandbox.session_for(label) as session:
        assert session.pending() == []
        answer(session)
        session.run("1").check()
    assert left.calls(label) == calls


def test_a_step_waits_in_a_store_through_the_death_of_its_host(left: NextHost) -> None:
    with left.sandbox.session_for("waits") as session:
        call = session.waiting_for
        assert (call.tool, call.arguments, call.note) == ("pay", {"amount": 7}, "whoever pays")
        assert call in left.sandbox.waiting()
        with pytest.raises(StepWaiting):
            session.run("1")
    with left.sandbox.session_for("waits") as session:
        result = session.answer(14)
        assert (result.outcome, result.value) == ("ok", 14)
    with left.sandbox.session_for("waits") as session:
        assert session.waiting_for is None and session.run("receipt").ok


def test_an_effect_of_a_lost_step_is_not_repeated(tmp_path: Path) -> None:
    for _ in range(2):
        killed_host(tmp_path, {"ada": ["send(1)\na = pay(2)\nimport time\nt = time.time()"]}, "close")
    with stored(tmp_path, durable="close", tools=Tools(print).all) as sandbox:
        told = "\n".join(sandbox.session_for("ada").run("1").notes)
    assert sorted((tmp_path / "ada").read_text().splitlines()) == ["pay 2", "send 1"]
    assert told.count("send(1) of step ") == told.count("pay(2) of step ") == 1


@pytest.mark.usefixtures("awake")
@pytest.mark.parametrize("closed", [False, True], ids=["here", "when it is opened again"])
def test_calls_of_a_step_that_fell_back_are_answered_but_for_those_undone(tmp_path: Path, closed: bool) -> None:
    made: list[str] = []

    @tool(undo=lambda _, seat: made.append(f"cancel {seat}"))
    def book(seat: str) -> str:
        made.append(f"book {seat}")
        return seat

    def pay(amount: int) -> int:
        made.append(f"pay {amount}")
        return amount

    source = "import time\nt = time.time()\na = pay(1)\nb = book('A1')\nc = pay(2)"
    with stored(tmp_path, durable="close", tools=[book, pay, end_processes], spare=0) as sandbox:
        with sandbox.session_for("ada") as session:
            session.run("x = 1").check()
            session.run(source).check()
            result = session.run("end_processes()")
            assert result.outcome == "crashed" and "'step 1' is the newest" in result.notes[0]
            assert made == ["pay 1", "book A1", "pay 2", "cancel A1"]
            if not closed:
                session.run(source).check()
        session = sandbox.session_for("ada")
        if closed:
            session.run(source).check()
        assert session.run("x, a, b, c").value == (1, 1, "A1", 2)
    assert made == ["pay 1", "book A1", "pay 2", "cancel A1", "book A1"]


@pytest.mark.usefixtures("awake")
def test_steps_that_are_lost_with_all_processes_are_told_by_the_step_that_ended_so(tmp_path: Path) -> None:
    with stored(tmp_path, durable="close", tools={"end_processes": end_processes, "pay": abs}, spare=0) as sandbox:
        session = sandbox.session_for("ada")
        session.run("a = pay(1)").check()
        session.run("b = 1").check()
        result = session.run("end_processes()")
        assert (result.outcome, result.state) == ("crashed", "restored")
        assert "steps 1 to 2 are lost: no state was saved after them" in result.notes


def test_a_call_that_was_undone_with_its_interrupted_step_is_made_again(tmp_path: Path) -> None:
    made: list[str] = []

    @tool(undo=lambda _, seat: made.append(f"cancel {seat}"))
    def book(seat: str) -> str:
        made.append(f"book {seat}")
        if seat == "B2" and made.count("book B2") == 1:
            raise KeyboardInterrupt
        return seat

    source = "book('A1')\nbook('B2')"
    with stored(tmp_path, durable="step", tools=[book]) as sandbox:
        with sandbox.session_for("ada") as session:
            session.run("x = 1").check()
            with pytest.raises(KeyboardInterrupt):
                session.run(source)
        result = sandbox.session_for("ada").run(source)
        told = "book('A1') of step 2 was made, with the outcome ok; its undo: undone"
        assert told in result.notes and "nobody knows what became of it: not called again" in str(result.error)
    assert made == ["book A1", "book B2", "cancel A1", "book A1"]


def paying() -> tuple[list[str], Callable[[int], int], Callable[[str], Any]]:
    """The calls that were made, a tool that returns at once, and one that puts itself off."""
    made: list[str] = []

    def pay(amount: int) -> int:
        made.append(f"pay {amount}")
        return amount

    def ask(question: str) -> Any:
        made.append(f"ask {question}")
        return Later()

    return made, pay, ask


def test_a_call_that_was_put_off_as_the_host_ended_is_asked_again(tmp_path: Path) -> None:
    made, pay, ask = paying()
    source = "a = pay(1)\nb = ask('more?')\nc = pay(b)"
    with stored(tmp_path / "whole", durable="step", tools=[pay, ask]) as sandbox:
        session = sandbox.session_for("ada")
        session.run("x = 1").check()
        assert session.run(source).outcome == "waiting"
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (path,) = (tmp_path / "cut").rglob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    put_off = next(n for n, line in enumerate(lines) if b'"outcome":"waiting"' in line)
    path.write_bytes(b"".join(lines[: put_off + 1]))
    with stored(tmp_path / "cut", durable="step", tools=[pay, ask]) as sandbox:
        session = sandbox.session_for("ada")
        result = session.run(source)
        assert result.outcome == "waiting" and "ask('more?') of step 2 was put off" in result.notes
        session.answer(2).check()
        assert session.run("a, b, c").value == (1, 2, 2)
    assert made == ["pay 1", "ask more?", "ask more?", "pay 2"]


def test_a_step_that_waits_goes_on_in_no_other_state(tmp_path: Path) -> None:
    """Where the state before it is lost, it is a step that had not ended, whose calls are answered."""
    made, pay, ask = paying()
    before, source = "import time\nt = time.time()\nx = pay(1)", "a = x + pay(2)\nb = ask('more?')"
    options: Any = {"durable": "close", "tools": [pay, ask]}
    with pytest.MonkeyPatch.context() as patch, stored(tmp_path / "whole", **options) as sandbox:
        patch.setattr(session_module, "REST_SECONDS", 3600.0)
        session = sandbox.session_for("ada")
        session.run("x = 0").check()
        session.run(before).check()
        assert session.run(source).outcome == "waiting"
        session.history()  # for which the lines are written
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    told = "step 3 waits no more: the state before it is lost"
    with stored(tmp_path / "cut", **options) as sandbox:
        with sandbox.session_for("ada") as session:
            assert session.get("x") == 0 and session.waiting_for is None
        with sandbox.session_for("ada") as session:
            assert session.waiting_for is None and told in session.run(before).notes
        session = sandbox.session_for("ada")
        result = session.run(source)
        assert result.outcome == "waiting" and told not in result.notes
        session.answer(3).check()
        assert session.run("x, a, b").value == (1, 3, 3)
    assert made == ["pay 1", "pay 2", "ask more?", "ask more?"]


def test_what_another_has_taken_over_is_not_written(tmp_path: Path) -> None:
    """A file system of a network may give a lock away."""
    with stored(tmp_path, durable="step") as sandbox:
        session = sandbox.session_for("ada")
        session.run("x = 1").check()
        lock = tmp_path / "store" / "default" / "ada" / "lock"
        before = (lock.parent / "000001.jsonl").read_bytes()
        lock.write_bytes(b"%020d process 1 of another" % 7)
        result = session.run("x = 2\nx")
        assert (result.outcome, result.value, result.state) == ("cancelled", None, "restored")
        assert (result.error.type, "taken over" in result.error.message) == ("SessionTaken", True)
        lock.write_bytes(b"%020d process 1 of another" % 1)
        assert session.run("x").value == 1
        assert (lock.parent / "000001.jsonl").read_bytes().startswith(before)


def test_a_full_disk_undoes_the_step(tmp_path: Path) -> None:
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", tmp_path]).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with stored(tmp_path, durable="step") as sandbox:
            session = sandbox.session_for("ada")
            session.run("x = 1").check()
            rest = tmp_path / "rest"
            with rest.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
                while True:
                    file.write(bytes(4096))
            result = session.run("x = '" + "2" * 20000 + "'")
            assert (result.outcome, result.state) == ("cancelled", "restored")
            assert "No space left" in result.error.message
            rest.unlink()
            assert session.run("x").value == 1
            assert session.run("x = 3").ok
        with stored(tmp_path) as sandbox:
            assert sandbox.session_for("ada").run("x").value == 3
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_idle_sessions_are_left_to_the_store(tmp_path: Path) -> None:
    with stored(tmp_path, idle_seconds=0.05, max_sessions=1) as sandbox:
        session = sandbox.session_for("ada")
        session.run("import random\nx = [random.random()]\ny = x")
        value = session.get("x")
        until(lambda: not sandbox.stats().open)
        with Sandbox("calculator", store=tmp_path / "store") as other:
            assert other.session_for("ada").run("x.append(1)\nx is y").value is True
        assert session.get("x") == [*value, 1]
        assert sandbox.session_for("ada").run("x is y").value is True
        until(lambda: not sandbox.stats().open)
        sandbox.session_for("ben").run("1").check()  # it has its place


def test_what_is_in_the_store_is_listed_and_removed(tmp_path: Path, sandbox_for: OpenSandbox) -> None:
    labels = ["a/b", "..", "ü", "%2E", "x" * 60]
    with stored(tmp_path) as sandbox:
        for label in labels:
            sandbox.session_for(label).run("x = 1").check()
        assert sorted(row.label for row in sandbox.stored()) == sorted(labels)
        sandbox.forget("a/b")
        assert sandbox.session_for("a/b").run("'x' in globals()").value is False
        sandbox.forget("never there")
        for wrong in ("", "x" * 201, "\0", "\ud800"):
            with pytest.raises(ValueError, match="label="):
                sandbox.session_for(wrong)
    other = Sandbox("calculator", store=StoreOptions(at=tmp_path / "store", tenant="other"))
    with other as sandbox:
        assert (sandbox.stored(), sandbox.session_for("ü").run("'x' in globals()").value) == ([], False)
    with pytest.raises(SandboxError, match="has no store"):
        sandbox_for("calculator").forget("ada")


def test_what_nobody_uses_is_kept_so_long(tmp_path: Path) -> None:
    options = StoreOptions(at=tmp_path / "store", keep_days=1.0)
    with stored(tmp_path) as other, Sandbox("calculator", store=options) as sandbox:
        for label in ("old", "open", "young"):
            with other.session_for(label) as session:
                session.run("x = 1").check()
        for file in (*tmp_path.glob("store/default/old/*"), *tmp_path.glob("store/default/open/*")):
            os.utime(file, (0, 0))
        session = other.session_for("open")
        sandbox.session_for("young").run("x").check()
        until(lambda: sorted(row.label for row in sandbox.stored()) == ["open", "young"])
        assert session.run("x").value == 1


def test_a_tenant_has_no_more_room_than_it_is_given(tmp_path: Path) -> None:
    options = StoreOptions(at=tmp_path / "store", session_mb=1, tenant_mb=3)
    with Sandbox("calculator", store=options, durable="step") as sandbox:
        with sandbox.session_for("ada") as session:
            for step in range(6):  # the older parts go
                result = session.run(f"x = {step}\ny = '{'z' * 190_000}'\nimport time\nt = time.time()")
                assert result.ok, result.error
        size = sum(path.stat().st_size for path in (tmp_path / "store/default/ada").iterdir())
        assert size < 3 << 20
        assert sandbox.session_for("ada").run("x").value == 5


def test_functions_are_lost_under_another_python_and_data_is_not(kept: tuple[Sandbox, Path]) -> None:
    sandbox, folder = kept
    with sandbox.session_for("moved") as session:
        session.run("import time\nt = time.time()\nclass C: pass\ndef f(): return 1\nc, xs = C(), [1, {'a': (2,)}]")
    newest = max((folder / "moved").glob("*.jsonl"))
    heading, _, rest = newest.read_bytes().partition(b"\n")
    fields = json.loads(heading)
    state = base64.b64decode(fields["state"]["data"])
    here = b".".join(part.encode() for part in sys.version.split(".")[:2])
    state = state[:-32].replace(here, b"3.99"[: len(here)], 1)
    fields["state"]["data"] = base64.b64encode(state + hashlib.sha256(state).digest()).decode()
    newest.write_bytes(json.dumps(fields).encode() + b"\n" + rest)
    with sandbox.session_for("moved") as session:
        result = session.run("xs, sorted({'C', 'f', 'c'} & globals().keys())")
        assert result.value == ([1, {"a": (2,)}], [])
        assert any("was saved by Python 3.9" in note for note in result.notes), result.notes
        assert any("'f' was not restored" in note for note in result.notes), result.notes


def test_a_stored_session_is_a_recording(kept: tuple[Sandbox, Path], tmp_path: Path) -> None:
    sandbox, folder = kept
    with sandbox.session_for("recorded") as session:
        session.run("x = 1")
        session.run("x += 1\nx")
        assert [moment.step for moment in session.history()][-1] == 2
    (part,) = (folder / "recorded").glob("*.jsonl")
    kinds = [type(record) for record in Recording(part)]
    assert kinds == [form.Heading, form.Run, form.Ended, form.Run, form.Ended]
    with safeexec.replay(part) as replayed:
        assert (replayed.difference, replayed.session.get("x")) == (None, 2)
    with sandbox.session_for("recorded") as session:  # it goes on in the same part
        session.run("def f():\n    raise ValueError(x)\nf()")
    assert form.Resumed in [type(record) for record in Recording(part)]
    with safeexec.replay(part) as replayed:
        assert (replayed.difference, [*replayed.results]) == (None, [(1, 1), (1, 2), (1, 3)])
    with pytest.raises(RecordingError, match="leave out `record`"):
        sandbox.session_for("recorded", record=tmp_path / "other")
    with sandbox.session_for("bea", record=None) as session:
        session.set("y", 1)
    with sandbox.session_for("bea") as session:
        assert session.get("y") == 1


@pytest.mark.parametrize("store", ["/proc/store", "/dev/null"])
def test_what_can_be_no_store(store: str) -> None:
    with pytest.raises(StoreError, match="can be no store"):
        Sandbox("calculator", store=store).open()
    for wrong, kind in (({"store": 3}, TypeError), ({"durable": "minute"}, ValueError)):
        with pytest.raises(kind, match=next(iter(wrong))):
            Sandbox("calculator", **wrong).open()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give store="):
        Sandbox("calculator", durable="step")


@pytest.mark.usefixtures("awake")
def test_what_all_its_processes_die_of_comes_back_from_the_store(tmp_path: Path) -> None:
    with stored(tmp_path, durable="step") as sandbox:
        session = sandbox.session_for("ada")
        session.run("import time\nx = 1\nhere = time.ctime()").check()
        end_processes()
        result = session.run("x = 2")
        assert (result.outcome, result.state) == ("crashed", "restored")
        assert "the session has come back from its store" in result.notes
        assert session.run("x, type(here).__name__").value == (1, "str")
        end_processes()
        with pytest.raises(SandboxError, match="try again"):
            session.get("x")
        assert session.get("x") == 1


def test_what_dies_while_it_rests_comes_back_from_the_store(tmp_path: Path) -> None:
    with stored(tmp_path) as sandbox:
        session = sandbox.session_for("ada")
        session.run("import time\nx = 1\nhere = time.ctime()").check()
        until(lambda: (tmp_path / "store/default/ada/000002.jsonl").exists())
        end_processes()
        results = [session.run("x, type(here).__name__") for _ in range(2)]  # it may rest, or be about to
        assert results[-1].value == (1, "str")
        session.run("x += 1").check()
    with stored(tmp_path) as sandbox:
        result = sandbox.session_for("ada").run("x")
        assert (result.value, result.notes) == (2, ())


def end_processes() -> None:
    """End all processes of the sessions of this host, those below its zygotes, and wait until they have."""
    pids = [one for level in below(os.getpid())[2:] for one in level]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


def test_what_cannot_be_stored_is_undone(tmp_path: Path) -> None:
    """A value that the host sets, and a step: its deferred call is carried out once, one that was made has one key."""
    sent: list[int] = []
    paid: list[str] = []

    @tool(effect="deferred")
    def send(number: int) -> None:
        sent.append(number)

    @tool(idempotent=True)
    def pay(number: int, effect_key: str) -> int:
        paid.append(effect_key)
        return number

    with stored(tmp_path, durable="step", tools=[send, pay]) as sandbox:
        session = sandbox.session_for("ada")
        session.set("x", 1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(directory, "_append", full)
            with pytest.raises(StoreError, match=r"the change could not be stored, and is undone: .*No space left"):
                session.set("x", 2)
            for _ in range(2):
                assert session.run("send(1)").outcome == "cancelled"
        assert session.get("x") == 1
        assert session.run("send(1)").ok
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(directory, "_append", full)
            other = sandbox.session_for("bob")
            assert other.run("send(2)").outcome == "cancelled"
        with pytest.raises(SessionClosed, match="ask for the session again"):
            other.run("1")
        assert sandbox.session_for("bob").run("send(2)").ok
        assert sent == [1, 2]
        append = directory._append
        with pytest.MonkeyPatch.context() as patch:

            def once(*arguments: Any) -> None:
                full() if paid else append(*arguments)

            patch.setattr(directory, "_append", once)
            for _ in range(3):
                assert session.run("x = pay(2)").outcome == "cancelled"
        assert session.run("x = pay(2)").outcome == "ok"
        assert session.run("x").value == 2
    assert len(set(paid)) == 1, "one key, as nobody knew what had become of it"


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("durable", ["second", "close"])
@pytest.mark.parametrize("closed", ["session", "sandbox"])
def test_a_close_says_that_the_last_steps_are_not_in_the_store(tmp_path: Path, durable: Any, closed: str) -> None:
    with stored(tmp_path, durable=durable) as sandbox:
        with sandbox.session_for("ada") as session:
            session.run("x = 1").check()
        session, other = sandbox.session_for("ada"), sandbox.session_for("bob")
        session.history(), other.history()  # their lines are written
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(directory, "_append", full)
            patch.setattr(writer, "PAUSE_SECONDS", 600.0)  # the lines of the step wait for its end
            for one in (session, other):
                one.run("x = 2").check()
            with pytest.raises(StoreError, match=r"is closed, and its last steps .*No space left") as caught:
                (session if closed == "session" else sandbox).close()
        told = " ".join((str(caught.value), *getattr(caught.value, "__notes__", ())))
        assert "'ada'" in told and ("'bob'" in told) == (closed == "sandbox")
        session.close()  # it was said
        if closed == "sandbox":
            with pytest.raises(SessionClosed):
                other.run("1")
    with stored(tmp_path) as sandbox:
        assert sandbox.session_for("ada").run("x").value == 1
