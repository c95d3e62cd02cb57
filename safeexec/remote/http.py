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
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from math import inf
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit
from uuid import uuid4

from safeexec.errors import ProtocolError, SandboxClosed, SandboxError
from safeexec.remote.calls import LOOK_SECONDS, WAIT_SECONDS, Asked, parsed, raised, sent
from safeexec.servers.methods import LABELLED, MAX_MESSAGE, METHODS, about_label

CONNECT_SECONDS = 30.0
"""How long a connection may take to be made, TLS included."""
ANSWER_SECONDS = 600.0
"""How long a server may say nothing at all; the core gives a call up earlier where it knows better."""
TOO_MANY = 429
SESSION = "x-session-id"
"""The header by which what stands before several servers sends a call to the one that has its session."""
RETURN_SECONDS = 8.0
"""How long after its connection broke a call is made again: the server stops one that nobody asks for within ten."""
PAUSES = (0.1, 0.4, 1.5, 4.0)
"""How long to wait before each time that it is made again."""
IDLE_SECONDS = 3.0
"""How long a connection is kept for the next call: servers close theirs after five."""


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
    """A call as it is sent, each time the same. `about`: calls with the same one are for the same of several servers
    behind one address. `pauses`: before each time that it may be made again.
    """

    path: str
    about: str
    body: bytes
    pauses: tuple[float, ...]


