"""`ServedModel`: what the models behind a server's API have in common, whatever SDK speaks to it.

The SDKs' own retries are off: they take any Retry-After as it is. So are redirects and compression; a reply is bounded.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, ClassVar, NoReturn

from safeexec.agent.errors import ModelError, ModelKeyMissing, ModelRequestRefused, ModelUnavailable
from safeexec.agent.messages import Message, Reply, ToolSpec
from safeexec.agent.models.asking import ask_in_thread, out_of_time
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import DEFAULT_RULES, TRANSIENT_STATUS, RetryRules, Transient, retry_after_seconds
from safeexec.agent.models.base import NO_EVENTS, ModelEvents
from safeexec.common.text import printable

MAX_RESPONSE_BYTES = 64 << 20
MAX_SAID, SHOWN = 2000, 500
"""Characters of a server's words that are looked at, and that a message shows."""


class ServedModel(ABC):
    """A model of a server. `api_key` is sent to the server and appears nowhere else; `timeout` is in seconds, for one
    attempt from its start to the end of its reply. Raises ModelKeyMissing without a key and without `server_url`,
    AgentError without the SDK.
    """

    key_variable: ClassVar[str]
    """The variable of the environment that has the key, if none is given."""
    key_advice: ClassVar[str] = ""
    keyless_advice: ClassVar[str] = "name a compatible server of your own, which needs no key, with server_url=…"

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        server_url: str | None = None,
        timeout: float = 120.0,
        retry: RetryRules = DEFAULT_RULES,
        temperature: float | None = None,
        max_reply_tokens: int | None = 4096,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get(self.key_variable, "")
        if not key and server_url is None:
            how = f"set {self.key_variable}{self.key_advice} or pass api_key=…"
            raise ModelKeyMissing(f"no API key: {how}; or {self.keyless_advice}")
        self._name = name
        self._server_url = server_url
        self._timeout = timeout
        self._retry = retry
        self._temperature = temperature
        self._max_tokens = max_reply_tokens
        self.__key = key
        # A key that is not empty keeps the SDK from looking for one in the environment.
        httpx, tls, self._client = self._sdk(key or "none")
        self._connect = partial(bounded_client, httpx, tls)

    def __repr__(self) -> str:
        at = f" at {self._server_url}" if self._server_url else ""
        return f"<{type(self).__name__} {self._name}{at}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds an API key and cannot be pickled")

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """Return one reply. Raises ModelUnavailable in the end, ModelRequestRefused for what cannot succeed."""
        # Awaited in a thread, where no loop is running: only a task can be stopped in the middle of a read, and a
        # server that sends a byte now and then would hold up a blocking reader for ever.
        return ask_in_thread(
            lambda inner: asyncio.run(self.complete_async(messages, tools=tools, events=inner)), events
        )

    async def complete_async(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """As `complete`."""
        try:
            async with asyncio.timeout(events.seconds) as patience:
                return await self._persist(messages, tools, events)
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

    @abstractmethod
    def _sdk(self, key: str) -> tuple[Any, Any, Callable[[Any], Any]]:
        """Return the `httpx` that the SDK was built on, TLS settings of it, and what makes the SDK's client of a client
        of `httpx`: a new one for each request, as it belongs to the event loop that it is used in.
        """

    @abstractmethod
    def _replies(self, client: Any, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        """Send the request, feed the assembly, and yield the texts of the reply as they come."""

    @abstractmethod
    def _meaning(self, error: Any, names: set[str], assembly: Assembly) -> Exception | None:
        """Return the meaning of an exception of this SDK, given the names of its class and of the bases of that."""

    async def _texts(self, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        """Yield the texts of one attempt. Raises what an exception of the SDK means (`_meaning`)."""
        failure: Exception | None = None
        try:
            async with self._connect() as http, aclosing(self._replies(self._client(http), assembly, tools)) as texts:
                async for text in texts:
                    yield text
        except Exception as error:
            failure = self._judge(error, assembly)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or exception and frame would hold each other

    def _judge(self, error: Exception, assembly: Assembly) -> Exception:
        """Return the meaning of an exception. It is not kept as a context: it holds the request with the key in it."""
        names = {base.__name__ for base in type(error).__mro__}
        if isinstance(error, (Transient, ModelError)):
            return error
        if names & {"UnsupportedProtocol", "InvalidURL"}:
            return ModelRequestRefused(f"{self._name}: {self._server_url!r} is no address of a server", status=0)
        if (meaning := self._meaning(error, names, assembly)) is not None:
            return meaning
        said = f"({type(error).__name__}: {self._scrub(str(error))})"
        if names & {"APIError", "NoResponseError", "TransportError", "StreamError"}:
            return Transient(f"the connection failed {said}")
        return ModelError(f"{self._name}: the request failed {said}")

    def _judge_status(self, status: int, headers: Any, said: str) -> Exception:
        """Return the meaning of an answer with this status, in which the server `said` why."""
        said = self._scrub(said).strip()[:SHOWN]
        if status in TRANSIENT_STATUS:
            wait = retry_after_seconds(headers.get("retry-after-ms"), headers.get("retry-after"), time.time())
            noun = "rate limit reached" if status == 429 else "the server failed"
            return Transient(f"{noun} (HTTP {status}): {said}", wait)
        if 300 <= status < 400:  # not followed: the conversation is for this server alone
            place = self._scrub(str(headers.get("location", "nowhere")))[:200]
            said = f"the server redirects to {place!r}; if that is right, name it as the server"
        what = "the API key" if status in (401, 403) else "the request"
        return ModelRequestRefused(f"{self._name}: {what} was refused (HTTP {status}): {said}", status=status)

    def _scrub(self, text: str) -> str:
        """Return a server's words as they may be shown: without the key, should it echo it."""
        return printable((text.replace(self.__key, "***") if self.__key else text)[:MAX_SAID])


@asynccontextmanager
async def bounded_client(httpx: Any, tls: Any) -> AsyncIterator[Any]:
    """Yield a client of `httpx`, which an SDK is built on, for one request. TLS settings are shared: they take long."""

    class Bounded(httpx.AsyncByteStream):  # type: ignore[misc]  # the SDK gives it no type
        """A response's bytes, until there are too many."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            async for data in self._stream:
                received += len(data)
                if received > MAX_RESPONSE_BYTES:
                    raise ModelUnavailable(f"the server sent more than {MAX_RESPONSE_BYTES >> 20} MB for one reply")
                yield data

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        if "content-encoding" in response.headers:  # a few bytes can stand for gigabytes, and none was asked for
            raise ModelUnavailable("the server sent a compressed reply, which was not asked for")
        response.stream = Bounded(response.stream)
        response.encoding = "utf-8"  # a server may name any codec of Python, and some take quadratic time (punycode)

    async with httpx.AsyncClient(
        verify=tls, headers={"accept-encoding": "identity"}, event_hooks={"response": [bound]}, follow_redirects=False
    ) as client:
        yield client


def chat_message(message: Message, picture: Callable[[str], Any]) -> dict[str, Any]:
    """Return a message as chat completions take it. `picture` makes what stands for the address of one."""
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.pictures:
        blocks = [{"type": "image_url", "image_url": picture(url)} for url in message.pictures]
        wire["content"] = [{"type": "text", "text": message.content}, *blocks]
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def chat_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools as chat completions take them."""
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
        }
        for t in tools
    ]
