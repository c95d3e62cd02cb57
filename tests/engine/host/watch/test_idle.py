"""A session that nobody uses: it is compacted, which must change nothing but how much memory it holds."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import defaultdict
from pathlib import Path
from time import monotonic

import psutil
import pytest

from safeexec import AsyncSandbox, Sandbox, Session
from safeexec.engine.host.children import Children
from safeexec.engine.host.session import supervisor
from safeexec.engine.host.session.copy import own_bytes
from safeexec.engine.host.watch import lineage
from tests.alone import alone, importing
from tests.conftest import OpenSession
from tests.engine.host.inside import frozen, open_sessions, rests, runner_of
from tests.footprint import pause, until
from tests.profiles import FORKING

pytestmark = pytest.mark.usefixtures("copied")
SOON = 30.0


def compact(session: Session) -> None:
    before = frozen(session)
    assert not rests(session) and frozen(session) != before


def test_a_compacted_session_is_as_it_was(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = [1]\ndef count():\n    n = 0\n    while n := n + 1: yield n\ng = count()")
    session.run("x.append(next(g))").check()
    compact(session)
    result = session.run("x.append(next(g))\nx").check()
    assert result.value == [1, 1, 2] and result.state == "kept" and not result.notes
    assert session.run("while True: pass", timeout=0.1).state == "restored"
    assert session.run("x.append(next(g))\nx").value == [1, 1, 2, 3]


@pytest.mark.profile("confined-python")
def test_files_are_those_of_the_state(session: Session) -> None:
    session.run("f = open('a', 'w+')\nf.write('one')\nf.flush()").check()
    compact(session)
    assert session.run("f.write('two')\nwhile True: pass", timeout=0.1).state == "restored"
    assert session.run("f.write('!')\nf.seek(0)\nf.read()").value == "one!"


@pytest.mark.usefixtures("rests_by_itself")
def test_a_process_that_died_at_rest_is_told_of(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    before = frozen(session)
    runner = runner_of(session)
    os.kill(runner, signal.SIGKILL)
    until(lambda: runner_of(session) not in (runner, None))
    result = session.run("x")
    assert result.value == 1 and "between its steps the session's process died" in result.notes[0]
    assert frozen(session) != before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the memory of processes that gave up their rights")
def test_a_compacted_session_holds_half_of_what_it_held() -> None:
    """Where its process has warmed up before, which it does when the processor is its own for a moment."""

    def holds_half() -> bool:
        with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
            session.run("x = 1").check()
            copy, before = frozen(session), 0
            # At its most: a page that a third process still shares, one that is about to end, counts for nobody.
            for _ in range(20):
                before = max(before, _private({copy, runner_of(session)}))
                pause()
            compact(session)
            return _private({frozen(session), runner_of(session)}) < before * 0.7

    until(holds_half)


def _private(pids: set[int | None]) -> int:
    """Bytes that only these processes hold, each counted by itself. One that has ended holds nothing."""
    return sum(own_bytes(pid) for pid in pids if pid is not None)


def test_the_step_before_a_rest_can_be_undone_however_little_checkpoints_may_hold(open_session: OpenSession) -> None:
    session = open_session(checkpoint_memory_mb=4)
    for number in range(3):
        session.run(f"x = [{number}] * 2_000_000").check()
    compact(session)
    session.rollback()
    assert session.run("x[0]").value == 1


def test_what_a_change_is_made_of_stays_after_a_rest(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    compact(session)
    compacted = frozen(session)
    session.set("x", 2)
    assert psutil.pid_exists(compacted), "the state is this copy, and the change"
    assert [row.name for row in session.checkpoints()] == ["step 1"]
    assert session.run("while True: pass", timeout=0.1).state == "restored"
    assert session.run("x").value == 2


HOLDS_UP = """
import gc, time
begun = []
def hold_up(phase, _):
    begun.append(phase)
    if begun.count("start") > 1:
        time.sleep(600)
gc.callbacks.append(hold_up)
"""
"""A guest that lets the checkpoint of its step be made, and not the one of its rest."""


@pytest.fixture
def hasty(rests_by_itself: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions rest by themselves, and give a copy a second to freeze."""
    monkeypatch.setattr(supervisor, "FREEZE_SECONDS", 1.0)


@pytest.mark.usefixtures("hasty")
async def test_no_event_loop_waits_for_a_session_that_is_not_compacted() -> None:
    async with AsyncSandbox("confined-python", spare=0) as sandbox, await sandbox.session() as session:
        (await session.run("x = 1\n" + HOLDS_UP)).check()
        await asyncio.to_thread(until, lambda: session._core.rested == session._core.turns.used)
        step, turns = asyncio.create_task(session.run("x")), 0
        while not step.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert (await step).value == 1
        assert turns > 1, "the loop waits for nothing but the step"


