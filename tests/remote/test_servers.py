"""Servers that are no servers, lie, fall silent or die: the client says so, hangs nowhere and leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server
from typing import Any

import psutil
import pytest

from safeexec import Policy, ProtocolError, SandboxClosed, SandboxError, async_connect, connect
from safeexec.remote import http
from safeexec.remote.pipe import PipeWire
from safeexec.remote.wire import raised
from tests.alone import alone
from tests.footprint import gone
from tests.remote.commands import command, nobody
from tests.servers.serving import needs_server, serving

LIAR = """
import itertools, json, sys
ANSWERS = json.loads(sys.argv[1])
def say(message, call):
    message = message if "method" in message else {"id": call["id"], **message}
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    call = json.loads(line)
    answers = ANSWERS.get(call["method"], [{"result": {}}])
    for answer in answers if isinstance(answers, list) else itertools.repeat(answers):
        say(answer, call)
        if answers is answer and answer["method"] == "session.tool":  # the next one when it has been replied to
            say({"result": {"taken": True}}, json.loads(sys.stdin.readline()))
"""


def liar(policy: Policy, **answers: Any) -> list[str]:
    """A server of this policy that answers every method with what it is told here: a list, or one event for ever."""
    table = {
        "sandbox.policy": [{"result": {"policy": policy.content()}}],
        "sandbox.protection": [{"result": {"protection": []}}],
        "sandbox.session": [{"result": {"session": "S"}}],
        "sandbox.tools": [{"result": {"policy": "P"}}],
        "session.reply": [{"result": {"taken": True}}],
        "session.cancel": [{"result": {"cancelled": False}}],
        **{name.replace("_", ".", 1): answer for name, answer in answers.items()},
    }
    return [sys.executable, "-c", LIAR, json.dumps(table)]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (["/nowhere/safeexec"], SandboxClosed),
        (["true"], SandboxClosed),
        (["echo", "welcome to this host"], SandboxError),
        (["cat", "/dev/zero"], ProtocolError),
        (["yes", '{"id": 1, "result": 1}'], ProtocolError),
        (["yes", '{"id": null, "error": {"message": "no"}}'], ProtocolError),
        (["yes", "[" * 1000], ProtocolError),
        ([*command(), "--policy", "nope"], SandboxClosed),
    ],
)
def test_what_is_no_server_is_an_error(wrong: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        connect(command=wrong)


RESULT = {"outcome": "ok", "ok": True}
CALCULATOR = Policy.load("calculator")


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None},
        {"result": {}},
        {"result": RESULT | {"outcome": "fine"}},
        {"result": RESULT | {"value": {"type": "encoded", "base64": "zzzz"}}},
        {"result": RESULT | {"displays": [{"data": {"image/png": "?"}}]}},
        {"result": RESULT | {"error": {"type": "X"}}},
        {"error": {"data": {"type": "StepFailed"}, "message": "x"}},
        {"error": {"data": {"type": "KeyboardInterrupt"}, "message": 7}},
        {},
    ],
    ids=json.dumps,
)
def test_a_lie_is_an_error_of_ours(answer: Any) -> None:
    with connect(command=liar(CALCULATOR, session_run=[answer])) as sandbox:
        session = sandbox.session()
        with pytest.raises(SandboxError):
            session.run("1")


def test_events_that_are_none_are_errors_too() -> None:
    no_session = {"session": []}  # of none of ours: passed over
    for params in ({}, {"stream": "stdout", "text": 1}, no_session):
        told = {"method": "session.output", "params": {"session": "S", **params}}
        with connect(command=liar(CALCULATOR, session_run=[told, {"result": RESULT}])) as sandbox:
            session = sandbox.session()
            if params is no_session:
                assert session.run("1", on_output=print).ok
                continue
            with pytest.raises(SandboxError):
                session.run("1", on_output=print)


async def test_a_server_that_reads_slowly_holds_no_event_loop() -> None:
    before = set(psutil.Process().children())
    async with async_connect(command=liar(CALCULATOR, session_run=[{"result": RESULT}])) as sandbox:
        (server,) = set(psutil.Process().children()) - before
        session = await sandbox.session()
        server.suspend()
        step = asyncio.create_task(session.run("#" * 1_000_000))  # a pipe holds 65,536 bytes
        await asyncio.sleep(0)
        assert not step.done()
        server.resume()
        assert (await step).ok


def test_one_that_nobody_holds_any_more_ends_and_a_program_leaves_nothing() -> None:
    before = set(psutil.Process().children())
    connect(command=command()).run("1")
    gone(set(psutil.Process().children()) - before)
    source = f"import safeexec\nprint(safeexec.connect(command={command()!r}).session().run('6 * 7').value)"
    done = alone(source)
    assert (done.stdout, done.stderr, done.returncode) == ("42\n", "", 0)


def test_it_may_be_collected_amid_a_call_and_a_fork_does_not_keep_it_from_closing() -> None:
    """The collector runs wherever something is allocated, in the thread that takes answers too."""
    wire = PipeWire(["cat"])
    process, calls = wire._process, wire._calls
    with calls._lock:
        del wire
        gc.collect()
    assert process.wait(timeout=60) == 0
    wire = PipeWire(["cat"])
    assert wire._process.stdin is not None
    child = os.fork()
    if not child:
        wire._process.stdin.close()  # which `cat` ends by
        while True:
            signal.pause()
    try:
        wire.close()
        assert wire._process.returncode == 0 and not wire.alive
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_fork_does_not_use_what_its_parent_connected() -> None:
    with connect(command=command()) as sandbox:
        child = os.fork()
        if not child:
            try:
                sandbox.session()
            except SandboxClosed:
                sandbox.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sandbox.run("1").value == 1


# HTTP


@needs_server
def test_a_wrong_token_is_an_error() -> None:
    with serving("--policy", "calculator") as server:
        for token, told in ((None, "^a token is needed"), ("", "^a token is needed"), ("another", "not known here; a")):
            with pytest.raises(SandboxError, match=told):
                connect(server.url, token)
        with connect(server.url, server.token) as sandbox:
            assert sandbox.run("1").value == 1


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://x", "http://", "file:///etc/passwd", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        connect(url, "x")


def test_one_of_the_two_is_needed() -> None:
    for wrong in ({}, {"url": "http://x", "command": ["x"]}, {"url": ["http://x", "http://y"]}):
        with pytest.raises(TypeError, match=r"the url of a server, or command=|takes one url; several servers"):
            connect(**wrong)
    with pytest.raises(TypeError, match=r"the name of one that the server offers.* --policy FILE"):
        connect("http://127.0.0.1:1", policy=Policy.load("calculator"))  # type: ignore[arg-type]


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """A server that answers whatever is asked with these bytes, and closes."""
    with create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1 << 20)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(2)
    thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        b'HTTP/1.1 400 Bad\r\nContent-Length: 13\r\n\r\n{"message":7}',
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: x\r\ndata: {}\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: result\r\ndata: x\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_what_speaks_http_and_is_no_server_of_ours(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES", (0.0, 0.0))
    with saying(answer) as url, pytest.raises(SandboxError):
        connect(url, "token")


def test_nobody_listens_and_exceptions_are_those_of_safeexec() -> None:
    with nobody() as url, pytest.raises(SandboxClosed, match="does not answer"):
        connect(url, "token")
    assert type(raised("PolicyError", "x")).__name__ == "PolicyError"
    for kind in ("SystemExit", "PluginError", "object", "", None, 7):
        assert type(raised(kind, "x")) is SandboxError
    assert len(str(raised("PolicyError", "x" * 1_000_000))) == 20_000
