"""Messages, tool calls, replies and token counts: the data between the loop and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from safeexec.common.text import short_repr
from safeexec.recordings.format import TokenUsage as TokenUsage
from safeexec.recordings.format import ToolCall as ToolCall

Role = Literal["system", "user", "assistant", "tool"]


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


class Reply(msgspec.Struct, frozen=True):
    """One reply of a model. `finish` is the server's reason: `stop`, `length`, `tool_calls`, `content_filter` …"""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = TokenUsage()
    finish: str = "stop"

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON data; `from_dict` reads it back."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        """Raises msgspec.ValidationError for data that `to_dict` did not write."""
        return msgspec.convert({name: value for name, value in data.items() if value is not None}, cls)
