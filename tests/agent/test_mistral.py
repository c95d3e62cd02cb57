"""MistralModel through the real SDK against a real server: replies, streams, failures and the secrecy of the key."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from safeexec.agent import CodeAgent
from safeexec.agent.errors import ModelError, ModelRequestRefused, ModelUnavailable
from safeexec.agent.messages import Message, ToolCall
from safeexec.agent.models import MistralModel, ModelEvents, served
from safeexec.agent.models.assembly import Assembly
from safeexec.agent.models.attempts import RetryRules, retry_after_seconds
from tests.agent.chat_server import ChatServer, Drip, Raw, Say, Status, chat_server, chunk, whole
from tests.untrusted.doubling import SLACK, growth

KEY = "sk-very-secret-0123456789"
ASK = (Message("system", "You compute."), Message("user", "2 + 2?"))


def model_at(server: ChatServer, **options: object) -> MistralModel:
    return server.model(**{"api_key": KEY, **options})


UNAVAILABLE = [
    ("wait 3600 s", 1, Status(429, headers=(("retry-after", "3600"),))),  # not waited for
    ("not a chat completion", 4, Raw(b"<html>login</html>", "text/html")),
]


@pytest.mark.parametrize(("told", "requests", "answer"), UNAVAILABLE)
def test_a_server_that_gives_no_reply(told: str, requests: int, answer: Status | Raw) -> None:
    with chat_server(answer) as server, pytest.raises(ModelUnavailable, match=told):
        model_at(server).complete(ASK)
    assert len(server.requests) == requests


def test_a_stream_that_ends_with_an_error_is_asked_for_again() -> None:
    broken = Raw(chunk({"content": "The"}) + chunk({"content": ""}, "error") + b"data: [DONE]\n\n")
    with chat_server(broken, Say("The answer is 4.")) as server:
        assert model_at(server).complete(ASK).text == "The answer is 4."
    assert len(server.requests) == 2


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
DRIPS = {
    "a header a line at a time": Drip(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"),
    "comments and no event": Drip(STREAM, b": still here\n\n"),
    "a letter at a time": Drip(STREAM, chunk({"content": "a"})),
    "a line without end": Drip(STREAM + b"data: ", b"x" * 1024),
}


@pytest.mark.parametrize("drip", DRIPS.values(), ids=DRIPS)
def test_a_server_that_never_ends_a_reply_is_held_to_the_time_limit(drip: Drip) -> None:
    async def both_ways() -> list[Any]:
        asked = [model_at(server, timeout=0.5, retry=RetryRules(attempts=1)) for _ in range(2)]
        ways = asked[0].complete_async(ASK), asyncio.to_thread(asked[1].complete, ASK)
        return await asyncio.gather(*ways, return_exceptions=True)

    with chat_server(drip, drip) as server:
        for told in asyncio.run(both_ways()):
            assert isinstance(told, ModelUnavailable) and "no complete reply within 0.5 s" in str(told)


def test_the_caller_s_patience_ends_all_attempts() -> None:
    with chat_server(DRIPS["comments and no event"]) as server, pytest.raises(ModelUnavailable, match="no reply"):
        model_at(server, timeout=600.0).complete(ASK, events=ModelEvents(seconds=0.3))
    assert len(server.requests) <= 1, "on a busy machine the first one may not have arrived"


UNSTREAMED = Raw(b"data: hello\n\n")
"""A stream that cannot be read, behind which the whole reply is asked for."""


@pytest.mark.parametrize("before", [(), (UNSTREAMED,)], ids=["stream", "whole"])
def test_a_response_without_end_is_cut(before: tuple[Raw, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "MAX_RESPONSE_BYTES", 1 << 20)
    endless = Drip(STREAM + b"data: ", b"x" * 65536, pause=0.0)
    with chat_server(*before, endless) as server, pytest.raises(ModelUnavailable, match="more than 1 MB"):
        model_at(server).complete(ASK)


def test_endless_replies_and_tool_calls_are_cut() -> None:
    calls = [
        chunk({"content": "", "tool_calls": [{"id": f"c{n}", "index": n, "function": {"name": "f", "arguments": ""}}]})
        for n in range(1000)
    ]
    with chat_server(Raw(b"".join(calls))) as server:
        reply = model_at(server).complete(ASK)
    assert (len(reply.tool_calls), reply.finish) == (64, "length")
    flood = Raw(b"".join(chunk({"content": "x" * (1 << 20)}) for _ in range(5)))
    with chat_server(flood) as server:
        reply = model_at(server, timeout=600.0).complete(ASK)
    assert (len(reply.text), reply.finish) == (4 << 20, "length")


def fed(pieces: list[str]) -> ToolCall:
    assembly = Assembly([])
    for piece in pieces:
        call = SimpleNamespace(id="a", index=0, function=SimpleNamespace(name="f", arguments=piece))
        delta = SimpleNamespace(content=None, tool_calls=[call])
        assembly.feed(SimpleNamespace(choices=[SimpleNamespace(finish_reason="tool_calls", delta=delta)]))
    (call,) = assembly.reply().tool_calls
    return call


def test_the_arguments_of_a_call_come_in_pieces_and_are_put_together_once() -> None:
    assert fed(['{"a', "", '": 1}']) == ToolCall("a", "f", '{"a": 1}')
    assert growth(fed, lambda count: ["x" * 16] * count, 1 << 12, 1 << 17) <= SLACK


def test_calls_of_one_id_are_told_apart() -> None:
    twice = [{"id": "a", "index": n, "function": {"name": "f", "arguments": f'{{"code": "{n}"}}'}} for n in range(2)]
    with chat_server(Raw(chunk({"content": "", "tool_calls": twice}, "tool_calls"))) as server:
        calls = model_at(server).complete(ASK).tool_calls
    assert [call.arguments for call in calls] == ['{"code": "0"}', '{"code": "1"}']
    assert len({call.id for call in calls}) == 2


def test_a_reply_is_utf_8_whatever_codec_the_server_names() -> None:
    """A megabyte of punycode took half a minute, and its letters are others."""
    with chat_server(UNSTREAMED, Raw(whole(Say("four")), "application/json; charset=punycode")) as server:
        assert model_at(server).complete(ASK).text == "four"
    assert len(server.requests) == 2


def test_an_address_may_end_as_other_sdks_want_it_and_one_that_is_none_is_not_tried_again() -> None:
    with chat_server(Say("four")) as server:
        for ending in ("/", "/v1/"):
            assert model_at(server, server_url=server.url + ending).complete(ASK).text == "four"
    for url in ("localhost:8000", "ftp://127.0.0.1", "http://127.0.0.1:99999"):
        with pytest.raises(ModelError) as caught:
            MistralModel("m", server_url=url, api_key=KEY, retry=RetryRules(first_wait=60.0)).complete(ASK)
        assert not isinstance(caught.value, ModelUnavailable)


def test_a_callback_is_called_in_the_caller_s_thread_and_what_it_raises_goes_to_the_caller() -> None:
    threads: list[int] = []

    async def cell() -> str:
        events = ModelEvents(on_text=lambda text: threads.append(threading.get_ident()))
        return model_at(server).complete(ASK, events=events).text

    with chat_server(Say("four")) as server:
        assert asyncio.run(cell()) == "four"
    assert set(threads) == {threading.get_ident()}

    class ValidationError(Exception):
        """Named like one of the SDK's own."""

    def fail(text: str) -> None:
        raise ValidationError

    with chat_server(Say("four")) as server, pytest.raises(ValidationError):
        model_at(server).complete(ASK, events=ModelEvents(on_text=fail))
    assert len(server.requests) == 1


