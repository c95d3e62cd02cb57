"""`MistralModel`: chat completions through the mistralai SDK, at Mistral or at any compatible server.

The SDK's own retries are off: they take any Retry-After as it is and know no number of attempts. Replies are streamed;
a server whose stream the SDK cannot read is asked again for the whole reply at once (compatible servers send tool-call
fragments without a name, which the SDK's types refuse).
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NoReturn

from safeexec.agent.errors import ModelError, ModelKeyMissing, ModelRequestRefused
from safeexec.agent.messages import Message, Messages, Reply, ToolSpec
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import DEFAULT_RULES, TRANSIENT_STATUS, RetryRules, Transient, retry_after_seconds
from safeexec.agent.models.base import NO_EVENTS, ModelEvents
from safeexec.agent.models.connection import connector
from safeexec.agent.models.patience import Patience
from safeexec.text import printable

DEFAULT_MODEL = "mistral-large-latest"
_MAX_SAID = 2000
"""Characters of a server's words that are looked at."""
KEY_VARIABLE = "MISTRAL_API_KEY"

_KEY_ADVICE = (
    f"no API key: set {KEY_VARIABLE} (keys are made at https://console.mistral.ai) or pass api_key=…; or name a "
    "compatible server of your own (vLLM, llama.cpp …), which needs no key, with server_url=… or --server-url"
)


class _Unreadable(Exception):
    """The SDK cannot read this server's stream."""


class MistralModel:
    """A chat model of Mistral's API, or of a server that speaks it.

    `api_key` defaults to the variable MISTRAL_API_KEY; it is sent to the server and appears nowhere else. `timeout`
    is in seconds, for one attempt from its start to the end of its reply. Raises ModelKeyMissing without a key and
    without `server_url`.
    """

    def __init__(
        self,
        name: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        server_url: str | None = None,
        timeout: float = 120.0,
        retry: RetryRules = DEFAULT_RULES,
        temperature: float | None = 0.0,
        max_reply_tokens: int | None = 4096,
        stream: bool = True,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get(KEY_VARIABLE, "")
        # An empty one counts as absent, or the SDK would take Mistral's; other SDKs want the /v1 that this one adds.
        server_url = (server_url or "").rstrip("/").removesuffix("/v1") or None
        if not key and server_url is None:
            raise ModelKeyMissing(_KEY_ADVICE)
        self._name = name
        self._server_url = server_url
        self._timeout = timeout
        self._stream = stream
        self._options = {"temperature": temperature, "max_tokens": max_reply_tokens}
        self.__key = key
        self._connect = connector(key, server_url)
        self._patience = Patience(name, self._texts, timeout, retry)

    def __repr__(self) -> str:
        at = f" at {self._server_url}" if self._server_url else ""
        return f"<MistralModel {self._name}{at}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a MistralModel holds an API key and cannot be pickled")

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self,
        messages: Messages,
        *,
        tools: Sequence[ToolSpec] = (),
        events: ModelEvents = NO_EVENTS,
    ) -> Reply:
        """One reply. Raises ModelUnavailable after the last attempt, ModelRequestRefused for a request that cannot
        succeed.
        """
        return self._patience.complete(messages, tools, events)

    async def complete_async(
        self,
        messages: Messages,
        *,
        tools: Sequence[ToolSpec] = (),
        events: ModelEvents = NO_EVENTS,
    ) -> Reply:
        """As `complete`."""
        return await self._patience.complete_async(messages, tools, events)

    async def _texts(self, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        """The texts of one reply as they come. What the SDK raises leaves as what it means."""
        stream = self._stream  # another task may find out meanwhile that streams cannot be read
        request = self._request(assembly.messages, tools)
        failure: Exception | None = None
        try:
            async with self._connect() as chat:
                if not stream:
                    yield assembly.feed_response(await chat.complete_async(**request))
                    return
                async with await chat.stream_async(**request) as chunks:
                    async for event in chunks:
                        yield assembly.feed(event.data)
                        if assembly.full:
                            return
        except Exception as error:
            failure = self._judge(error)
        if isinstance(failure, _Unreadable):
            failure = self._unreadable(stream)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or exception and frame would hold each other

    def _unreadable(self, stream: bool) -> Transient:
        """What follows from a reply that the SDK cannot read: from now on none is streamed."""
        if not stream:
            return Transient("the server's response is not a chat completion")
        self._stream = False
        return Transient("the server's stream cannot be read; asking for the whole reply", counts=False)

    def _judge(self, error: Exception) -> Exception:
        """What an exception of the SDK means. It is not kept as a context: it holds the request with the key in it."""
        names = {base.__name__ for base in type(error).__mro__}
        if isinstance(error, (Transient, ModelError)):
            return error
        if names & {"ResponseValidationError", "ValidationError", "ResponseNotRead", "UnicodeDecodeError"}:
            return _Unreadable()
        if "MistralError" in names:
            return self._judge_status(error)
        if names & {"UnsupportedProtocol", "InvalidURL"}:
            return ModelRequestRefused(f"{self._name}: {self._server_url!r} is no address of a server", status=0)
        if names & {"TransportError", "NoResponseError", "StreamError"}:
            return Transient(f"the connection failed ({type(error).__name__}: {self._scrub(str(error))})")
        return ModelError(f"{self._name}: the request failed ({type(error).__name__}: {self._scrub(str(error))})")

    def _judge_status(self, error: Any) -> Exception:
        status = int(error.status_code)
        said = self._scrub(str(error.body)).strip()[:500]
        if status in TRANSIENT_STATUS:
            headers = error.headers
            wait = retry_after_seconds(headers.get("retry-after-ms"), headers.get("retry-after"), time.time())
            noun = "rate limit reached" if status == 429 else "the server failed"
            return Transient(f"{noun} (HTTP {status}): {said}", wait)
        if 300 <= status < 400:  # not followed: the conversation is for this server alone
            place = self._scrub(str(error.headers.get("location", "nowhere")))[:200]
            said = f"the server redirects to {place!r}; if that is right, name it as the server"
        elif status < 400:
            return _Unreadable()
        what = "the API key" if status in (401, 403) else "the request"
        return ModelRequestRefused(f"{self._name}: {what} was refused (HTTP {status}): {said}", status=status)

    def _scrub(self, text: str) -> str:
        """A server's words as they may be shown: without the key, should it echo it."""
        return printable((text.replace(self.__key, "***") if self.__key else text)[:_MAX_SAID])

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._name,
            "messages": [_as_wire(message) for message in messages],
            "timeout_ms": max(1, int(self._timeout * 1000)),
            **{name: value for name, value in self._options.items() if value is not None},
        }
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
                }
                for t in tools
            ]
            request["parallel_tool_calls"] = False
        return request


def _as_wire(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.pictures:
        blocks = [{"type": "image_url", "image_url": url} for url in message.pictures]
        wire["content"] = [{"type": "text", "text": message.content}, *blocks]
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire
