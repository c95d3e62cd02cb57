"""What a step gives back: `Result` and its parts. Plain data; nothing here runs guest code or talks to a process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from safeexec.errors import StepFailed

Outcome = Literal[
    "ok", "error", "rejected", "violation", "memory", "timeout", "cpu", "output", "cancelled", "crashed"
]
State = Literal["kept", "restored"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What one step took. `wall_ms` and `cpu_ms` are measured by the host; `peak_memory_mb` is the child's resident peak in MiB."""

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_mb: float = 0.0
    output_bytes: int = 0


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """Why a step did not end `ok`. Lines and columns count from 1; `traceback` holds guest frames only."""

    type: str
    message: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    source_line: str = ""
    traceback: str = ""
    rule: str | None = None
    hint: str | None = None
    diagnostics: tuple[ErrorInfo, ...] = ()
    """All refusals of a rejected step, the first one included."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Names of the session's namespace that a step touched."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one step. Truthy when the step ended `ok`."""

    outcome: Outcome
    value: Any = None
    text: str = ""
    stdout: str = ""
    stderr: str = ""
    error: ErrorInfo | None = None
    changes: Changes = field(default_factory=Changes)
    usage: Usage = field(default_factory=Usage)
    state: State = "kept"
    step: int = 0

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def __bool__(self) -> bool:
        return self.outcome == "ok"

    def check(self) -> Result:
        """The result itself, or `StepFailed` when it is not ok."""
        if self.outcome != "ok":
            error = self.error
            raise StepFailed(f"{self.outcome}: {error.type}: {error.message}" if error else self.outcome, self)
        return self
