"""A connection waits for a slow client, and not for one that takes nothing."""

from __future__ import annotations

import asyncio
import socket
from importlib.util import find_spec
from time import thread_time
from types import SimpleNamespace
from typing import Any

import pytest

if find_spec("uvicorn") is None:
    pytest.skip("uvicorn is not installed (pip install 'safeexec[server]')", allow_module_level=True)

import uvicorn
from uvicorn.server import ServerState

from safeexec.servers import running
from safeexec.servers.account import ClientAccount
from tests.engine.host.loop import LoopClock

SIZE = 32 << 20
"""More than the kernel takes for a client that does not read."""


def answering(*, whole: bool) -> Any:
    """An application that answers with `SIZE` bytes, or gives up after them."""

    async def app(_: Any, __: Any, send: Any) -> None:
        length = (b"content-length", str(SIZE if whole else SIZE + 1).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": bytes(SIZE), "more_body": not whole})

    return app


def configured(app: Any) -> uvicorn.Config:
    bounds: dict[str, Any] = {"timeout_keep_alive": 1, "h11_max_incomplete_event_size": running.HEAD}
    return uvicorn.Config(app, ws="none", log_config=None, access_log=False, **bounds)


class Served:
    """One client, connected to `app`. `waits`: it has not taken all; `lost`: the connection has ended."""

    def __init__(self, app: Any) -> None:
        self.waits, self.lost = asyncio.Event(), asyncio.Event()
        self._config, self._state = configured(app), ServerState()

    async def __aenter__(self) -> Served:
        served = self

        class Watched(running._Protocol):
            def pause_writing(self) -> None:
                super().pause_writing()
                served.waits.set()

            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                served.lost.set()

        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Watched(self._config, self._state, {}), "127.0.0.1", 0)
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        await loop.sock_connect(client, self._server.sockets[0].getsockname())
        self._reader, self._writer = await asyncio.open_connection(sock=client)  # reads 128 KiB unasked
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()
        self._server.close()
        await asyncio.wait_for(self.lost.wait(), 60)

    async def ask(self, *headers: str) -> None:
        lines = ["GET / HTTP/1.1", "Host: localhost", *headers, "", ""]
        self.send("\r\n".join(lines).encode())
        await asyncio.wait_for(self.waits.wait(), 60)

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def read_all(self) -> bytes:
        """All until the server ends the connection."""
        async with asyncio.timeout(60):
            return await self._reader.read()

    async def read(self) -> int:
        """The bytes of the body."""
        async with asyncio.timeout(60):
            await self._reader.readuntil(b"\r\n\r\n")
            return len(await self._reader.readexactly(SIZE))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("headers", [(), ("Connection: close",)])
async def test_who_takes_none_is_left(monkeypatch: pytest.MonkeyPatch, headers: tuple[str, ...], whole: bool) -> None:
    """However the server ends the connection."""
    monkeypatch.setattr(running, "TAKE_SECONDS", 0.05)

    async with Served(answering(whole=whole)) as served:
        await served.ask(*headers)
        await asyncio.wait_for(served.lost.wait(), 60)


@pytest.mark.parametrize("headers", [(), ("Connection: close",)])
async def test_who_begins_late_gets_all(headers: tuple[str, ...]) -> None:
    async with Served(answering(whole=True)) as served:
        await served.ask(*headers)
        assert await served.read() == SIZE


def test_who_takes_slowly_is_waited_for_as_long_as_enough_is_taken() -> None:
    timers: list[tuple[float, Any, tuple[Any, ...]]] = []
    cancelled: list[bool] = []
    aborted: list[bool] = []

    def call_later(seconds: float, work: Any, *given: Any) -> Any:
        timers.append((seconds, work, given))
        return SimpleNamespace(cancel=lambda: cancelled.append(True))

    loop: Any = SimpleNamespace(call_later=call_later)
    protocol = running._Protocol(configured(answering(whole=True)), ServerState(), {}, loop)
    protocol.flow = SimpleNamespace(pause_writing=lambda: None, resume_writing=lambda: None)
    left = [5 * running.TAKE_BYTES]
    protocol.transport = SimpleNamespace(get_write_buffer_size=lambda: left[0], abort=lambda: aborted.append(True))
    protocol.pause_writing()
    for now, is_left in ((4, False), (1, False), (0.5, True)):
        left[0] = int(now * running.TAKE_BYTES)
        seconds, work, given = timers.pop()
        work(*given)
        assert (seconds, aborted == [True], len(timers)) == (running.TAKE_SECONDS, is_left, not is_left)
    protocol.pause_writing()
    protocol.resume_writing()
    assert cancelled == [True]


async def test_tiny_pieces_hold_the_loop_no_longer_than_a_few_and_a_head_has_a_bound() -> None:
    """As much as asyncio reads at once, in chunks of a byte each, of somebody who has no token."""
    async with Served(answering(whole=True)) as served, LoopClock() as clock:
        began = thread_time()
        served.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 80000)
        await served.read()
    assert clock.held < (thread_time() - began) / 5
    async with Served(answering(whole=True)) as served:
        served.send(b"GET / HTTP/1.1\r\nHost: ".ljust(running.HEAD + running.PIECE, b"x"))
        answer = await served.read_all()
    assert answer.startswith(b"HTTP/1.1 400 ") and str(running.HEAD).encode() in answer


async def test_a_connection_whose_pieces_take_long_rests_after_each(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[bool] = []
    read_on = running._Protocol._read_on

    def rested(self: running._Protocol) -> None:
        rests.append(not self.transport.is_reading())
        read_on(self)

    monkeypatch.setattr(running, "COSTLY_SECONDS", 0)
    monkeypatch.setattr(running._Protocol, "_read_on", rested)
    pieces = 5
    async with Served(answering(whole=True)) as served:
        served.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for rested_after in range(pieces):
            served.send(b"X: y\r\n")
            while len(rests) <= rested_after:
                await asyncio.sleep(0.001)
        served.send(b"\r\n")
        assert await served.read() == SIZE
    assert len(rests) >= pieces and all(rests)


async def test_the_pieces_of_a_body_are_paid_for_by_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections rest one after the other."""
    monkeypatch.setattr(running, "COSTLY_SECONDS", 0)
    monkeypatch.setattr(running, "REST", 1e9)
    paid, reads = list[float](), asyncio.Semaphore(0)
    account, rests = ClientAccount(paid.append), list[float]()

    def rest(seconds: float, given: float) -> float:
        rests.append(ClientAccount.rest(account, seconds, given))
        return rests[-1]

    monkeypatch.setattr(account, "rest", rest)

    async def app(scope: Any, receive: Any, _: Any) -> None:
        scope["account"] = account
        reads.release()
        while (await receive()).get("more_body"):
            pass

    async with Served(app) as one, Served(app) as other:
        for served in (one, other):
            served.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            await asyncio.wait_for(reads.acquire(), 60)
        assert paid == []
        for served in (one, other):
            served.send(b"1\r\nx\r\n" * 100)
        async with asyncio.timeout(60):
            while len(paid) < 2:
                await asyncio.sleep(0.001)
    assert min(paid) > 0 and rests[1] > running.MAX_REST_SECONDS >= rests[0]
