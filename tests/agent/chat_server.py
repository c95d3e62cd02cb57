"""A real HTTP server on loopback that speaks the chat-completions protocol from a script of answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from safeexec.agent import MistralModel
from safeexec.agent.models.attempts import RetryRules
from tests.alone import answering

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True)
class Say:
    """A good answer: text, native calls of tools, or both."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))


@dataclass(frozen=True)
class Status:
    """An error answer."""

    code: int
    body: str = '{"message": "no"}'
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Raw:
    """Bytes in place of a stream; `hang` keeps the connection open until the server stops."""

    body: bytes
    content_type: str = "text/event-stream"
    hang: bool = False
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Drip:
    """`head` as it stands, from the status line on, and then `piece` over and over: a server that never ends."""

    head: bytes
    piece: bytes
    pause: float = 0.01


Answer = Say | Status | Raw | Drip


def tool_calls(say: Say) -> list[dict[str, Any]]:
    return [
        {"id": f"call{n:05d}", "type": "function", "index": n, "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(say.calls)
    ]


def chunk(delta: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body | ({"usage": usage} if usage else {})).encode() + b"\n\n"


def stream(say: Say) -> bytes:
    pieces = [say.text[i : i + 16] for i in range(0, len(say.text), 16)] or [""]
    body = b"".join(chunk({"role": "assistant", "content": piece}) for piece in pieces)
    if say.calls:
        body += chunk({"content": "", "tool_calls": tool_calls(say)})
    return body + chunk({"content": ""}, "tool_calls" if say.calls else say.finish, say.usage) + b"data: [DONE]\n\n"


def whole(say: Say) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": say.text, "tool_calls": tool_calls(say) or None}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if say.calls else say.finish}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps(body | ({"usage": say.usage} if say.usage else {})).encode()


class ChatServer:
    """The answers are given in turn, the last one for ever. `requests` holds what was asked (JSON), `keys` the
    Authorization headers.
    """

    def __init__(self, answers: Sequence[Answer | Callable[[dict[str, Any]], Answer]]) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                pass

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                key = self.headers.get("authorization") or self.headers.get("x-api-key")
                self.send(owner.next_answer(request, key, self.path), bool(request.get("stream")))

            def drip(self, answer: Drip) -> None:
                self.close_connection = True
                self.wfile.write(answer.head)
                try:
                    while not owner.stopped.wait(answer.pause):
                        self.wfile.write(answer.piece)
                except OSError:
                    pass  # the client has gone

            def send(self, answer: Answer, streaming: bool) -> None:
                if isinstance(answer, Drip):
                    return self.drip(answer)
                if isinstance(answer, Say):
                    body = stream(answer) if streaming else whole(answer)
                    answer = Raw(body, "text/event-stream" if streaming else "application/json")
                code = 200
                if isinstance(answer, Status):
                    code, answer = answer.code, Raw(answer.body.encode(), "application/json", headers=answer.headers)
                self.send_response(code)
                length = str(len(answer.body) + answer.hang)
                for name, value in (("content-type", answer.content_type), ("content-length", length), *answer.headers):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body)
                if answer.hang:
                    self.wfile.flush()
                    owner.stopped.wait(60)
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def model(self, **options: Any) -> MistralModel:
        """A model at this server that does not wait long between attempts."""
        retry = RetryRules(attempts=3, first_wait=0.001, longest_wait=0.05)
        return MistralModel("test-model", **{"server_url": self.url, "retry": retry, "timeout": 20.0, **options})

    def next_answer(self, request: dict[str, Any], key: str | None, path: str) -> Answer:
        with self._lock:
            assert path.partition("#")[0] in ("/v1/chat/completions", "/v1/messages"), path
            self.requests.append(request)
            self.keys.append(key)
            answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return answer(request) if callable(answer) else answer

    @contextmanager
    def running(self) -> Iterator[ChatServer]:
        with answering(self._server):
            try:
                yield self
            finally:
                self.stopped.set()


@contextmanager
def chat_server(*answers: Answer | Callable[[dict[str, Any]], Answer]) -> Iterator[ChatServer]:
    with ChatServer(answers).running() as server:
        yield server
