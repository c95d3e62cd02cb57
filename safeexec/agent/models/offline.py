"""Models that need no server: `ScriptedModel` says what it is given, `RecordedModel` what another one has said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from safeexec.agent.errors import TranscriptError
from safeexec.agent.messages import Message, Reply, TokenUsage, ToolSpec
from safeexec.agent.models.base import NO_EVENTS, ModelEvents
from safeexec.agent.transcript import read_replies
from safeexec.common.text import estimate_tokens

Scripted = str | Reply | Callable[[Sequence[Message]], str | Reply]


class ScriptedModel:
    """Replies with the given texts in turn. A callable gets the messages and returns the reply, so a script can react.

    The last message list of each call is kept in `requests` only with `keep_requests=True`.
    """

    def __init__(self, replies: Iterable[Scripted], *, name: str = "scripted", keep_requests: bool = False) -> None:
        self._replies: Iterator[Scripted] = iter(replies)
        self._name = name
        self._keep = keep_requests
        self.requests: list[tuple[Message, ...]] = []

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """Return the next reply of the script. Raises TranscriptError behind the last one."""
        given = list(messages)
        if self._keep:
            self.requests.append(tuple(given))
        scripted = next(self._replies, None)
        if scripted is None:
            raise TranscriptError(f"the script of the model {self._name!r} has no further reply")
        reply = scripted if isinstance(scripted, (str, Reply)) else scripted(given)
        if isinstance(reply, str):
            prompt = sum(estimate_tokens(message.content) for message in given)
            reply = Reply(reply, usage=TokenUsage(prompt, estimate_tokens(reply), estimated=True))
        if reply.text:
            events.on_text(reply.text)
        return reply


class RecordedModel(ScriptedModel):
    """Replays the replies of a transcript, which an agent writes (`transcript=`)."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(read_replies(path), name=f"recorded {Path(path).name}")
