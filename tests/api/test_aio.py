"""The async API: the same names awaited, on asyncio and on trio; cancellation undoes the step."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from safeexec import (
    AsyncSandbox,
    AsyncSession,
    Policy,
    PolicyError,
    Sandbox,
    Session,
    SessionBusy,
    SessionClosed,
)
from safeexec.api.loops import Driver

FOREVER = "keep = 'lost'\nprint('started', flush=True)\nwhile True:\n    pass"


def on_asyncio(main: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(main())  # type: ignore[arg-type]


def on_trio(main: Callable[[], Awaitable[Any]]) -> Any:
    return pytest.importorskip("trio").run(main)


@pytest.fixture(params=[on_asyncio, on_trio], ids=["asyncio", "trio"])
def on_loop(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[Any]]], Any]:
    return request.param


both_loops = pytest.mark.usefixtures("on_loop")
"""An asynchronous test with it runs on both, as `tests/conftest.py` reads the fixture."""


@both_loops
async def test_steps_state_checkpoints_and_branches() -> None:
    async with AsyncSandbox("calculator") as sandbox:
        assert (await sandbox.run("6 * 7")).value == 42
        async with sandbox.session() as session:
            (await session.run("total = 1")).check()
            await session.set("rate", 0.5)
            await session.checkpoint("clean")
            assert (await session.run("total = total + rate; total")).value == 1.5
            (left,) = await session.branch()
            async with left:
                assert (await left.run("total += 10; total")).value == 11.5
            assert await session.get("total") == 1.5
            await session.rollback("clean")
            assert await session.get("total") == 1
            assert sorted(await session.names()) == ["rate", "total"]
            await session.remove("rate")
            assert [variable.name for variable in await session.variables()] == ["total"]


@both_loops
async def test_leaving_a_stream_undoes_the_step() -> None:
    async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
        (await session.run("keep = 1")).check()
        async for _ in session.stream(FOREVER, timeout=60):
            break  # nobody closes it
        assert (await session.run("keep")).value == 1
        pieces = aiter(session.stream(FOREVER, timeout=60))
        assert await anext(pieces) == "started\n"
        await pieces.aclose()  # type: ignore[attr-defined]
        assert (await session.run("keep")).value == 1


@both_loops
async def test_a_stream_ends_with_what_a_tool_raises_a_wrong_argument_or_a_cancelled_task() -> None:
    def fail() -> None:
        raise ValueError("not today")

    async with AsyncSandbox("calculator", tools=[fail]) as sandbox, sandbox.session() as session:
        (await session.run("keep = 1")).check()
        stream = session.stream("print('one')\nfail()")
        assert [text async for text in stream] == ["one\n"]
        assert stream.result.error is not None and stream.result.error.message == "fail(): not today"
        with pytest.raises(PolicyError, match="timeout"):
            await anext(aiter(session.stream("1", timeout=-1)))
        assert (await session.run("keep")).value == 1


@pytest.mark.parametrize("way", ["map", "map_as_completed"])
async def test_leaving_a_map_stops_what_runs_and_a_sandbox_opens_anew(way: str) -> None:
    async with AsyncSandbox("calculator") as sandbox:
        results = getattr(sandbox, way)(["1", *["while True: pass"] * 5], workers=2, timeout=30)
        await anext(results)
        await results.aclose()
        assert repr(sandbox) == "<AsyncSandbox 'calculator', open, 0 sessions>"
        assert await sandbox.reopen() is sandbox
        assert (await sandbox.run("2")).value == 2


async def test_cancelling_the_task_stops_the_step_or_the_stream_and_restores_the_state() -> None:
    async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
        (await session.run("keep = 1")).check()
        started = asyncio.Event()
        step = asyncio.create_task(session.run(FOREVER, timeout=60, on_output=lambda text: started.set()))
        await started.wait()
        with pytest.raises(SessionBusy):
            await session.run("keep")
        step.cancel()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert (await session.run("keep")).value == 1
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in session.stream(FOREVER, timeout=60):
                begun.set()

        reading = asyncio.create_task(read())
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await session.run("keep")).value == 1


@pytest.mark.parametrize(
    ("source", "stdin"),
    [
        pytest.param("[{i} for i in range(20_000)]", None, id="its value is read in a thread"),
        pytest.param("len(input())", "7" * 100_000, id="its input is ended in a thread"),
    ],
)
async def test_a_step_that_is_cancelled_at_any_of_its_waits_is_undone(source: str, stdin: str | None) -> None:
    source, waits = f"x += 1\n{source}", 0
    async with AsyncSandbox("confined-python") as sandbox, sandbox.session() as session:
        (await session.run("x = 0")).check()
        while True:
            step = Driver(session._core.steps.run(source, timeout=60, atomic=False, stdin=stdin))
            for _ in range(waits + 1):
                if not await step.go_on():
                    break
            else:
                await step.interrupt(asyncio.CancelledError())
                assert await session.get("x") == 0, f"wait {waits}"
                waits += 1
                continue
            assert step.result.ok
            assert waits > 1
            break


@pytest.mark.parametrize("what", ["session", "stored session", "resumed session", "template", "branch"])
async def test_nothing_is_left_of_what_is_given_up_as_it_is_opened(tmp_path: Path, what: str) -> None:
    """Whoever holds the coroutine closes it, or the loop has ended: nothing can be awaited then."""
    policy = Policy.load("standard").replace(filesystem={"workspace": "read-write"})
    async with (
        AsyncSandbox(policy, spare=0, store=tmp_path, files={"a.txt": b"1"}) as sandbox,
        sandbox.session() as session,
    ):
        await sandbox.template("t", prepare="x = 1")
        async with sandbox.session_for("bob") as stored:
            (await stored.run("x = 1")).check()
        core, given = sandbox._core, {"namespace": {"x": list(range(5000))}}
        begin: Callable[[], Any] = {
            "session": lambda: core.new_session(**given),
            "stored session": lambda: core.session_for("ada", None, given),
            "resumed session": lambda: core.session_for("bob", None, {}),
            "template": lambda: core.new_session(template="t", **given),
            "branch": lambda: session._core.branch(2),
        }[what]
        waits, opened = 0, False
        while not opened:
            operation = begin()
            opening = Driver[Any](operation)
            for _ in range(waits):
                opened = opened or not await opening.go_on()
            if not opened:
                operation.close()
                assert [one for one in core.sessions.of_callers() if one is not session._core] == [], f"wait {waits}"
                waits += 1
        assert waits > 2
        coroutine = sandbox.session()
        coroutine.send(None)
        coroutine.close()
        assert (await session.run("1")).ok


def test_a_cancel_scope_of_trio_stops_the_step() -> None:
    trio = pytest.importorskip("trio")

    async def main() -> None:
        async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
            (await session.run("keep = 1")).check()
            with trio.CancelScope() as scope:
                await session.run(FOREVER, timeout=60, on_output=lambda text: scope.cancel())
            assert scope.cancelled_caught
            assert (await session.run("keep")).value == 1

    trio.run(main)


async def test_cancelling_what_is_no_step_lets_it_finish_first() -> None:
    """A request that was half answered would leave the conversation with the process out of step."""
    async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
        (await session.run("x = list(range(1000))")).check()
        for request in (session.get("x"), session.checkpoint("here"), session.variables()):
            task = asyncio.create_task(request)
            await asyncio.sleep(0)
            task.cancel()
            # One that the child had answered by then is finished, not cancelled.
            with contextlib.suppress(asyncio.CancelledError):
                await task
            assert (await session.run("len(x)")).value == 1000
        assert [row.name for row in session.checkpoints() if not row.automatic] == ["here"]


async def test_a_cancelled_tool_is_cancelled_itself() -> None:
    waiting, ended = asyncio.Event(), asyncio.Event()

    async def wait_for_ever() -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsyncSandbox("calculator", tools=[wait_for_ever]) as sandbox, sandbox.session() as session:
        (await session.run("keep = 1")).check()
        step = asyncio.create_task(session.run("keep = 2\nwait_for_ever()"))
        await waiting.wait()
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        assert ended.is_set()
        assert (await session.run("keep")).value == 1


@both_loops
async def test_async_and_blocking_tools() -> None:
    """An async tool runs on the loop's thread, another one beside it, so that it cannot hold the loop."""
    here = threading.get_ident()

    async def on_the_loop() -> bool:
        return threading.get_ident() == here

    def beside_it() -> bool:
        return threading.get_ident() != here

    async with AsyncSandbox("calculator", tools=[on_the_loop, beside_it]) as sandbox:
        assert (await sandbox.run("on_the_loop(), beside_it()")).value == (True, True)


