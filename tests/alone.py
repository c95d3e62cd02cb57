"""Programs in processes of their own: what they printed, and how they ended. And what has a thread of its own."""

from __future__ import annotations

import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 180.0
"""How long one may take on a busy machine."""


def ran(command: Sequence[Any], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with what it prints as text. `options` are those of `subprocess.run`."""
    return subprocess.run(command, **{"capture_output": True, "text": True, "timeout": SECONDS, **options})


def alone(source: str, *arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program by this Python, as `ran` does."""
    return ran([sys.executable, "-c", source, *arguments], **options)


@contextmanager
def answering(server: socketserver.TCPServer) -> Iterator[str]:
    """Have a server of this process answer in a thread. Gives its host and port."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    with server:
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def together(threads: list[threading.Thread]) -> None:
    """Start these threads, and wait for their end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)


def with_command(directory: Path) -> dict[str, str]:
    """An environment in which `safeexec` is this one, a script in `directory`, which is its HOME."""
    command = directory / "bin" / "safeexec"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m safeexec "$@"\n')
    command.chmod(0o755)
    search = os.pathsep.join([str(command.parent), os.environ.get("PATH", os.defpath)])
    return importing(HOME=str(directory), PATH=search)


def importing(**more: str) -> dict[str, str]:
    """The environment of a program that finds what this one imports, and `more`."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more
