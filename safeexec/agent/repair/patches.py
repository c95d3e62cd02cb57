"""Commits of accepted patches: real git in the working copy where the repository has it, a journal where it has not.

git runs on the host, and what it runs and writes is for the repository to say: by filters, hooks, a common directory
that lies elsewhere, links to other files. So it is used only where ``.git`` is plain, as `git clone` and `git init`
leave it; hooks, fsmonitor, signing and fetching are switched off besides.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safeexec.agent.errors import RepairError

_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"),
    *("-c", "core.attributesFile=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("-c", "user.name=safeexec", "-c", "user.email=safeexec@localhost", "-c", "protocol.allow=never"),
)
_PLAIN = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol)"
    r"|extensions\.objectformat|remote\..*\.(url|pushurl|fetch|tagopt)|(branch|user|pull|push|advice|color)\..*",
    re.DOTALL,
)
"""Settings that run nothing and lead nowhere. Not among them: filters, `include`, `core.worktree`, `worktreeConfig`,
and a promisor remote, from which git fetches by a program of the configuration's choice."""
_LEADS_ELSEWHERE = ("commondir", "config.worktree", "gitdir", "objects/info/alternates", "modules")
_GITLINK = "160000 "
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
        return _git(self._root, *arguments)


def _git(root: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "HOME": str(root),
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
    }
    try:
        done = subprocess.run(
            ("git", *_SAFE, *arguments), cwd=root, env=environment, capture_output=True, text=True, errors="replace",
            timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RepairError(f"git {arguments[0]} did not end within {_SECONDS} s") from None
    if done.returncode:
        raise RepairError(f"git {arguments[0]} failed: {done.stderr.strip()[:500]}")
    return done.stdout


def open_log(root: Path) -> Log:
    """git where the copy has a repository that it can use, else a journal."""
    if shutil.which("git") is None or not _is_plain(root / ".git"):
        return Journal()
    try:
        # Of a submodule git reads the configuration that lies there.
        if any(entry.startswith(_GITLINK) for entry in _git(root, "ls-files", "--stage", "-z").split("\0")):
            return Journal()
        return Git(root)
    except RepairError:
        return Journal()  # a damaged repository is no reason not to repair the code


def _is_plain(repository: Path) -> bool:
    """Whether git can be let into this directory: nothing in it runs a program or leads to another place."""
    if not (repository / "config").is_file() or any(os.path.lexists(repository / name) for name in _LEADS_ELSEWHERE):
        return False
    for directory, below, files in os.walk(repository):
        if any(os.path.islink(os.path.join(directory, name)) for name in (*below, *files)):
            return False
    try:
        # As git itself reads it: continued lines, quotes, subsections.
        arguments = ("config", "--file", str(repository / "config"), "--no-includes", "--list", "--name-only", "-z")
        names = _git(Path(os.sep), *arguments)
    except RepairError:
        return False
    return all(_PLAIN.fullmatch(name) for name in names.split("\0") if name)
