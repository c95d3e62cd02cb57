"""The one method that the loop needs of a model, and the events a model may report while it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from safeexec.agent.messages import Message, Reply, ToolSpec


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ModelEvents:
    """Callbacks of one call. `on_text` gets each piece of text as it comes; `on_retry` why, and in how many seconds,
    it is tried again: text that came before then counts no more. After `seconds` nobody waits for the reply any more.
    """

    on_text: Callable[[str], None] = _ignore
    on_retry: Callable[[str, float], None] = _ignore
    seconds: float | None = None


NO_EVENTS = ModelEvents()


@runtime_checkable
class Model(Protocol):
    """A chat model. Implement `complete`; add `complete_async` (see `AsyncModel`) if calls shall need no thread."""

    @property
    def name(self) -> str: ...

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """Return one reply to `messages`. Raises ModelError when there is none: the run ends then, as with any other
        exception of a model, with `stop="model_error"`, and keeps its steps.
        """
        ...


@runtime_checkable
class AsyncModel(Model, Protocol):
    """A model that can also be awaited."""

    async def complete_async(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """As `complete`."""
        ...
