"""Several servers as one: sessions are spread, what is full or dead is gone around, and nothing is run twice."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from safeexec import SandboxClosed, SandboxError, Session, connect
from safeexec.remote import http
from safeexec.remote.calls import Asked
from tests.remote.doors import nobody
from tests.servers.serving import Server, needs_server, serving, start, stop


def test_addresses_are_checked_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="the list has none"):
        connect([])
    with pytest.raises(ValueError, match="no address"):
        connect(["nowhere"])


def test_where_nobody_answers_that_is_said_at_once() -> None:
    with nobody() as first, nobody() as second, pytest.raises(SandboxClosed, match="does not answer"):
        connect([first, second], "t")


@pytest.mark.parametrize("wrong", [float("inf"), object()])
def test_what_cannot_be_sent_is_said_at_once(wrong: object) -> None:
    wire = http.HttpWire(["http://127.0.0.1:1", "http://127.0.0.1:2"], "t")
    with closing(wire), pytest.raises((TypeError, ValueError), match="JSON"):
        wire.ask("sandbox.session", {"queue_seconds": wrong})


def test_of_several_servers_one_that_is_given_up_takes_no_other_with_it() -> None:
    wire, asked = http.HttpWire(["http://127.0.0.1:1", "http://127.0.0.1:2"], "t"), Asked()
    first, second = wire._servers.values()
    assert wire._named(second, {"session": "a-b"}) == {"session": "1-a-b"}
    asked.server = second
    wire.lose(SandboxClosed("late"), asked)
    assert (first.alive, second.alive, wire.alive) == (True, False, True)
    assert wire._servers["0"] is first and wire._servers["1"].alive
    for _ in range(2):  # a session that is closed twice is counted once
        wire.ask("session.close", {"session": "1-a-b"})
    wire.close()
    asked.close()
    with pytest.raises(SandboxClosed, match="the connection is closed"):
        wire.ask("sandbox.policy", {})
    assert wire._servers["1"].load >= 0 and not wire._sessions


TOKEN = "a-token-of-some-length"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    """Two with the same token, each with room for two sessions."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"t:\n  token: {TOKEN}\n  sessions: 2\n")
    started: list[Server] = []
    try:
        started.extend(start("--policy", "standard", "--token-file", str(tokens)) for _ in range(2))
        yield started
    finally:
        for server in started:
            if server.process.poll() is None:
                stop(server)


@needs_server
def test_sessions_are_spread_and_the_dead_are_gone_around(servers: list[Server]) -> None:
    with nobody() as none, connect([none, *(server.url for server in servers)], TOKEN) as sandbox:
        sessions = [sandbox.session() for _ in range(2)]
        places = [place_of(session) for session in sessions]
        assert sorted(places) == ["1", "2"]
        for number, session in enumerate(sessions):
            session.set("x", number)
        (branch,) = sessions[0].branch(1)
        assert place_of(branch) == places[0]
        assert branch.run("x + 10").value == 10
        gone = servers[int(places[1]) - 1].process
        gone.kill()
        gone.communicate()
        assert sessions[0].run("x").value == 0
        with pytest.raises(SandboxError):
            sessions[1].run("x")
        branch.close()
        assert sandbox.run("6 * 7").value == 42


@needs_server
def test_a_call_waits_for_room_where_all_are_full(servers: list[Server], monkeypatch: pytest.MonkeyPatch) -> None:
    with connect([server.url for server in servers], TOKEN) as sandbox:
        sessions = [sandbox.session() for _ in range(4)]
        assert sorted(map(place_of, sessions)) == ["0", "0", "1", "1"]
        opened: list[Session] = []
        waiting = threading.Thread(target=lambda: opened.append(sandbox.session()))
        waiting.start()
        sessions[3].close()
        waiting.join(60)
        assert len(opened) == 1
        assert place_of(opened[0]) == place_of(sessions[3])
        monkeypatch.setattr(http, "WAIT_SECONDS", 0)
        with pytest.raises(SandboxError, match="sessions are open"):
            sandbox.session()


@needs_server
def test_a_session_waits_where_its_calls_come_too_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that the server has not begun runs once, later. Nobody waits long for nothing, and `close` closes."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"t:\n  token: {TOKEN}\n  requests_per_minute: 60\n")
    with (
        serving("--policy", "calculator", "--token-file", str(tokens)) as server,
        connect([server.url], TOKEN) as sandbox,
        sandbox.session(namespace={"x": 0}) as session,
    ):
        for _ in range(62):
            session.run("x += 1").check()
        assert session.get("x") == 62
        monkeypatch.setattr(http, "WAIT_SECONDS", 0)
        with pytest.raises(SandboxError, match="requests per minute are allowed"):
            while True:
                session.get("x")
        monkeypatch.undo()


@contextmanager
def balancing(replicas: dict[str, Server]) -> Iterator[str]:
    """Requests to any server in turn, but for those whose path names one."""
    turns = itertools.cycle(replicas.values())

    class Balancer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            name = self.path.removeprefix("/v1/sessions/").partition(".")[0]
            with closing(HTTPConnection("127.0.0.1", (replicas.get(name) or next(turns)).port)) as there:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                there.request("POST", self.path, body, {"Authorization": self.headers["Authorization"]})
                answer = there.getresponse()
                self.send_response(answer.status)
                self.end_headers()
                self.wfile.write(answer.read())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Balancer) as balancer:
        thread = threading.Thread(target=balancer.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{balancer.server_port}"
        finally:
            balancer.shutdown()
            thread.join()


@needs_server
def test_a_balancer_finds_the_server_of_a_session_by_its_id(tmp_path: Path) -> None:
    tokens = tmp_path / "token"
    tokens.write_text(TOKEN)
    with ExitStack() as open_ones:
        replicas = {
            name: open_ones.enter_context(serving("--token-file", str(tokens), "--replica", name))
            for name in ("a", "b")
        }
        sandbox = open_ones.enter_context(connect(open_ones.enter_context(balancing(replicas)), TOKEN))
        sessions = [sandbox.session() for _ in range(4)]
        assert {str(session._core.identity).partition(".")[0] for session in sessions} == {"a", "b"}  # type: ignore[attr-defined]
        for number, session in enumerate(sessions):
            session.set("x", number)
        assert [session.run("x").value for session in sessions] == [0, 1, 2, 3]


def place_of(session: Session) -> str:
    """The number of its server."""
    return str(session._core.identity).partition("-")[0]  # type: ignore[attr-defined]