@pytest.mark.usefixtures("rests_by_itself")
def test_a_session_that_is_closed_while_it_is_compacted_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing it gives up before its settling does."""
    monkeypatch.setattr(lineage, "KILL_SECONDS", 0.1)
    with Sandbox("confined-python", spare=0) as sandbox:
        session = sandbox.session()
        session.run(HOLDS_UP).check()
        core, place = session._core, session.workspace
        assert place is not None and os.path.exists(place)
        until(lambda: core.rested == core.turns.used)
        session.close()
        until(lambda: not os.path.exists(place) and not open_sessions(sandbox))


DROPPED = """
import gc, socket, time
import psutil
import ctypes  # a newer libffi opens its own file for the first callback, and keeps it open
from safeexec import Sandbox
from safeexec.engine.host.session import session as timing
from safeexec.engine.host.watch import idle
from tests.footprint import footprint
timing.REST_SECONDS = idle.TICK_SECONDS = 0.05
def use():
    session = Sandbox({policy!r}, spare=0, idle_seconds={idle}).open().session()
    session.run("import time").check()
    session.run({source!r}).check()
    while session._core.rested != session._core.turns.used:
        time.sleep(0.01)
    if {sockets_first}:
        for each in gc.get_objects():
            if isinstance(each, socket.socket):
                each.close()
before = footprint()
use()
deadline = time.monotonic() + 30
while (left := footprint().beyond(before)) and time.monotonic() < deadline:
    gc.collect()
    time.sleep(0.01)
print(left)
"""
FORKS = "import os\nif os.fork() == 0: time.sleep(3600)"


@pytest.mark.parametrize(
    ("policy", "idle", "source", "sockets_first"),
    [("calculator", None, "x = 1", True), ("calculator", 3600.0, "x = 1", False), (FORKING, None, FORKS, False)],
    ids=["sockets first", "idle_seconds", "forks"],
)
def test_of_a_sandbox_that_nobody_has_any_more_nothing_is_left(
    policy: str, idle: float | None, source: str, sockets_first: bool, tmp_path: Path
) -> None:
    """No process, descriptor, directory: whichever of its threads still runs, none keeps it alive.

    What lies in one circle is finalised in any order: its sockets may be closed before the sandbox is asked to end.
    """
    program = DROPPED.format(policy=policy, idle=idle, source=source, sockets_first=sockets_first)
    done = alone(program, env=importing(TMPDIR=str(tmp_path)))
    assert done.stdout == "{}\n", done.stderr


FEW_DESCRIPTORS = """
import os, resource, time
from safeexec import Sandbox, SandboxError
from safeexec.engine.host.session import session as timing
from safeexec.engine.host.session.history import CopyDecision
from safeexec.engine.host.watch import idle

timing.REST_SECONDS = idle.TICK_SECONDS = 0.05
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
CopyDecision.repeats = False
with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as first, sandbox.session() as second:
    sessions = first, second
    for session in sessions:
        session.run("x = 1").check()
    def rest():
        cores = [session._core for session in sessions]
        while any(core.can_rest() or core.rested < core.turns.used for core in cores):
            time.sleep(0.01)
    held = []
    while True:
        try:
            held.append(os.dup(0))
        except OSError:
            break
    for session in sessions:
        try:
            session.run("x = 2")
        except SandboxError as error:
            print(error)
    rest()
    for fd in held:
        os.close(fd)
    for session in sessions:
        result = session.run("x")
        print(result.value, result.state, result.notes)
    rest()
    print(len(first.checkpoints()) > 0)
"""


def test_a_host_without_descriptors_loses_no_state() -> None:
    done = alone(FEW_DESCRIPTORS)
    refused, kept = "no checkpoint can be made of the state to come: Too many open files", "1 kept ()"
    assert done.stdout.splitlines() == [refused, refused, kept, kept, "True"], done.stderr


def test_a_spare_is_made_beside_a_session_that_stays() -> None:
    with Sandbox("calculator", spare=1) as sandbox, sandbox.session() as session:
        deadline = monotonic() + SOON
        while not sandbox.stats().spare and monotonic() < deadline:
            session.run("x = 1").check()
        assert sandbox.stats().spare == 1


@pytest.mark.usefixtures("hasty")
def test_a_sandbox_that_closes_waits_for_one_session_that_does_not_answer_and_not_for_all() -> None:
    with Sandbox("confined-python", spare=0) as sandbox:
        sessions = [sandbox.session() for _ in range(5)]
        for session in sessions:
            session.run(HOLDS_UP).check()
        cores = [session._core for session in sessions]
        until(lambda: any(core.rested == core.turns.used for core in cores))
    begun = [core for core in cores if core.rested == core.turns.used]
    assert 0 < len(begun) < len(cores)


def test_the_thread_rests_between_two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: dict[int, list[float]] = defaultdict(list)
    monkeypatch.setattr(Children, "replenish", lambda children: looks[id(children)].append(monotonic()))
    with Sandbox("calculator", spare=0, idle_seconds=1e-9) as sandbox, sandbox.session():
        until(lambda: max(map(len, looks.values()), default=0) > 25)  # others, kept by this process, look less often
    own = max(looks.values(), key=len)
    assert own[25] - own[0] > 0.2
