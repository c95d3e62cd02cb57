"""The two descriptors of the one client of a server: lines come in on the first, answers go out on the second."""

from __future__ import annotations

import asyncio
import os
import select
import stat
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from safeexec import SandboxError
from safeexec.untrusted.lines import Lines

PIECE = 64 << 10
"""Bytes that are read at a time."""
FLUSH_SECONDS = 5.0
"""How long the client may take to read the last of it, at the end."""


class Input:
    """The descriptor that the client writes to. It is read while somebody waits for a line: the rest stays with it."""

    def __init__(self, fd: int, most: int) -> None:
        """`most`: bytes that a line may have."""
        self._fd = fd
        self._lines = Lines(most)

    async def lines(self) -> AsyncIterator[bytes | None]:
        """Yield each line with something in it, the last one with or without its end; None for one that is too long.
        Raises `SandboxError` for a file, or /dev/null, and `ConnectionError` where the client is gone.
        """
        data = b"\n"
        while data != b"":
            data = await self._piece()
            for line in self._lines.feed(data or b"\n"):  # the end of the input ends the last line
                if line is None or line.strip():
                    yield line

    async def _piece(self) -> bytes:
        """Return what comes next; nothing at the end."""
        loop, there = asyncio.get_running_loop(), asyncio.Event()
        while True:
            there.clear()
            try:
                loop.add_reader(self._fd, there.set)
            except PermissionError:
                raise SandboxError(
                    "standard input is no pipe, socket or terminal: no client can be there. What a file asks is given "
                    "by a pipe: `cat FILE | …`"
                ) from None
            try:
                await there.wait()
            finally:
                loop.remove_reader(self._fd)
            try:
                return os.read(self._fd, PIECE)
            except BlockingIOError:
                continue  # another process has read it
            except OSError as error:  # the other end of a socket, or the terminal, is gone
                raise ConnectionResetError(str(error)) from None


class Output:
    """The descriptor that the client reads. Nothing is written that would block, whatever kind of file it is."""

    def __init__(self, fd: int, gone: Callable[[], object]) -> None:
        """`gone` is called when nobody reads any more."""
        self._fd = fd
        self._room = select.poll()
        self._room.register(fd, select.POLLOUT)
        self._gone = gone
        self._is_open = True
        self._rest = memoryview(b"")
        self._written: asyncio.Future[None]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Hear when the reader of a pipe goes away, also while nothing is written."""
        loop = asyncio.get_running_loop()
        pipe = stat.S_ISFIFO(os.fstat(self._fd).st_mode)
        if pipe:
            loop.add_reader(self._fd, self._gone)
        try:
            yield
        finally:
            if pipe:
                loop.remove_reader(self._fd)

    async def write(self, data: bytes) -> None:
        """Write all of it."""
        loop = asyncio.get_running_loop()
        self._rest, self._written = memoryview(data), loop.create_future()
        self._write()
        if not self._written.done():
            loop.add_writer(self._fd, self._write)
            try:
                await self._written
            finally:
                loop.remove_writer(self._fd)

    def _write(self) -> None:
        """Write as much as there is room for, a page at a time: a pipe that has room has room for a page."""
        try:
            while self._rest and self._is_open and self._room.poll(0):
                self._rest = self._rest[os.write(self._fd, self._rest[: select.PIPE_BUF]) :]
        except OSError:
            self._is_open = False
            self._gone()
        if not ((self._rest and self._is_open) or self._written.done()):
            self._written.set_result(None)
