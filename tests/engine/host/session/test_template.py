"""Templates: a state that is prepared once, and sessions that begin in it and know nothing of each other."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from safeexec import (
    AsyncSandbox,
    AsyncSession,
    CheckpointError,
    PolicyError,
    Sandbox,
    SandboxError,
    Session,
    StepFailed,
)
from tests.alone import together
from tests.footprint import until

DATA = "rows = [1, 2, 3]"


@pytest.fixture
def box(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The worker's sandbox, without templates afterwards."""
    yield sandbox
    for row in sandbox.templates():
        sandbox.drop_template(row.name)


def kill_copy(box: Sandbox | AsyncSandbox, name: str) -> None:
    """End the process that holds a template, as a machine short of memory does."""
    (template,) = [found for found in box._core._all_templates()._by_name.values() if found.name == name]
    pid = template._copy.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: not template._copy.alive)


def test_sessions_begin_in_the_state_and_go_their_own_ways(box: Sandbox) -> None:
    row = box.template("data", prepare=DATA)
    assert (row.name, row.sessions, row.prepared) == ("data", 0, 1)
    with box.session(template="data", namespace={"mine": 7}) as one, box.session(template="data") as two:
        assert one.run("rows.append(mine)\nrows").check().value == [1, 2, 3, 7]
        assert two.run("rows").check().value == [1, 2, 3]
        assert two.run("mine").error.type == "NameError"  # type: ignore[union-attr]
        (row,) = box.templates()
        assert row.sessions == 2 and row.memory_mb > 0 and row.age > 0 and row.prepare_seconds > 0
        assert repr(box).endswith("2 sessions>")
        (row,) = [row for row in one.protection if row.name == "own-lineage"]
        assert not row.active and "'data'" in row.detail and "principal" in row.detail, "what they share is told"
        with box.session() as other:
            assert not [row for row in other.protection if row.name == "own-lineage"]
    assert box.templates()[0].sessions == 0


def test_a_session_goes_back_to_its_template_and_not_before_it(box: Sandbox) -> None:
    box.template("data", prepare=DATA)
    with box.session(template="data") as session:
        with pytest.raises(CheckpointError, match="nothing to roll back"):
            session.rollback()
        session.run("rows = 0").check()
        session.rollback()
        assert session.run("rows").value == [1, 2, 3]
        session.run("rows = 0").check()
        session.rollback("data")
        assert session.run("rows").value == [1, 2, 3]
        assert [row.name for row in session.checkpoints() if not row.automatic] == ["data"]
        session.drop("data")
        assert session.run("rows").value == [1, 2, 3]
    with box.session(template="data") as session:
        assert [row.name for row in session.checkpoints()] == ["data"]


@pytest.mark.profile("confined-python")
def test_files_are_there_and_each_session_has_its_own(box: Sandbox) -> None:
    read = "import json\nwith open('in/d.json') as f: rows = json.load(f)\nopen('made', 'w').close()"
    box.template("data", prepare=read, files={"in/d.json": b"[1, 2]"})
    with box.session(template="data") as one, box.session(template="data") as two:
        one.run("open('in/d.json', 'w').close()\nopen('mine', 'w').close()").check()
        assert two.run("rows, open('in/d.json').read()").value == ([1, 2], "[1, 2]")
        assert (one.list_files(), two.list_files()) == (["in/d.json", "made", "mine"], ["in/d.json", "made"])
        one.rollback("data")
        assert one.read_file("in/d.json") == b"[1, 2]" and one.list_files() == ["in/d.json", "made"]
        assert one.workspace is not None
        denied = two.run(f"open({one.workspace!r} + '/made')")
        assert denied.error is not None and denied.error.type in ("PermissionError", "FileNotFoundError")


def test_it_is_prepared_once_however_many_ask_at_a_time(box: Sandbox) -> None:
    calls: list[int] = []

    def prepare(session: Session) -> None:
        calls.append(1)
        session.run("import time\ntime.sleep(0.1)\nx = 5").check()

    values: list[object] = []

    def ask() -> None:
        box.template("slow", prepare=prepare)
        with box.session(template="slow") as session:
            values.append(session.run("x").value)

    together([threading.Thread(target=ask) for _ in range(10)])
    assert values == [5] * 10 and calls == [1]


def test_it_is_prepared_anew_when_it_has_died_and_once(box: Sandbox) -> None:
    box.template("data", prepare=DATA)
    # `before` does not rest: it would be resumed from the copy that is killed.
    with box.session(template="data", checkpoints="before-step") as before:
        before.run("rows.append(4)").check()
        kill_copy(box, "data")
        sessions: list[Session] = []
        threads = [threading.Thread(target=lambda: sessions.append(box.session(template="data"))) for _ in range(5)]
        together(threads)
        assert [session.run("rows").value for session in sessions] == [[1, 2, 3]] * 5
        assert box.templates()[0].prepared == 2
        assert before.run("rows").value == [1, 2, 3, 4]
        for session in sessions:
            session.close()


