"""Ask a server that may fail: attempts with waits between them, each with its own limit of time, blocking or awaited.

All of it is awaited, also for `complete`: only a task can be stopped in the middle of a read, and a server that sends a
byte now and then would hold up a blocking reader for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from safeexec.agent.messages import Message, Messages, Reply, ToolSpec, as_messages
from safeexec.agent.models.asking import ask_in_thread, out_of_time
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import RetryRules, Transient
from safeexec.agent.models.base import ModelEvents

Texts = Callable[[Assembly, Sequence[ToolSpec]], AsyncGenerator[str, None]]
"""One attempt: feeds the assembly, and yields the texts of the reply as they come. Raises Transient or a ModelError."""


class Patience:
    """Makes attempts by `texts`. `timeout` in seconds is for one of them, from its start to the end of its reply."""

    def __init__(self, name: str, texts: Texts, timeout: float, retry: RetryRules) -> None:
        self._name = name
        self._texts = texts
        self._timeout = timeout
        self._retry = retry

    def complete(self, messages: Messages, tools: Sequence[ToolSpec], events: ModelEvents) -> Reply:
        """One reply. It is awaited in a thread, where no loop is running."""
        return ask_in_thread(lambda inner: asyncio.run(self.complete_async(messages, tools, inner)), events)

    async def complete_async(self, messages: Messages, tools: Sequence[ToolSpec], events: ModelEvents) -> Reply:
        """As `complete`."""
        try:
            async with asyncio.timeout(events.seconds) as patience:
                return await self._persist(as_messages(messages), tools, events)
        except TimeoutError:
            if not patience.expired():
                raise
        raise out_of_time(events.seconds)

    async def _persist(self, messages: Sequence[Message], tools: Sequence[ToolSpec], events: ModelEvents) -> Reply:
        attempt = 1
        while True:
            try:
                return await self._attempt(messages, tools, events)
            except Transient as failure:
                wait = self._retry.wait(failure, attempt, self._name) if failure.counts else 0.0
                events.on_retry(failure.reason, wait)
                attempt += failure.counts
            await asyncio.sleep(wait)

    async def _attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec], events: ModelEvents) -> Reply:
        assembly = Assembly(messages)
        try:
            async with asyncio.timeout(self._timeout) as patience, aclosing(self._texts(assembly, tools)) as texts:
                async for text in texts:
                    if text:
                        events.on_text(text)
            return assembly.reply()
        except TimeoutError:
            if not patience.expired():
                raise
        raise Transient(f"no complete reply within {self._timeout:g} s")
