"""The commands that serve a pipe, for tests of the client.

``SAFEEXEC_TESTS_THROUGH`` is a command before them: the server is then where that leads, the client here.
``SAFEEXEC_TESTS_PYTHON`` is the Python there, if not this one.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from safeexec import SessionBusy
from tests.servers.serving import needs_server, serving

_BESIDE = """
import os, pathlib, sys, tempfile
from safeexec.cli import main
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    for name, text in {files!r}.items():
        pathlib.Path(name).write_text(text)
    status = main()
sys.exit(status)
"""


def command(policy: str = "calculator", *options: str, files: Mapping[str, str] | None = None) -> list[str]:
    """`files`: by name the text of what the server finds in its directory, which may be on another machine."""
    through = shlex.split(os.environ.get("SAFEEXEC_TESTS_THROUGH", ""))
    python = os.environ.get("SAFEEXEC_TESTS_PYTHON", sys.executable)
    program = ["-c", _BESIDE.format(files=dict(files))] if files else ["-m", "safeexec"]
    return [*through, python, *program, "serve", "--stdio", "--policy", policy, *options]


WAYS = ["pipe", pytest.param("http", marks=needs_server)]


@contextmanager
def served(way: str, policy: str, *options: str, files: Mapping[str, str] | None = None) -> Iterator[dict[str, Any]]:
    """How `connect` reaches a server, over a pipe or over HTTP; with `files` in its directory."""
    if way == "pipe":
        yield {"command": command(policy, *options, files=files)}
        return
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (files or {}).items():
            Path(directory, name).write_text(text)
        with serving("--policy", policy, *options, cwd=directory) as server:
            yield {"url": server.url, "token": server.token}


def is_busy(session: Any) -> bool:
    """Tell whether a step of the session runs. Who looks uses it for a moment."""
    try:
        session.namespace.get("x")
    except SessionBusy:
        return True
    return False


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody answers. Its port is taken, so that nobody can begin to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
