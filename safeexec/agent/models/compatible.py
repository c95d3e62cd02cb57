"""`OpenAIModel` and `AnthropicModel`: models of these APIs, or of servers that speak them, through their own SDKs."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, ClassVar

from safeexec.agent.errors import AgentError, ModelError
from safeexec.agent.messages import Message, ToolSpec
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import Transient
from safeexec.agent.models.served import MAX_SAID, SHOWN, ServedModel, chat_message, chat_tools
from safeexec.untrusted.json_text import loads

_MAX_KIND = 100
"""Characters of a content type that are read."""


class SdkModel(ServedModel):
    """Base of the two: one SDK, one stream of events."""

    sdk: ClassVar[str]

    def _sdk(self, key: str) -> tuple[Any, Any, Callable[[Any], Any]]:
        kind = type(self).__name__
        try:
            module: Any = import_module(self.sdk)
            # The very package that this SDK was built on: its clients take no other's.
            base = vars(import_module(f"{self.sdk}._base_client"))
            httpx: Any = base.get("httpx2") or base.get("httpx") or import_module("httpx")
            tls = httpx.create_ssl_context()
        except ImportError as error:
            raise AgentError(f"{kind} needs the package {self.sdk}: pip install 'safeexec[{self.sdk}]'") from error
        new_client = getattr(module, f"Async{kind.removesuffix('Model')}")
        settings = {"api_key": key, "base_url": self._server_url, "max_retries": 0, "timeout": self._timeout}
        return httpx, tls, lambda http: new_client(http_client=http, **settings)

    def _request(self, **parts: Any) -> dict[str, Any]:
        """Return a request for a stream, with the parts that are not empty."""
        known = {"model": self._name, "stream": True, "temperature": self._temperature, **parts}
        return {name: value for name, value in known.items() if value not in (None, [], "")}

    @abstractmethod
    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        """Begin the request. Awaited: the SDK's stream of events."""

    @abstractmethod
    def _feed(self, assembly: Assembly, event: Any) -> str:
        """Add an event to the reply; return the text in it."""

    async def _replies(self, client: Any, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        async with await self._stream(client, assembly.messages, tools) as events:
            kind = str(events.response.headers.get("content-type", ""))[:_MAX_KIND].partition(";")[0].strip().lower()
            if kind == "application/json":
                yield self._unstreamed(assembly, await events.response.aread())
                return
            if kind == "text/html":
                raise Transient("the server answered with a page of HTML, which is no stream")
            async for event in events:
                yield self._feed(assembly, event)
                if assembly.full:
                    return

    def _unstreamed(self, assembly: Assembly, body: bytes) -> str:
        """Return the text of a reply that came as one JSON object. A ModelError, with no retry, where it is none."""
        try:
            return assembly.feed(self._whole(loads(body.decode())), whole=True)
        except (ValueError, TypeError, AttributeError, Transient):
            said = self._scrub(body[:MAX_SAID].decode("utf-8", "replace"))[:SHOWN]
        raise ModelError(f"{self._name}: the server answered a request for a stream with JSON that is no reply: {said}")

    def _whole(self, reply: Any) -> Any:
        """Return a reply that was not streamed, as a chat completion. Raises TypeError."""
        raise TypeError("only a stream is read")

    def _meaning(self, error: Any, names: set[str], assembly: Assembly) -> Exception | None:
        if isinstance(error.__cause__, ModelError):
            return error.__cause__
        if "APIStatusError" in names:
            return self._judge_status(int(error.status_code), error.response.headers, str(error))
        if names & {"ValidationError", "JSONDecodeError", "UnicodeDecodeError", "AttributeError", "TypeError"}:
            return Transient(f"the server's stream cannot be read ({type(error).__name__})")
        return None


class OpenAIModel(SdkModel):
    """A chat model of OpenAI's API, or of a server that speaks its chat completions (`server_url` ends in ``/v1``)."""

    sdk = "openai"
    key_variable = "OPENAI_API_KEY"

    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        limit = "max_tokens" if self._server_url else "max_completion_tokens"
        request = self._request(
            messages=[chat_message(message, lambda url: {"url": url}) for message in messages],
            tools=chat_tools(tools),
            stream_options={"include_usage": True},
            **{limit: self._max_tokens},
        )
        return client.chat.completions.create(**request)

    def _feed(self, assembly: Assembly, event: Any) -> str:
        return assembly.feed(event)

    def _whole(self, reply: Any) -> Any:
        return import_module("openai.types.chat").ChatCompletion.construct(**{"usage": None, **reply})


_FINISH = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"} | {
    "refusal": "content_filter"
}


class AnthropicModel(SdkModel):
    """A model of Anthropic's API, or of a server that speaks its messages."""

    sdk = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"

    def _stream(self, client: Any, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Any:
        request = self._request(
            messages=_turns(messages),
            tools=[{"name": t.name, "description": t.description, "input_schema": dict(t.parameters)} for t in tools],
            system="\n\n".join(message.content for message in messages if message.role == "system"),
            max_tokens=self._max_tokens,
        )
        return client.messages.create(**request)

    def _feed(self, assembly: Assembly, event: Any) -> str:
        if event.type == "message_start":
            assembly.count(event.message.usage.input_tokens, 0)
        elif event.type == "content_block_start" and event.content_block.type == "tool_use":
            assembly.add_call(event.index, event.content_block.id, event.content_block.name, "")
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            return assembly.add_text(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            assembly.add_call(event.index, None, None, event.delta.partial_json)
        elif event.type == "message_delta":
            assembly.count(0, event.usage.output_tokens)
            if reason := event.delta.stop_reason:
                assembly.finish = _FINISH.get(reason, reason)
        return ""


def _turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as turns of user and assistant, which take turns: neighbours of one side are joined."""
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
