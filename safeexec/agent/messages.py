"""Messages, tool calls, replies and token counts: the data between the loop and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from safeexec.common.text import short_repr

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


Messages = Sequence[Message | Mapping[str, Any]]
"""A conversation, as models take it."""


def as_messages(messages: Messages) -> list[Message]:
    """Messages as such: a dict has `role` and `content`, as the chat APIs spell them; `content` may be a list of texts
    and pictures, `tool_calls` those of a reply. Raises ValueError for another one.
    """
    return [message if isinstance(message, Message) else _as_message(message) for message in messages]


def _as_message(message: Mapping[str, Any]) -> Message:
    try:
        role, content = message["role"], message.get("content") or ""
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        texts = [part["text"] for part in parts if part["type"] == "text"]
        pictures = [part["image_url"] for part in parts if part["type"] == "image_url"]
        calls = [
            ToolCall(str(call["id"]), str(call["function"]["name"]), str(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        ]
    except (KeyError, TypeError, AttributeError):
        role = None
    if role not in get_args(Role):
        raise ValueError(
            f"a message is a dict with role ({', '.join(get_args(Role))}) and content, not {short_repr(message, 200)}"
        )
    return Message(
        role,
        "\n".join(texts),
        tuple(calls),
        message.get("tool_call_id"),
        tuple(url["url"] if isinstance(url, Mapping) else url for url in pictures),
    )


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
        calls = tuple(ToolCall(str(c["id"]), str(c["name"]), str(c["arguments"])) for c in data.get("tool_calls") or ())
        usage = data.get("usage") or {}
        counts = TokenUsage(
            int(usage.get("prompt", 0)), int(usage.get("completion", 0)), bool(usage.get("estimated", False))
        )
        return cls(str(data["text"]), calls, counts, str(data.get("finish") or "stop"))
