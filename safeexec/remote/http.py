"""Calls over HTTP to a `safeexec serve`: one thread and one connection per call that is under way.

Each call has an id of its own. Where its connection breaks before the answer is whole, it is made again with the same
id: the server runs it once, and gives the answer to whoever asks. A stream is kept by nobody, and is not made again.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

from safeexec.errors import ProtocolError, SandboxClosed, SandboxError
from safeexec.remote.methods import LABELLED, MAX_MESSAGE, METHODS, about_label
from safeexec.remote.wire import LOOK_SECONDS, WAIT_SECONDS, RemoteCall, parsed, raised, sent

CONNECT_SECONDS = 30.0
"""Time for a connection to be made, TLS included."""
TOO_MANY = 429
SESSION = "x-session-id"
"""The header by which what stands before several servers sends a call to the one that has its session."""
RETURN_SECONDS = 8.0
"""Time after a break of its connection in which a call is made again: the server stops one that nobody asks for within
ten."""
PAUSES = (0.1, 0.4, 1.5, 4.0)
"""Pauses, one before each time that it is made again."""
IDLE_SECONDS = 3.0
"""Time that a connection is kept for the next call: servers close theirs after five."""


class _NotNow(Exception):
    """The server has not begun a call: in how many seconds it may be made again, and what it says."""

    def __init__(self, seconds: float, error: Exception) -> None:
        super().__init__(error)
        self.seconds = seconds
        self.error = error


class _Broken(Exception):
    """A connection was not made, or has ended before the answer was whole: whether the server may have begun."""

    def __init__(self, error: Exception, begun: bool) -> None:
        super().__init__(error)
        self.error = error
        self.begun = begun


class _Request(NamedTuple):
    """A call as it is sent, each time the same. `about`: what stands before several servers sends those with the same
    one to the same server. `pauses`: before each time that it may be made again. `patience`: how many seconds it may
    wait for its turn.
    """

    path: str
    about: str
    body: bytes
    pauses: tuple[float, ...]
    patience: float


class HttpWire:
    """The connections to one address, with a token."""

    def __init__(self, url: str, token: str | None) -> None:
        """Raises ValueError for what is no address of a server. Nothing is sent yet."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address like http://127.0.0.1:8000")
        self._connection_type = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token is None and parts.password:
            token = unquote(parts.password)
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._lost: Exception | None = None
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._busy: set[socket.socket] = set()
        """The connections of the calls that are under way."""
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def alive(self) -> bool:
        return self._lost is None and os.getpid() == self._owner

    def begin(self, method: str, params: dict[str, Any]) -> RemoteCall:
        if not self.alive:
            raise self._lost or SandboxClosed("this connection was made before the process forked")
        request, pending = _request(method, params), RemoteCall()
        thread = threading.Thread(target=self._call, args=(pending, request), name="safeexec-wire", daemon=True)
        thread.start()
        return pending

    def _call(self, pending: RemoteCall, request: _Request) -> None:
        """Make a call until it has an answer, or none is to be had. One that may have begun is made again also when its
        caller was interrupted: who stops it, or undoes what it did, waits for its answer.
        """
        until, pauses, begun = monotonic() + request.patience, iter(request.pauses), False
        while True:
            tried = monotonic()
            try:
                return self._make(request, max(until - tried, LOOK_SECONDS) if begun else CONNECT_SECONDS, pending)
            except _NotNow as refused:
                error, pause = refused.error, refused.seconds
            except _Broken as broken:
                error = broken.error
                if broken.begun and (not begun or monotonic() - tried > RETURN_SECONDS):  # what is patient waits anew
                    until, pauses, begun = monotonic() + RETURN_SECONDS, iter(request.pauses), True
                pause = next(pauses, inf) if begun else inf
            if monotonic() + pause > until or not pending.wait_to_repeat(pause, self, begun):
                return self._end(pending, error)

    def _end(self, pending: RemoteCall, answer: dict[str, Any] | Exception) -> None:
        if isinstance(answer, Exception):
            pending.fail(self._lost or answer)
        else:
            pending.finish(answer)

    def close(self) -> None:
        self.lose(SandboxClosed("the connection is closed"))

    def __del__(self) -> None:
        if hasattr(self, "_owner"):
            self.close()

    def _make(self, request: _Request, connect_seconds: float, pending: RemoteCall) -> None:
        """Make a call once, and pass on its answer, or the error. Raises `_NotNow` and `_Broken`."""
        connection = self._connection()
        reached = connection.sock is not None
        try:
            if not reached:
                connection.timeout = connect_seconds
                connection.connect()
                connection.sock.settimeout(None)  # who waits for the call has a deadline, and hangs up
                reached = True
            with self._under_way(connection, pending):
                headers = {**self._headers, SESSION: request.about}
                connection.request("POST", self._base + request.path, request.body, headers)
                with closing(connection.getresponse()) as response:
                    streams = response.headers.get_content_type() == "text/event-stream"
                    self._end(pending, _follow(response, pending) if streams else _taken(response))
        except _NotNow:
            self._keep(connection)
            raise
        except (SandboxError, ValueError) as error:
            connection.close()
            self._end(pending, error)
        except (OSError, HTTPException) as error:
            connection.close()
            problem = SandboxClosed(f"{self._address} does not answer: {error or type(error).__name__}")
            raise _Broken(problem, reached) from None

    @contextmanager
    def _under_way(self, connection: HTTPConnection, pending: RemoteCall) -> Iterator[None]:
        """Have `lose`, or who waits no more, end a connection in use. Afterwards it is kept for the next call."""
        used = connection.sock  # the response may take it over
        with self._lock:
            if self._lost is not None:
                raise self._lost
            self._busy.add(used)
        try:
            pending.on_close(partial(_hang_up, used))
            yield
        finally:
            pending.on_close(None)
            with self._lock:
                self._busy.discard(used)
        self._keep(connection)

    def _connection(self) -> HTTPConnection:
        """Return a connection that was kept and that the server has not closed meanwhile, or a new one."""
        with self._lock:
            idle, self._idle = self._idle, []
            found = None
            for since, connection in idle:
                if found is None and monotonic() - since < IDLE_SECONDS and not _has_ended(connection):
                    found = connection
                elif monotonic() - since < IDLE_SECONDS:
                    self._idle.append((since, connection))
                else:
                    connection.close()
        return found or self._connection_type(self._host, self._port, timeout=CONNECT_SECONDS)

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if self._lost is None and connection.sock is not None:
                self._idle.append((monotonic(), connection))
                return
        connection.close()

    def lose(self, error: Exception) -> None:
        """End all connections: each call's thread finds the end of its own, and fails the call."""
        with self._lock:
            self._lost = self._lost or error
            idle, self._idle = self._idle, []
            for used in self._busy:
                _hang_up(used)
        for _, connection in idle:
            connection.close()


