"""The wire to a server over HTTP: it waits no longer for a connection, or for an answer, than it says."""

from __future__ import annotations

import fcntl
import resource
import socket
from contextlib import closing
from http.client import HTTPConnection

import pytest

from safeexec import connect
from safeexec.errors import SandboxClosed, SandboxError
from safeexec.remote import core, http


def test_a_server_that_takes_a_connection_and_says_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "CONNECT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,  # TLS begins with its word
        pytest.raises(SandboxClosed, match="does not answer"),
    ):
        connect(f"https://127.0.0.1:{silent.getsockname()[1]}", "token")


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "PATIENCE_SECONDS", 0.2 - core.Policy().limits.max_wall_seconds)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel takes the connection
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(SandboxError, match="answered in time"):
            connect(url, "token")


@pytest.mark.parametrize("wrong", [float("inf"), object()])
def test_what_cannot_be_sent_is_said_at_once(wrong: object) -> None:
    with (
        closing(http.HttpWire("http://127.0.0.1:1", "t")) as wire,
        pytest.raises((TypeError, ValueError), match="JSON"),
    ):
        wire.ask("sandbox.session", {"queue_seconds": wrong})


def test_a_kept_connection_may_have_any_descriptor() -> None:
    """`select` takes none above 1023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        ours, theirs = socket.socketpair()
        with ours, theirs, socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 1100)) as high:
            connection = HTTPConnection("127.0.0.1")
            connection.sock = high
            assert not http._has_ended(connection)
            theirs.close()
            assert http._has_ended(connection)
            connection.close()
            assert http._has_ended(connection)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
