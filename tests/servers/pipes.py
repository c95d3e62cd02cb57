"""A plain client of `safeexec serve --stdio`, as a program in any language would be: it writes and reads lines."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections import deque
from math import inf
from time import monotonic
from typing import Any

import psutil

COMMAND = [sys.executable, "-m", "safeexec", "serve", "--stdio", "--policy", "calculator"]
PATIENCE = 180.0
"""Seconds for anything that is bound to come."""


class Pipes:
    """One server, its two pipes, and what it has said. What it prints besides goes to `errors`."""

    def __init__(self, *options: str, command: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*(command or COMMAND), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.input, self.errors = self.process.stdin, self.process.stderr
        self.output = self.process.stdout
        self.lines: deque[Any] = deque()
        self._rest = b""
        self._number = 0

    def __enter__(self) -> Pipes:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.input, self.output, self.errors):
            with contextlib.suppress(BrokenPipeError):  # of what was still buffered
                file.close()

    def send(self, method: str, **params: Any) -> int:
        """Ask for something; the id of the answer."""
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def write(self, message: Any) -> None:
        self.input.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.input.flush()

    def fill(self, line: bytes, quiet_ms: int, most: float = inf) -> int:
        """Write this line again and again, until there has been no room for so long; how many bytes were written, fewer
        than `most`.
        """
        os.set_blocking(self.input.fileno(), False)
        room = select.poll()
        room.register(self.input, select.POLLOUT)
        written = 0
        while room.poll(quiet_ms):
            written += os.write(self.input.fileno(), (line * 50)[written % len(line) :])
            assert written < most
        return written

    def read(self) -> Any:
        """The next line as what it says; None at the end."""
        deadline = monotonic() + PATIENCE
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.output], [], [], max(0.0, deadline - monotonic()))
            assert ready, "nothing came"
            data = os.read(self.output.fileno(), 1 << 20)
            if not data:
                assert not self._rest
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def answer(self, number: int) -> Any:
        """The answer to a call; other lines wait in `lines`."""
        for message in self.lines:
            if message.get("id") == number:
                self.lines.remove(message)
                return message
        while (message := self.read()) is not None:
            if "id" in message and message["id"] == number:
                return message
            self.lines.append(message)
        raise AssertionError(f"the server ended: {self.end()}")

    def call(self, method: str, **params: Any) -> Any:
        return self.answer(self.send(method, **params))

    def result(self, method: str, **params: Any) -> Any:
        message = self.call(method, **params)
        assert "result" in message, message
        return message["result"]

    def end(self) -> tuple[int, bytes]:
        """End the input; exit status and what was printed to standard error."""
        self.input.close()
        self.process.wait(PATIENCE)
        return self.process.returncode, self.errors.read()

    def family(self) -> list[psutil.Process]:
        """Every process that the server has started."""
        return psutil.Process(self.process.pid).children(recursive=True)
