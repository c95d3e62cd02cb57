"""`OpenAIModel` and `AnthropicModel`: models of these APIs, or of servers that speak them, through their own SDKs.

The SDKs' own retries are off, as are redirects and compression; a reply is streamed and bounded.
"""

from __future__ import annotations

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator, Sequence
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NoReturn

from safeexec.agent.errors import AgentError, ModelError, ModelKeyMissing, ModelRequestRefused
from safeexec.agent.messages import Message, Messages, Reply, ToolSpec
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import DEFAULT_RULES, TRANSIENT_STATUS, RetryRules, Transient, retry_after_seconds
from safeexec.agent.models.base import NO_EVENTS, ModelEvents
from safeexec.agent.models.connection import bounded_client
from safeexec.agent.models.patience import Patience
from safeexec.text import printable
from safeexec.untrusted.json_text import loads

_MAX_SAID = 2000
"""Characters of a server's words that are looked at."""


class SdkModel(ABC):
    """What the two have in common. `api_key` is sent to the server and appears nowhere else; `timeout` is in seconds,
    for one attempt. Raises ModelKeyMissing without a key and without `server_url`, AgentError without the SDK.
    """

    sdk: str
    key_variable: str

    def __init__(
        self,
        name: str,
        *,
        api_key: str | None = None,
        server_url: str | None = None,
        timeout: float = 120.0,
        retry: RetryRules = DEFAULT_RULES,
        temperature: float | None = None,
        max_reply_tokens: int = 4096,
    ) -> None:
        key = api_key if api_key is not None else os.environ.get(self.key_variable, "")
        if not key and server_url is None:
            raise ModelKeyMissing(
                f"no API key: set {self.key_variable} or pass api_key=…; or name a compatible server of your own, "
                "which needs no key, with server_url=…"
            )
        try:
            self._module: Any = import_module(self.sdk)
            # The very package that this SDK was built on: its clients take no other's.
            base = vars(import_module(f"{self.sdk}._base_client"))
            self._httpx: Any = base.get("httpx2") or base.get("httpx") or import_module("httpx")
            self._tls: Any = self._httpx.create_ssl_context()
        except ImportError as error:
            kind = type(self).__name__
            raise AgentError(f"{kind} needs the package {self.sdk}: pip install 'safeexec[{self.sdk}]'") from error
        self._name = name
        self._server_url = server_url
        self._timeout = timeout
        self._temperature = temperature
        self._max_tokens = max_reply_tokens
        self.__key = key
        self._patience = Patience(name, self._texts, timeout, retry)

    def __repr__(self) -> str:
        at = f" at {self._server_url}" if self._server_url else ""
        return f"<{type(self).__name__} {self._name}{at}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds an API key and cannot be pickled")

    @property
    def name(self) -> str:
        return self._name

    def complete(self, messages: Messages, *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS) -> Reply:
        """One reply. Raises ModelUnavailable after the last attempt, ModelRequestRefused for a request that cannot
        succeed.
        """
        return self._patience.complete(messages, tools, events)

    async def complete_async(
        self, messages: Messages, *, tools: Sequence[ToolSpec] = (), events: ModelEvents = NO_EVENTS
    ) -> Reply:
        """As `complete`."""
        return await self._patience.complete_async(messages, tools, events)

    @abstractmethod
    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        """Begin the request. Awaited: the SDK's stream of events."""

    @abstractmethod
    def _chunks(self, event: Any) -> Iterator[Any]:
        """What an event adds to the reply, in the shape that `Assembly.feed` takes."""

    async def _texts(self, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        failure: Exception | None = None
        try:
            async with bounded_client(self._httpx, self._tls) as http:
                client = getattr(self._module, f"Async{type(self).__name__.removesuffix('Model')}")(
                    api_key=self.__key or "none",
                    base_url=self._server_url,
                    max_retries=0,
                    timeout=self._timeout,
                    http_client=http,
                )
                async with await self._stream(client, assembly.messages, tools) as events:
                    async for event in events:
                        for chunk in self._chunks(event):
                            yield assembly.feed(chunk)
                        if assembly.full:
                            return
        except Exception as error:
            failure = self._judge(error)
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # or exception and frame would hold each other

    def _judge(self, error: Exception) -> Exception:
        """What an exception of the SDK means. It is not kept as a context: it holds the request with the key in it."""
        names = {base.__name__ for base in type(error).__mro__}
        said = self._scrub(str(error))
        if isinstance(error, (Transient, ModelError)):
            return error
        if isinstance(error.__cause__, ModelError):
            return error.__cause__
        if "APIStatusError" in names:
            return self._judge_status(error, said)
        if names & {"UnsupportedProtocol", "InvalidURL"}:
            return ModelRequestRefused(f"{self._name}: {self._server_url!r} is no address of a server", status=0)
        if names & {"APIError", "TransportError", "StreamError"}:
            return Transient(f"the connection failed ({type(error).__name__}: {said})")
        if names & {"ValidationError", "JSONDecodeError", "UnicodeDecodeError", "AttributeError", "TypeError"}:
            return Transient(f"the server's stream cannot be read ({type(error).__name__})")
        return ModelError(f"{self._name}: the request failed ({type(error).__name__}: {said})")

    def _judge_status(self, error: Any, said: str) -> Exception:
        status, headers = int(error.status_code), error.response.headers
        if status in TRANSIENT_STATUS:
            wait = retry_after_seconds(headers.get("retry-after-ms"), headers.get("retry-after"), time.time())
            noun = "rate limit reached" if status == 429 else "the server failed"
            return Transient(f"{noun} (HTTP {status}): {said[:500]}", wait)
        if 300 <= status < 400:  # not followed: the conversation is for this server alone
            place = self._scrub(str(headers.get("location", "nowhere")))[:200]
            said = f"the server redirects to {place!r}; if that is right, name it as the server"
        what = "the API key" if status in (401, 403) else "the request"
        return ModelRequestRefused(f"{self._name}: {what} was refused (HTTP {status}): {said[:500]}", status=status)

    def _scrub(self, text: str) -> str:
        """A server's words as they may be shown: without the key, should it echo it."""
        return printable((text.replace(self.__key, "***") if self.__key else text)[:_MAX_SAID])


class OpenAIModel(SdkModel):
    """A chat model of OpenAI's API, or of a server that speaks its chat completions (`server_url` ends in ``/v1``)."""

    sdk = "openai"
    key_variable = "OPENAI_API_KEY"

    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        request: dict[str, Any] = {
            "model": self._name,
            "messages": [_of_openai(message) for message in messages],
            "max_tokens" if self._server_url else "max_completion_tokens": self._max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if self._temperature is not None:
            request["temperature"] = self._temperature
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
                }
                for t in tools
            ]
        return client.chat.completions.create(**request)

    def _chunks(self, event: Any) -> Iterator[Any]:
        yield event


