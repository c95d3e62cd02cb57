"""A program in a process of its own: what it printed, and how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

SECONDS = 180.0
"""How long one may take on a busy machine."""


def alone(source: str, *arguments: Any, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program by this Python, with what it prints as text. `options` are those of `subprocess.run`."""
    given = {"capture_output": True, "text": True, "timeout": SECONDS, "check": False, **options}
    return subprocess.run([sys.executable, "-c", source, *arguments], **given)


def together(threads: list[threading.Thread]) -> None:
    """Start these threads, and wait for their end."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)


def importing(**more: str) -> dict[str, str]:
    """The environment of a program that finds what this one imports, and `more`."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | more
