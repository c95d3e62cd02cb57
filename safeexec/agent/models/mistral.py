"""`MistralModel`: chat completions through the mistralai SDK, at Mistral or at any compatible server.

Replies are streamed; a server whose stream the SDK cannot read gets a request for the whole reply at once (compatible
servers send tool-call fragments without a name, which the SDK's types refuse).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from safeexec.agent.errors import AgentError
from safeexec.agent.messages import Message, ToolSpec
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import DEFAULT_RULES, RetryRules, Transient
from safeexec.agent.models.served import ServedModel, chat_message, chat_tools

DEFAULT_MODEL = "mistral-large-latest"
KEY_VARIABLE = "MISTRAL_API_KEY"


class MistralModel(ServedModel):
    """A chat model of Mistral's API, or of a server that speaks it. `api_key` defaults to the variable MISTRAL_API_KEY,
    and is needed without `server_url` alone.
    """

    key_variable = KEY_VARIABLE
    key_advice = " (keys are made at https://console.mistral.ai)"
    keyless_advice = (
        "name a compatible server of your own (vLLM, llama.cpp …), which needs no key, with server_url=… or "
        "--server-url"
    )

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
    ) -> None:
        # An empty one counts as absent, or the SDK would take Mistral's; other SDKs need the /v1 that this one adds.
        server_url = (server_url or "").rstrip("/").removesuffix("/v1") or None
        super().__init__(
            name, api_key=api_key, server_url=server_url, timeout=timeout, retry=retry, temperature=temperature,
            max_reply_tokens=max_reply_tokens,
        )  # fmt: skip
        self._stream = True

    def _sdk(self, key: str) -> tuple[Any, Any, Callable[[Any], Any]]:
        try:
            from mistralai.client import Mistral
            from mistralai.client.httpclient import httpx  # the very package that this SDK was built on
            from mistralai.client.utils.logger import NoOpLogger
        except ImportError as error:
            raise AgentError("MistralModel needs the package mistralai: pip install mistralai") from error
        tls = httpx.create_ssl_context()
        settings: dict[str, Any] = {
            "api_key": key,
            "server_url": self._server_url,
            "client": httpx.Client(verify=tls),  # the SDK would make one at each request
            "debug_logger": NoOpLogger(),  # under MISTRAL_DEBUG its own writes the Authorization header
        }
        return httpx, tls, lambda http: Mistral(async_client=http, **settings).chat

    async def _replies(self, client: Any, assembly: Assembly, tools: Sequence[ToolSpec]) -> AsyncGenerator[str, None]:
        assembly.streamed = self._stream  # another task may find out meanwhile that streams cannot be read
        request = self._request(assembly.messages, tools)
        if not assembly.streamed:
            yield assembly.feed(await client.complete_async(**request), whole=True)
            return
        async with await client.stream_async(**request) as chunks:
            async for event in chunks:
                yield assembly.feed(event.data)
                if assembly.full:
                    return

    def _meaning(self, error: Any, names: set[str], assembly: Assembly) -> Exception | None:
        if names & {"ResponseValidationError", "ValidationError", "ResponseNotRead", "UnicodeDecodeError"}:
            return self._unreadable(assembly)
        if "MistralError" not in names:
            return None
        status = int(error.status_code)
        return (
            self._unreadable(assembly) if status < 300 else self._judge_status(status, error.headers, str(error.body))
        )

    def _unreadable(self, assembly: Assembly) -> Transient:
        """Return the failure for a reply that the SDK cannot read: from now on none is streamed."""
        if not assembly.streamed:
            return Transient("the server's response is not a chat completion")
        self._stream = False
        return Transient("the server's stream cannot be read; asking for the whole reply", counts=False)

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._name,
            "messages": [chat_message(message, str) for message in messages],
            "timeout_ms": max(1, int(self._timeout * 1000)),
            "temperature": self._temperature,
            "max_tokens": self._max_tokens,
        }
        if tools:
            request |= {"tools": chat_tools(tools), "parallel_tool_calls": False}
        return {name: value for name, value in request.items() if value is not None}
