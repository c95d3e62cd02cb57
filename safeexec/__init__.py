"""Runs Python that a model or a plugin author wrote: under a policy, in a process that the kernel holds, undoable step
by step.

The public names load on first use, so that a process of the sandbox that imports one module does not import them all.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which costs 3 ms to import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from safeexec.agent.search.jobs import SearchState
    from safeexec.agent.search.plan import Budget, Proposal
    from safeexec.agent.search.run import SearchResult, async_search, search
    from safeexec.agent.search.tree import SearchNode, SearchTree
    from safeexec.api.aio import AsyncSandbox, AsyncSession, AsyncStream
    from safeexec.api.blocking import Namespace, Sandbox, Session, Stream
    from safeexec.api.plugins.aio import AsyncPlugin
    from safeexec.api.plugins.plugin import Handle, Plugin
    from safeexec.api.plugins.source import Manifest, plugin_manifest
    from safeexec.engine.approvals import Allow, Deny, Later
    from safeexec.engine.host.startup.confinement import describe as machine_protection
    from safeexec.engine.host.tools.toolbox import PendingCall
    from safeexec.engine.policy.model import Limits, Policy
    from safeexec.errors import (
        CheckpointError,
        ExpressionError,
        PolicyError,
        ProtectionError,
        ProtocolError,
        RecordingError,
        SandboxBusy,
        SandboxClosed,
        SandboxError,
        SessionBusy,
        SessionClosed,
        SessionTaken,
        StateFileError,
        StepWaiting,
        StoreError,
        ToolError,
        WorkspaceError,
    )
    from safeexec.inline import compile_expression, evaluate
    from safeexec.playback.compare import Deviation
    from safeexec.playback.replay import Replay, compare_policies, replay
    from safeexec.protocol.confinement import Mechanism
    from safeexec.protocol.values import Formula, Opaque
    from safeexec.recordings.effects import tool
    from safeexec.recordings.reader import Recording
    from safeexec.recordings.store.interface import StoredSession, StoreOptions
    from safeexec.recordings.timeline import Moment, Timeline
    from safeexec.recordings.writer import RecordOptions
    from safeexec.remote.connect import async_connect, connect
    from safeexec.results import (
        Changes,
        CheckpointInfo,
        CommandResult,
        Display,
        ErrorInfo,
        FileChange,
        PluginError,
        Result,
        StepFailed,
        TemplateInfo,
        ToolCallRecord,
        Usage,
        Variable,
        WaitingCall,
    )
    from safeexec.results.stats import SandboxStats, SessionCounts

_HOME = {
    "safeexec.errors": (
        "CheckpointError ExpressionError PolicyError ProtectionError ProtocolError RecordingError SandboxBusy "
        "SandboxClosed SandboxError SessionBusy SessionClosed SessionTaken StateFileError StepWaiting StoreError "
        "ToolError WorkspaceError"
    ),
    "safeexec.api.aio": "AsyncSandbox AsyncSession AsyncStream",
    "safeexec.api.blocking": "Namespace Sandbox Session Stream",
    "safeexec.api.plugins.aio": "AsyncPlugin",
    "safeexec.api.plugins.plugin": "Handle Plugin",
    "safeexec.api.plugins.source": "Manifest plugin_manifest",
    "safeexec.playback.replay": "Replay compare_policies replay",
    "safeexec.results.stats": "SandboxStats SessionCounts",
    "safeexec.engine.approvals": "Allow Deny Later",
    "safeexec.recordings.effects": "tool",
    "safeexec.engine.host.tools.toolbox": "PendingCall",
    "safeexec.inline": "compile_expression evaluate",
    "safeexec.engine.policy.model": "Limits Policy",
    "safeexec.protocol.confinement": "Mechanism",
    "safeexec.protocol.values": "Formula Opaque",
    "safeexec.playback.compare": "Deviation",
    "safeexec.recordings.reader": "Recording",
    "safeexec.recordings.writer": "RecordOptions",
    "safeexec.recordings.timeline": "Moment Timeline",
    "safeexec.remote.connect": "async_connect connect",
    "safeexec.results": (
        "Changes CheckpointInfo CommandResult Display ErrorInfo FileChange PluginError Result StepFailed "
        "TemplateInfo ToolCallRecord Usage Variable WaitingCall"
    ),
    "safeexec.agent.search.plan": "Budget Proposal",
    "safeexec.recordings.store.interface": "StoredSession StoreOptions",
    "safeexec.agent.search.jobs": "SearchState",
    "safeexec.agent.search.run": "SearchResult async_search search",
    "safeexec.agent.search.tree": "SearchNode SearchTree",
    "safeexec.servers.jupyter.ipython": "load_ipython_extension",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_RENAMED = {"machine_protection": ("safeexec.engine.host.startup.confinement", "describe")}

__all__ = [
    "Allow",
    "AsyncPlugin",
    "AsyncSandbox",
    "AsyncSession",
    "AsyncStream",
    "Budget",
    "Changes",
    "CheckpointError",
    "CheckpointInfo",
    "CommandResult",
    "Deny",
    "Deviation",
    "Display",
    "ErrorInfo",
    "ExpressionError",
    "FileChange",
    "Formula",
    "Handle",
    "Later",
    "Limits",
    "Manifest",
    "Mechanism",
    "Moment",
    "Namespace",
    "Opaque",
    "PendingCall",
    "Plugin",
    "PluginError",
    "Policy",
    "PolicyError",
    "Proposal",
    "ProtectionError",
    "ProtocolError",
    "RecordOptions",
    "Recording",
    "RecordingError",
    "Replay",
    "Result",
    "Sandbox",
    "SandboxBusy",
    "SandboxClosed",
    "SandboxError",
    "SandboxStats",
    "SearchNode",
    "SearchResult",
    "SearchState",
    "SearchTree",
    "Session",
    "SessionBusy",
    "SessionClosed",
    "SessionCounts",
    "SessionTaken",
    "StateFileError",
    "StepFailed",
    "StepWaiting",
    "StoreError",
    "StoreOptions",
    "StoredSession",
    "Stream",
    "TemplateInfo",
    "Timeline",
    "ToolCallRecord",
    "ToolError",
    "Usage",
    "Variable",
    "WaitingCall",
    "WorkspaceError",
    "async_connect",
    "async_search",
    "compare_policies",
    "compile_expression",
    "connect",
    "evaluate",
    "machine_protection",
    "plugin_manifest",
    "replay",
    "search",
    "tool",
]
__version__ = "0.9.0"


def __getattr__(name: str) -> Any:
    module, attribute = _RENAMED.get(name) or (_MODULE_OF.get(name), name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
