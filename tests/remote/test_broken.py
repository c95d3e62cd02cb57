"""Connections that break: a call runs once, its caller gets the answer, and nothing runs that nobody waits for."""

from __future__ import annotations

import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from safeexec import SandboxClosed, SandboxError, Session, connect
from safeexec.engine.host.waiting import drive
from safeexec.remote import http
from tests.footprint import until
from tests.remote.commands import is_busy
from tests.servers.serving import Server, needs_server, serving

pytestmark = needs_server
COUNTED = "count += 1\ncount"
ENDLESS = "while True: pass"
Cut = Callable[[bytes], int | None]
"""For what came of an answer so far: after how many bytes of it the connection is cut."""


class Between:
    """Stands between a client and a server, and cuts connections. It answers one request for each connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._cuts: list[tuple[bytes, Cut]] = []
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.asked: Counter[str] = Counter()
        """How often each method was asked for."""
        self._lock = threading.Lock()
        self._start(self._accept)

    def cut(self, method: str, *cuts: Cut) -> None:
        """Cut the next connections that ask for `method`, each in its way."""
        with self._lock:
            self._cuts += [(method.encode(), cut) for cut in cuts]

    def close(self) -> None:
        """All connections end, and there are no new ones."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._sockets.append(client)
                self._start(self._carry, client)

    def _carry(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._port)) as server, suppress(OSError):
            self._sockets.append(server)
            client.settimeout(60)
            request = whole(client)
            if not request:
                return
            method = request.split(b" ", 2)[1].rpartition(b"/")[2]
            with self._lock:
                self.asked[method.decode()] += 1
                found = next((one for one in self._cuts if one[0] == method), None)
                if found is not None:
                    self._cuts.remove(found)
            # Said in the answer, too: a client that kept the connection could find it open still, and lose a try on it.
            server.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            leaving = threading.Thread(target=follow, args=(client, server))
            leaving.start()
            answer, sent = b"", 0
            while True:
                most = found[1](answer) if found is not None else None
                end = len(answer) if most is None else min(most, len(answer))
                client.sendall(answer[sent:end])
                sent = end
                if sent == most or complete(answer) or not (piece := server.recv(65536)):
                    break
                answer += piece
            for one in (client, server):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            leaving.join()


def follow(client: socket.socket, server: socket.socket) -> None:
    """A client that leaves, leaves the server too."""
    with suppress(OSError):
        client.recv(1)
    with suppress(OSError):
        server.shutdown(socket.SHUT_RDWR)


def complete(message: bytes) -> bool:
    head, end, body = message.partition(b"\r\n\r\n")
    lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return bool(end) and bool(lengths) and len(body) >= int(lengths[0])


def whole(client: socket.socket) -> bytes:
    request = b""
    while not complete(request):
        piece = client.recv(65536)
        if not piece:
            return b""
        request += piece
    return request


def after(count: int) -> Cut:
    return lambda _: count


def before_the_last(answer: bytes) -> int | None:
    """All of an answer but its last byte."""
    return len(answer) - 1 if complete(answer) else len(answer) + 1


def while_it_runs(session: Session) -> Cut:
    """As soon as the step runs."""

    def cut(_: bytes) -> int:
        until(lambda: is_busy(session))
        return 0

    return cut


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving("--policy", "standard") as server:
        yield server


@pytest.fixture
def between(server: Server) -> Iterator[Between]:
    proxy = Between(server.port)
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def known_by_both(server: Server, between: Between) -> Iterator[tuple[Session, Session]]:
    """A session through the one who cuts, and the same one directly."""
    with (
        connect(between.url, server.token) as sandbox,
        connect(server.url, server.token) as other,
        sandbox.session(namespace={"count": 0}) as session,
        other.session() as direct,
    ):
        drive(direct._core.close())
        direct._core.identity = session._core.identity  # type: ignore[attr-defined]
        yield session, direct


CUTS: list[Cut] = [after(0), after(40), before_the_last]


@pytest.mark.parametrize("cut", CUTS)
def test_a_step_whose_connection_breaks_runs_once(server: Server, between: Between, cut: Cut) -> None:
    with known_by_both(server, between) as (session, direct):
        between.cut("run", cut)
        assert session.run(COUNTED).value == 1
        between.cut("run", cut, cut)
        assert session.run(COUNTED).value == 2
        assert between.asked["run"] == 5 and direct.get("count") == 2


