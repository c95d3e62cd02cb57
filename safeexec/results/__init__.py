"""The result of a step, as the caller gets it. Plain data: nothing here runs guest code or talks to a process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, overload

from msgspec import Struct

from safeexec.common.text import printable
from safeexec.errors import SandboxError
from safeexec.results.outcomes import (
    NEWEST_LEFT,
    STARTS_EMPTY,
    Changes,
    Display,
    ErrorInfo,
    FileChange,
    Outcome,
    Rows,
    State,
    StepData,
    ToolCallRecord,
    Usage,
    Variable,
    WaitingCall,
)

if TYPE_CHECKING:
    from safeexec.results.observation import Blocks, Prose

__all__ = [
    "NEWEST_LEFT",
    "STARTS_EMPTY",
    "Changes",
    "CheckpointInfo",
    "CommandResult",
    "Display",
    "ErrorInfo",
    "FileChange",
    "Outcome",
    "PluginError",
    "Result",
    "Rows",
    "State",
    "StepFailed",
    "ToolCallRecord",
    "Usage",
    "Variable",
    "WaitingCall",
]


MOST_OTHERS = 4
"""Refusals besides the first that an exception lists."""


class Result(StepData, frozen=True):
    """The outcome of one step. Truthy when the step ended `ok`."""

    def check(self) -> Result:
        """Return the result itself, or `StepFailed` when it is not ok."""
        if self.outcome != "ok":
            raise StepFailed(f"{self.outcome}{f': {in_words(self.error)}' if self.error else ''}", self)
        return self

    @overload
    def observation(self, max_tokens: int = 2000, format: Prose = "text") -> str: ...

    @overload
    def observation(self, max_tokens: int, format: Blocks) -> list[dict[str, Any]]: ...

    @overload
    def observation(self, max_tokens: int = 2000, *, format: Blocks) -> list[dict[str, Any]]: ...

    def observation(self, max_tokens: int = 2000, format: Prose | Blocks = "text") -> str | list[dict[str, Any]]:
        """Return the result as a model should read it, within about `max_tokens` tokens.

        ``text`` and ``markdown`` give a str; ``mistral``, ``openai``, ``anthropic`` and ``mcp`` give the content blocks
        of that API: one text, then up to four pictures. Raises ValueError for another format, or fewer than 100 tokens.
        """
        from safeexec.results.observation import observe  # for agents

        return observe(self, max_tokens, format)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the step as a notebook shows it; nothing of the guest's runs in the page."""
        from safeexec.results import mimebundle, observation  # for notebooks

        ended = [] if self.ok else observation.failure(self)
        return mimebundle.of_step(str(self.observation()), (self.stdout, self.stderr), self.displays, self.text, ended)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as what `json.dumps` takes, whatever the value is; pictures are base64."""
        from safeexec.results.jsonable import result_to_dict  # for who writes results down

        return result_to_dict(self)


def in_words(error: ErrorInfo) -> str:
    """Return what went wrong as the message of an exception: what, where, by which rule; the hint, and each further
    refusal of a rejected step, in a line of its own.
    """
    more = error.diagnostics[1:]
    lines = [_placed(error, error.file)] + ([f"hint: {error.hint}"] if error.hint else [])
    lines += [f"also: {_placed(other, error.file)}" for other in more[:MOST_OTHERS]]
    lines += [f"and {len(more) - MOST_OTHERS} more"] if len(more) > MOST_OTHERS else []
    return printable("\n".join(lines))


def _placed(error: ErrorInfo, file: str) -> str:
    text = f"{error.type}: {error.message}" if error.message else error.type
    module = "" if file in error.message else file.partition(":")[2].rstrip(">")
    module = os.path.basename(file) if os.path.isabs(file) else module
    line = f"line {error.line}" if error.line is not None and f"line {error.line}" not in error.message else ""
    place = ", ".join(filter(None, (module, line, error.rule)))
    return f"{text} ({place})" if place else text


class StepFailed(SandboxError):
    """`Result.check()` was called on a result that is not ok; `result` holds it."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class PluginError(SandboxError):
    """A plugin could not be loaded, or a call of one of its exports failed.

    `traceback` is the guest's traceback as text (guest frames only), `result` the `Result` of the failed call or None.
    """

    def __init__(self, message: str, *, traceback: str = "", result: Result | None = None) -> None:
        super().__init__(message)
        self.traceback = traceback
        self.result = result


class TemplateInfo(Struct, frozen=True):
    """One row of `sandbox.templates()`. `age` and `prepare_seconds`: seconds; `memory_mb`: MiB that dropping frees."""

    name: str
    sessions: int
    """Number of living sessions that began there, and of their branches."""
    memory_mb: float
    age: float
    """Since it was prepared the last time."""
    prepare_seconds: float
    prepared: int
    """Number of times that it was prepared: more than once if it died meanwhile."""


class CheckpointInfo(Struct, frozen=True):
    """One row of `session.checkpoints()`. `age` in seconds; `memory_mb` is what dropping it would free, in MiB."""

    name: str
    parent: str | None
    step: int
    automatic: bool
    age: float
    memory_mb: float


class CommandResult(Struct, frozen=True):
    """The end of a command. `outcome` is `ok` (exit status 0), `error` (another status), or why the host stopped it.

    `returncode` is the exit status, minus the signal's number if a signal ended the program, None if the host did.
    """

    outcome: Literal["ok", "error", "violation", "timeout", "cpu", "memory", "output", "crashed", "cancelled"]
    returncode: int | None
    stdout: str
    stderr: str
    usage: Usage
    message: str = ""
    truncated: bool = False

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def __bool__(self) -> bool:
        return self.outcome == "ok"
