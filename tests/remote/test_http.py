"""The wires to a server: they wait no longer than they say, and take events one by one, within bounds."""

from __future__ import annotations

import fcntl
import io
import resource
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any

import pytest

from safeexec import connect
from safeexec.engine.host.session.listeners import Callbacks
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.host.waiting import drive
from safeexec.engine.policy.model import Policy
from safeexec.errors import ProtocolError, SandboxClosed, SandboxError
from safeexec.remote import calls, http, pipe
from safeexec.remote.session import RemoteSessionCore
from safeexec.remote.wire import RemoteCall
from tests.footprint import until
from tests.limits import limited


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECT_SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,  # TLS begins with its word
        pytest.raises(SandboxClosed, match="does not answer"),
    ):
        connect(f"https://127.0.0.1:{silent.getsockname()[1]}", "token")


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.run("1", timeout=None, atomic=False, callbacks=Callbacks()),
        lambda session: session.run("1", timeout=0.1, atomic=False, callbacks=Callbacks()),
        lambda session: session.sql("select 1", None, None),
        lambda session: session.command(["true"], ".", None),
    ],
    ids=["run", "run with a timeout", "sql", "command"],
)
def test_a_call_of_a_server_that_stalls_ends_with_its_own_time(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[RemoteSessionCore], Any]
) -> None:
    """However long another one may take."""
    monkeypatch.setattr(calls, "PATIENCE_SECONDS", 0.2)
    offered = calls.PolicyCalls()
    offered.policy = Policy().replace(limits={"wall_seconds": 0.1, "max_wall_seconds": 3600})
    offered.toolbox = Toolbox({}, offered.policy, None)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        closing(http.HttpWire(f"http://127.0.0.1:{silent.getsockname()[1]}", "t")) as offered._wire,
        pytest.raises(SandboxError, match="answered in time"),
    ):
        drive(call(RemoteSessionCore(offered, "s")))


def test_a_call_that_nobody_waits_for_has_no_connection() -> None:
    """Whatever the server still says: one that says a byte now and then was listened to for ever."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        closing(http.HttpWire(f"http://127.0.0.1:{listening.getsockname()[1]}", "t")) as wire,
    ):
        pending = wire.begin("sandbox.policy", {})
        server, _ = listening.accept()
        with server:
            server.settimeout(60)
            assert server.recv(1 << 16)
            server.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
            pending.close()
            while server.recv(1 << 16):
                pass
        until(lambda: pending.over)
        assert wire.alive


@pytest.mark.parametrize("wrong", [float("inf"), object()])
def test_what_cannot_be_sent_is_said_at_once(wrong: object) -> None:
    with closing(http.HttpWire("http://none", "t")) as wire, pytest.raises((TypeError, ValueError), match="JSON"):
        wire.begin("sandbox.session", {"queue_seconds": wrong})


def test_a_kept_connection_may_have_any_descriptor() -> None:
    """`select` takes none above 1023."""
    with limited(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1]):
        ours, theirs = socket.socketpair()
        with ours, theirs, socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 1100)) as high:
            connection = HTTPConnection("127.0.0.1")
            connection.sock = high
            assert not http._has_ended(connection)
            theirs.close()
            assert http._has_ended(connection)
            connection.close()
            assert http._has_ended(connection)


def followed(data: bytes) -> tuple[list[tuple[str, Any]], Any]:
    """The events of a stream of these bytes, and the answer. Raises what comes of it."""
    pending, response = RemoteCall(), io.BytesIO(data)
    try:
        answer = http._follow(response, pending)  # type: ignore[arg-type]
        events, over = pending.take_events()
        if over or isinstance(answer, Exception):
            raise answer if isinstance(answer, Exception) else pending.answer()
        return events, answer
    finally:
        pending.close()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"event: result\ndata: " + b" " * 101 + b"{}\n\n", ProtocolError),
        (b"event: result\n" + b"data: " + b" " * 60 + b"\n" + b"data: " + b" " * 60 + b"\n\n", ProtocolError),
        (b'event: output\ndata: {"text": "x"}\n\n', SandboxClosed),
    ],
)
def test_a_stream_that_is_cut_off_or_too_long_is_an_error(
    monkeypatch: pytest.MonkeyPatch, data: bytes, error: type[Exception]
) -> None:
    monkeypatch.setattr(http, "MAX_MESSAGE", 100)
    with pytest.raises(error):
        followed(data)


def test_an_answer_that_is_too_long_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_MESSAGE", 10)
    body = io.BytesIO(b'{"a":"' + b"x" * 1000 + b'"}')
    with pytest.raises(ProtocolError, match="more than 10 bytes at once"):
        http._taken(SimpleNamespace(read=body.read, status=200))  # type: ignore[arg-type]
    assert body.tell() == 11


def test_a_command_that_is_given_up_ends() -> None:
    """It was listened to until the sandbox was closed, whatever it said."""
    with closing(pipe.PipeWire(["yes", '{"method": "session.output"}'])) as wire:
        wire.lose(SandboxClosed("it has not answered in time"))
        until(lambda: wire._process.returncode is not None)
        with pytest.raises(SandboxClosed, match="in time"):
            wire.begin("sandbox.policy", {})


def test_a_command_that_reads_nothing_is_given_up_and_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "WRITE_SECONDS", 0.1)
    monkeypatch.setattr(pipe, "END_SECONDS", 0.1)
    wire = pipe.PipeWire(["sleep", "600"])
    first = wire.begin("sandbox.check", {"source": "1"})
    try:
        with pytest.raises(SandboxClosed, match=r"`sleep 600` reads nothing for 0\.1 s"):
            wire.begin("sandbox.check", {"source": "x" * (1 << 20)})
        assert first.take_events() == ([], True) and not wire.alive
        for late in (first.answer, lambda: wire.begin("sandbox.check", {"source": "1"})):
            with pytest.raises(SandboxClosed, match="reads nothing"):
                late()
    finally:
        first.close()
        wire.close()
    assert wire._process.returncode == -signal.SIGKILL