def test_a_step_goes_on_while_its_caller_comes_back(server: Server, between: Between) -> None:
    with known_by_both(server, between) as (session, direct):
        cut = while_it_runs(direct)
        between.cut("run", cut, cut)
        assert session.run(f"import time\ntime.sleep(1.5)\n{COUNTED}", timeout=60, wait=60).value == 1
        assert between.asked["run"] == 3 and direct.get("count") == 1


@pytest.mark.parametrize("cut", [after(0), before_the_last])
def test_every_other_call_is_done_once_too(server: Server, between: Between, cut: Cut, tmp_path: Path) -> None:
    def broken(method: str) -> None:
        between.cut(method, cut)

    with connect(between.url, server.token) as sandbox:
        broken("sessions")
        session = sandbox.session(namespace={"count": 0})
        for method in ("set", "get", "remove", "checkpoint", "checkpoints", "rollback", "branch", "drop", "save"):
            broken(method)
        session.set("x", 1)
        assert session.get("x") == 1
        session.checkpoint("here")
        session.run(COUNTED)
        session.namespace.pop("x")
        assert [row.name for row in session.checkpoints()].count("here") == 1
        (branch,) = session.branch(1)
        session.rollback("here")
        assert (session.get("count"), branch.get("count")) == (0, 1)
        session.drop("here")
        session.save(tmp_path / "state")
        broken("restore")
        with sandbox.restore(tmp_path / "state") as again:
            assert again.get("x") == 1
        for one in (branch, session):
            broken("close")
            one.close()
        for method in ("sessions", "branch", "restore", "save", "drop", "checkpoint", "remove"):
            assert between.asked[method] == 2, method
    with server.client() as client:
        assert "safeexec_sessions 0.0" in client.get("/metrics").text


def test_a_stream_is_not_made_again_and_its_step_stops(server: Server, between: Between) -> None:
    with known_by_both(server, between) as (session, direct):
        between.cut("run", while_it_runs(direct))
        with pytest.raises(SandboxClosed, match=r"does not answer|ended early"):
            session.run(f"{COUNTED}\n{ENDLESS}", timeout=60, wait=60, on_output=print)
        until(lambda: not is_busy(direct))
        assert direct.get("count") == 0 and between.asked["run"] == 1


def test_the_tries_are_bounded(server: Server, between: Between, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES", (0.0, 0.0, 0.0, 0.0))
    with known_by_both(server, between) as (session, direct):
        between.cut("run", *[before_the_last] * 4)
        assert session.run(COUNTED).value == 1
        between.cut("run", *[before_the_last] * 5)
        with pytest.raises(SandboxClosed, match="does not answer"):
            session.run(COUNTED)
        assert direct.get("count") == 2 and between.asked["run"] == 10
        assert session.run(COUNTED).value == 3


@pytest.mark.parametrize("tries", [1, 2], ids=["amid the pause", "when it came back"])
def test_ctrl_c_stops_a_step_whose_connection_broke(
    server: Server, between: Between, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    monkeypatch.setattr(http, "PAUSES", (1.5,))
    broken = threading.Event()
    with known_by_both(server, between) as (session, direct):

        def cut(_: bytes) -> int:
            until(lambda: is_busy(direct))
            broken.set()
            return 0

        def interrupt() -> None:
            broken.wait(60)
            until(lambda: between.asked["run"] >= tries)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        between.cut("run", cut)
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        begun = monotonic()
        with pytest.raises(KeyboardInterrupt):
            session.run(f"{COUNTED}\n{ENDLESS}", timeout=60, wait=60)
        assert not is_busy(direct), "it was stopped, not left"
        assert monotonic() - begun < http.RETURN_SECONDS and direct.get("count") == 0
        interrupting.join()


def test_a_refusal_is_not_asked_for_again(server: Server, between: Between) -> None:
    with known_by_both(server, between) as (session, _):
        with pytest.raises(SandboxError):
            session.rollback("nothing")
        assert between.asked["rollback"] == 1
        between.cut("rollback", before_the_last)
        with pytest.raises(SandboxError, match="nothing"):
            session.rollback("nothing")
        assert between.asked["rollback"] == 3
