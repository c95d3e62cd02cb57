"""The commands that serve a pipe, for tests of the client.

``SAFEEXEC_TESTS_THROUGH`` is a command before them: the server is then where that leads, the client here.
``SAFEEXEC_TESTS_PYTHON`` is the Python there, if not this one.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody answers. Its port is taken, so that nobody can begin to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
