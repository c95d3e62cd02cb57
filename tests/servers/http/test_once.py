"""Answers that are kept for requests with an id: how many, how large, and what is not kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec

import pytest

if find_spec("starlette") is None:
    pytest.skip("starlette is not installed (pip install 'safeexec[server]')", allow_module_level=True)

from starlette.responses import Response

from safeexec.servers.http import once
from safeexec.servers.http.requests import RefusedRequest

Ask = Callable[..., Awaitable[bytes]]


def asked(test: Callable[[Ask, list[str]], Awaitable[None]]) -> None:
    """Run `test` with a way to ask, of one tenant, and the list of what ran."""

    async def inside() -> None:
        answers, ran = once.Answers(), []

        async def ask(identity: str, size: int = 1, *, fails: bool = False) -> bytes:
            async def work() -> Response:
                ran.append(identity)
                if fails:
                    raise RefusedRequest(429, "not now")
                return Response(bytes(size))

            answer = await answers.once(identity, b"", work())
            await asyncio.sleep(0)  # the answer is counted by a callback of its task
            return bytes(answer.body)

        await test(ask, ran)
        assert not answers.tasks()

    asyncio.run(inside())


def test_the_oldest_answers_are_given_up_and_their_programs_run_no_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "MAX_KEPT", 100)

    async def test(ask: Ask, ran: list[str]) -> None:
        for name in "abc":
            await ask(name, 40)
        assert len(await ask("b", 40)) == len(await ask("c", 40)) == 40
        with pytest.raises(RefusedRequest, match="not kept any more"):
            await ask("a", 40)
        assert ran == ["a", "b", "c"]

    asked(test)


def test_the_oldest_ids_are_forgotten_with_what_their_answers_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "MAX_KEPT", 100)
    monkeypatch.setattr(once, "MAX_IDS", 2)

    async def test(ask: Ask, ran: list[str]) -> None:
        for name in "abcd":
            await ask(name, 50)
        assert len(await ask("c", 50)) == len(await ask("d", 50)) == 50  # no room is lost to those that are forgotten
        await ask("a", 50)
        assert ran == [*"abcda"]

    asked(test)


def test_a_refusal_is_not_kept_and_what_fails_is_no_fault_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "MAX_KEPT", 0)

    async def test(ask: Ask, ran: list[str]) -> None:
        for _ in range(2):
            with pytest.raises(RefusedRequest, match="not now"):
                await ask("a", fails=True)
        assert ran == ["a", "a"]
        # One ends with an exception while another begins: each has its own.
        first, second = await asyncio.gather(ask("b", fails=True), ask("c", 5), return_exceptions=True)
        assert isinstance(first, RefusedRequest) and len(second) == 5

    asked(test)
