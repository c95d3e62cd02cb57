"""Agents on top of the sandbox: a model writes code, the sandbox runs it, the model sees the result and goes on.

Names are loaded on first use, so `from safeexec.agent import extract` costs no more than the extractor.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.agent.analyst import Analysis, DataAnalyst
    from safeexec.agent.errors import (
        AgentError,
        ModelError,
        ModelKeyMissing,
        ModelRequestRefused,
        ModelUnavailable,
        RepairError,
        TranscriptError,
    )
    from safeexec.agent.extraction import Extraction, extract
    from safeexec.agent.loop import CodeAgent
    from safeexec.agent.mathematics import MathAnswer, MathAssistant
    from safeexec.agent.messages import Message, Reply, TokenUsage, ToolCall, ToolSpec
    from safeexec.agent.models import (
        AnthropicModel,
        AsyncModel,
        MistralModel,
        Model,
        ModelEvents,
        OpenAIModel,
        RecordedModel,
        ScriptedModel,
    )
    from safeexec.agent.outcome import AgentResult, AgentStep, AgentUsage
    from safeexec.agent.repair import RepairAgent, RepairCommit, RepairResult
    from safeexec.agent.transcript import Transcript

_HOMES = {
    "analyst": "Analysis DataAnalyst",
    "errors": "AgentError ModelError ModelKeyMissing ModelRequestRefused ModelUnavailable RepairError TranscriptError",
    "extraction": "Extraction extract",
    "loop": "CodeAgent",
    "mathematics": "MathAnswer MathAssistant",
    "messages": "Message Reply TokenUsage ToolCall ToolSpec",
    "models": "AnthropicModel AsyncModel MistralModel Model ModelEvents OpenAIModel RecordedModel ScriptedModel",
    "outcome": "AgentResult AgentStep AgentUsage",
    "repair": "RepairAgent RepairCommit RepairResult",
    "transcript": "Transcript",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AgentError",
    "AgentResult",
    "AgentStep",
    "AgentUsage",
    "Analysis",
    "AnthropicModel",
    "AsyncModel",
    "CodeAgent",
    "DataAnalyst",
    "Extraction",
    "MathAnswer",
    "MathAssistant",
    "Message",
    "MistralModel",
    "Model",
    "ModelError",
    "ModelEvents",
    "ModelKeyMissing",
    "ModelRequestRefused",
    "ModelUnavailable",
    "OpenAIModel",
    "RecordedModel",
    "RepairAgent",
    "RepairCommit",
    "RepairError",
    "RepairResult",
    "Reply",
    "ScriptedModel",
    "TokenUsage",
    "ToolCall",
    "ToolSpec",
    "Transcript",
    "TranscriptError",
    "extract",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
