"""A line of millions of parts is answered by an error over standard streams too, before any of them is made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ASK = {"jsonrpc": "2.0", "id": 1, "method": "sandbox.check", "params": {"source": "1", "policy": "calculator"}}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}
SERVERS = [
    pytest.param(["serve", "--stdio"], ASK, id="pipe"),
    pytest.param(
        ["mcp"], HELLO, id="mcp", marks=pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")
    ),
]
LINES = {
    "a batch": b"[" + b"1," * 4_000_000 + b"1]",
    "parameters": b'{"jsonrpc":"2.0","id":7,"method":"session.run","params":{"a":[' + b"[]," * 4_000_000 + b"1]}}",
}


@contextmanager
def serving(command: list[str], cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    server = subprocess.Popen(
        [sys.executable, "-m", "safeexec", *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield server
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


def said(server: subprocess.Popen[bytes], line: bytes) -> dict[str, Any]:
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(line + b"\n")
    server.stdin.flush()
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    return answer


def peak_mb(server: subprocess.Popen[bytes]) -> float:
    return int(Path(f"/proc/{server.pid}/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


@pytest.mark.parametrize(("command", "first"), SERVERS)
def test_a_line_of_millions_of_parts_is_refused_and_the_server_goes_on(
    command: list[str], first: dict[str, Any], tmp_path: Path
) -> None:
    with serving(command, tmp_path) as server:
        assert "result" in said(server, json.dumps(first).encode())
        before = peak_mb(server)
        for line in LINES.values():
            told = said(server, line)
            assert told["id"] is None and "more than" in told["error"]["message"], told
        assert peak_mb(server) - before < 100
        again = said(server, json.dumps(first | {"id": 2}).encode())
        assert again["id"] == 2