async def test_who_is_cancelled_while_it_is_prepared_may_ask_again() -> None:
    prepared: list[int] = []

    async def prepare(session: AsyncSession) -> None:
        prepared.append(1)
        if len(prepared) == 2:
            this = asyncio.current_task()
            this.cancel()
            await asyncio.sleep(60)
        await session.set("x", len(prepared))

    async with AsyncSandbox("standard", spare=0) as sandbox:
        await sandbox.template("t", prepare=prepare)
        kill_copy(sandbox, "t")
        with pytest.raises(asyncio.CancelledError):
            await sandbox.session(template="t")
        this = asyncio.current_task()
        this.uncancel()
        async with await sandbox.session(template="t") as session:
            assert (await session.run("x")).value == 3 and sandbox.templates()[0].sessions == 1
        await sandbox.drop_template("t")
        assert sandbox.templates() == []


def test_sessions_of_a_template_that_was_dropped_go_on(box: Sandbox) -> None:
    box.template("data", prepare=DATA)
    with box.session(template="data") as session:
        box.drop_template("data")
        assert box.templates() == []
        assert session.run("rows.append(4)\nwhile True: pass", timeout=0.1).state == "restored"
        assert session.run("rows").value == [1, 2, 3]
        with pytest.raises(CheckpointError, match="no template 'data'; templates of this sandbox: none"):
            box.session(template="data")
        with pytest.raises(CheckpointError, match="no template 'data'"):
            box.drop_template("data")


def test_another_definition_takes_the_place_of_the_first(box: Sandbox) -> None:
    box.template("data", prepare=DATA)
    box.template("data", prepare=DATA)
    assert box.templates()[0].prepared == 1
    box.template("data", prepare="rows = []")
    with box.session(template="data") as session:
        assert session.run("rows").value == []
    with pytest.raises(StepFailed, match="the template 'data' could not be prepared: error: ZeroDivisionError"):
        box.template("data", prepare="1 / 0")
    with box.session(template="data") as session:
        assert session.run("rows").value == []


def test_one_that_cannot_be_prepared_is_none(box: Sandbox) -> None:
    def refuse(session: Session) -> None:
        session.run("x = 1").check()
        raise KeyError("no data today")

    with pytest.raises(KeyError, match="no data today"):
        box.template("data", prepare=refuse)
    assert box.templates() == [] and repr(box).endswith("0 sessions>")

    def itself(session: Session) -> None:
        box.session(template="data")

    with pytest.raises(SandboxError, match="asked for by the function that prepares it"):
        box.template("data", prepare=itself)
    with pytest.raises(CheckpointError, match="needs a name"):
        box.template("", prepare=DATA)


def test_limits_are_those_of_the_template_and_tighter_where_the_host_holds_them(box: Sandbox) -> None:
    box.template("small", prepare=DATA, memory_mb=64, output_kb=8)
    with box.session(template="small", output_kb=4, wall_seconds=1.0) as session:
        limits = session.policy.limits
        assert (limits.memory_mb, limits.output_kb, limits.wall_seconds) == (64, 4, 1.0)
    ask_the_template = r"sandbox\.template\('small', \.\.\., memory_mb=32\)"
    for told, limit in {ask_the_template: {"memory_mb": 32}, "output_kb can only be lowered": {"output_kb": 9}}.items():
        with pytest.raises(PolicyError, match=told):
            box.session(template="small", **limit)


def test_as_many_sessions_as_branches_are_allowed(box: Sandbox) -> None:
    box.template("few", prepare=DATA, branches=2)
    with box.session(template="few") as one, box.session(template="few"):
        with pytest.raises(CheckpointError, match="1 branch asked for beside the 2 that are open, 2 allowed"):
            box.session(template="few")
        with pytest.raises(CheckpointError, match="2 allowed"):
            one.branch()
    with box.session(template="few") as one:
        (branch,) = one.branch()
        assert branch.run("rows").value == [1, 2, 3]
        branch.close()


def test_it_takes_no_place_and_does_not_age(profile: str) -> None:
    with Sandbox(profile, spare=0, max_sessions=1, idle_seconds=0.2) as box:
        box.template("data", prepare=DATA)
        session = box.session(template="data")
        until(lambda: not repr(box).endswith("1 session>"))
        with pytest.raises(SandboxError, match="idle_seconds"):
            session.run("1")
        assert box.templates()[0].prepared == 1

        def begins() -> bool:
            with suppress(SandboxError), box.session(template="data") as session:  # idle again on a busy machine
                return session.run("rows").value == [1, 2, 3]
            return False

        until(begins)


def test_the_thread_for_idle_sessions_never_takes_a_template_for_one_that_nobody_has(box: Sandbox) -> None:
    """It may have listed the sessions before this one was known to be a template's."""
    box.template("t", prepare=lambda session: session.run(DATA))
    gc.collect()
    (template,) = box._core._all_templates()._by_name.values()
    assert template.session is not None and not template.session.unowned
