"""Put a reply together from the pieces of a stream, or from one whole response. Knows the SDK's shapes, not the SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from safeexec.agent.messages import Message, Reply, TokenUsage, ToolCall
from safeexec.agent.models.attempts import Transient
from safeexec.common.text import estimate_tokens

MAX_REPLY_CHARACTERS = 4 << 20
MAX_CALLS = 64


class Assembly:
    """Collects one reply, of chat completions (`feed`) or pieces. `reply` raises Transient if the stream broke off."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.streamed = True
        """The reply is asked for piece by piece."""
        self.finish: str | None = None
        """The server's reason, once it has said that the reply is complete."""
        self._text: list[str] = []
        self._size = 0
        self._calls: dict[tuple[str, int], tuple[str, list[str]]] = {}
        """Name and arguments of each call, these in pieces: joined as they come, they would take quadratic time."""
        self._prompt = self._completion = 0

    @property
    def full(self) -> bool:
        """Return True past the size that is read; what follows is left out."""
        return self._size > MAX_REPLY_CHARACTERS or len(self._calls) > MAX_CALLS

    def feed(self, completion: Any, *, whole: bool = False) -> str:
        """Take a chunk of a stream of chat completions, or a `whole` one; return its text."""
        if (usage := getattr(completion, "usage", None)) is not None:
            self.count(usage.prompt_tokens, usage.completion_tokens)
        if not completion.choices:
            if whole:
                raise Transient("the server sent a response without choices")
            return ""
        choice = completion.choices[0]
        if whole or choice.finish_reason:
            self.finish = str(choice.finish_reason or "stop")
        message = choice.message if whole else choice.delta
        if message is None:
            return ""
        for position, call in enumerate(message.tool_calls or ()):
            index = getattr(call, "index", None)
            index = position if index is None else index
            self.add_call(index, call.id if call.id != "null" else "", call.function.name, call.function.arguments)
        return self.add_text(_plain_text(message.content))

    def add_text(self, text: str) -> str:
        """Take a piece of the text, and return it."""
        self._text.append(text)
        self._size += len(text)
        return text

    def add_call(self, index: int, identity: str | None, name: str | None, arguments: Any) -> None:
        """Take a call, or a further piece of its arguments: only the first one carries the id."""
        arguments = arguments or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        key = (identity or "", index)
        if not identity:
            key = next((known for known in self._calls if known[1] == index), key)
        self._calls.setdefault(key, (name or "", []))[1].append(arguments)
        self._size += len(arguments)

    def count(self, prompt: int | None, completion: int | None) -> None:
        """Take the server's counts of tokens. They may come in parts: those of the prompt first."""
        self._prompt = max(self._prompt, prompt or 0)
        self._completion = max(self._completion, completion or 0)

    def reply(self) -> Reply:
        if self.finish is None and not self.full:
            raise Transient("the stream broke off before the reply was complete")
        if self.finish == "error":
            raise Transient("the server reported an error while it generated the reply")
        text = "".join(self._text)[:MAX_REPLY_CHARACTERS]
        calls: dict[str, ToolCall] = {}
        for number, ((identity, _), (name, pieces)) in enumerate(self._calls.items()):
            if not identity or identity in calls:  # each answer must name its call
                identity = f"call{number:05d}"
            calls[identity] = ToolCall(identity, name, "".join(pieces))
        kept = tuple(calls.values())[:MAX_CALLS]
        return Reply(text, kept, self._usage(text, kept), "length" if self.full else self.finish or "stop")

    def _usage(self, text: str, calls: tuple[ToolCall, ...]) -> TokenUsage:
        if self._prompt or self._completion:
            return TokenUsage(self._prompt, self._completion)
        prompt = sum(estimate_tokens(message.content) for message in self.messages)
        completion = estimate_tokens(text) + sum(estimate_tokens(call.arguments) for call in calls)
        return TokenUsage(prompt, completion, estimated=True)


def _plain_text(content: Any) -> str:
    """Return the text of a content that is a string, a list of chunks or unset; no thinking, no references."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(chunk.text for chunk in content if isinstance(getattr(chunk, "text", None), str))
