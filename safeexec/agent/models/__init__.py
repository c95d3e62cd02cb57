"""Models: what the loop needs of one (`Model`), and those at hand. The Mistral SDK is imported on first use."""

from __future__ import annotations

from safeexec.agent.models.base import AsyncModel, Model, ModelEvents
from safeexec.agent.models.compatible import AnthropicModel, OpenAIModel
from safeexec.agent.models.mistral import MistralModel
from safeexec.agent.models.offline import RecordedModel, ScriptedModel

__all__ = [
    "AnthropicModel",
    "AsyncModel",
    "MistralModel",
    "Model",
    "ModelEvents",
    "OpenAIModel",
    "RecordedModel",
    "ScriptedModel",
]
