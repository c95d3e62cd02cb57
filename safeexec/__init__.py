"""Runs Python that a model or a plugin author wrote: under a policy, in a process that the kernel holds, undoable step by step.

The public names load on first use, so that a process of the sandbox that imports one module does not import them all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.errors import (
        CheckpointError,
        ExpressionError,
        PluginError,
        PolicyError,
        ProtectionError,
        ProtocolError,
        SandboxBusy,
        SandboxClosed,
        SandboxError,
        SessionBusy,
        SessionClosed,
        StateFileError,
        StepFailed,
        ToolError,
        WorkspaceError,
    )
    from safeexec.host.blocking import Sandbox, Session
    from safeexec.inline import compile_expression, evaluate
    from safeexec.policy.model import Policy
    from safeexec.protocol.values import Opaque
    from safeexec.results import ErrorInfo, Result

_HOME = {
    "safeexec.errors": (
        "CheckpointError ExpressionError PluginError PolicyError ProtectionError ProtocolError SandboxBusy SandboxClosed "
        "SandboxError SessionBusy SessionClosed StateFileError StepFailed ToolError WorkspaceError"
    ),
    "safeexec.host.blocking": "Sandbox Session",
    "safeexec.inline": "compile_expression evaluate",
    "safeexec.policy.model": "Policy",
    "safeexec.protocol.values": "Opaque",
    "safeexec.results": "ErrorInfo Result",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "CheckpointError",
    "ErrorInfo",
    "ExpressionError",
    "Opaque",
    "PluginError",
    "Policy",
    "PolicyError",
    "ProtectionError",
    "ProtocolError",
    "Result",
    "Sandbox",
    "SandboxBusy",
    "SandboxClosed",
    "SandboxError",
    "Session",
    "SessionBusy",
    "SessionClosed",
    "StateFileError",
    "StepFailed",
    "ToolError",
    "WorkspaceError",
    "compile_expression",
    "evaluate",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
