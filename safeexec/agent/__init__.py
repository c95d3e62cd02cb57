"""Agents on top of the sandbox: a model writes code, the sandbox runs it, the model sees the result and goes on.

Names are loaded on first use, so `from safeexec.agent import extract` costs no more than the extractor.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safeexec.agent.analyst import Analysis as Analysis
    from safeexec.agent.analyst import DataAnalyst as DataAnalyst
    from safeexec.agent.errors import AgentError as AgentError
    from safeexec.agent.errors import ModelError as ModelError
    from safeexec.agent.errors import ModelKeyMissing as ModelKeyMissing
    from safeexec.agent.errors import ModelRequestRefused as ModelRequestRefused
    from safeexec.agent.errors import ModelUnavailable as ModelUnavailable
    from safeexec.agent.errors import RepairError as RepairError
    from safeexec.agent.errors import TranscriptError as TranscriptError
    from safeexec.agent.extraction import Extraction as Extraction
    from safeexec.agent.extraction import extract as extract
    from safeexec.agent.loop import CodeAgent as CodeAgent
    from safeexec.agent.mathematics import MathAnswer as MathAnswer
    from safeexec.agent.mathematics import MathAssistant as MathAssistant
    from safeexec.agent.messages import Message as Message
    from safeexec.agent.messages import Reply as Reply
    from safeexec.agent.messages import TokenUsage as TokenUsage
    from safeexec.agent.messages import ToolCall as ToolCall
    from safeexec.agent.messages import ToolSpec as ToolSpec
    from safeexec.agent.models import AnthropicModel as AnthropicModel
    from safeexec.agent.models import AsyncModel as AsyncModel
    from safeexec.agent.models import MistralModel as MistralModel
    from safeexec.agent.models import Model as Model
    from safeexec.agent.models import ModelEvents as ModelEvents
    from safeexec.agent.models import OpenAIModel as OpenAIModel
    from safeexec.agent.models import RecordedModel as RecordedModel
    from safeexec.agent.models import ScriptedModel as ScriptedModel
    from safeexec.agent.outcome import AgentResult as AgentResult
    from safeexec.agent.outcome import AgentStep as AgentStep
    from safeexec.agent.outcome import AgentUsage as AgentUsage
    from safeexec.agent.repair import RepairAgent as RepairAgent
    from safeexec.agent.repair import RepairCommit as RepairCommit
    from safeexec.agent.repair import RepairResult as RepairResult
    from safeexec.agent.transcript import Transcript as Transcript

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
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