UNREADABLE = {
    "tool call in fragments": Raw(
        chunk({"tool_calls": [{"id": "a", "index": 0, "function": {"name": "run_python", "arguments": ""}}]})
        + chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"code"'}}]})
        + b"data: [DONE]\n\n"
    ),
    "whole reply to a request for a stream": Raw(b'{"id": "c1"}', "application/json"),
    "not JSON": Raw(b"data: hello\n\n"),
    "a deprecated model, whose warning the SDK reads from the body": Raw(
        chunk({"content": "x"}, "stop"), headers=(("x-model-deprecation-timestamp", "2030-01-01"),)
    ),
}


@pytest.mark.parametrize("unreadable", UNREADABLE.values(), ids=UNREADABLE)
def test_a_stream_that_the_sdk_cannot_read_is_replaced_by_whole_replies(unreadable: Raw) -> None:
    with chat_server(unreadable, Say("four"), Say("five")) as server:
        model = model_at(server)
        assert [model.complete(ASK).text, model.complete(ASK).text] == ["four", "five"]
    assert [bool(r.get("stream")) for r in server.requests] == [True, False, False]


@pytest.mark.parametrize("counts", [None, {"prompt_tokens": -5, "completion_tokens": -9, "total_tokens": -14}])
def test_tokens_are_estimated_where_the_server_does_not_count(counts: dict[str, int] | None) -> None:
    with chat_server(Say("x" * 400, usage=counts)) as server:
        usage = model_at(server).complete(ASK).usage
    assert usage.estimated and usage.completion == 100


def test_the_key_reaches_only_the_server(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    monkeypatch.setenv("MISTRAL_DEBUG", "1")
    caplog.set_level(logging.DEBUG)
    with chat_server(Status(400, f"bad key {KEY}")) as server:
        model = server.model()
        with pytest.raises(ModelRequestRefused) as caught:
            model.complete(ASK)
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in repr(model) + str(model) + str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("milliseconds", "seconds", "wait"),
    [
        ("250", "9", 0.25),
        (None, "2", 2.0),
        (None, "Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        (None, "soon", None),
        ("nan", None, None),
        (None, "-5", 0.0),
    ],
)
def test_retry_after_is_read_in_its_forms(milliseconds: str | None, seconds: str | None, wait: float | None) -> None:
    assert retry_after_seconds(milliseconds, seconds, now=60.0) == wait


def test_the_key_is_in_no_sandbox_transcript_or_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    look = "import os\nprint(dict(os.environ))\nprint(open('/proc/self/environ').read())"
    with chat_server(Say(f"<execute_python>\n{look}\n</execute_python>"), Say("Nothing.")) as server:
        path = tmp_path / "run.jsonl"
        model = server.model()
        CodeAgent(model, "confined-python", transcript=path).run("Find the key.")
    assert server.keys == [f"Bearer {KEY}"] * 2
    assert KEY not in path.read_text() + json.dumps(server.requests)
