"""The tools a repairing model calls from its code, and the gate behind them: verify, accept or roll back, ask before
risks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from safeexec.agent.errors import RepairError
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.edits import apply_hunks, numbered, parse_diff, replace_passage
from safeexec.agent.repair.patches import Log, RepairCommit
from safeexec.agent.repair.verification import Verdict, Verifier

Approval = Callable[[str, str], bool]
"""Sees an action in words and the diff it would make; True lets it happen."""

_CONFIGURATION = frozenset(
    {
        "conftest.py",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "tox.ini",
        "noxfile.py",
        "pytest.ini",
        "sitecustomize.py",
        "makefile",
    }
)
_MAX_LISTED = 500
_MAX_FOUND = 100


class Bench:
    """The state of a repair: the copy, the last verdict, the commits."""

    def __init__(self, copy: WorkingCopy, verifier: Verifier, log: Log, approval: Approval | None) -> None:
        self.copy = copy
        self.commits: list[RepairCommit] = []
        self.rolled_back: list[str] = []
        """Reasons of the patches that were rolled back."""
        self._verifier = verifier
        self._log = log
        self._approval = approval
        self.first = self.last = verifier.run(copy)

    def tools(self) -> list[Callable[..., object]]:
        """The functions that guest code may call."""
        return [
            self.list_files,
            self.search,
            self.read_file,
            self.replace_text,
            self.apply_diff,
            self.write_file,
            self.delete_file,
            self.verify,
            self.undo,
        ]

    # Reading

    def list_files(self, directory: str = ".") -> list[str]:
        """Paths of the files below a directory."""
        prefix = "" if directory.strip("/") in ("", ".") else directory.strip("/") + "/"
        found = [path for path in self.copy.files() if path.startswith(prefix)]
        if len(found) > _MAX_LISTED:
            return [*found[:_MAX_LISTED], f"... and {len(found) - _MAX_LISTED} more: name a directory"]
        return found

    def search(self, pattern: str, directory: str = ".") -> list[str]:
        """Lines that hold the text `pattern`, as 'path:line: text'. Plain text, not a regular expression."""
        if not pattern:
            raise ValueError("the pattern is empty")
        prefix = "" if directory.strip("/") in ("", ".") else directory.strip("/") + "/"
        found = []
        for path in self.copy.files():
            if not path.startswith(prefix):
                continue
            try:
                lines = self.copy.read(path).split("\n")
            except RepairError:
                continue
            for number, line in enumerate(lines, 1):
                if pattern in line:
                    found.append(f"{path}:{number}: {line.strip()[:200]}")
                    if len(found) == _MAX_FOUND:
                        return [*found, "... and perhaps more: search for something rarer"]
        return found

    def read_file(self, path: str, first_line: int = 1, last_line: int = 400) -> str:
        """A file with line numbers, from first_line to last_line. The numbers are not part of the file."""
        lines = self.copy.read(path).split("\n")
        if first_line < 1 or last_line < first_line:
            raise ValueError("lines count from 1, and first_line may not be behind last_line")
        text = numbered(lines, first_line - 1, last_line)
        rest = len(lines) - last_line
        return text + (f"\n... {rest} more lines" if rest > 0 else "")

    # Changing

    def replace_text(self, path: str, search: str, replacement: str) -> str:
        """Replace one exact passage of a file; it must stand there exactly once, white space included."""
        changed = replace_passage(self.copy.read(path), search, replacement, path)
        return self._change({path: changed})

    def apply_diff(self, diff: str) -> str:
        """Apply a unified diff ('--- a/path', '+++ b/path', '@@ ... @@', lines with ' ', '-', '+'). All of it or
        nothing.
        """
        changes: dict[str, str | None] = {}
        for file in parse_diff(diff):
            if file.old is not None and file.new is not None and file.old != file.new:
                raise RepairError(f"{file.old}: a diff cannot rename files; delete one and write the other")
            before = "" if file.old is None else changes.get(file.path) or self.copy.read(file.path)
            if file.old is None and self.copy.read_bytes(file.path) is not None:
                raise RepairError(f"{file.path}: exists already; the diff says it is new")
            after = apply_hunks(before, file.hunks, file.path)
            if file.old is None and after and not after.endswith("\n"):
                after += "\n"
            changes[file.path] = None if file.new is None else after
        return self._change(changes)

    def write_file(self, path: str, text: str) -> str:
        """Write a whole file. For a change of a few lines use replace_text."""
        return self._change({path: text})

    def delete_file(self, path: str) -> str:
        """Delete a file. Has to be approved."""
        self.copy.read(path)
        return self._change({path: None})

    def undo(self) -> str:
        """Drop all changes since the last commit."""
        undone = self.copy.roll_back()
        return f"undone: {', '.join(undone)}" if undone else "there was nothing to undo"

    def _change(self, changes: dict[str, str | None]) -> str:
        for path, text in changes.items():
            self.copy.check_editable(path)
            self._ask(path, text)
        for path, text in changes.items():
            self.copy.write(path, text)
        diff = self.copy.diff(changes, since_commit=True)
        return f"changed; now call verify()\n{diff}" if diff else "that is how it was already: nothing has changed"

    def _ask(self, path: str, text: str | None) -> None:
        """High-risk changes need a person: deleting, tests, and what decides how tests run."""
        name = PurePosixPath(path).name.lower()
        if text is None:
            action = f"delete {path}"
        elif is_test(path):
            action = f"change the test {path}"
        elif name in _CONFIGURATION:
            action = f"change {path}, which decides what the verification runs"
        else:
            return
        if self._approval is None:
            raise PermissionError(
                f"{action}: needs the approval of a person, and nobody is there to ask; mend the code itself"
            )
        if not self._approval(action, text if text is not None else ""):
            raise PermissionError(f"{action}: was not approved; find another way")

    # Judging

    def verify(self, message: str = "") -> str:
        """Run the verification. Better: the changes are committed under `message`. Worse: they are rolled back."""
        pending = self.copy.pending
        verdict = self._verifier.run(self.copy)
        judged = self._judge(verdict, pending, message)
        return f"{judged}\n\n{verdict.log}".strip()

    def _judge(self, verdict: Verdict, pending: list[str], message: str) -> str:
        head = f"The verification {verdict.summary()}."
        if not pending:
            self.last = verdict
            return head
        if reason := verdict.worse_than(self.last):
            self.copy.roll_back()
            self.rolled_back.append(reason)
            files = ", ".join(pending)
            return (
                f"{head} ROLLED BACK, because {reason}. The files are again as they were at the last commit: {files}."
            )
        if not verdict.ok and not verdict.better_than(self.last):
            return f"{head} No better than before: the changes are kept, but not committed; undo() drops them."
        commit = self._log.commit(_subject(message, pending), pending, self.copy.diff(since_commit=True))
        self.copy.accept()
        self.commits.append(commit)
        self.last = verdict
        return f"{head} COMMITTED: {commit.message}."

    def settle(self) -> None:
        """At the end: changes that were not verified yet are, and what is not committed then is rolled back."""
        if self.copy.pending:
            self.verify("Change left at the end")
            self.copy.roll_back()

    @property
    def touched_tests(self) -> list[str]:
        """Tests that the commits edited or deleted, in words."""
        return [
            f"{path}: {'deleted' if self.copy.read_bytes(path) is None else 'edited'}"
            for path in self.copy.changed
            if is_test(path) and self.copy.was(path) is not None
        ]


def is_test(path: str) -> bool:
    """Whether a path looks like a test: its name, or a directory of tests."""
    parts = PurePosixPath(path.lower()).parts
    return bool(re.match(r"(?:test_.*|.*_test|tests?|conftest)\.py$", parts[-1])) or any(
        p in ("test", "tests", "testing") for p in parts[:-1]
    )


def _subject(message: str, files: list[str]) -> str:
    """One line for a commit."""
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())[:72]
    return line or f"Change {', '.join(files)}"[:72]
