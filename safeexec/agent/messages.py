"""What passes between the loop and a model: messages, tool calls, replies and token counts. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A native call that the model asks for. `arguments` is the JSON text as it came."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call natively; `parameters` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `tool_call_id` answers the tool call of that id (role `tool`); `pictures` are
    ``data:`` URLs, for a model that sees.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one reply; `estimated` where the server did not count them (four characters a token)."""

    prompt: int = 0
    completion: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model. `finish` is the server's reason: `stop`, `length`, `tool_calls`, `content_filter` …"""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish: str = "stop"

    @property
    def empty(self) -> bool:
        return not self.tool_calls and not self.text.strip()

    def to_dict(self) -> dict[str, Any]:
        """The reply as JSON data; `from_dict` reads it back."""
        data: dict[str, Any] = {"text": self.text, "finish": self.finish}
        if self.tool_calls:
            data["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.tool_calls]
        data["usage"] = {
            "prompt": self.usage.prompt,
            "completion": self.usage.completion,
            "estimated": self.usage.estimated,
        }
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        """Raises KeyError or TypeError for data that `to_dict` did not write."""
        calls = tuple(ToolCall(str(c["id"]), str(c["name"]), str(c["arguments"])) for c in data.get("tool_calls", ()))
        usage = data.get("usage", {})
        counts = TokenUsage(
            int(usage.get("prompt", 0)), int(usage.get("completion", 0)), bool(usage.get("estimated", False))
        )
        return cls(str(data["text"]), calls, counts, str(data.get("finish", "stop")))


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` costs: four characters each."""
    return (len(text) + 3) // 4
