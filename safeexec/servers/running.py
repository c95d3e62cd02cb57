"""Runs an application on a socket: the announcement, the signals, and the patience with slow clients.

Work that runs when the signal to stop comes has `GRACE_SECONDS` to end, then it is cancelled; the process has ended
after 15 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
from collections.abc import Iterator
from time import thread_time
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from safeexec.servers.access import announce

HEAD_SECONDS = 10.0
"""How long the head of a request may take to arrive."""
TAKE_SECONDS = 30.0
TAKE_BYTES = 1 << 20
"""How much of an answer a client takes in that time at least, or all of it."""
PIECE = 8 << 10
"""Bytes that are read of a connection in one turn of the loop. asyncio reads 256 KiB at once, which in chunks of one
byte hold the loop for 0.2 s; 30 MiB in such pieces take 0.25 s of CPU instead of 0.2.
"""
HEAD = 16 << 10
"""About how many bytes the head of a request may have: 12,000 headers hold the loop for 25 ms."""
COSTLY_SECONDS, REST, MAX_REST_SECONDS = 0.002, 20, 0.25
"""A connection whose piece took more CPU time than that, 60 times the usual one, is not read for so many times as long:
chunks of a byte each, over four connections, had the calls of others take 0.9 s. Those of one client rest one after the
other, or 20 of them would have all of the loop. The bound: a pass of the garbage collector is nobody's fault.
"""
KEEP_ALIVE_SECONDS = 60
COLLECTED = (10_000, 5, 100)
"""Thresholds of the garbage collector. One pass over a value of 130,000 dicts holds all threads for 50 ms: so young
objects are looked at 50,000 at a time, and all of them after five million more.
"""
STOP_SECONDS = 8
"""After how long answers that nobody takes are given up when the server stops."""


class App(Protocol):
    """An ASGI application with a life: what begins before the first request, and ends with the server."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    async def open(self) -> None: ...

    async def stop(self) -> None:
        """Take no new work, and end what runs."""

    async def close(self) -> None: ...


def serve(app: App, listening: socket.socket, token: str) -> int:
    """Announce that `app` accepts requests, and serve it until SIGTERM or SIGINT; the exit status.

    Raises what `app.open` raises.
    """
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL + 1)  # the application logs its own faults
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        h11_max_incomplete_event_size=HEAD,
        timeout_graceful_shutdown=STOP_SECONDS,
        limit_concurrency=max(16, (descriptors if descriptors != resource.RLIM_INFINITY else 1 << 20) // 4),
    )
    gc.freeze()  # what was imported until now is in no pass
    gc.set_threshold(*COLLECTED)
    asyncio.run(_Server(config, token, app).serve(sockets=[listening]))
    return 0


class _Server(uvicorn.Server):  # type: ignore[misc]
    """Announces itself, and ends with status 0 after a signal to stop; uvicorn's own dies by the signal again."""

    def __init__(self, config: Any, token: str, app: App) -> None:
        super().__init__(config)
        self._token, self._app = token, app
        self._stopping: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # What goes wrong on a connection ends that connection; there is nobody to answer.
        asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
        await self._app.open()
        await super().startup(sockets)
        assert sockets is not None
        announce(sockets[0], self._token)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().serve(sockets)
        finally:
            await self._app.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        def stop() -> None:
            self._stopping = self._stopping or asyncio.ensure_future(self._app.stop())
            self.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        yield


class _Protocol(asyncio.BufferedProtocol, H11Protocol):  # type: ignore[misc]
    """A connection that is read in small pieces, whose next request has to arrive in time, and whose answers have to be
    taken. uvicorn waits for ever for the end of a head, and when it closes a connection, for all that was written: 20
    clients that read nothing kept 206 MB.
    """

    _piece = memoryview(bytearray(PIECE))
    """Of all connections: what was read is copied at once."""
    _timer: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # `pause_writing` whenever a client has not taken all
        self._watch()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        began = thread_time()
        self.data_received(bytes(self._piece[:nbytes]))
        self._watch()
        took = thread_time() - began
        rest = min(took * REST, MAX_REST_SECONDS) if took > COSTLY_SECONDS else 0.0
        if self.cycle is not None and (account := self.scope.get("account")) is not None:
            rest = account.rest(took, rest)  # of a body: whose it is, is known when the head has been read
        if rest:
            self.transport.pause_reading()
            self.loop.call_later(rest, self._read_on)

    def _read_on(self) -> None:
        if not self.flow.read_paused:  # else who reads the body does it
            self.transport.resume_reading()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(f"{msg} It has to be HTTP/1.1, with a head of {HEAD} bytes at most.\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        self._taken()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_taking()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._taken()

    def _await_taking(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._taking = self.loop.call_later(TAKE_SECONDS, self._check_taking, waiting)

    def _check_taking(self, before: int) -> None:
        if self.transport.get_write_buffer_size() > before - TAKE_BYTES:
            self.transport.abort()
        else:
            self._await_taking()

    def _taken(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _watch(self) -> None:
        """Begin to count where a head is awaited, end where a request runs."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
