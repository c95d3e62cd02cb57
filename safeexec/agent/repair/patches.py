"""Commits of accepted patches: real git in the working copy where the repository has it, a journal where it has not.

git runs on the host, so everything that a repository's configuration could make it run is switched off: hooks,
fsmonitor, signing, external diff.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safeexec.agent.errors import RepairError

_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"),
    *("-c", "core.attributesFile=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "user.name=safeexec", "-c", "user.email=safeexec@localhost"),
)
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RepairCommit:
    """One accepted patch. `id` is git's hash, or the number in the journal."""

    id: str
    message: str
    files: tuple[str, ...]
    diff: str


class Log(Protocol):
    """Where commits go."""

    def commit(self, message: str, files: list[str], diff: str) -> RepairCommit: ...


class Journal:
    """Commits of a repository without git: numbered."""

    def __init__(self) -> None:
        self._count = 0

    def commit(self, message: str, files: list[str], diff: str) -> RepairCommit:
        self._count += 1
        return RepairCommit(str(self._count), message, tuple(files), diff)


class Git:
    """Commits on a branch of their own in the copy's own repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._run("checkout", "-q", "-B", "safeexec-repair")

    def commit(self, message: str, files: list[str], diff: str) -> RepairCommit:
        self._run("add", "--all", "--force", "--", *files)
        self._run("commit", "-q", "--no-verify", "--allow-empty", "-m", message, "--only", "--", *files)
        return RepairCommit(self._run("rev-parse", "HEAD").strip(), message, tuple(files), diff)

    def _run(self, *arguments: str) -> str:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(self._root),
            "LC_ALL": "C",
            "GIT_TERMINAL_PROMPT": "0",
        }
        try:
            done = subprocess.run(
                ("git", *_SAFE, *arguments), cwd=self._root, env=environment, capture_output=True, text=True,
                timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RepairError(f"git {arguments[0]} did not end within {_SECONDS} s") from None
        if done.returncode:
            raise RepairError(f"git {arguments[0]} failed: {done.stderr.strip()[:500]}")
        return done.stdout


def open_log(root: Path) -> Log:
    """git where the copy has a repository that it can use, else a journal."""
    if not (root / ".git").is_dir() or shutil.which("git") is None or _runs_programs(root):
        return Journal()
    try:
        return Git(root)
    except RepairError:
        return Journal()  # a damaged repository is no reason not to repair the code


def _runs_programs(root: Path) -> bool:
    """Whether the repository's own configuration names filters, which `git add` would run."""
    try:
        configuration = (root / ".git" / "config").read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return True
    return any(word in configuration for word in ("[filter", "[include", "sshcommand", "worktree ="))
