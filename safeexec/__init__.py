"""Runs Python that a model or a plugin author wrote: under a policy, in a process that the kernel holds, undoable step
by step.

The public names load on first use, so that a process of the sandbox that imports one module does not import them all.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which costs 3 ms to import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from safeexec.agent.search.jobs import SearchState as SearchState
    from safeexec.agent.search.plan import Budget as Budget, Proposal as Proposal
    from safeexec.agent.search.run import SearchResult as SearchResult, async_search as async_search, search as search
    from safeexec.agent.search.tree import SearchNode as SearchNode, SearchTree as SearchTree
    from safeexec.api.aio import AsyncSandbox as AsyncSandbox, AsyncSession as AsyncSession, AsyncStream as AsyncStream
    from safeexec.api.blocking import Namespace as Namespace, Sandbox as Sandbox, Session as Session, Stream as Stream
    from safeexec.api.plugins.aio import AsyncPlugin as AsyncPlugin
    from safeexec.api.plugins.plugin import Handle as Handle, Plugin as Plugin
    from safeexec.api.plugins.source import Manifest as Manifest, plugin_manifest as plugin_manifest
    from safeexec.common.version import VERSION
    from safeexec.engine.approvals import Allow as Allow, Deny as Deny, Later as Later
    from safeexec.engine.host.startup.confinement import describe
    from safeexec.engine.host.tools.toolbox import PendingCall as PendingCall
    from safeexec.engine.policy.model import Limits as Limits, Policy as Policy
    from safeexec.errors import (
        CheckpointError as CheckpointError,
        ExpressionError as ExpressionError,
        PolicyError as PolicyError,
        ProtectionError as ProtectionError,
        ProtocolError as ProtocolError,
        RecordingError as RecordingError,
        SandboxBusy as SandboxBusy,
        SandboxClosed as SandboxClosed,
        SandboxError as SandboxError,
        SessionBusy as SessionBusy,
        SessionClosed as SessionClosed,
        SessionTaken as SessionTaken,
        StateFileError as StateFileError,
        StepWaiting as StepWaiting,
        StoreError as StoreError,
        ToolError as ToolError,
        WorkspaceError as WorkspaceError,
    )
    from safeexec.inline import compile_expression as compile_expression, evaluate as evaluate
    from safeexec.playback.compare import Deviation as Deviation
    from safeexec.playback.policies import compare_policies as compare_policies
    from safeexec.playback.replay import Replay as Replay, replay as replay
    from safeexec.protocol.confinement import Mechanism as Mechanism
    from safeexec.protocol.values import Formula as Formula, Opaque as Opaque
    from safeexec.recordings.effects import tool as tool
    from safeexec.recordings.reader import Recording as Recording
    from safeexec.recordings.store.interface import StoredSession as StoredSession, StoreOptions as StoreOptions
    from safeexec.recordings.timeline import Moment as Moment, Timeline as Timeline
    from safeexec.recordings.writer import RecordOptions as RecordOptions
    from safeexec.remote.connect import async_connect as async_connect, connect as connect
    from safeexec.results import (
        Changes as Changes,
        CheckpointInfo as CheckpointInfo,
        CommandResult as CommandResult,
        Display as Display,
        ErrorInfo as ErrorInfo,
        FileChange as FileChange,
        PluginError as PluginError,
        Result as Result,
        StepFailed as StepFailed,
        TemplateInfo as TemplateInfo,
        ToolCallRecord as ToolCallRecord,
        Usage as Usage,
        Variable as Variable,
        WaitingCall as WaitingCall,
    )
    from safeexec.results.stats import SandboxStats as SandboxStats, SessionCounts as SessionCounts

    machine_protection = describe
    __version__ = VERSION

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
    "safeexec.playback.policies": "compare_policies",
    "safeexec.playback.replay": "Replay replay",
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
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}
_OTHERS = {
    "__version__": ("safeexec.common.version", "VERSION"),
    "machine_protection": ("safeexec.engine.host.startup.confinement", "describe"),
    "load_ipython_extension": ("safeexec.servers.jupyter.ipython", "load_ipython_extension"),
}
__all__ = sorted([*_MODULE_OF, "machine_protection"])


def __getattr__(name: str) -> Any:
    module, attribute = _OTHERS.get(name) or (_MODULE_OF.get(name), name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
