"""Runs Python that a model or a plugin author wrote: under a policy, in a process that the kernel holds, undoable step
by step.

The public names load on first use, so that a process of the sandbox that imports one module does not import them all.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which costs 3 ms to import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

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
    from safeexec.host.commands import CommandResult
    from safeexec.host.faces.aio import AsyncSandbox, AsyncSession, AsyncStream
    from safeexec.host.faces.blocking import Namespace, Sandbox, Session, Stream
    from safeexec.host.plugins.plugin import AsyncPlugin, Plugin
    from safeexec.host.session.checkpoints import CheckpointInfo
    from safeexec.host.startup.confinement import describe as machine_protection
    from safeexec.host.tools.approvals import Allow, Deny
    from safeexec.inline import compile_expression, evaluate
    from safeexec.policy.model import Limits, Policy
    from safeexec.protocol.confinement import Mechanism
    from safeexec.protocol.values import Opaque
    from safeexec.remote.connect import async_connect, connect
    from safeexec.results import Changes, Display, ErrorInfo, FileChange, Result, ToolCallRecord, Usage, Variable

_HOME = {
    "safeexec.errors": (
        "CheckpointError ExpressionError PluginError PolicyError ProtectionError ProtocolError SandboxBusy "
        "SandboxClosed "
        "SandboxError SessionBusy SessionClosed StateFileError StepFailed ToolError WorkspaceError"
    ),
    "safeexec.host.commands": "CommandResult",
    "safeexec.host.faces.aio": "AsyncSandbox AsyncSession AsyncStream",
    "safeexec.host.faces.blocking": "Namespace Sandbox Session Stream",
    "safeexec.host.plugins.plugin": "AsyncPlugin Plugin",
    "safeexec.host.session.checkpoints": "CheckpointInfo",
    "safeexec.host.tools.approvals": "Allow Deny",
    "safeexec.inline": "compile_expression evaluate",
    "safeexec.policy.model": "Limits Policy",
    "safeexec.protocol.confinement": "Mechanism",
    "safeexec.protocol.values": "Opaque",
    "safeexec.remote.connect": "async_connect connect",
    "safeexec.results": "Changes Display ErrorInfo FileChange Result ToolCallRecord Usage Variable",
    "safeexec.servers.jupyter.ipython": "load_ipython_extension",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_RENAMED = {"machine_protection": ("safeexec.host.startup.confinement", "describe")}

__all__ = [
    "Allow",
    "AsyncPlugin",
    "AsyncSandbox",
    "AsyncSession",
    "AsyncStream",
    "Changes",
    "CheckpointError",
    "CheckpointInfo",
    "CommandResult",
    "Deny",
    "Display",
    "ErrorInfo",
    "ExpressionError",
    "FileChange",
    "Limits",
    "Mechanism",
    "Namespace",
    "Opaque",
    "Plugin",
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
    "Stream",
    "ToolCallRecord",
    "ToolError",
    "Usage",
    "Variable",
    "WorkspaceError",
    "async_connect",
    "compile_expression",
    "connect",
    "evaluate",
    "machine_protection",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    module, attribute = _RENAMED.get(name) or (_MODULE_OF.get(name), name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
