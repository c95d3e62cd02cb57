"""A session at rest has no process where another one can be had that is in the same state: its next use makes it."""

from __future__ import annotations

import asyncio
import os
import signal
from time import monotonic

import pytest

from safeexec import AsyncSandbox, Sandbox, SandboxBusy, Session, SessionClosed
from safeexec.engine.host import descriptors
from safeexec.engine.host.session import session as module
from tests.alone import alone
from tests.conftest import OpenSession
from tests.engine.host.inside import is_alive, may_rest, rests
from tests.footprint import leaks, settled, until

SOON = 30.0


def test_a_rested_session_is_as_it_was(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = [1]\ndef count():\n    n = 0\n    while n := n + 1: yield n\ng = count()").check()
    session.run("x.append(next(g))").check()
    session.set("y", {"a": 1})
    assert may_rest(session)
    result = session.run("x.append(next(g))\nx, y").check()
    assert result.value == ([1, 1, 2], {"a": 1}) and result.state == "kept" and not result.notes
    assert may_rest(session) and sorted(session.namespace) == ["count", "g", "x", "y"] and session.get("x") == [1, 1, 2]
    assert may_rest(session) and may_rest(session), "once more, without a use"
    assert session.get("x") == [1, 1, 2]


@pytest.mark.parametrize("holder", ["log = print", "def log(x, to=print): to(x)"])
def test_a_variable_may_hold_a_builtin_of_the_session(open_session: OpenSession, holder: str) -> None:
    """`print` is a function in Python, which leads to what was sent so far."""
    session = open_session()
    session.run("x = 5").check()
    session.run(f"{holder}\nlog(x)").check()
    assert may_rest(session)
    result = session.run("log(x)").check()
    assert result.stdout == "5\n" and result.state == "kept" and not result.notes


@pytest.mark.usefixtures("rests_by_itself")
def test_it_rests_by_itself_and_holds_nothing() -> None:
    with Sandbox("calculator", spare=0) as sandbox:
        sandbox.run("1")
        before = settled()
        sessions = [sandbox.session() for _ in range(5)]
        for number, session in enumerate(sessions):
            session.run(f"x = {number}").check()
        until(lambda: sandbox.stats().resting == 5)
        assert (sandbox.stats().open, sandbox.stats().idle, sandbox.stats().restored) == (5, 5, 0)
        assert not leaks(before)
        assert [session.run("x").value for session in sessions] == [*range(5)]
        assert sandbox.stats().restored == 0


def test_back_to_any_step_from_a_rest(open_session: OpenSession) -> None:
    session = open_session()
    for number in range(5):
        session.run(f"x = {number}").check()
    assert may_rest(session)
    session.rollback()
    assert session.run("x").value == 3
    session.rollback()
    assert may_rest(session)
    session.rollback(steps=2)
    assert may_rest(session) and session.run("x").value == 1
    assert session.run("x = 7\nwhile True: pass", timeout=0.1).state == "restored"
    assert may_rest(session) and session.run("x").value == 1


def test_nothing_is_told_as_lost_of_what_the_last_step_bound(open_session: OpenSession) -> None:
    session = open_session()
    session.run("total = 1").check()
    session.run("del total").check()
    assert may_rest(session)
    assert "undone" not in str(session.run("total").observation())


def test_a_result_tells_what_waking_took(open_session: OpenSession) -> None:
    session = open_session()
    assert session.run("x = 1").usage.wake_ms == 0
    assert may_rest(session)
    assert session.run("x").usage.wake_ms > 0
    assert session.run("x").usage.wake_ms == 0
    assert may_rest(session)
    killed = session.run("while True: pass", timeout=0.1)
    assert killed.state == "restored" and killed.usage.wake_ms > 0
    assert may_rest(session)
    assert session.run("x + y", namespace={"y": 1}).usage.wake_ms > 0
    assert may_rest(session) and session.get("y") == 1
    assert session.run("x").usage.wake_ms == 0, "the question before it woke the session"


def test_sessions_of_a_template_rest_on_its_copy() -> None:
    with Sandbox("calculator", spare=0) as sandbox:
        sandbox.template("t", prepare="x = [1, 2]")
        sessions = [sandbox.session(template="t") for _ in range(3)]
        for number, session in enumerate(sessions):
            session.run(f"x.append({number})").check()
            assert may_rest(session)
        for number, session in enumerate(sessions):
            assert session.run("x").value == [1, 2, number]
            session.rollback(steps=2)
            assert may_rest(session) and session.run("x").value == [1, 2]
            session.rollback("t")
            assert may_rest(session) and session.run("x").value == [1, 2]


def test_branches_rest_and_what_they_come_from_counts_them(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = [0]").check()
    first, second = session.branch(2)
    with first, second:
        assert not rests(session), "limits.branches counts what its process has branched into"
        first.run("x.append(1)").check()
        assert may_rest(first) and may_rest(second)
        (third,) = first.branch()
        with third:
            assert third.run("x").value == first.run("x").value == [0, 1]
        assert second.run("x").value == [0]
    assert may_rest(session) and session.run("x").value == [0]


@pytest.mark.profile("confined-python")
def test_files_are_those_of_the_state(session: Session) -> None:
    session.write_file("a.txt", "one")
    session.run("x = 1").check()
    assert may_rest(session)
    session.write_file("b.txt", "two")
    result = session.run("open('a.txt').read() + open('b.txt').read()")
    assert result.check().value == "onetwo" and session.run("x").value == 1


def test_its_process_is_asked_for_where_a_name_was_kept(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    session.checkpoint("one")
    session.run("x = 2").check()
    rests(session)
    session.rollback("one")
    assert session.run("x").value == 1
    session.run("x = 3").check()
    assert may_rest(session), "it was resumed from that copy, which has a name"
    assert session.run("x").value == 3
    session.rollback("one")
    assert session.run("x").value == 1


def test_a_zygote_that_died_meanwhile_is_told_of() -> None:
    with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        assert may_rest(session)
        zygote = sandbox._core.children.zygote
        os.kill(zygote.reapers[0], signal.SIGKILL)
        until(lambda: not is_alive(sandbox))
        with pytest.raises(SessionClosed, match="zygote"):
            session.run("x")


def test_idle_seconds_count_the_rest() -> None:
    with Sandbox("calculator", spare=0, max_sessions=1) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        assert may_rest(session)
        with pytest.raises(SandboxBusy, match="1 of them idle"):
            sandbox.session(queue_seconds=0.1)
    with Sandbox("calculator", spare=0, max_sessions=1, idle_seconds=0.8) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        assert may_rest(session)
        sandbox.session(queue_seconds=SOON).close()
        with pytest.raises(SessionClosed, match="idle_seconds"):
            session.run("x")


def test_without_descriptors_it_rests_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        room = descriptors.room()
        assert may_rest(session)
        assert room is None or (now := descriptors.room()) is None or now >= room
        with monkeypatch.context() as none:
            none.setattr(descriptors, "_most", lambda: 0)
            with pytest.raises(SandboxBusy, match="file descriptors"):
                session.run("x")
        assert session._core.rests and session.run("x").value == 1


@pytest.mark.usefixtures("rests_by_itself")
async def test_an_event_loop_wakes_it() -> None:
    async with AsyncSandbox("calculator") as sandbox, await sandbox.session() as session:
        (await session.run("x = 1")).check()
        while not sandbox.stats().resting:
            await asyncio.sleep(0.01)
        assert (await session.run("x")).check().value == 1


@pytest.mark.parametrize(
    ("what", "lost", "left"), [("the state", "steps 1 to 2 came", ()), ("a step", "step 2 came", ("x",))]
)
def test_one_that_comes_out_otherwise_says_which_steps_are_lost(
    open_session: OpenSession, what: str, lost: str, left: tuple[str, ...]
) -> None:
    session = open_session()
    session.run("x = [[1]]").check()
    session.run("y = 2").check()
    assert may_rest(session)
    memory = session._core.processes.history.current.memory
    if what == "the state":
        memory.digest += 1
    else:
        memory.entry = type(memory.entry)(memory.entry.request, memory.entry.did ^ 1)
    result = session.run("x = 8")
    assert (result.outcome, result.state, result.remaining) == ("crashed", "diverged", left)
    assert f"{lost} out otherwise" in " ".join(result.notes)
    assert "came out otherwise" in str(result.observation())
    assert tuple(session.namespace) == left, "a step that was written for another state is not run"
    session.run("x = 3").check()
    assert not rests(session), "its steps are copied from now on"
    assert session.run("x").value == 3


@pytest.mark.usefixtures("rests_by_itself")
def test_it_rests_after_a_moment_and_with_a_long_journal_later(
    open_session: OpenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.REST_SECONDS >= 0.5
    monkeypatch.setattr(module, "STEP_SECONDS", 10.0)  # thirty steps would be long enough, and on a busy machine copied
    session = open_session()
    session.run("x = 1").check()
    core = session._core
    steps = core.processes.history.current.memory.depth
    core.turns.used = monotonic() - module.REST_SECONDS
    assert steps and not core.can_rest()
    core.turns.used = monotonic() - steps * module.STEP_SECONDS
    assert core.can_rest()


FORKED = """
import os, time
from safeexec import Sandbox, SandboxError
from safeexec.engine.host.session import session as timing
from safeexec.engine.host.watch import idle
timing.REST_SECONDS = idle.TICK_SECONDS = 0.05
with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
    session.run("x = 1").check()
    while not sandbox.stats().resting:
        time.sleep(0.01)
    if (pid := os.fork()) == 0:
        try:
            session.run("x")
        except SandboxError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    print(session.run("x").value)
"""


def test_a_fork_of_the_host_has_no_part_in_it() -> None:
    done = alone(FORKED)
    assert "before the process forked" in done.stdout and done.stdout.endswith("1\n"), (done.stdout, done.stderr)
