"""Every exception that safeexec raises at its caller.

What guest code does wrong is data (a `Result`); what the caller, the policy or the machine does wrong is one of these:

    SandboxError
    ├── PolicyError            a policy cannot be found, read or obeyed (also a ValueError)
    ├── ProtectionError        the machine cannot give what the policy requires
    ├── ProtocolError          a process of the sandbox broke the protocol; its session is ended
    ├── SandboxClosed          the sandbox is closed, or its zygote died
    ├── SandboxBusy            no session became free before the deadline
    ├── SessionClosed          the session is closed, or could not be restored, or its zygote died
    ├── SessionBusy            another thread or task is using the session right now
    ├── StepWaiting            a step waits for an answer, or none does, or the answer came too late
    ├── CheckpointError        no such checkpoint, or no room for another one
    ├── WorkspaceError         a path leaves the workspace, or is not a regular file
    ├── StateFileError         a saved state is damaged, foreign or newer
    ├── RecordingError         a recording is damaged or newer, or none can be made
    ├── StoreError             a store cannot be reached, read or written, or is full
    │   └── SessionTaken       another process has the stored session, or has taken it over
    ├── ToolError              a host tool is declared wrongly, or failed
    ├── PluginError            a plugin failed to load or a call of it failed; carries the guest's traceback
    ├── ExpressionError        `evaluate` refused or failed; carries column and caret (also a ValueError)
    └── StepFailed             `Result.check()` on a result that is not ok; carries the result

`PluginError` and `StepFailed` are in `safeexec.results`, beside the `Result` that they carry.
"""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class SandboxError(Exception):
    """Base of all exceptions of this library. They can be pickled: a worker process hands them to its caller."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Not through `__init__`, whose other arguments are attributes by then."""
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[SandboxError], args: tuple[Any, ...]) -> SandboxError:
    return kind.__new__(kind, *args)


class PolicyError(SandboxError, ValueError):
    """A policy cannot be found, read or obeyed. The message names file, line and dotted path where there are any."""

    mistakes: tuple[Any, ...] = ()
    """All that is wrong with a policy file, one by one; `policy.loader` has their shape."""
    draft: Any = None
    """The policy without what is wrong."""


class ProtectionError(SandboxError):
    """The machine lacks what the policy requires. The message names what is missing and what would accept less."""


class ProtocolError(SandboxError):
    """A process of the sandbox sent something that the protocol does not allow."""


class SandboxClosed(SandboxError):
    """The sandbox was closed, or its zygote died; `Sandbox.reopen()` starts a new one."""


class SandboxBusy(SandboxError):
    """All sessions are in use and none became free before the deadline."""


class SessionClosed(SandboxError):
    """The session was closed, or its state could not be restored."""


class SessionBusy(SandboxError):
    """A step of this session is running in another thread or task."""


class StepWaiting(SandboxError):
    """A step of this session waits for an answer, so that nothing else may change its state; or no step waits, or none
    for this answer any more.
    """


class CheckpointError(SandboxError):
    """No checkpoint of that name, a name in use, or no room for another one."""


class WorkspaceError(SandboxError):
    """A path leaves the workspace, or is not a regular file, or the policy has no workspace.

    `rule` is the limit of the policy that the workspace exceeds, ``limits.workspace_files``, where it exceeds one.
    """

    def __init__(self, message: str = "", *, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


class StateFileError(SandboxError):
    """A saved state is damaged, too large, of another minor version of Python, or of a newer version of safeexec."""


class RecordingError(SandboxError):
    """A recording is damaged, or newer than this version, or cannot be made where it was asked for."""


class StoreError(SandboxError):
    """A store cannot be reached, read or written, or has no room."""


class SessionTaken(StoreError):
    """Another process has the stored session, or has taken it over."""


class ToolError(SandboxError):
    """A host tool is declared in a way that cannot cross the boundary, or failed with an exception of its own kind."""


class ExpressionError(SandboxError, ValueError):
    """An expression was refused or failed. `column` counts from 1; `caret` is the source line, carets under it."""

    def __init__(self, message: str, *, column: int | None = None, caret: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.caret = caret
