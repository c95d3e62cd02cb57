"""The commands that serve a pipe, for tests of the client."""

from __future__ import annotations

import sys


def command(policy: str = "calculator", *options: str) -> list[str]:
    return [sys.executable, "-m", "safeexec", "serve", "--stdio", "--policy", policy, *options]
