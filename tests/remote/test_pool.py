"""Several servers as one: sessions are spread, what is full or dead is gone around, and nothing is run twice."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec import SandboxClosed, SandboxError, Session, connect
from safeexec.remote import pool
from tests.remote.doors import nobody
from tests.servers.pipes import PATIENCE
from tests.servers.serving import Server, needs_server, start, stop


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
    asked = pool.Pool(["http://127.0.0.1:1", "http://127.0.0.1:2"], "t").ask(
        "sandbox.session", {"queue_seconds": wrong}
    )
    assert select.select([asked.fd], [], [], PATIENCE)[0]
    with pytest.raises((TypeError, ValueError), match="JSON"):
        asked.answer()
    asked.close()


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
        monkeypatch.setattr(pool, "WAIT_SECONDS", 0)
        with pytest.raises(SandboxError, match="sessions are open"):
            sandbox.session()


def place_of(session: Session) -> str:
    """The number of its server."""
    return str(session._core._id).partition("-")[0]  # type: ignore[attr-defined]
