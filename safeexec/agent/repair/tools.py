"""The tools that a repairing model calls, and the gate behind them: verify, accept or roll back, ask before risks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from safeexec import Allow, Deny
from safeexec.agent.errors import RepairError
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.judges import is_configuration, is_test
from safeexec.agent.repair.texts import form_of, numbered, replace_passage
from safeexec.agent.repair.tree import plain_path
from safeexec.agent.repair.verdicts import Verification
from safeexec.agent.repair.verification import Verifier
from safeexec.common.text import head_and_tail, printable

Approval = Callable[[str, str], Allow | Deny | bool]
"""Sees an action in words and the diff it would make. True or `Allow()`, and nothing else, lets it happen."""

MAX_CHARACTERS = 64 << 20
"""The most characters of all diffs of a repair."""
_ADVICE = "Mend the code for every input, or repeat your answer if that cannot be done."
_MAX_ANSWER = 100_000
_MAX_LISTED = 500
_MAX_FOUND = 100
_MAX_SHOWN = 20_000
_MAX_VERIFICATIONS = 100


@dataclass(frozen=True, slots=True)
class RepairCommit:
    """One accepted patch. `id` is its number in the repair, from 1."""

    id: str
    message: str
    files: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class RepairWarning:
    """One file to look at before a patch is applied. `rule` is a stable word."""

    path: str
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Bench:
    """The state of a repair: the copy, the last verdict, the commits."""

    def __init__(self, working_copy: WorkingCopy, verifier: Verifier, approval: Approval | None) -> None:
        self.copy = working_copy
        self.rolled_back: list[str] = []
        """Reasons of the patches that were rolled back."""
        self._verifier = verifier
        self.commits: list[RepairCommit] = []
        """The accepted patches in order."""
        self._approval = approval
        self._notes: list[RepairWarning] = []
        self._verifications = 0
        self._verdict: str | None = None
        self._objected = False
        self.first = self.last = verifier.run(working_copy)
        if self.first.ended == "missing":
            raise RepairError(f"verify: {self.first.log}")
        self.held_out = self._hold_out()
        if self.held_out is not None and self.held_out.ended == "missing":
            raise RepairError(f"held_out: {self.held_out.log}")

    def _hold_out(self) -> Verification | None:
        """Run the held-out commands; nothing here shows the model their verdict."""
        return self._verifier.run(self.copy, held_out=True) if self._verifier.held_out else None

    def tools(self) -> list[Callable[..., object]]:
        """Return the functions that guest code may call."""
        reading: list[Callable[..., object]] = [self.list_files, self.search, self.read_file]
        return [*reading, self.replace_text, self.write_file, self.delete_file, self.verify, self.undo]

    # Reading

    def list_files(self, directory: str = ".") -> list[str]:
        """Paths of the files below a directory."""
        found = self._below(directory)
        if len(found) > _MAX_LISTED:
            return [*found[:_MAX_LISTED], f"... and {len(found) - _MAX_LISTED} more: name a directory"]
        return found

    def _below(self, directory: str) -> list[str]:
        plain = plain_path(directory)
        found = [path for path in self.copy.files() if plain == "." or path.startswith(f"{plain}/")]
        if not found:
            raise RepairError(f"{directory}: there are no files in a directory of this name")
        return found

    def search(self, pattern: str, directory: str = ".") -> list[str]:
        """Lines that hold the text `pattern`, as 'path:line: text'. Plain text, not a regular expression."""
        if not pattern:
            raise ValueError("the pattern is empty")
        found = []
        for path in self._below(directory):
            data = self.copy.read_bytes(path) or b""
            if pattern.isascii() and pattern.encode() not in data:
                continue  # what is text here has ASCII as it is, and many files need not be decoded
            form = form_of(data)
            if form is None:
                continue
            for number, line in enumerate(form.decode(data).split("\n"), 1):
                if pattern in line:
                    found.append(f"{path}:{number}: {line.strip()[:200]}")
                    if len(found) == _MAX_FOUND:
                        return [*found, "... and perhaps more: search for something rarer"]
        return found

    def read_file(self, path: str, first_line: int = 1, last_line: int | None = None) -> str:
        """Return a file with line numbers, from first_line to last_line (else 400 lines). They are no part of
        the file.
        """
        lines = self.copy.read(path).split("\n")
        if last_line is None:
            last_line = first_line + 399
        if first_line < 1 or last_line < first_line:
            raise ValueError("lines count from 1, and first_line may not be behind last_line")
        if first_line > len(lines):
            raise ValueError(f"{path} has {len(lines)} lines")
        text = numbered(lines, first_line - 1, last_line)
        rest = len(lines) - last_line
        return text + (f"\n... {rest} more lines" if rest > 0 else "")

    # Changing

    def replace_text(self, path: str, search: str, replacement: str) -> str:
        """Replace one exact passage of a file; it must stand there exactly once, white space included."""
        return self._change(path, replace_passage(self.copy.read(path), search, replacement, path))

    def write_file(self, path: str, text: str) -> str:
        """Write a whole file. For a change of a few lines use replace_text."""
        return self._change(path, text)

    def delete_file(self, path: str) -> str:
        """Delete a file. Has to be approved."""
        if self.copy.read_bytes(path) is None:
            self.copy.read(path)  # says what is there instead
        return self._change(path, None)

    def undo(self) -> str:
        """Drop all changes since the last commit."""
        if not (undone := self.copy.roll_back()):
            return "there was nothing to undo"
        self._verdict = "undone"
        return f"undone: {', '.join(undone)}"

    def _change(self, path: str, text: str | None) -> str:
        """Write a file, or remove it. A person has to approve deleting, changing tests or their configuration."""
        path = plain_path(path)  # one spelling: risks are judged by it
        diff = self.copy.preview(path, text)
        if text is None:
            self._ask(f"delete {path}", diff)
        elif is_test(path):
            self._ask(f"change the test {path}", diff)
        elif is_configuration(path):
            self._ask(f"change {path}, which decides what is run", diff)
        self.copy.write(path, text)
        if not diff:
            return "that is how it was already: nothing has changed"
        return f"changed; now call verify()\n{head_and_tail(diff, _MAX_SHOWN)[0]}".encode("utf-8", "replace").decode()

    def _ask(self, action: str, diff: str) -> None:
        if self._approval is None:
            raise PermissionError(
                f"{action}: needs the approval of a person, and nobody is there to ask; mend the code itself"
            )
        answer = self._approval(printable(action), printable(diff))
        if answer is not True and not isinstance(answer, Allow):
            reason = answer.reason if isinstance(answer, Deny) else Deny().reason
            raise PermissionError(f"{action}: {reason}; find another way")

    # Judging

    def verify(self, message: str = "") -> str:
        """Run the verification. Better: the changes are committed under `message`. Worse: they are rolled back."""
        self._verifications += 1
        if self._verifications > _MAX_VERIFICATIONS:
            raise RepairError(f"{_MAX_VERIFICATIONS} verifications were run, and a repair has no more")
        verdict = self._verifier.run(self.copy)
        return f"{self._judge(verdict, message)}\n\n{verdict.log}".strip()

    def _judge(self, verdict: Verification, message: str) -> str:
        pending = self.copy.pending
        head = f"The verification {verdict.summary()}."
        if not pending:
            self.last = verdict
            return head
        approved = any(is_test(path) or is_configuration(path) for path in pending)
        if reason := verdict.worse_than(self.last, may_lose_failing=approved):
            self.copy.roll_back()
            self._verdict = "rolled back"
            self.rolled_back.append(printable(reason))
            files = ", ".join(pending)
            return (
                f"{head} ROLLED BACK, because {reason}. The files are again as they were at the last commit: {files}."
            )
        if not verdict.ok and not verdict.better_than(self.last):
            self._verdict = "no better"
            return f"{head} No better than before: the changes are kept, but not committed; undo() drops them."
        diff = self.copy.diff(since_commit=True)
        if sum(len(commit.diff) for commit in self.commits) + len(diff) > MAX_CHARACTERS:
            raise RepairError("the patches of a repair are too large together; undo(), and make smaller changes")
        line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
        subject = (line or f"Change {', '.join(pending)}")[:72]
        commit = RepairCommit(str(len(self.commits) + 1), subject, tuple(pending), diff)
        self.commits.append(commit)
        if verdict.exit_at in pending:
            place = printable(verdict.exit_at)
            self._notes.append(RepairWarning(place, "ends-program", "ended the verification by SystemExit"))
        self.copy.accept()
        self.last, self._verdict = verdict, "committed"
        return f"{head} COMMITTED: {commit.message}."

    def verdict(self) -> str | None:
        """Return the fate of the changes since this was last asked: committed, rolled back, no better, undone."""
        verdict, self._verdict = self._verdict, None
        return verdict

    def review(self, answer: object, steps: object) -> str | None:
        """Take an answer when the verification passes; a model that gives up may do so the second time."""
        pending = self.copy.pending
        if self._objected or (self.last.ok and not pending):
            return None
        self._objected = True
        if pending:
            return f"There are changes that were not committed ({', '.join(pending)}): call verify() first, or undo()."
        if "\n@@ " in str(answer)[:_MAX_ANSWER]:
            return "A diff in the text changes nothing: make the changes with replace_text() in a step, then verify()."
        return f"The verification {self.last.summary()} still. {_ADVICE}\n\n{self.last.log}"

    def finish(self) -> None:
        """Verify, at the end, the changes that were not yet, and roll back what is not committed then."""
        if self.copy.pending:
            self._verifications = 0
            self.verify("Change left at the end")
            self.copy.roll_back()
        self.held_out = self._hold_out()

    def warnings(self) -> list[RepairWarning]:
        """Return the remarks for a person to read before the changes are applied."""
        found = []
        for path in self.copy.changed:
            how = "edited" if self.copy.read_bytes(path) is not None else "deleted"
            if self.copy.was(path) is None:
                how = "added"
            if is_configuration(path) or self.copy.is_named(path):
                found.append(RepairWarning(printable(path), "judge-changed", f"{how}; it decides what is run"))
            elif is_test(path):
                found.append(RepairWarning(printable(path), "test-changed", f"{how}; it is a test"))
        return found + self._notes
