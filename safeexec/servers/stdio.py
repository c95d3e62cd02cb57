"""`safeexec serve --stdio`: the method table over standard input and output, for programs in any language.

The end of the input ends it, when what was asked is answered; a client that no longer reads ends it at once. So does
the end of the input of who owns the server: in a container nothing else tells that it has died.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from typing import Any

from safeexec import SandboxError
from safeexec.remote.methods import MAX_MESSAGE
from safeexec.servers.account import count_taken
from safeexec.servers.jsonrpc import reply
from safeexec.servers.output import FLUSH_SECONDS, Output
from safeexec.servers.service import Service
from safeexec.servers.wire import encode_apart
from safeexec.untrusted.lines import Lines

MAX_CALLS = 1000
"""Lines that are being answered at once; further ones wait in the pipe."""
MAX_UNREAD = 1 << 20
"""Bytes that the client has not read yet, from which on no further line is taken."""
_PIECE = 64 << 10


async def serve(service: Service, read: int, write: int) -> None:
    """Answer what comes through the descriptor `read` until it ends; then end every session."""
    await _Connection(service, read, write).run()


class _Connection:
    """One client at the other end of two descriptors."""

    def __init__(self, service: Service, read: int, write: int) -> None:
        self._service = service
        self._read = read
        self._output = Output(write, self._leave)
        self._said: asyncio.Queue[tuple[bytes | dict[str, Any], asyncio.Event]] = asyncio.Queue()
        """Answers, and notifications that are still to be written as JSON, in the order in which they are sent, with
        what hears that they were.
        """
        self._lines = Lines(MAX_MESSAGE)
        self._waiting: deque[bytes | None] = deque()
        self._calls: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._ended = False
        self._reading = False

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave)
        saying = asyncio.create_task(self._say())
        try:
            self._consider()
            with self._output.watched():
                await self._over.wait()
        finally:
            self._leave()
            for call in self._calls:
                call.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)
            await self._service.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._said.join()
            saying.cancel()

    def _leave(self) -> None:
        """Read no more, and stop what still runs."""
        self._ended = True
        self._waiting.clear()
        self._watch(False)
        self._over.set()

    def _consider(self) -> None:
        """Begin what there is room for, and read on, or wait, or end."""
        while self._waiting and self._has_room():
            call = asyncio.create_task(self._answer(self._waiting.popleft()))
            self._calls.add(call)
            call.add_done_callback(self._answered)
        self._watch(not self._ended and not self._waiting and self._has_room())
        if self._ended and not self._waiting and not self._calls:
            self._over.set()

    def _has_room(self) -> bool:
        return len(self._calls) < MAX_CALLS and self._service.account.untaken < MAX_UNREAD

    async def _answer(self, line: bytes | None) -> None:
        self._service.account.begin()
        self._said.put_nowait((await reply(self._service, line, self._notify), sent := asyncio.Event()))
        await sent.wait()
        count_taken()  # now, for `_answered` looks at what is not

    def _answered(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        self._consider()

    def _notify(self, name: str, params: dict[str, Any]) -> None:
        self._said.put_nowait(({"jsonrpc": "2.0", "method": name, "params": params}, asyncio.Event()))

    async def _say(self) -> None:
        while True:
            said, sent = await self._said.get()
            with suppress(SandboxError):  # a notification that is too large: the result says so
                await self._output.write(said if isinstance(said, bytes) else await encode_apart(said) + b"\n")
            sent.set()
            self._said.task_done()

    def _watch(self, wanted: bool) -> None:
        """Set whether to hear when there is something to read. Raises `SandboxError` for a file, or /dev/null."""
        loop = asyncio.get_running_loop()
        if wanted and not self._reading:
            try:
                loop.add_reader(self._read, self._take)
            except PermissionError:
                raise SandboxError(
                    "standard input is no pipe, socket or terminal: no client can be there. What a file asks is given "
                    "by a pipe: `cat FILE | safeexec serve --stdio`"
                ) from None
        elif self._reading and not wanted:
            loop.remove_reader(self._read)
        self._reading = wanted

    def _take(self) -> None:
        try:
            data = os.read(self._read, _PIECE)
        except BlockingIOError:
            return  # another process has read it
        except OSError:
            return self._leave()  # the other end of a socket, or the terminal, is gone
        if not data and self._service.owned:
            return self._leave()
        self._waiting.extend(line for line in self._lines.feed(data or b"\n") if line is None or line.strip())
        self._ended = not data
        self._consider()