def _of_openai(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.pictures:
        blocks = [{"type": "image_url", "image_url": {"url": url}} for url in message.pictures]
        wire["content"] = [{"type": "text", "text": message.content}, *blocks]
    if message.tool_calls:
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"} | {
    "refusal": "content_filter"
}


class AnthropicModel(SdkModel):
    """A model of Anthropic's API, or of a server that speaks its messages."""

    sdk = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"

    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        request: dict[str, Any] = {
            "model": self._name,
            "messages": _turns(messages),
            "max_tokens": self._max_tokens,
            "stream": True,
        }
        if system := "\n\n".join(message.content for message in messages if message.role == "system"):
            request["system"] = system
        if self._temperature is not None:
            request["temperature"] = self._temperature
        if tools:
            request["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": dict(t.parameters)} for t in tools
            ]
        return client.messages.create(**request)

    def _chunks(self, event: Any) -> Iterator[Any]:
        if event.type == "message_start":
            yield _chunk(usage=(event.message.usage.input_tokens, 0))
        elif event.type == "content_block_start" and event.content_block.type == "tool_use":
            yield _chunk(call=(event.index, event.content_block.id, event.content_block.name, ""))
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            yield _chunk(text=event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            yield _chunk(call=(event.index, None, None, event.delta.partial_json))
        elif event.type == "message_delta":
            said = event.delta.stop_reason
            yield _chunk(finish=_FINISH.get(said, said), usage=(0, event.usage.output_tokens))


def _chunk(
    text: str = "",
    call: tuple[int, str | None, str | None, str] | None = None,
    finish: str | None = None,
    usage: tuple[int, int] | None = None,
) -> Any:
    """A piece of a reply in the shape of a chat completion."""
    calls = []
    if call is not None:
        index, identity, name, arguments = call
        calls = [SimpleNamespace(index=index, id=identity, function=SimpleNamespace(name=name, arguments=arguments))]
    counted = SimpleNamespace(prompt_tokens=usage[0], completion_tokens=usage[1]) if usage is not None else None
    choice = SimpleNamespace(finish_reason=finish, delta=SimpleNamespace(content=text, tool_calls=calls))
    return SimpleNamespace(usage=counted, choices=[choice])


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as turns of user and assistant, which take turns: neighbours of one side are joined."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        side = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message))
        if turns and turns[-1]["role"] == side:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": side, "content": blocks})
    return turns


def _blocks(message: Message) -> Iterator[dict[str, Any]]:
    shown = [_picture(url) for url in message.pictures]
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    if message.tool_call_id is not None:
        yield {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": [*text, *shown]}
        return
    yield from text
    yield from shown
    for call in message.tool_calls:
        try:
            arguments = loads(call.arguments)
        except ValueError:
            arguments = {}
        arguments = arguments if isinstance(arguments, dict) else {"code": json.dumps(arguments)}
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _picture(url: str) -> dict[str, Any]:
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    if not url.startswith("data:") or not data:
        return {"type": "image", "source": {"type": "url", "url": url}}
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
