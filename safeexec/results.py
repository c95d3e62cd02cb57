"""What a step gives back: `Result` and its parts. Plain data; nothing here runs guest code or talks to a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from safeexec.errors import SandboxError
from safeexec.outcomes import (
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
)
from safeexec.text import printable

if TYPE_CHECKING:
    from safeexec.observation import Blocks, Prose

__all__ = [
    "NEWEST_LEFT",
    "STARTS_EMPTY",
    "Changes",
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
]


class Result(StepData, frozen=True):
    """The outcome of one step. Truthy when the step ended `ok`."""

    def check(self) -> Result:
        """The result itself, or `StepFailed` when it is not ok."""
        if self.outcome != "ok":
            error = self.error
            told = f": {printable(f'{error.type}: {error.message}')}" if error else ""
            raise StepFailed(f"{self.outcome}{told}", self)
        return self

    @overload
    def observation(self, max_tokens: int = 2000, format: Prose = "text") -> str: ...

    @overload
    def observation(self, max_tokens: int, format: Blocks) -> list[dict[str, Any]]: ...

    @overload
    def observation(self, max_tokens: int = 2000, *, format: Blocks) -> list[dict[str, Any]]: ...

    def observation(self, max_tokens: int = 2000, format: Prose | Blocks = "text") -> str | list[dict[str, Any]]:
        """The result as a model should read it, within about `max_tokens` tokens.

        ``text`` and ``markdown`` give a str; ``mistral``, ``openai``, ``anthropic`` and ``mcp`` give the content blocks
        of that API: one text, then up to four pictures. Raises ValueError for another format, or fewer than 100 tokens.
        """
        from safeexec.observation import observe

        return observe(self, max_tokens, format)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The step as a notebook shows it; nothing of the guest's runs in the page."""
        from safeexec.mimebundle import of_step
        from safeexec.observation import failure

        ended = [] if self.ok else failure(self)
        return of_step(str(self.observation()), (self.stdout, self.stderr), self.displays, self.text, ended)

    def to_dict(self) -> dict[str, Any]:
        """The result as what `json.dumps` takes, whatever the value is; pictures are base64."""
        from safeexec.jsonable import result_to_dict

        return result_to_dict(self)


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
