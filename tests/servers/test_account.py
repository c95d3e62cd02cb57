"""What one client has of a server: its answers that wait, and the work beside the loop that is done for it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest

from safeexec.common.identity import AT_ONCE, LARGE
from safeexec.servers import account
from safeexec.servers.account import MAX_UNTAKEN, ClientAccount, apart, count_taken, count_untaken, made, room
from tests.servers.calling import call, opened

HALF = MAX_UNTAKEN // 2 + 1


async def reached(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


class Client:
    """One that asks for answers, each as large as it says, and takes them when it likes."""

    def __init__(self) -> None:
        self.account = ClientAccount()
        self.made: list[str] = []
        self._takes = asyncio.Event()

    def ask(self, name: str, *steps: Any) -> asyncio.Task[None]:
        return asyncio.create_task(self._answer(name, steps))

    async def _answer(self, name: str, steps: tuple[Any, ...]) -> None:
        self.account.begin()
        for step in steps:
            await step(name)
            await asyncio.sleep(0)  # a thread may be done before anything had to wait for it
        await self._takes.wait()

    async def makes(self, name: str, size: int = HALF) -> None:
        """Make an answer, which stands for one of `size` bytes."""
        await made(size, bytes, 1)
        count_untaken(size - 1)
        self.made.append(name)

    async def reads(self, name: str) -> None:
        async with room():
            count_untaken(HALF)
            self.made.append(f"{name} read")

    async def settle(self, count: int) -> list[str]:
        """What is made, when there are so many, and no further one comes soon."""
        await reached(lambda: len(self.made) >= count)
        await asyncio.sleep(0.01)
        return self.made

    async def take(self, *answers: asyncio.Task[None]) -> None:
        for one in answers:
            one.cancel()
        await asyncio.wait(answers)


async def test_what_was_asked_for_at_once_is_made_as_it_is_taken_and_who_has_read_waits_for_nobody() -> None:
    client = Client()
    first, second, *others = [client.ask(name, client.makes) for name in "abcd"]
    assert await client.settle(2) == ["a", "b"]
    await reached(lambda: client.account.full)
    small = client.ask("small", lambda name: client.makes(name, AT_ONCE))
    assert await client.settle(3) == ["a", "b", "small"]
    await client.take(first)
    assert await client.settle(4) == ["a", "b", "small", "c"]
    await client.take(second, small, *others)
    assert client.account.untaken == 0 and not client.account.full
    # Else those who have read would wait for one another, and for those who wait to read.
    client = Client()
    asked = [client.ask(name, client.reads, client.makes) for name in "abc"]
    assert sorted(await client.settle(4)) == ["a", "a read", "b", "b read"]
    await client.take(*asked)


async def test_the_pieces_of_a_stream_count_until_each_is_taken() -> None:
    client = Client()

    async def takes(_: str) -> None:
        count_taken()

    asked = client.ask("stream", client.makes, takes, client.makes, takes, client.makes)
    assert await client.settle(3) == ["stream"] * 3 and client.account.untaken == HALF
    await client.take(asked)


async def test_a_client_has_one_thread_at_a_time_though_it_gives_its_calls_up() -> None:
    own, other = ClientAccount(), ClientAccount()
    go, begun = threading.Event(), list[str]()

    def works(name: str) -> None:
        begun.append(name)
        go.wait(60)

    async def asks(client: ClientAccount, name: str) -> None:
        client.begin()
        await apart(LARGE, works, name)

    def ask(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    first = ask(asks(own, "first"))
    await reached(lambda: len(begun) == 1)
    first.cancel()
    rest = [ask(asks(own, "second")), ask(asks(other, "of another"))]
    await reached(lambda: len(begun) == 2)
    await asyncio.sleep(0.01)
    seen = begun.copy()
    go.set()
    await asyncio.gather(*rest)
    assert seen == ["first", "of another"] and begun[2:] == ["second"]


async def test_work_that_goes_on_when_all_have_left_counts_for_nobody() -> None:
    own = ClientAccount()
    left = asyncio.Event()

    async def works() -> None:
        await left.wait()
        count_untaken(1000)

    async def asks() -> asyncio.Task[None]:
        own.begin()
        return asyncio.create_task(works())

    working = await asyncio.create_task(asks())
    left.set()
    await working
    assert own.untaken == 0


async def of_a_session(method: str) -> AsyncIterator[tuple[ClientAccount, Callable[[], Awaitable[object]]]]:
    async with opened("confined-python", []) as service:
        at = await call(service, "sandbox.session", {"files": {"f": "x" * 10_000}})
        yield service.account, lambda: call(service, method, at | {"name": "f"})


async def of_mcp() -> AsyncIterator[tuple[ClientAccount, Callable[[], Awaitable[object]]]]:
    mcp = pytest.importorskip("safeexec.servers.mcp")
    server = mcp.McpServer("confined-python")
    await server.open()
    try:
        async with server._session(None) as (handle, session):
            await session.write_file("f", b"x" * 10_000)
        yield server._account, lambda: server.files(handle, "read", "f")
    finally:
        await server.close()


@pytest.mark.parametrize("way", ["session.read_file", "mcp"])
async def test_files_that_nobody_takes_are_read_when_there_is_room(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Though all were asked for at once."""
    monkeypatch.setattr(account, "MAX_UNTAKEN", 1000)
    async with contextlib.aclosing(of_mcp() if way == "mcp" else of_a_session(way)) as found:
        one, read = await anext(found)
        takes, done = asyncio.Event(), list[object]()

        async def asks() -> None:
            one.begin()
            done.append(await read())
            await takes.wait()

        asked = [asyncio.create_task(asks()) for _ in range(3)]
        await reached(lambda: (one.full and done) or len(done) > 1)
        assert len(done) == 1 and one.untaken < 100_000
        takes.set()
        await asyncio.gather(*asked)
        assert len(done) == 3


async def test_an_answer_of_mcp_over_http_counts_until_it_is_taken() -> None:
    """Its tool has ended by then."""
    transports = pytest.importorskip("safeexec.servers.mcp_transports")
    server = transports.HttpMcpServer("confined-python", (), "token")
    counted: list[int] = []

    async def answers(scope: object, receive: object, send: Callable[[Any], Awaitable[None]]) -> None:
        for size in (300, 200, 0):
            await send({"type": "http.response.body", "body": bytes(size), "more_body": size > 0})

    async def send(message: object) -> None:
        counted.append(server._account.untaken)

    async def receive() -> Any:
        return {"type": "http.request", "body": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'}

    server._http = answers
    await asyncio.create_task(server._bounded({"type": "http", "method": "POST"}, receive, send))
    await reached(lambda: server._account.untaken == 0)
    assert counted == [0, 300, 200]
