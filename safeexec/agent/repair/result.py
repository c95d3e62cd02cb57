"""`RepairResult`: what a repair came to, and the way to the original."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from safeexec.agent.errors import RepairError
from safeexec.agent.outcome import AgentResult, OfRun
from safeexec.agent.repair.tools import Bench, RepairCommit, RepairWarning
from safeexec.agent.repair.verdicts import Verification
from safeexec.common.text import printable


class RepairResult(OfRun):
    """The outcome of a repair. Truthy when its last commit passes. The original is untouched until `apply`."""

    def __init__(self, bench: Bench, run: AgentResult) -> None:
        self.run = run
        self.before: Verification = bench.first
        self.after: Verification = bench.last
        self.held_out: Verification | None = bench.held_out
        """The verdict of the held-out commands on the last commit; None without any. The model never sees it."""
        self.editable: tuple[str, ...] = bench.copy.editable
        self.commits: tuple[RepairCommit, ...] = tuple(bench.commits)
        self.rolled_back: tuple[str, ...] = tuple(bench.rolled_back)
        self.diff = bench.copy.diff()
        self.files = tuple(bench.copy.changed)
        self.warnings: tuple[RepairWarning, ...] = tuple(bench.warnings())
        """Remarks for a person to read before `apply`: changed tests and configuration, a program that ended itself.
        Nothing here reads the code: whether a patch serves the tests alone is for `held_out` to find. `str(warning)` is
        a line for a person.
        """

        self._applied = False
        self._copy = bench.copy

    @property
    def ok(self) -> bool:
        """Return True if the verification passes, and the held-out one."""
        held_out = self.held_out is None or self.held_out.ok
        return self.after.ok and held_out

    def __repr__(self) -> str:
        held_out = "" if self.held_out is None else f", held out {self.held_out.summary()}"
        files = f"{len(self.files)} files" if len(self.files) != 1 else "1 file"
        verdict = "ok" if self.ok else "not ok"
        text = f"{files} changed, {len(self.warnings)} warnings; {self.after.summary()}{held_out}"
        return f"<RepairResult {verdict}: {text}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data, which `json.dumps` takes."""
        return {
            "ok": self.ok,
            "text": self.text,
            "before": _as_dict(self.before),
            "after": _as_dict(self.after),
            "held_out": None if self.held_out is None else _as_dict(self.held_out),
            "editable": list(self.editable),
            "files": list(self.files),
            "commits": [{"message": commit.message, "files": list(commit.files)} for commit in self.commits],
            "rolled_back": list(self.rolled_back),
            "warnings": [asdict(warning) for warning in self.warnings],
            "diff": printable(self.diff),
            "stopped": self.run.stop,
        }

    def apply(self) -> list[str]:
        """Write the changed files to the original tree; their paths. Raises RepairError, and writes nothing, if one
        was changed there meanwhile or cannot be written. Nothing is committed, and no program of the repository runs.
        """
        if self._applied:
            raise RepairError("applied already")
        if not self.files:
            raise RepairError("nothing was changed, so there is nothing to apply")
        self._copy.apply(self.files)
        self._applied = True
        return list(self.files)


def _as_dict(verdict: Verification) -> dict[str, Any]:
    return {
        "ok": verdict.ok,
        "ended": verdict.ended,
        "passed": verdict.passed,
        "failing": sorted(verdict.failing),
        "log": verdict.log,
    }
