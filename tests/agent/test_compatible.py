"""The models of three APIs against a real HTTP server: good replies, native calls, pictures, 429, 500, hangs, cut
streams, redirects, compression. What is Mistral's own is in `test_mistral.py`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import pickle
from typing import Any

import pytest

from safeexec.agent import (
    AgentError,
    AnthropicModel,
    Message,
    MistralModel,
    ModelError,
    ModelKeyMissing,
    ModelRequestRefused,
    ModelUnavailable,
    OpenAIModel,
    ToolCall,
    ToolSpec,
)
from safeexec.agent.models.attempts import RetryRules
from safeexec.agent.models.base import ModelEvents
from tests.agent.chat_server import ChatServer, Raw, Say, Status, chat_server, stream, whole

KINDS: dict[str, Any] = {"mistral": MistralModel, "openai": OpenAIModel, "anthropic": AnthropicModel}
SDKS = {"mistral": "mistralai", "openai": "openai", "anthropic": "anthropic"}
TOOL = ToolSpec("run_python", "Run it.", {"type": "object", "properties": {"code": {"type": "string"}}})
PICTURE = "data:image/png;base64,AAAA"


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    pytest.importorskip(SDKS[name], reason=f"the package {SDKS[name]} is not installed")
    return name


def model(kind: str, server: ChatServer, **options: Any) -> Any:
    retry = RetryRules(attempts=3, first_wait=0.001, longest_wait=0.05)
    url = server.url + ("/v1" if kind == "openai" else "")
    given = {"api_key": "secret-key", "server_url": url, "retry": retry, "timeout": 20.0, **options}
    return KINDS[kind]("test-model", **given)


def event(name: str, **content: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **content})}\n\n".encode()


def spoken(kind: str, say: Say) -> Raw | Say:
    """A good answer in the words of an API; Mistral's model may ask for it whole."""
    if kind == "mistral":
        return say
    if kind == "openai":
        return Raw(stream(say))
    start = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None}
    usage = {"input_tokens": 11, "output_tokens": 1}
    body = event("message_start", message={**start, "stop_sequence": None, "usage": usage})
    parts = [part for part in (say.text[:5], say.text[5:]) if part]
    blocks = [({"type": "text", "text": ""}, {"type": "text_delta", "text": part}) for part in parts]
    for n, (name, told) in enumerate(say.calls):
        block = {"type": "tool_use", "id": f"call{n}", "name": name, "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": told}))
    for index, (block, delta) in enumerate(blocks):
        body += event("content_block_start", index=index, content_block=block)
        body += event("content_block_delta", index=index, delta=delta) + event("content_block_stop", index=index)
    reason = "tool_use" if say.calls else {"stop": "end_turn", "length": "max_tokens"}[say.finish]
    body += event("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 7})
    return Raw(body + event("message_stop"))


ASK = [Message("system", "Be short."), Message("user", "hello")]


def test_a_reply_is_streamed_and_counted(kind: str) -> None:
    pieces: list[str] = []
    said = "The answer is four, no doubt about it."
    with chat_server(spoken(kind, Say(said))) as server:
        reply = model(kind, server).complete(ASK, events=ModelEvents(on_text=pieces.append))
    assert (reply.text, reply.finish, "".join(pieces)) == (said, "stop", said) and len(pieces) > 1
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.estimated) == (11, 7, False)
    assert "secret-key" in str(server.keys[0]) and server.requests[0]["model"] == "test-model"


def test_it_is_awaited_on_one_event_loop_after_another(kind: str) -> None:
    with chat_server(spoken(kind, Say("Hello, you.", finish="length"))) as server:
        asked = model(kind, server)
        for _ in range(2):
            reply = asyncio.run(asked.complete_async(ASK))
            assert (reply.text, reply.finish) == ("Hello, you.", "length")


def test_native_calls_and_pictures_cross_in_both_directions(kind: str) -> None:
    talk = [
        Message("system", "s"),
        Message("user", "draw"),
        Message("assistant", "", (ToolCall("call0", "run_python", '{"code": "plot()"}'),)),
        Message("tool", "a plot", tool_call_id="call0", pictures=(PICTURE,)) if kind == "anthropic"
        else Message("tool", "a plot", tool_call_id="call0"),
        Message("user", "look", pictures=(PICTURE,)),
    ]  # fmt: skip
    with chat_server(spoken(kind, Say(calls=(("run_python", '{"code": "6 * 7"}'),)))) as server:
        reply = model(kind, server).complete(talk, tools=[TOOL])
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments), reply.finish) == ("run_python", {"code": "6 * 7"}, "tool_calls")
    (asked,) = server.requests
    told = json.dumps(asked["messages"])
    url = PICTURE if kind == "mistral" else {"url": PICTURE}
    assert "AAAA" in told and "a plot" in told and "plot()" in told
    if kind == "anthropic":
        assert asked["system"] == "s" and asked["tools"][0]["input_schema"] == dict(TOOL.parameters)
        assert [turn["role"] for turn in asked["messages"]] == ["user", "assistant", "user"]
        assert asked["messages"][2]["content"][0]["type"] == "tool_result"
    else:
        assert asked["tools"][0]["function"]["name"] == "run_python"
        assert asked["messages"][3]["tool_call_id"] == "call0"
        assert asked["messages"][4]["content"][1] == {"type": "image_url", "image_url": url}


