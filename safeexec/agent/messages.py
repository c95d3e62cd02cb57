"""Messages, tool calls, replies and token counts: the data between the loop and a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

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


class Reply(msgspec.Struct, frozen=True):
    """One reply of a model. `finish` is the server's reason: `stop`, `length`, `tool_calls`, `content_filter` …"""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = TokenUsage()
    finish: str = "stop"

    def __post_init__(self) -> None:
        """Raise TypeError for a text that is none: a server that calls functions may give null."""
        if not isinstance(self.text, str):
            raise TypeError(f"the text of a Reply is a str ('' where there is none), not {type(self.text).__name__}")

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON data; `from_dict` reads it back."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        """Return the reply. Raises msgspec.ValidationError for data that `to_dict` did not write."""
        return msgspec.convert({name: value for name, value in data.items() if value is not None}, cls)
