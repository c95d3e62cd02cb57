"""Calls over HTTP to a `safeexec serve`, or to several: one thread and one connection per call that is under way.

Each call has an id of its own. Where its connection breaks before the answer is whole, it is made again with the same
id: the server runs it once, and gives the answer to whoever asks. A stream is kept by nobody, and is not made again.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
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


End = Callable[[dict[str, Any] | Exception], None]
"""Takes the answer of a server, or the error."""


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
    behind one address. `pauses`: before each time that it may be made again. `patience`: how many seconds it may wait
    for its turn.
    """

    path: str
    about: str
    body: bytes
    pauses: tuple[float, ...]
    patience: float


class HttpWire:
    """One server or several of the same policies, by their addresses and a token.

    Of several, each session lives at one, whose number its identity begins with; a new one goes where we have the
    fewest sessions and calls. A call that no server has begun is made again elsewhere, or later where all are full.
    """

    def __init__(self, urls: Sequence[str], token: str | None, *, several: bool = True) -> None:
        """Raises ValueError for what is no address of a server, and for none at all. Nothing is sent yet."""
        if not urls:
            raise ValueError("connect needs the address of a server, and the list has none")
        servers = [HttpServer(str(number), url, token) for number, url in enumerate(urls)]
        self._servers = {server.number: server for server in servers}
        self.several = several
        self._sessions: set[str] = set()
        """Those that are counted at their servers, by their identities: a session may be closed twice."""
        self._lock = threading.Lock()
        self._lost: Exception | None = None
        self._owner = os.getpid()

    @property
    def alive(self) -> bool:
        return self._lost is None and os.getpid() == self._owner

    def ask(self, method: str, params: dict[str, Any]) -> Asked:
        if not self.alive:
            raise self._lost or SandboxClosed("this connection was made before the process forked")
        server, given, patience = None, dict(params), WAIT_SECONDS
        if not self.several:
            server, patience = self._servers["0"], WAIT_SECONDS if "session" in params else 0.0
        elif (identity := params.get("session")) is not None:
            number, _, given["session"] = str(identity).partition("-")
            server = self._servers[number]
            if method == "session.close":
                self._count(str(identity), server, -1)
        request, asked = _request(method, given, patience), Asked()
        thread = threading.Thread(target=self._call, args=(asked, request, server), name="safeexec-wire", daemon=True)
        thread.start()
        return asked

    def _call(self, asked: Asked, request: _Request, pinned: HttpServer | None) -> None:
        """Make a call at one server, or at all in turn, until one has begun it."""
        until = monotonic() + request.patience
        while True:
            pauses = []
            for server in [pinned] if pinned is not None else sorted(self._servers.values(), key=lambda one: one.load):
                asked.server = server
                with self._lock:
                    server.load += 1
                try:
                    return server.make(request, CONNECT_SECONDS, asked, partial(self._end, asked, server))
                except _NotNow as refused:
                    error, pause = refused.error, refused.seconds
                except _Broken as broken:
                    if broken.begun:
                        return self._call_again(asked, request, server, broken.error)
                    error, pause = broken.error, 0.0
                finally:
                    with self._lock:
                        server.load -= 1
                pauses.append(pause)
            # Where none can be reached that is the answer at once; a full one may have room later.
            pause = max(pauses)
            if not pause or monotonic() + pause > until or not asked.waits(pause, pinned or self):
                return asked.fail(self._lost or error)

    def _call_again(self, asked: Asked, request: _Request, server: HttpServer, error: Exception) -> None:
        """Make a call that may have begun again, there and nowhere else, also when its caller was interrupted: who
        stops it, or undoes what it did, waits for its answer.
        """
        until, pauses = monotonic() + RETURN_SECONDS, iter(request.pauses)
        pause = next(pauses, inf)
        while monotonic() + pause <= until and asked.waits(pause, server, begun=True):
            tried = monotonic()
            try:
                seconds = max(until - tried, LOOK_SECONDS)
                return server.make(request, seconds, asked, partial(self._end, asked, server))
            except _NotNow as refused:
                pause = refused.seconds
            except _Broken as broken:
                error = broken.error
                if broken.begun and monotonic() - tried > RETURN_SECONDS:  # what is patient waits anew
                    until, pauses = monotonic() + RETURN_SECONDS, iter(request.pauses)
                pause = next(pauses, inf)
        asked.fail(server.lost or error)

    def _end(self, asked: Asked, server: HttpServer, answer: dict[str, Any] | Exception) -> None:
        if isinstance(answer, Exception):
            asked.fail(server.lost or answer)
        else:
            asked.finish(self._named(server, answer) if self.several else answer)

    def _named(self, server: HttpServer, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer with the new sessions of a server under the names that they have here."""
        if isinstance(own := answer.get("session"), str):
            return {**answer, "session": self._entered(server, own)}
        if isinstance(sessions := answer.get("sessions"), list):
            return {**answer, "sessions": [self._entered(server, own) for own in sessions]}
        return answer

    def _entered(self, server: HttpServer, own: Any) -> str:
        identity = f"{server.number}-{own}"
        self._count(identity, server, 1)
        return identity

    def _count(self, identity: str, server: HttpServer, more: int) -> None:
        """Count a session at its server, or no more."""
        with self._lock:
            if (identity in self._sessions) is (more < 0):
                self._sessions ^= {identity}
                server.load += more

    def lose(self, error: Exception, asked: Asked | None = None) -> None:
        """End the connections to the server of `asked`. Of several it is reached anew by later calls."""
        if not self.several:
            self._close(error)
        elif asked is not None and asked.server is not None:
            self._servers[asked.server.number] = asked.server.anew()
            asked.server.lose(error)

    def close(self) -> None:
        self._close(SandboxClosed("the connection is closed"))

    def _close(self, error: Exception) -> None:
        self._lost = self._lost or error
        for server in self._servers.values():
            server.lose(self._lost)

    def __del__(self) -> None:
        if hasattr(self, "_owner"):
            self.close()


def _request(method: str, params: dict[str, Any], patience: float) -> _Request:
    if method not in METHODS:
        raise SandboxError(f"{method.partition('.')[2]} is offered over a pipe alone: connect(command=…)")
    given = dict(params)
    streams = given.get("stream", False)
    label = given.get("stored") or (method == "sandbox.forget" and given["label"])
    about = identity = uuid4().hex
    if not streams:
        given["request_id"] = identity
    path = METHODS[method].path
    if "{session}" in path:
        identity = quote(str(given.pop("session")), safe="")
        path = path.replace("{session}", identity)
        about = identity.partition(".")[0] if identity.startswith(LABELLED) else identity
    elif label:
        about = about_label(label)
    return _Request(path, about, sent(given), () if streams else PAUSES, patience)


class HttpServer:
    """The connections to one address."""

    def __init__(self, number: str, url: str, token: str | None) -> None:
        """`number`: its place among the servers of a wire."""
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
        self.number, self._given = number, (url, token)
        self.load = 0
        """Our sessions and calls there."""
        self.lost: Exception | None = None
        self._idle: list[tuple[float, HTTPConnection]] = []
        self._busy: set[socket.socket] = set()
        """Of the calls that are under way."""
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        return self.lost is None

    def anew(self) -> HttpServer:
        """Return the same server, without its connections."""
        server = HttpServer(self.number, *self._given)
        server.load = self.load
        return server

    def make(self, request: _Request, connect_seconds: float, asked: Asked, end: End) -> None:
        """Make a call once, and call `end` with its answer, or with the error. Raises `_NotNow` and `_Broken`."""
        connection = self._connection()
        reached = connection.sock is not None
        try:
            if not reached:
                _connect(connection, connect_seconds)
                reached = True
            with self._under_way(connection):
                headers = {**self._headers, SESSION: request.about}
                connection.request("POST", self._base + request.path, request.body, headers)
                with closing(connection.getresponse()) as response:
                    streams = response.headers.get_content_type() == "text/event-stream"
                    if streams:
                        _follow(response, asked, end)
                    else:
                        end(_taken(response))
        except _NotNow:
            self._keep(connection)
            raise
        except (SandboxError, ValueError) as error:
            connection.close()
            end(error)
        except (OSError, HTTPException) as error:
            connection.close()
            problem = SandboxClosed(f"{self._address} does not answer: {error or type(error).__name__}")
            if reached and isinstance(error, TimeoutError):
                return end(problem)  # nothing broke: it says nothing
            raise _Broken(problem, reached) from None

    @contextmanager
    def _under_way(self, connection: HTTPConnection) -> Iterator[None]:
        """While a call uses `connection`, `lose` ends it. Afterwards it is kept for the next call."""
        used = connection.sock  # the response may take it over
        with self._lock:
            if self.lost is not None:
                raise self.lost
            self._busy.add(used)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(used)
        self._keep(connection)

    def _connection(self) -> HTTPConnection:
        """Return one that was kept and that the server has not closed meanwhile, or a new one."""
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
            if self.lost is None and connection.sock is not None:
                self._idle.append((monotonic(), connection))
                return
        connection.close()

    def lose(self, error: Exception) -> None:
        """End all connections: each call's thread finds the end of its own, and fails the call."""
        with self._lock:
            self.lost = self.lost or error
            idle, self._idle = self._idle, []
            for used in self._busy:
                with suppress(OSError):
                    used.shutdown(socket.SHUT_RDWR)
        for _, connection in idle:
            connection.close()


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


def _taken(response: HTTPResponse) -> dict[str, Any] | Exception:
    """Return the answer, or the error that it tells of. Raises `_NotNow`, and what is wrong with it."""
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
        return message
    error = raised(message.get("type"), message.get("message"))
    if response.status == TOO_MANY:
        after = response.headers.get("Retry-After", "")
        raise _NotNow(float(after) if after.isascii() and after.isdigit() and len(after) <= 3 else 1.0, error)
    return error


def _follow(response: HTTPResponse, asked: Asked, end: End) -> None:
    """Take server-sent events, each one line of data, to the end of the stream, with the result among them."""
    for name, data in _events(response):
        message = parsed(data)
        if name == "result":
            end(message)
        elif name == "error":
            end(raised(message.get("type"), message.get("message")))
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