async def test_a_tool_that_takes_too_long_is_given_up(on_loop: Any) -> None:
    policy = Sandbox("standard").policy.replace(tools={"timeout_seconds": 0.05})
    release = threading.Event()

    async def hang() -> None:
        if on_loop is on_asyncio:
            await asyncio.Event().wait()
        else:
            import trio

            await trio.sleep_forever()

    def block() -> None:
        release.wait(60)

    async with AsyncSandbox(policy, tools=[hang, block]) as sandbox, sandbox.session() as session:
        try:
            for tool in ("hang", "block"):
                source = f"try:\n    {tool}()\nexcept TimeoutError as error:\n    told = str(error)\ntold"
                assert (await session.run(source)).check().value == f"{tool}() took more than 0.05 s"
        finally:
            release.set()


@pytest.mark.parametrize(("sessions", "calls"), [(10, 5), pytest.param(50, 20, marks=pytest.mark.slow)])
async def test_tool_calls_of_many_sessions_are_in_flight_together(sessions: int, calls: int) -> None:
    arrived = 0
    together = asyncio.Event()

    async def meet(number: int) -> int:
        nonlocal arrived
        arrived += 1
        if arrived >= sessions:
            together.set()
        await together.wait()
        return number + 1

    async def one(sandbox: AsyncSandbox) -> int:
        async with sandbox.session(checkpoints="off") as session:
            return (await session.run(f"sum(meet(n) for n in range({calls}))")).check().value  # type: ignore[no-any-return]

    async with AsyncSandbox("calculator", tools=[meet]) as sandbox:
        totals = await asyncio.gather(*(one(sandbox) for _ in range(sessions)))
    assert totals == [sum(range(1, calls + 1))] * sessions
    assert arrived == sessions * calls


