"""`MistralModel`: chat completions through the mistralai SDK, at Mistral or at any compatible server.

The SDK's own retries are off: they take any Retry-After as it is and know no number of attempts. The SDK's debug
logger is off too: under MISTRAL_DEBUG it writes the Authorization header. Replies are streamed; a server whose stream
the SDK cannot read is asked again for the whole reply at once (compatible servers send tool-call fragments without a
name, which the SDK's types refuse).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from safeexec.agent.errors import AgentError, ModelKeyMissing, ModelRequestRefused
from safeexec.agent.messages import Message, Reply, ToolSpec
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import DEFAULT_RULES, TRANSIENT_STATUS, RetryRules, Transient, retry_after_seconds
from safeexec.agent.models.base import NO_EVENTS, ModelEvents

if TYPE_CHECKING:
    from mistralai.client.sdk import Mistral

DEFAULT_MODEL = "mistral-large-latest"
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
        if not key and server_url is None:
            raise ModelKeyMissing(_KEY_ADVICE)
        self._name = name
        self._server_url = server_url
        self._timeout = timeout
        self._retry = retry
        self._stream = stream
        self._options = {"temperature": temperature, "max_tokens": max_reply_tokens}
        self.__key = key
        self._client = self._new_client()

    def __repr__(self) -> str:
        at = f" at {self._server_url}" if self._server_url else ""
        return f"<MistralModel {self._name}{at}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a MistralModel holds an API key and cannot be pickled")

    @property
    def name(self) -> str:
        return self._name

    def _new_client(self) -> Mistral:
        try:
            from mistralai.client import Mistral
            from mistralai.client.httpclient import httpx  # the very package that this SDK was built on
            from mistralai.client.utils.logger import NoOpLogger
        except ImportError as error:
            raise AgentError("MistralModel needs the package mistralai: pip install 'safeexec[agent]'") from error
        # Kept connections belong to the event loop that opened them, and a model may be used in several.
        waiting = httpx.AsyncClient(follow_redirects=True, limits=httpx.Limits(max_keepalive_connections=0))
        # A key that is not empty keeps the SDK from looking for one in the environment.
        return Mistral(
            api_key=self.__key or "none",
            server_url=self._server_url,
            async_client=waiting,
            debug_logger=NoOpLogger(),
        )

    def close(self) -> None:
        """Close the connections to the server. The model can still be used: it opens new ones."""
        self._client.sdk_configuration.client.close()
        self._client = self._new_client()

    # One attempt after the other

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """One reply. Raises ModelUnavailable after the last attempt, ModelRequestRefused for a request that cannot
        succeed.
        """
        attempt = 1
        while True:
            try:
                return self._attempt(messages, tools, events)
            except Transient as failure:
                wait = self._retry.wait(failure, attempt, self._name)
                events.on_retry(failure.reason, wait)
            time.sleep(wait)
            attempt += 1

    async def complete_async(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """As `complete`."""
        import asyncio

        attempt = 1
        while True:
            try:
                return await self._attempt_async(messages, tools, events)
            except Transient as failure:
                wait = self._retry.wait(failure, attempt, self._name)
                events.on_retry(failure.reason, wait)
            await asyncio.sleep(wait)
            attempt += 1

    def _attempt(self, messages: Sequence[Message], tools: Sequence[ToolSpec], events: ModelEvents) -> Reply:
        request = self._request(messages, tools)
        assembly = Assembly(messages)
        deadline = time.monotonic() + self._timeout
        failure: Exception | None = None
        try:
            if self._stream:
                with self._client.chat.stream(**request) as stream:
                    for event in stream:
                        self._take(assembly, event, events, deadline)
                        if assembly.full:
                            break
            else:
                _emit(assembly.feed_response(self._client.chat.complete(**request)), events)
        except Exception as error:
            failure = self._judge(error)
        if failure is None:
            return assembly.reply()
        if not self._asks_for_whole_replies(failure, events):
            try:
                raise failure
            finally:
                del failure  # or exception and frame would hold each other
        return self._attempt(messages, tools, events)

    async def _attempt_async(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], events: ModelEvents
    ) -> Reply:
        request = self._request(messages, tools)
        assembly = Assembly(messages)
        deadline = time.monotonic() + self._timeout
        failure: Exception | None = None
        try:
            if self._stream:
                async with await self._client.chat.stream_async(**request) as stream:
                    async for event in stream:
                        self._take(assembly, event, events, deadline)
                        if assembly.full:
                            break
            else:
                _emit(assembly.feed_response(await self._client.chat.complete_async(**request)), events)
        except Exception as error:
            failure = self._judge(error)
        if failure is None:
            return assembly.reply()
        if not self._asks_for_whole_replies(failure, events):
            try:
                raise failure
            finally:
                del failure
        return await self._attempt_async(messages, tools, events)

    def _take(self, assembly: Assembly, event: Any, events: ModelEvents, deadline: float) -> None:
        _emit(assembly.feed(event.data), events)
        if time.monotonic() > deadline:
            raise Transient(f"no complete reply within {self._timeout:g} s")

    def _asks_for_whole_replies(self, failure: Exception, events: ModelEvents) -> bool:
        """Go over from streams to whole replies where the stream cannot be read. Whether that is worth another try."""
        if not isinstance(failure, _Unreadable) or not self._stream:
            return False
        self._stream = False
        events.on_retry("the server's stream cannot be read; asking for the whole reply", 0.0)
        return True

    def _judge(self, error: Exception) -> Exception:
        """What an exception of the SDK means. It is not kept as a context: it holds the request with the key in it."""
        names = {base.__name__ for base in type(error).__mro__}
        if names & {"ResponseValidationError", "ValidationError", "ResponseNotRead", "UnicodeDecodeError"}:
            return self._unreadable()
        if "MistralError" in names:
            return self._judge_status(error)
        if "TimeoutException" in names:
            return Transient(f"no answer within {self._timeout:g} s")
        if names & {"TransportError", "NoResponseError", "StreamError"}:
            return Transient(f"the connection failed ({type(error).__name__}: {self._scrub(str(error))})")
        return error

    def _judge_status(self, error: Any) -> Exception:
        status = int(error.status_code)
        said = self._scrub(str(error.body)).strip()[:500]
        if status in TRANSIENT_STATUS:
            headers = error.headers
            wait = retry_after_seconds(headers.get("retry-after-ms"), headers.get("retry-after"), time.time())
            noun = "rate limit reached" if status == 429 else "the server failed"
            return Transient(f"{noun} (HTTP {status}): {said}", wait)
        if status < 400:
            return self._unreadable()
        what = "the API key" if status in (401, 403) else "the request"
        return ModelRequestRefused(f"{self._name}: {what} was refused (HTTP {status}): {said}", status=status)

    def _unreadable(self) -> Exception:
        return _Unreadable() if self._stream else Transient("the server's response is not a chat completion")

    def _scrub(self, text: str) -> str:
        """`text` without the key, should a server echo it."""
        return text.replace(self.__key, "***") if self.__key else text

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


def _emit(text: str, events: ModelEvents) -> None:
    if text:
        events.on_text(text)


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
