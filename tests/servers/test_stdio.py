"""Sessions over a pipe, with a real server at its other end: what it says, when it ends, what it leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from safeexec import __version__
from safeexec.servers import stdio
from safeexec.servers.service import Service
from tests.engine.host.loop import LoopClock
from tests.footprint import gone, until
from tests.servers.pipes import COMMAND, PATIENCE, Pipes

ENDLESS = "while True: pass"
LONG = "extends: calculator\nlimits: {max_wall_seconds: 3600}"


@pytest.fixture(scope="module")
def _pipes() -> Iterator[Pipes]:
    with Pipes() as made:
        yield made
        assert made.end() == (0, b"")


@pytest.fixture
def pipes(_pipes: Pipes) -> Pipes:
    """The module's server; what was left in its output belongs to no later test."""
    _pipes.lines.clear()
    return _pipes


def busy(pipes: Pipes, session: str) -> None:
    """Wait until a step of the session runs."""
    until(lambda: pipes.call("session.names", session=session).get("error", {}).get("data") == {"type": "SessionBusy"})


def test_the_end_of_what_its_owner_says_stops_what_runs() -> None:
    """Though somebody keeps the other pipe open, as the engine of a container does."""
    owned = [word for word in COMMAND if word not in ("--policy", "calculator")]
    with Pipes("--owned", command=owned) as pipes:
        brought = {"name": "mine", "yaml": LONG, "origins": {}}
        answer = pipes.result("sandbox.bring", version=__version__, brought=brought)
        at = pipes.result("sandbox.session", policy=answer["policy"])
        pipes.send("session.run", source=ENDLESS, timeout=3600, **at)
        busy(pipes, at["session"])
        assert pipes.end()[0] == 0


def test_output_comes_while_the_step_runs_and_before_its_result(pipes: Pipes) -> None:
    at = pipes.result("sandbox.session")
    number = pipes.send("session.run", source=f"print('one')\n{ENDLESS}", stream=True, timeout=50, **at)
    message = pipes.read()
    params = {"session": at["session"], "stream": "stdout", "text": "one\n"}
    assert message == {"jsonrpc": "2.0", "method": "session.output", "params": params}
    assert pipes.result("session.cancel", **at) == {"cancelled": True}
    assert pipes.answer(number)["result"]["outcome"] == "cancelled"


async def test_no_display_holds_the_server_and_all_come_in_order() -> None:
    source = """\
class Halves:
    def _repr_html_(self): return '\\ud800' * 1_300_000
for _ in range(2):
    display(Halves())
    display(1)
"""
    (requests, ask), (answers, reply) = os.pipe(), os.pipe()
    with open(ask, "wb") as client, open(answers, "rb") as heard:
        serving = asyncio.create_task(stdio.serve(Service("confined-python", []), requests, reply))

        async def call(method: str, **params: Any) -> None:
            client.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            await asyncio.to_thread(client.flush)

        async def read() -> Any:
            return json.loads(await asyncio.to_thread(heard.readline))

        await call("sandbox.session")
        at = (await read())["result"]
        async with LoopClock() as clock:
            await call("session.run", source=source, stream=True, timeout=60, **at)
            lines = [await read() for _ in range(5)]
        client.close()
        await serving
    os.close(requests)
    os.close(reply)
    shown = [len(line["params"]["data"].get("text/html", "")) for line in lines[:-1]]
    assert shown == [1_300_000, 0, 1_300_000, 0] and lines[-1]["result"]["ok"]
    assert clock.held < clock.beside / 4


def test_a_text_in_the_files_of_a_template_is_its_content_and_no_path(pipes: Pipes, tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("a file of the server")
    pipes.result("sandbox.template", name="t", policy="confined-python", files={"a.txt": str(path)})
    at = pipes.result("sandbox.session", policy="confined-python", template="t")
    assert pipes.result("session.run", source="open('a.txt').read()", **at)["value"] == str(path)


def test_lines_of_ten_megabytes_and_of_more_than_is_read(pipes: Pipes) -> None:
    text = "é" * (5 << 20)
    at = pipes.result("sandbox.session")
    assert pipes.result("session.set", name="text", value=text, **at) == {}
    assert pipes.result("session.get", name="text", **at)["value"] == text
    pipes.write(b'{"x": "' + b"y" * (65 << 20) + b'"}\n')
    assert pipes.read()["error"]["message"] == "a message has at most 67108864 bytes"
    assert pipes.result("session.names", **at) == {"names": ["text"]}


def test_a_flood_is_answered_line_by_line(pipes: Pipes) -> None:
    at = pipes.result("sandbox.session")
    calls = [{"jsonrpc": "2.0", "id": f"f{n}", "method": "session.cancel", "params": at} for n in range(5000)]
    lines = b"".join(json.dumps(call).encode() + b"\nx\n\n" for call in calls)
    writer = threading.Thread(target=pipes.write, args=(lines,))
    writer.start()
    found = [pipes.read() for _ in range(10_000)]
    writer.join()
    assert sum("result" in message for message in found) == 5000
    assert sum(message.get("error", {}).get("code") == -32700 for message in found) == 5000


def test_a_client_that_writes_and_does_not_read_is_waited_for() -> None:
    """Its unread answers are bounded: no more is taken from the pipe."""
    line = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "sandbox.policy", "params": {}}).encode() + b"\n"
    with Pipes() as pipes:
        written = pipes.fill(line, 1000)
        assert psutil.Process(pipes.process.pid).memory_info().rss < 300 << 20
        for _ in range(written // len(line)):
            assert pipes.read()["result"]["policy"]["name"] == "calculator"
        os.set_blocking(pipes.input.fileno(), True)
        pipes.write(line[written % len(line) :] + line)
        assert pipes.read() == pipes.read()
        assert pipes.end() == (0, b"")


def test_answers_go_to_a_file_too_and_calls_come_by_a_pipe_alone(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "sandbox.run", "params": {"source": "'z' * 100_000"}}
    asked = "".join(json.dumps(call | {"id": number}) + "\n" for number in range(3)).encode()
    path = tmp_path / "out"
    with path.open("wb") as write:
        assert subprocess.run(COMMAND, input=asked, stdout=write, timeout=PATIENCE).returncode == 0
    answers = [json.loads(line) for line in path.read_text().splitlines()]
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2]
    assert all(len(answer["result"]["value"]) == 100_000 for answer in answers)
    for read in (path, Path(os.devnull)):
        with read.open("rb") as nobody:
            done = subprocess.run(COMMAND, stdin=nobody, capture_output=True, timeout=PATIENCE)
        told = b"safeexec: standard input is no pipe, socket or terminal: no client can be there."
        assert (done.returncode, done.stderr[: len(told)]) == (2, told)


