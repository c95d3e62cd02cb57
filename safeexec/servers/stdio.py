"""`safeexec serve --stdio`: the method table over standard input and output, for programs in any language.

The end of the input ends it, when what was asked is answered; a client that no longer reads ends it at once. So does
the end of the input of who owns the server: in a container nothing else shows that it has died.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Any

from safeexec import SandboxError
from safeexec.remote.methods import MAX_MESSAGE
from safeexec.servers.account import count_taken
from safeexec.servers.jsonrpc import reply
from safeexec.servers.service import Service
from safeexec.servers.streams import FLUSH_SECONDS, Input, Output
from safeexec.servers.wire import encode_apart

MAX_CALLS = 1000
"""Lines that are being answered at once; further ones wait in the pipe."""
MAX_UNREAD = 1 << 20
"""Bytes that the client has not read yet, from which on no further line is taken."""


async def serve(service: Service, read: int, write: int) -> None:
    """Answer what comes through the descriptor `read` until it ends; then end every session."""
    await _Connection(service, read, write).run()


class _Connection:
    """One client at the other end of two descriptors."""

    def __init__(self, service: Service, read: int, write: int) -> None:
        self._service = service
        self._input = Input(read, MAX_MESSAGE)
        self._output = Output(write, self._leave)
        self._said: asyncio.Queue[tuple[bytes | dict[str, Any], asyncio.Event]] = asyncio.Queue()
        """Answers, and notifications that are still to be written as JSON, in the order in which they are sent, with
        what hears that they were.
        """
        self._calls: set[asyncio.Task[None]] = set()
        self._answered, self._over = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave)
        taking, saying = asyncio.create_task(self._take()), asyncio.create_task(self._say())
        taking.add_done_callback(self._leave)
        try:
            with self._output.watched():
                await self._over.wait()
        finally:
            ending = [taking, *self._calls]
            for task in ending:
                task.cancel()
            taken, *_ = await asyncio.gather(*ending, return_exceptions=True)
            await self._service.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._said.join()
            saying.cancel()
        if isinstance(taken, Exception):
            raise taken

    def _leave(self, _: object = None) -> None:
        """Read no more, and stop what still runs."""
        self._over.set()

    async def _take(self) -> None:
        """Begin what is asked while there is room for its answer, to the end of the input; then wait for the rest."""
        with suppress(ConnectionError):
            async for line in self._input.lines():
                call = asyncio.create_task(self._answer(line))
                self._calls.add(call)
                call.add_done_callback(self._end)
                while len(self._calls) >= MAX_CALLS or self._service.account.untaken >= MAX_UNREAD:
                    self._answered.clear()
                    await self._answered.wait()
            if self._calls and not self._service.owned:
                await asyncio.wait(self._calls)

    async def _answer(self, line: bytes | None) -> None:
        self._service.account.begin()
        self._said.put_nowait((await reply(self._service, line, self._notify), sent := asyncio.Event()))
        await sent.wait()
        count_taken()  # now, for `_take` looks at what is not

    def _end(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        self._answered.set()

    def _notify(self, name: str, params: dict[str, Any]) -> None:
        self._said.put_nowait(({"jsonrpc": "2.0", "method": name, "params": params}, asyncio.Event()))

    async def _say(self) -> None:
        while True:
            said, sent = await self._said.get()
            with suppress(SandboxError):  # a notification that is too large: the result says so
                await self._output.write(said if isinstance(said, bytes) else await encode_apart(said) + b"\n")
            sent.set()
            self._said.task_done()
