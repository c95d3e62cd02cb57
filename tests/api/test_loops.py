"""An event loop stays free whatever a guest does: what blocks is done in a thread, a busy socket is left at times."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from safeexec import AsyncSandbox
from safeexec.api.loops import drive
from safeexec.engine.host.files.workspace import Workspace
from safeexec.engine.host.waiting import Core, Wait, Work
from safeexec.engine.host.waiting import drive as drive_blocking
from tests.untrusted.hostile import FIND_TOKEN

PROGRESS = (
    FIND_TOKEN
    + """\
import os, msgspec
body = msgspec.msgpack.encode(['progress', 'x', 1.0, None])
frames = (len(body).to_bytes(4, 'little') + token + body) * 50
while True:
    os.write(3, frames)
"""
)
TRICKLE = (
    FIND_TOKEN
    + """\
import os
os.write(3, (60 << 20).to_bytes(4, 'little') + token)
while True:
    os.write(3, b'x')
"""
)


def work(call: Callable[[], Any]) -> Core[Any]:
    return (yield Work(call))


def test_blocking_work_is_done_in_a_thread_of_an_event_loop_alone() -> None:
    assert drive_blocking(work(threading.get_ident)) == threading.get_ident()
    assert asyncio.run(drive(work(threading.get_ident))) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        asyncio.run(drive(work(lambda: 1 // 0)))


@pytest.mark.parametrize("undo", [True, False])
async def test_a_cancelled_caller_waits_for_blocking_work_whose_answer_is_not_lost(undo: bool) -> None:
    begun, go = threading.Event(), threading.Event()
    done: list[str] = []

    def blocks() -> str:
        begun.set()
        go.wait(60)
        done.append("done")
        return "answer"

    def core() -> Core[None]:
        done.append((yield Work(blocks)))
        try:
            yield from late()
        except asyncio.CancelledError:
            done.append("undone")
            raise

    task = asyncio.create_task(drive(core(), undo=undo))
    await asyncio.to_thread(begun.wait, 30)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["done", "answer", *(["undone"] if undo else [])]


def late() -> Core[bool]:
    """Wait for a moment that is past."""
    return (yield Wait((), 0.0))


@pytest.mark.parametrize("undo", [True, False])
async def test_what_interrupts_the_core_in_its_own_code_is_raised_and_nothing_is_waited_for_again(undo: bool) -> None:
    """Ctrl-C comes at any place: here when the core has its answer, and has closed what it waited for."""
    ours, theirs = os.pipe()

    def core() -> Core[None]:
        os.write(theirs, b"x")
        yield Wait((ours,), float("inf"))
        os.close(ours)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await drive(core(), undo=undo)
    os.close(theirs)


def test_the_same_on_trio() -> None:
    trio = pytest.importorskip("trio", reason="trio is not installed")
    assert trio.run(drive, work(threading.get_ident)) != threading.get_ident()


async def test_a_descriptor_that_is_always_ready_does_not_keep_the_loop() -> None:
    ours, theirs = os.pipe()

    def ready_for_ever() -> Core[None]:
        while True:
            yield Wait((ours,), float("inf"))

    os.write(theirs, b"x")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(drive(ready_for_ever()), 0.2)
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("source", [PROGRESS, TRICKLE], ids=["progress", "trickle"])
async def test_a_guest_that_keeps_its_socket_readable_is_stopped_and_leaves_others_the_loop(source: str) -> None:
    async with AsyncSandbox("confined-python") as sandbox, sandbox.session() as hostile, sandbox.session() as other:
        await hostile.run("x = 41")
        await other.run("y = 41")
        task = asyncio.create_task(hostile.run(source, timeout=2.0))
        steps = 0
        while not task.done():
            assert (await other.run("y + 1")).value == 42
            steps += 1
        assert (await task).outcome in ("timeout", "cpu", "output")  # "output": its messages cost the host too much
        assert steps >= 3, "the other session had no turn while the hostile one ran"
        assert (await hostile.run("x + 1")).value == 42


def threads_in(owner: Any, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> dict[str, set[int]]:
    """In which threads each function is called from now on."""
    threads: dict[str, set[int]] = {}
    for name in names:
        plain = getattr(owner, name)

        def noted(*args: Any, name: str = name, plain: Any = plain, **kwargs: Any) -> Any:
            threads.setdefault(name, set()).add(threading.get_ident())
            return plain(*args, **kwargs)

        monkeypatch.setattr(owner, name, noted)
    return threads


async def test_the_files_of_a_session_are_made_and_removed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threads_in(Workspace, ("put", "close"), monkeypatch)
    async with AsyncSandbox("data-analysis", files={"in.csv": b"1,2"}, spare=0) as sandbox:
        session = await sandbox.session()
        assert await session.list_files() == ["in.csv"]
        loop = threading.get_ident()
        assert loop not in threads["put"]
        await session.close()
        assert len(threads["close"] - {loop}) == 1, "what the session leaves is removed in a thread"


async def test_the_files_of_a_step_are_seen_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = threads_in(Workspace, ("snapshot", "restore", "branch", "listing", "snapshot_or_undo"), monkeypatch)
    loop = threading.get_ident()

    async with AsyncSandbox("data-analysis", spare=0) as sandbox, sandbox.session() as session:
        await session.run("1 + 1")
        assert threads.pop("snapshot") == {loop}, "a thread costs more than a look at nothing"
        await session.run("open('a.txt', 'w').write('1')")
        await session.set("x", 1)
        await session.checkpoint("there")
        threads.clear()
        (branch,) = await session.branch(1)
        assert [file.name for file in (await session.run("open('b.txt', 'w').write('2')")).files] == ["b.txt"]
        await session.rollback()
        assert await session.list_files() == ["a.txt"] == await branch.list_files()
        await session.save(tmp_path / "state")
        await branch.close()
        assert threads.keys() == {"snapshot", "restore", "branch", "listing"}
        assert not any(loop in found for found in threads.values())
