"""Several servers behind a balancer, and a server whose tenant calls too fast."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from safeexec import SandboxError, connect
from safeexec.remote import http
from tests.alone import answering
from tests.servers.serving import Server, needs_server, serving

TOKEN = "a-token-of-some-length"


@needs_server
def test_a_session_waits_where_its_calls_come_too_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that the server has not begun runs once, later. Nobody waits long for nothing, and `close` closes."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text(f"t:\n  token: {TOKEN}\n  requests_per_minute: 60\n")
    with (
        serving("--policy", "calculator", "--token-file", str(tokens)) as server,
        connect(server.url, TOKEN) as sandbox,
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

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Balancer)) as place:
        yield f"http://{place}"


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