class HttpWire:
    """One server, by its address and a token."""

    def __init__(self, url: str, token: str | None) -> None:
        """Raises ValueError for what is no address of a server. Nothing is sent yet."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address like http://127.0.0.1:8000")
        self._make = HTTPSConnection if parts.scheme == "https" else HTTPConnection
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
        """Of the calls that are under way."""
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def alive(self) -> bool:
        return self._lost is None and os.getpid() == self._owner

    def ask(self, method: str, params: dict[str, Any], make: Callable[[], Asked] = Asked) -> Asked:
        request = self._request(method, params)
        if self._lost is not None:
            raise self._lost
        asked = make()
        patience = WAIT_SECONDS if "session" in params else 0.0
        thread = threading.Thread(target=self._call, args=(asked, request, patience), name="safeexec-wire", daemon=True)
        thread.start()
        return asked

    def call(self, asked: Asked, method: str, params: dict[str, Any]) -> None:
        """Make a call in this thread. `asked` has the answer then, or what is wrong with the parameters."""
        try:
            request = self._request(method, params)
        except (TypeError, ValueError, SandboxError) as error:
            return asked.fail(error)
        self._call(asked, request)

    def _request(self, method: str, params: dict[str, Any]) -> _Request:
        if method not in METHODS:
            raise SandboxError(f"{method.partition('.')[2]} is offered over a pipe alone: connect(command=…)")
        given = dict(params)
        streams = given.get("stream", False)
        label = given.get("stored") or (method == "sandbox.forget" and given["label"])
        about = identity = uuid4().hex
        if not streams:
            given["request_id"] = identity
        path = self._base + METHODS[method].path
        if "{session}" in path:
            identity = quote(str(given.pop("session")), safe="")
            path = path.replace("{session}", identity)
            about = identity.partition(".")[0] if identity.startswith(LABELLED) else identity
        elif label:
            about = about_label(label)
        return _Request(path, about, sent(given), () if streams else PAUSES)

    def _call(self, asked: Asked, request: _Request, patience: float = 0.0) -> None:
        """Make a call until the server has begun it, for so many seconds; not at all again if it says not now.

        One that may have begun is made again here and nowhere else, also when its caller was interrupted: who stops it,
        or undoes what it did, waits for its answer.
        """
        until, pauses, begun = monotonic() + patience, iter(request.pauses), False
        while True:
            tried = monotonic()
            try:
                return self._made(asked, request, max(until - tried, LOOK_SECONDS) if begun else CONNECT_SECONDS)
            except _NotNow as refused:
                pause = refused.seconds
                if not begun:  # else what broke says more: it may have begun
                    error = refused.error
            except _Broken as broken:
                error, pause = broken.error, 0.0
                if broken.begun and (not begun or monotonic() - tried > RETURN_SECONDS):
                    # For the first time, or after a connection that held as long: what is patient waits anew.
                    until, pauses, begun = monotonic() + RETURN_SECONDS, iter(request.pauses), True
                if begun:
                    pause = next(pauses, inf)
            asked.again = None if begun else pause
            unreached = not begun and not pause
            if unreached or monotonic() + pause > until or not asked.waits(pause, self, begun):
                return asked.fail(self._lost or error)
            asked.again = None

    def _made(self, asked: Asked, request: _Request, connect_seconds: float) -> None:
        """Make a call once: `asked` has its answer. Raises `_NotNow` and `_Broken`."""
        connection = self._connection()
        reached = connection.sock is not None
        try:
            if not reached:
                _connect(connection, connect_seconds)
                reached = True
            with self._under_way(connection):
                connection.request("POST", request.path, request.body, {**self._headers, SESSION: request.about})
                with closing(connection.getresponse()) as response:
                    streams = response.headers.get_content_type() == "text/event-stream"
                    (_follow if streams else _take)(response, asked)
        except _NotNow:
            self._keep(connection)
            raise
        except (SandboxError, ValueError) as error:
            connection.close()
            asked.fail(error)
        except (OSError, HTTPException) as error:
            connection.close()
            problem = SandboxClosed(f"{self._address} does not answer: {error or type(error).__name__}")
            if reached and isinstance(error, TimeoutError):
                return asked.fail(self._lost or problem)  # nothing broke: it says nothing
            raise _Broken(problem, reached) from None

    @contextmanager
    def _under_way(self, connection: HTTPConnection) -> Iterator[None]:
        """While a call uses `connection`, `lose` ends it. Afterwards it is kept for the next call."""
        used = connection.sock  # the response may take it over
        with self._lock:
            if self._lost is not None:
                raise self._lost
            self._busy.add(used)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(used)
        self._keep(connection)

    def _connection(self) -> HTTPConnection:
        """One that was kept and that the server has not closed meanwhile, or a new one."""
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
        return found or self._make(self._host, self._port, timeout=CONNECT_SECONDS)

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if self._lost is None and connection.sock is not None:
                self._idle.append((monotonic(), connection))
                return
        connection.close()

    def lose(self, error: Exception, asked: Asked | None = None) -> None:
        with self._lock:
            self._lost = self._lost or error
            idle, self._idle = self._idle, []
            for used in self._busy:  # its thread finds the end of the connection, and fails the call
                with suppress(OSError):
                    used.shutdown(socket.SHUT_RDWR)
        for _, connection in idle:
            connection.close()

    def close(self) -> None:
        self.lose(SandboxClosed("the connection is closed"))

    def __del__(self) -> None:
        if hasattr(self, "_idle"):
            self.close()


def _connect(connection: HTTPConnection, seconds: float) -> None:
    connection.timeout = seconds
    connection.connect()
    connection.sock.settimeout(ANSWER_SECONDS)


def _has_ended(connection: HTTPConnection) -> bool:
    """Tell whether the server has closed it: between two calls it has nothing to say."""
    if connection.sock is None:
        return True
    if sys.platform == "win32":
        return bool(select.select([connection.sock], [], [], 0)[0])
    poller = select.poll()
    poller.register(connection.sock, select.POLLIN)
    return bool(poller.poll(0))


def _take(response: HTTPResponse, asked: Asked) -> None:
    body = response.read(MAX_MESSAGE + 1)
    if len(body) > MAX_MESSAGE:
        raise ProtocolError(f"the server sent more than {MAX_MESSAGE} bytes at once")
    if response.length:
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
        asked.finish(message)
        return
    error = raised(message.get("type"), message.get("message"))
    if response.status == TOO_MANY:
        after = response.headers.get("Retry-After", "")
        raise _NotNow(float(after) if after.isascii() and after.isdigit() and len(after) <= 3 else 1.0, error)
    asked.fail(error)


def _follow(response: HTTPResponse, asked: Asked) -> None:
    """Server-sent events, each one line of data, until the result is among them."""
    for name, data in _events(response):
        message = parsed(data)
        if name == "result":
            asked.finish(message)
        elif name == "error":
            asked.fail(raised(message.get("type"), message.get("message")))
        else:
            asked.tell(name, message, len(data))
    if not asked.over:
        raise SandboxClosed("the server's answer ended early")


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