@both_loops
async def test_what_is_opened_is_awaited_or_entered(tmp_path: Path) -> None:
    async with AsyncSandbox("calculator", spare=0) as sandbox:
        async with sandbox.session_for("ada") as session:
            await session.run("kept = 7")
            await session.save(tmp_path / "state")
        async with sandbox.restore(tmp_path / "state") as restored:
            assert await restored.get("kept") == 7
        async with sandbox.plugin("def double(x):\n    return 2 * x", exports=["double"]) as plugin:
            assert await plugin.double(21) == 42
        assert sandbox.stats().open == 0
        again = await sandbox.restore(tmp_path / "state")
        assert await again.get("kept") == 7


async def test_a_listener_that_would_have_to_be_awaited_is_refused() -> None:
    async def hear(text: str) -> None:
        raise AssertionError(text)

    async with AsyncSandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        with pytest.raises(TypeError, match="on_stdout is called while the step runs, not awaited"):
            await session.run("print(1)", on_stdout=hear)
        with pytest.raises(TypeError, match="on_display is a function, not str"):
            await session.run("print(1)", on_display="x")  # type: ignore[arg-type]
        assert (await session.run("1 + 1")).step == 1


def test_what_waits_is_awaited() -> None:
    at_once = {
        Session: {"card", "cancel", "checkpoints", "drop", "history", "note", "pending", "stream"},
        Sandbox: {"card", "stats", "templates", "plugin", "map", "map_as_completed"}
        | {"session", "session_for", "restore"},
    }
    for blocking, awaited in ((Session, AsyncSession), (Sandbox, AsyncSandbox)):
        for name in sorted({*dir(blocking)} & {*dir(awaited)}):
            if not name.startswith("_") and callable(getattr(blocking, name)):
                waits = inspect.iscoroutinefunction(getattr(awaited, name))
                assert waits is (name not in at_once[blocking]), f"{awaited.__name__}.{name}"


TWO = "import sys\nprint('out', input())\nprint('err', x, file=sys.stderr)"


def test_a_stream_takes_what_a_step_takes_and_says_which_stream_a_piece_is_of(on_loop: Any) -> None:
    heard: list[str] = []
    options: Any = {"stdin": "5", "namespace": {"x": 1}, "on_stderr": heard.append, "timeout": 5}
    printed = {("out 5\n", "stdout"), ("err 1\n", "stderr")}

    async def main() -> None:
        async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
            stream = session.stream(TWO, **options)
            assert {(str(piece), piece.stream) async for piece in stream} == printed
            stream.result.check()

    on_loop(main)
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        again = session.stream(TWO, **options)
        with pytest.raises(RuntimeError, match="has not ended"):
            _ = again.result
        assert {(str(piece), piece.stream) for piece in again} == printed and again.result.ok
        with pytest.raises(RuntimeError, match="runs once"):
            iter(again)
        with pytest.raises(TypeError, match="unexpected keyword argument 'stdout'"):
            session.stream("1", stdout=print)  # type: ignore[call-arg]
    assert heard == ["err 1\n"] * 2
    with pytest.raises(SessionClosed):
        session.stream("1")


def test_a_stream_of_a_busy_session_is_refused_at_the_call(session: Session) -> None:
    first = iter(session.stream("print('on')\nwhile True: pass", timeout=20))
    assert next(first) == "on\n"
    with pytest.raises(SessionBusy):
        session.stream("1")
    first.close()  # type: ignore[attr-defined]
    assert list(session.stream("print(1)")) == ["1\n"]
