"""Answers that are kept for requests with an id: how many, how large, and what is not kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec

import pytest

if find_spec("starlette") is None:
    pytest.skip("starlette is not installed (pip install 'safeexec[server]')", allow_module_level=True)

from starlette.responses import Response

from safeexec import SessionBusy, SessionClosed
from safeexec.servers.http import idempotency
from safeexec.servers.http.requests import RefusedRequest

Ask = Callable[..., Awaitable[bytes]]


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[Ask, list[str]]]:
    """Give a way to ask, of one tenant, and the list of what ran."""
    answers, ran = idempotency.Answers(), []

    async def ask(identity: str, size: int = 1, *, fails: Exception | None = None) -> bytes:
        async def work() -> Response:
            ran.append(identity)
            if fails is not None:
                raise fails
            return Response(bytes(size))

        answer = await answers.once(identity, b"", work, ExitStack())
        await asyncio.sleep(0)  # the answer is counted by a callback of its task
        return bytes(answer.body)

    yield ask, ran
    assert not answers.tasks()


async def test_the_oldest_ids_are_forgotten_with_what_their_answers_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEPT", 100)
    monkeypatch.setattr(idempotency, "MAX_IDS", 2)

    async with asking() as (ask, ran):
        for name in "abcd":
            await ask(name, 50)
        assert len(await ask("c", 50)) == len(await ask("d", 50)) == 50  # no room is lost to those that are forgotten
        await ask("a", 50)
        assert ran == [*"abcda"]


NOT_NOW = RefusedRequest(429, "not now")


async def test_a_refusal_is_not_kept_and_what_fails_is_no_fault_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEPT", 0)

    async with asking() as (ask, ran):
        for _ in range(2):
            with pytest.raises(RefusedRequest, match="not now"):
                await ask("a", fails=NOT_NOW)
        assert ran == ["a", "a"]
        # One ends with an exception while another begins: each has its own.
        first, second = await asyncio.gather(ask("b", fails=NOT_NOW), ask("c", 5), return_exceptions=True)
        assert isinstance(first, RefusedRequest) and len(second) == 5


async def test_what_failed_ran_all_the_same() -> None:
    """An error says nothing of what was done before it: the work is not done again."""
    async with asking() as (ask, ran):
        with pytest.raises(SessionClosed):
            await ask("told", fails=SessionClosed("it is closed"))
        assert b"it is closed" in await ask("told")
        with pytest.raises(ZeroDivisionError):
            await ask("fault", fails=ZeroDivisionError())
        with pytest.raises(RefusedRequest, match="no answer any more"):
            await ask("fault")
        with pytest.raises(SessionBusy):
            await ask("busy", fails=SessionBusy("later"))
        assert await ask("busy", 3) == bytes(3)
        assert ran == ["told", "fault", "busy", "busy"]


async def test_a_program_whose_answer_was_given_up_runs_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is too large costs no other; of the others the oldest go."""
    monkeypatch.setattr(idempotency, "MAX_KEPT", 100)

    async with asking() as (ask, ran):
        await ask("a", 90)
        assert len(await ask("large", 101)) == 101
        assert len(await ask("a", 90)) == 90
        for name in "bc":
            await ask(name, 40)
        assert len(await ask("b", 40)) == len(await ask("c", 40)) == 40
        for given_up in ("large", "a"):
            with pytest.raises(RefusedRequest, match="no answer any more"):
                await ask(given_up)
        assert ran == ["a", "large", "b", "c"]


async def test_work_that_goes_on_is_never_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_IDS", 2)

    answers, end = idempotency.Answers(), asyncio.Event()

    async def work(wait: bool) -> Response:
        if wait:
            await end.wait()
        return Response(b"x")

    first = asyncio.create_task(answers.once("long", b"", partial(work, True), ExitStack()))
    for number in range(5):
        await answers.once(str(number), b"", partial(work, False), ExitStack())
    again = asyncio.create_task(answers.once("long", b"", partial(work, True), ExitStack()))
    await asyncio.sleep(0)
    end.set()
    assert await first is await again


async def test_work_that_nobody_comes_back_for_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the clock of the loop, which goes on only when it is told."""
    now, answers, ended = [0.0], idempotency.Answers(), []
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0])

    async def later(seconds: float) -> None:
        now[0] += seconds
        for _ in range(10):
            await asyncio.sleep(0)

    async def work() -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)  # a step that is stopped brings its state in order
            ended.append(1)
        raise AssertionError

    async def come() -> asyncio.Task[Response]:
        client = asyncio.create_task(answers.once("a", b"", work, ExitStack()))
        await later(0)
        return client

    async def go(client: asyncio.Task[Response]) -> None:
        client.cancel()
        await later(0)

    first, other = await come(), await come()
    await go(first)
    await later(2 * idempotency.RETURN_SECONDS)
    await go(other)  # it was there all the time
    await later(idempotency.RETURN_SECONDS - 1)
    again = await come()  # in time
    await later(2 * idempotency.RETURN_SECONDS)
    await go(again)
    assert not ended and len(answers.tasks()) == 1
    await later(idempotency.RETURN_SECONDS + 0.1)
    too_late = await come()  # while it is being stopped
    assert not ended and not too_late.done()
    await later(0.5)
    for client in (too_late, await come()):
        with pytest.raises(RefusedRequest, match="no answer any more"):
            await client
    assert ended == [1] and not answers.tasks()
