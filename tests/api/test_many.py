"""Many sessions, many threads, many processes: a fair queue, programs by the hundred, hosts that fork."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from safeexec import AsyncSandbox, Policy, Result, Sandbox, SandboxBusy, SandboxClosed, SessionClosed, WorkspaceError
from safeexec.engine.host.queue import Turnstile
from safeexec.engine.host.waiting import drive
from tests.engine.linux.forked import in_a_fork

PROGRAMS = ["1 + 1", "while True: pass", "'x' * 3", "1 / 0", "print('seen')", "import subprocess", "[0] * 10 ** 12"]
OUTCOMES = ["ok", "cpu", "ok", "error", "ok", "rejected", "memory"]
LIMITS = {"cpu_seconds": 0.25, "wall_seconds": 60}
"""CPU time, not wall time: on a busy machine even a short program may take long."""


def test_the_queue_is_fair_ends_at_the_deadline_and_passes_over_who_stops_waiting() -> None:
    turnstile = Turnstile(1)
    assert drive(turnstile.enter(0)) and not drive(turnstile.enter(0))
    waiting = [turnstile.enter(monotonic() + 60) for _ in range(6)]
    for one in waiting:
        next(one)
    assert turnstile.waiting == 6
    waiting.pop(0).close()
    turnstile.leave()
    waiting.pop(0).close()  # whose turn had come
    for one in waiting:
        with pytest.raises(StopIteration) as ended:
            one.send(True)
        assert ended.value.value is True
        turnstile.leave()
    assert turnstile.waiting == 0 and drive(turnstile.enter(0))


def test_no_more_sessions_than_allowed() -> None:
    with Sandbox("calculator", max_sessions=2, queue_seconds=0.01) as sandbox:
        first, second = sandbox.session(), sandbox.session()
        with pytest.raises(SandboxBusy, match=r"2 sessions are open \(max_sessions\)"):
            sandbox.session()
        with pytest.raises(SandboxBusy, match=r"within 0\.02 s"):
            sandbox.session(queue_seconds=0.02)
        waited: list[Any] = []
        thread = threading.Thread(target=lambda: waited.append(sandbox.session(queue_seconds=60)))
        thread.start()
        first.close()
        thread.join()
        assert waited[0].run("1 + 1").value == 2, "kept: one that nobody has is closed some time"
        branch = second.branch()[0]
        branch.close()
        with pytest.raises(SandboxBusy):
            sandbox.session()
        second.close()
        sandbox.session().close()


def test_map_gives_results_in_order() -> None:
    with Sandbox(Policy.load("calculator").replace(**LIMITS)) as sandbox:
        assert [result.outcome for result in sandbox.map(PROGRAMS, workers=3)] == OUTCOMES
        numbered = dict(sandbox.map_as_completed(PROGRAMS, workers=4))
        assert [numbered[number].outcome for number in range(len(PROGRAMS))] == OUTCOMES


def test_map_reads_only_a_few_programs_ahead() -> None:
    read = 0

    def programs() -> Any:
        nonlocal read
        for number in range(1000):
            read = number + 1
            yield str(number)

    with Sandbox("calculator") as sandbox:
        results = sandbox.map(programs(), workers=2)
        assert [next(results).value for _ in range(3)] == [0, 1, 2]
        assert read <= 10
        results.close()  # type: ignore[attr-defined]
        assert sandbox.run("1").ok


@pytest.mark.parametrize("way", ["map", "map_as_completed"])
def test_leaving_a_map_stops_what_runs(way: str) -> None:
    policy = Policy.load("calculator").replace(max_wall_seconds=3600, cpu_seconds=3600)
    with Sandbox(policy) as sandbox:
        results = getattr(sandbox, way)(["1", *["while True: pass"] * 9], workers=2, timeout=3600)
        next(results)
        results.close()
        assert sandbox.run("2").value == 2


async def test_map_awaited() -> None:
    async with AsyncSandbox(Policy.load("calculator").replace(**LIMITS)) as sandbox:
        assert [r.outcome async for r in sandbox.map(PROGRAMS, workers=3)] == OUTCOMES
        numbered = {number: r.outcome async for number, r in sandbox.map_as_completed(PROGRAMS, workers=3)}
        assert [numbered[number] for number in range(len(PROGRAMS))] == OUTCOMES


def test_the_workers_of_a_map_do_not_wait_for_one_another() -> None:
    programs, few = ["sum(range(2 * 10**6))"] * 3, {"max_sessions": 1, "queue_seconds": 0.01}

    async def main() -> list[Result]:
        async with AsyncSandbox("calculator", **few) as sandbox:
            found = [result async for result in sandbox.map(programs, workers=4)]
            return found + [result async for _, result in sandbox.map_as_completed(programs, workers=4)]

    with Sandbox("calculator", **few) as sandbox:
        results = [*sandbox.map(programs, workers=4), *dict(sandbox.map_as_completed(programs, workers=4)).values()]
    assert [result.outcome for result in results + asyncio.run(main())] == ["ok"] * 12


def test_a_session_outlives_the_thread_that_opened_it() -> None:
    """The kernel's parent-death signal is sent when the thread ends that started a process, not when the process
    does.
    """
    with Sandbox("calculator") as sandbox:
        opened: list[Any] = []
        for target in (lambda: opened.append(sandbox.session()), lambda: opened[0].run("x = 41").check()):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        assert opened[0].run("x + 1").value == 42
    opened.clear()

    def open_and_leave() -> None:
        opened.append(Sandbox("calculator").open())

    thread = threading.Thread(target=open_and_leave)
    thread.start()
    thread.join()
    with opened[0] as sandbox:
        assert sandbox.run("1 + 1").value == 2


def told_in_a_fork(work: Callable[[], Any]) -> str:
    """What `work` is told in a process that is forked from this one, as gunicorn or Celery would."""

    def told() -> str:
        with pytest.raises((SandboxClosed, SessionClosed)) as closed:
            work()
        return str(closed.value)

    return str(in_a_fork(told))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_sandbox_that_was_opened_before_the_fork() -> None:
    """The worker is told so, may reopen it, and leaves the parent's sandbox alone, even when it closes its copy."""
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        told = "this sandbox was opened before the process forked; open one in each worker, or reopen() it"
        assert told_in_a_fork(lambda: sandbox.run("1")) == told
        assert "before the process forked" in told_in_a_fork(lambda: session.run("1"))

        def close() -> str:
            session.close()
            sandbox.close()
            return "closed"

        assert in_a_fork(close) == "closed"
        assert in_a_fork(lambda: sandbox.reopen().run("6 * 7").value) == 42
        assert session.run("x + 1").check().value == 2
        assert sandbox.run("2").value == 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_sandbox_that_is_made_before_the_fork_and_opened_after_it() -> None:
    sandbox = Sandbox("calculator", tools={"add": lambda a, b: a + b})

    def worker() -> Any:
        with sandbox:
            return sandbox.run("add(1, 2)").value

    assert [in_a_fork(worker) for _ in range(2)] == [3, 3]


