"""The commands that serve a pipe, for tests of the client.

``SAFEEXEC_TESTS_THROUGH`` is a command before them: the server is then where that leads, the client here.
``SAFEEXEC_TESTS_PYTHON`` is the Python there, if not this one.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def command(policy: str = "calculator", *options: str) -> list[str]:
    through = shlex.split(os.environ.get("SAFEEXEC_TESTS_THROUGH", ""))
    return [
        *through,
        os.environ.get("SAFEEXEC_TESTS_PYTHON", sys.executable),
        "-m",
        "safeexec",
        "serve",
        "--stdio",
        "--policy",
        policy,
        *options,
    ]


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody answers. Its port is taken, so that nobody can begin to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
