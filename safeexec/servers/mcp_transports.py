"""The ways to the server for models: the standard streams of one client, or HTTP. What is too large to be read, or no
message of the protocol, is answered before the SDK builds all of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import msgspec

from safeexec import Policy
from safeexec.remote.methods import PARSE, REQUEST
from safeexec.servers.access import TokenRequired
from safeexec.servers.account import apart, count_taken, count_untaken
from safeexec.servers.mcp import McpServer
from safeexec.servers.wire import MAX_ITEMS
from safeexec.untrusted.json_shapes import check_parts, shaped
from safeexec.untrusted.lines import Lines

MAX_REQUEST = 32 << 20
"""Bytes of one HTTP request: a program of the largest size that a policy allows, escaped."""


async def serve_stdio(policy: str | Policy, tools: Sequence[Callable[..., Any]]) -> None:
    """Serve one client over the standard streams, until its end of input; SIGTERM and SIGINT end the process."""
    server = McpServer(policy, tools)
    leaving: list[asyncio.Task[None]] = []  # a loop holds its tasks weakly

    async def leave() -> None:
        await server.close()
        os._exit(0)  # a thread that reads standard input cannot be interrupted

    await server.open()
    try:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: leaving.append(loop.create_task(leave())))
        with filtered_input():
            await server.protocol.run_stdio_async()
    finally:
        await server.close()


@contextmanager
def filtered_input() -> Iterator[None]:
    """Take the lines out of standard input that are too large to be read, or are no message of the protocol, and answer
    them at once: whoever reads the others, which a thread passes on, drops what it cannot read without a word, and has
    built all of a message before its parts are counted.
    """
    given, answers = os.dup(0), os.dup(1)
    passed, end = os.pipe()
    os.dup2(passed, 0)
    os.close(passed)

    def pass_on() -> None:
        lines = Lines(MAX_REQUEST)
        with open(end, "wb") as out, suppress(OSError):
            while data := os.read(given, 1 << 16):
                for line in lines.feed(data):
                    if problem := _error_for(line):
                        os.write(answers, problem)
                    elif line is not None:
                        out.write(line + b"\n")
                out.flush()

    threading.Thread(target=pass_on, daemon=True).start()
    try:
        yield
    finally:
        os.dup2(given, 0)


class _Envelope(msgspec.Struct):
    """The parts of every message around its contents."""

    jsonrpc: Literal["2.0"]
    id: Annotated[str, msgspec.Meta(max_length=1000)] | int | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, msgspec.Raw] | None = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _error_for(line: bytes | None) -> bytes:
    """Return the error that answers a message which is not read; nothing for any other, and for one that is empty."""
    identity, code = None, REQUEST
    try:
        if line is None:
            raise ValueError(f"a message has at most {MAX_REQUEST} bytes")
        if not line.strip():
            return b""
        check_parts(line, MAX_ITEMS)
        code = PARSE
        shaped(line, msgspec.Raw)
        code = REQUEST
        message = shaped(line, _Envelope)
        identity = None if message.id is msgspec.UNSET else message.id
        if message.method is message.result is message.error is msgspec.UNSET:
            raise ValueError("it has neither a method nor a result nor an error")
    except ValueError as error:
        fault = {"code": code, "message": f"the message is not read: {error}"}
        return json.dumps({"jsonrpc": "2.0", "id": identity, "error": fault}).encode() + b"\n"
    return b""


class HttpMcpServer(McpServer):
    """The server as an application of `safeexec.servers.running`, at `/mcp`, for those who know the token."""

    def __init__(self, policy: str | Policy, tools: Sequence[Callable[..., Any]], token: str) -> None:
        super().__init__(policy, tools)
        # It tells of each client that leaves before its answer, with a traceback.
        logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL + 1)
        self._http = self.protocol.streamable_http_app(max_request_body_size=MAX_REQUEST)
        self._app = TokenRequired(self._bounded, token)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self._app(scope, receive, send)

    async def _bounded(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request whose body has been read, and is a message of the protocol, before that is built."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._http(scope, receive, send)
            return
        read = [message := await _body(receive)]
        body = b"" if message.get("more_body") else message.get("body", b"")
        if problem := await apart(len(body), _error_for, body):
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(problem)).encode())]
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": problem})
            return

        async def again() -> Any:
            return read.pop() if read else await receive()

        async def counted(message: Any) -> None:
            await send(message)  # when what was sent before is taken
            count_taken()
            count_untaken(len(message.get("body", b"")))

        self._account.begin()  # the task that answers in the SDK ends before anything is sent
        await self._http(scope, again, counted)

    async def open(self) -> None:
        await super().open()
        await self.opening

    stop = McpServer.close


async def _body(receive: Callable[[], Awaitable[Any]]) -> Any:
    """Return the body of a request as one message, or the first of it that is too large."""
    body, more = bytearray(), True
    while more and len(body) <= MAX_REQUEST:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return {"type": "http.request", "body": bytes(body), "more_body": more}