def test_a_client_that_goes_away_stops_its_steps() -> None:
    with Pipes() as pipes:
        at = pipes.result("sandbox.session")
        pipes.send("session.run", source=ENDLESS, timeout=60, **at)
        busy(pipes, at["session"])
        family = pipes.family()
        assert family
        begun = monotonic()
        pipes.output.close()
        assert pipes.end() == (0, b"")
        assert monotonic() - begun < 55  # the step had a minute
        gone(family)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_however_the_server_is_ended_nothing_stays(number: signal.Signals) -> None:
    with Pipes() as pipes:
        at = pipes.result("sandbox.session")
        pipes.send("session.run", source=ENDLESS, timeout=60, **at)
        busy(pipes, at["session"])
        family = pipes.family()
        pipes.process.send_signal(number)
        assert pipes.process.wait(PATIENCE) == (-number if number is signal.SIGKILL else 0)
        assert pipes.errors.read() == b""
        gone(family)


def test_clients_name_the_policies_that_the_command_allows() -> None:
    with Pipes("--allow-policy", "standard", "plugin") as pipes:
        assert pipes.result("sandbox.policy")["policy"]["name"] == "calculator"
        assert pipes.result("sandbox.policy", policy="plugin")["policy"]["name"] == "plugin"
        for name in ("confined-python", "/etc/passwd", "../policies/standard.yaml"):
            error = pipes.call("sandbox.session", policy=name)["error"]
            assert error["data"] == {"type": "PolicyError"} and "calculator, plugin, standard" in error["message"]
        assert pipes.end() == (0, b"")


def test_a_client_that_leaves_a_socket_without_reading_ends_it() -> None:
    """Node.js gives its children sockets for pipes; what the client has not read then makes a read here fail."""
    ours, its = socket.socketpair()
    with ours, subprocess.Popen(COMMAND, stdin=its, stdout=its, stderr=subprocess.PIPE) as process:
        its.close()
        ours.settimeout(PATIENCE)
        ours.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "sandbox.session", "params": {}}\n')
        assert ours.recv(1, socket.MSG_PEEK) == b"{"
        ours.close()
        _, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, complaints) == (0, b"")


ASK = {"method": "sandbox.check", "params": {"source": "1", "policy": "calculator"}}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
LINES = {
    "a batch": b"[" + b"1," * 4_000_000 + b"1]\n",
    "parameters": b'{"jsonrpc":"2.0","id":7,"method":"session.run","params":{"a":[' + b"[]," * 4_000_000 + b"1]}}\n",
}


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (["serve", "--stdio"], ASK),
        pytest.param(["mcp"], {"method": "initialize", "params": CLIENT}, marks=pytest.mark.modules("mcp")),
    ],
    ids=["pipe", "mcp"],
)
def test_a_line_of_millions_of_parts_is_refused_before_any_is_made(command: list[str], first: dict[str, Any]) -> None:
    with Pipes(command=[sys.executable, "-m", "safeexec", *command]) as pipes:

        def peak_mb() -> float:
            status = Path(f"/proc/{pipes.process.pid}/status").read_text()
            return int(status.split("VmHWM:")[1].split()[0]) / 1024

        assert "result" in pipes.call(first["method"], **first["params"])
        before = peak_mb()
        for line in LINES.values():
            pipes.write(line)
            told = pipes.read()
            assert told["id"] is None and "more than" in told["error"]["message"], told
        assert peak_mb() - before < 100
        assert "result" in pipes.call(first["method"], **first["params"])
        assert pipes.end()[0] == 0
