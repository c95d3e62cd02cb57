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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safeexec.agent.errors import RepairError

_BRANCH = "refs/heads/safeexec-repair"
_SAFE = (
    "--literal-pathspecs",
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
_MODES = ("100644", "100755")
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RepairCommit:
    """One accepted patch. `id` is git's hash, or the number in the journal."""

    id: str
    message: str
    files: tuple[str, ...]
    diff: str


Changes = Mapping[str, tuple[bytes | None, bytes | None]]
"""Files before and after a patch."""


class Log(Protocol):
    """Where commits go."""

    def commit(self, message: str, changes: Changes, diff: str) -> RepairCommit: ...


class Journal:
    """Commits of a repository without git: numbered."""

    def __init__(self) -> None:
        self._count = 0

    def commit(self, message: str, changes: Changes, diff: str) -> RepairCommit:
        self._count += 1
        return RepairCommit(str(self._count), message, tuple(changes), diff)


class Git:
    """Commits on a branch of their own in the copy's own repository.

    They are made from the bytes of the files alone: what is staged, conflicts of a merge, and what git ignores does not
    matter, and no other file is looked at.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        try:
            self._tip = self._run("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        except RepairError:
            self._tip = ""  # a repository without commits
        self._run("read-tree", self._tip or "--empty")
        self._run("symbolic-ref", "HEAD", _BRANCH)
        if self._tip:
            self._run("update-ref", _BRANCH, self._tip)

    def commit(self, message: str, changes: Changes, diff: str) -> RepairCommit:
        # What was not committed before is not part of the patch.
        if self._stage({path: before for path, (before, _) in changes.items()}):
            self._record("As it was before the repair")
        self._stage({path: after for path, (_, after) in changes.items()})
        self._record(message)
        return RepairCommit(self._tip, message, tuple(changes), diff)

    def _stage(self, files: Mapping[str, bytes | None]) -> bool:
        """Put files into the index; whether it differs from the last commit then."""
        for path, data in files.items():
            if data is None:
                self._run("update-index", "-z", "--force-remove", "--stdin", given=os.fsencode(path))
                continue
            mode = self._run("ls-files", "--stage", "-z", "--", path)[:6]
            if mode not in _MODES:
                mode = _MODES[os.access(self._root / path, os.X_OK)]
            blob = self._run("hash-object", "-w", "--stdin", f"--path={path}", given=data)
            self._run("update-index", "-z", "--replace", "--index-info", given=os.fsencode(f"{mode} {blob}\t{path}\0"))
        self._tree = self._run("write-tree")
        return not self._tip or self._tree != self._run("rev-parse", f"{self._tip}^{{tree}}")

    def _record(self, message: str) -> None:
        parents = ("-p", self._tip) if self._tip else ()
        self._tip = self._run("commit-tree", self._tree, *parents, "-m", message)
        self._run("update-ref", _BRANCH, self._tip)

    def _run(self, *arguments: str, given: bytes = b"") -> str:
        return _git(self._root, *arguments, given=given).strip()


def _git(root: Path, *arguments: str, given: bytes = b"") -> str:
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
            ("git", *_SAFE, *arguments), cwd=root, env=environment, capture_output=True, input=given, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RepairError(f"git {arguments[0]} did not end within {_SECONDS} s") from None
    if done.returncode:
        raise RepairError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()[:500]}")
    return os.fsdecode(done.stdout)


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
    if repository.is_symlink() or not (repository / "config").is_file():
        return False
    if any(os.path.lexists(repository / name) for name in _LEADS_ELSEWHERE):
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