CUT = {"mistral": 60, "openai": 60, "anthropic": 200}
FAILURES = {
    "429": Status(429, headers=(("retry-after", "0.01"),)),
    **{str(status): Status(status) for status in (500, 529)},
    "no JSON": Raw(b"data: {nonsense\n\n"),
    "an empty stream": Raw(b""),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_failure_that_passes_costs_an_attempt(kind: str, failure: Status | Raw) -> None:
    retries: list[str] = []
    with chat_server(failure, spoken(kind, Say("Hello, you."))) as server:
        events = ModelEvents(on_retry=lambda reason, seconds: retries.append(reason))
        assert model(kind, server).complete(ASK, events=events).text == "Hello, you."
    assert len(retries) == 1


def test_a_stream_that_is_cut_off_or_hangs_costs_an_attempt(kind: str) -> None:
    good = spoken(kind, Say("Hello, you."))
    body = stream(good) if isinstance(good, Say) else good.body
    cut = body[: CUT[kind]]
    with chat_server(Raw(cut), Raw(cut, hang=True), good) as server:
        patient = RetryRules(attempts=20, first_wait=0.001, longest_wait=0.05)
        assert model(kind, server, timeout=0.5, retry=patient).complete(ASK).text == "Hello, you."


def test_attempts_end(kind: str) -> None:
    with chat_server(Status(503, '{"error": "secret-key is tired"}')) as server:
        with pytest.raises(ModelUnavailable, match="HTTP 503") as raised:
            model(kind, server).complete(ASK)
        assert raised.value.attempts == len(server.requests) == 3
    assert "secret-key" not in str(raised.value)


@pytest.mark.parametrize("code", [400, 401, 403])
def test_what_cannot_succeed_is_not_tried_again(kind: str, code: int) -> None:
    said = "the API key was refused" if code in (401, 403) else "the request was refused"
    with chat_server(Status(code, '{"message": "no such model"}')) as server:
        with pytest.raises(ModelRequestRefused, match=said) as raised:
            model(kind, server).complete(ASK)
        assert (raised.value.status, len(server.requests)) == (code, 1)


@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(kind: str, status: int) -> None:
    with chat_server(Say("mine now")) as other:
        moved = Status(status, headers=(("location", f"{other.url}/v1/chat/completions"),))
        with chat_server(moved) as server, pytest.raises(ModelRequestRefused, match="redirects to"):
            model(kind, server).complete(ASK)
    assert (other.requests, len(server.requests)) == ([], 1)


def test_a_compressed_reply_is_refused(kind: str) -> None:
    bomb = Raw(gzip.compress(b"x" * 10_000_000), headers=(("content-encoding", "gzip"),))
    with chat_server(bomb) as server, pytest.raises(AgentError, match=r"compressed|tried 3"):
        model(kind, server).complete(ASK)


def test_a_key_is_needed_and_never_shown(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"{kind.upper()}_API_KEY", raising=False)
    with pytest.raises(ModelKeyMissing, match=f"{kind.upper()}_API_KEY"):
        KINDS[kind]("m")
    made = KINDS[kind]("m", api_key="secret-key")
    assert "secret-key" not in repr(made)
    with pytest.raises(TypeError):
        pickle.dumps(made)


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_missing_sdk_is_named_with_an_extra_that_exists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(AgentError, match=rf"pip install 'safeexec\[{name}\]'"):
        KINDS[name]("m", api_key="k")


def test_a_server_that_does_not_stream_is_read_as_it_answers() -> None:
    pytest.importorskip("openai", reason="the package openai is not installed")
    call = ("run_python", '{"code": "1 + 1"}')
    answers = [Raw(whole(say), "application/json") for say in (Say("four", usage=None), Say(calls=(call,)))]
    with chat_server(*answers) as server:
        asked = model("openai", server)
        assert (asked.complete(ASK).text, asked.complete(ASK).tool_calls) == ("four", (ToolCall("call00000", *call),))
    assert len(server.requests) == 2


@pytest.mark.parametrize("kind", ["openai", "anthropic"], indirect=True)
@pytest.mark.parametrize("body", [b'{"error": "no model is loaded"}', b'{"choices": []}', b"[1", b'{"choices": 7}'])
def test_json_that_is_no_reply_is_told_at_the_first_try(kind: str, body: bytes) -> None:
    with chat_server(Raw(body, "application/json")) as server, pytest.raises(ModelError, match="JSON that is no reply"):
        model(kind, server).complete(ASK)
    assert len(server.requests) == 1
