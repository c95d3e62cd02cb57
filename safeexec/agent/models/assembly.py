"""Put a reply together from the pieces of a stream, or from one whole response. Knows the SDK's shapes, not the SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from safeexec.agent.messages import Message, Reply, TokenUsage, ToolCall
from safeexec.agent.models.attempts import Transient
from safeexec.common.text import estimate_tokens

MAX_REPLY_CHARACTERS = 4 << 20
MAX_CALLS = 64


class Assembly:
    """Collects one reply. `feed` returns the new text of a chunk; `reply` raises Transient if the stream broke off."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.streamed = True
        """Whether the reply is asked for piece by piece."""
        self._text: list[str] = []
        self._size = 0
        self._calls: dict[tuple[str, int], tuple[str, list[str]]] = {}
        """Name and arguments of each call, these in pieces: joined as they come, they would take quadratic time."""
        self._usage: Any = None
        self._finish: str | None = None

    @property
    def full(self) -> bool:
        """Return whether the reply is past the size that is read; what follows is left out."""
        return self._size > MAX_REPLY_CHARACTERS or len(self._calls) > MAX_CALLS

    def feed(self, chunk: Any) -> str:
        """Take a chunk of a stream (`CompletionChunk`)."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self._usage = usage if self._usage is None else _most(self._usage, usage)
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if choice.finish_reason:
            self._finish = str(choice.finish_reason)
        return self._add(choice.delta)

    def feed_response(self, response: Any) -> str:
        """Take a whole response (`ChatCompletionResponse`)."""
        self._usage = response.usage
        if not response.choices:
            raise Transient("the server sent a response without choices")
        choice = response.choices[0]
        self._finish = str(choice.finish_reason or "stop")
        return self._add(choice.message) if choice.message is not None else ""

    def _add(self, message: Any) -> str:
        text = _plain_text(message.content)
        for position, call in enumerate(message.tool_calls or ()):
            self._add_call(call, position)
        if text:
            self._text.append(text)
            self._size += len(text)
        return text

    def _add_call(self, call: Any, position: int) -> None:
        arguments = call.function.arguments or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        identity = call.id if call.id and call.id != "null" else ""
        index = getattr(call, "index", None)
        key = (identity, index if index is not None else position)
        if not identity and self._calls:  # a fragment of the call before it: only the first one carries the id
            key = next((known for known in self._calls if known[1] == key[1]), key)
        _, pieces = self._calls.setdefault(key, (call.function.name or "", []))
        if arguments:
            pieces.append(arguments)
        self._size += len(arguments)

    def reply(self) -> Reply:
        if self._finish is None and not self.full:
            raise Transient("the stream broke off before the reply was complete")
        if self._finish == "error":
            raise Transient("the server reported an error while it generated the reply")
        text = "".join(self._text)[:MAX_REPLY_CHARACTERS]
        calls: dict[str, ToolCall] = {}
        for number, ((identity, _), (name, pieces)) in enumerate(self._calls.items()):
            if not identity or identity in calls:  # each answer must name its call
                identity = f"call{number:05d}"
            calls[identity] = ToolCall(identity, name, "".join(pieces))
        kept = tuple(calls.values())[:MAX_CALLS]
        return Reply(text, kept, self._count(text, kept), "length" if self.full else self._finish or "stop")

    def _count(self, text: str, calls: tuple[ToolCall, ...]) -> TokenUsage:
        usage = self._usage
        if usage is not None:
            counted = TokenUsage(max(0, usage.prompt_tokens or 0), max(0, usage.completion_tokens or 0))
            if counted.total:
                return counted
        prompt = sum(estimate_tokens(message.content) for message in self.messages)
        completion = estimate_tokens(text) + sum(estimate_tokens(call.arguments) for call in calls)
        return TokenUsage(prompt, completion, estimated=True)


def _most(old: Any, new: Any) -> Any:
    """Counts that came in parts: those of the prompt first, those of the reply at its end."""
    names = ("prompt_tokens", "completion_tokens")
    return SimpleNamespace(**{name: max(getattr(old, name) or 0, getattr(new, name) or 0) for name in names})


def _plain_text(content: Any) -> str:
    """The text of a content that is a string, a list of chunks or unset; thinking and references are left out."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(chunk.text for chunk in content if isinstance(getattr(chunk, "text", None), str))