def _hang_up(used: socket.socket) -> None:
    """End a connection, also while a thread waits at it."""
    with suppress(OSError):
        used.shutdown(socket.SHUT_RDWR)


def _request(method: str, params: dict[str, Any]) -> _Request:
    if method not in METHODS:
        raise SandboxError(f"{method.partition('.')[2]} is offered over a pipe alone: connect(command=…)")
    given = dict(params)
    streams = given.get("stream", False)
    label = given.get("stored") or (method == "sandbox.forget" and given["label"])
    about = identity = uuid4().hex
    if not streams:
        given["request_id"] = identity
    path, patience = METHODS[method].path, 0.0
    if "session" in given:
        identity, patience = quote(str(given.pop("session")), safe=""), WAIT_SECONDS
        path = path.replace("{session}", identity)
        about = identity.partition(".")[0] if identity.startswith(LABELLED) else identity
    elif label:
        about = about_label(label)
    return _Request(path, about, sent(given), () if streams else PAUSES, patience)


def _has_ended(connection: HTTPConnection) -> bool:
    """Return whether the server has closed it: between two calls it has nothing to say."""
    if connection.sock is None:
        return True
    if sys.platform == "win32":
        return bool(select.select([connection.sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(connection.sock, select.POLLIN)
    return bool(poller.poll(0))


def _taken(response: HTTPResponse) -> dict[str, Any] | Exception:
    """Return the answer, or the error in it. Raises `_NotNow`, and what is wrong with it."""
    body = response.read(MAX_MESSAGE + 1)
    if len(body) > MAX_MESSAGE:
        raise ProtocolError(f"the server sent more than {MAX_MESSAGE} bytes at once")
    if response.length:  # so many are missing of those that were announced
        raise IncompleteRead(body, response.length)
    try:
        message = parsed(body)
    except ProtocolError:
        if response.length is None and not response.chunked:
            raise IncompleteRead(body) from None  # the end of the connection was that of the answer, or came before it
        if response.status == 200:
            raise
        message = {"message": f"the server answered {response.status} {response.reason}"[:200]}
    if response.status == 200:
        return message
    error = raised(message.get("type"), message.get("message"))
    if response.status == TOO_MANY:
        after = response.headers.get("Retry-After", "")
        raise _NotNow(float(after) if after.isascii() and after.isdigit() and len(after) <= 3 else 1.0, error)
    return error


def _follow(response: HTTPResponse, pending: RemoteCall) -> dict[str, Any] | Exception:
    """Take server-sent events, each one line of data, to the end of the stream. Returns the result, or the error."""
    answer: dict[str, Any] | Exception | None = None
    for name, data in _events(response):
        message = parsed(data)
        if name == "result":
            answer = message
        elif name == "error":
            answer = raised(message.get("type"), message.get("message"))
        else:
            pending.add_event(name, message, len(data))
    if answer is None:
        raise SandboxClosed("the server's answer ended early")
    return answer


def _events(response: HTTPResponse) -> Iterator[tuple[str, bytes]]:
    name, data = "", b""
    while line := response.readline(MAX_MESSAGE + 1):
        field, _, text = line.rstrip(b"\r\n").partition(b":")
        if not line.endswith(b"\n") or len(data) + len(text) > MAX_MESSAGE:
            raise ProtocolError("an event of the server is too long, or ended early")
        if field == b"event":
            name = text.strip().decode("utf-8", "replace")
        elif field == b"data":
            data += text
        elif not field and data:
            yield name, data
            name, data = "", b""