def test_a_temporary_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with Sandbox("calculator") as sandbox:
        assert sandbox.run("1 + 1").value == 2
    with pytest.raises(WorkspaceError, match=r"missing.*TMPDIR"):
        Sandbox("confined-python").open()


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_sessions_opened_used_and_closed_take_no_memory(count: int) -> None:
    """Other leftovers: `engine/host/test_leaks.py`."""

    def held(used: int) -> int:
        for number in range(used):
            with sandbox.session() as session:
                assert session.run(f"{number} + 1").value == number + 1
        return psutil.Process().memory_info().rss

    with Sandbox("calculator") as sandbox:
        assert -held(30) + held(count) < 4 << 20


def test_one_program_is_no_list_of_programs() -> None:
    async def awaited(program: Any) -> None:
        async with AsyncSandbox("calculator") as sandbox:
            async for _ in sandbox.map(program):
                raise AssertionError("it was run")

    with Sandbox("calculator") as sandbox:
        for program in ("1 + 1", {"source": "1 + 1"}):
            with pytest.raises(TypeError, match=r"\[program\]"):
                next(iter(sandbox.map(program)))
            with pytest.raises(TypeError, match=r"\[program\]"):
                asyncio.run(awaited(program))
        with pytest.raises(TypeError, match="not NoneType"):
            next(iter(sandbox.map([None])))  # type: ignore[list-item]
