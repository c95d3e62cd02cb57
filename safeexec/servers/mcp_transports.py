"""The ways to the server for models: the standard streams of one client, or HTTP. What is too large to be read, or no
message of the protocol, is answered before the SDK builds all of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from safeexec import Policy
from safeexec.remote.methods import PARSE, REQUEST
from safeexec.servers.access import TokenRequired
from safeexec.servers.account import apart, count_taken, count_untaken
from safeexec.servers.mcp import McpServer
from safeexec.servers.streams import FLUSH_SECONDS, Input, Output
from safeexec.servers.wire import MAX_ITEMS
from safeexec.untrusted.json_shapes import check_parts, shaped

MAX_REQUEST = 32 << 20
"""Bytes of one HTTP request: a program of the largest size that a policy allows, escaped."""
MAX_CALLS = 200
"""Requests of the client of the standard streams that are being answered at once; further ones wait in the pipe."""


async def serve_stdio(policy: str | Policy, tools: Sequence[Callable[..., Any]]) -> None:
    """Serve one client over the standard streams, until its end of input, or SIGTERM or SIGINT."""
    server = McpServer(policy, tools)
    await server.open()
    try:
        with taken_streams() as (read, write):
            await _Client(server.protocol, read, write).run()
    finally:
        await server.close()


@contextmanager
def taken_streams() -> Iterator[tuple[int, int]]:
    """Yield the standard streams as descriptors of their own. What tools print meanwhile goes to standard error."""
    own, null = (os.dup(0), os.dup(1)), os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is none
        os.dup2(null, 1)
    os.close(null)
    try:
        yield own
    finally:
        for number, descriptor in enumerate(own):
            os.dup2(descriptor, number)
            os.close(descriptor)


class _Client:
    """The client at the other end of two descriptors. The SDK's own transport passes on without a word what it cannot
    read, begins whatever is asked though no answer is taken, and waits for ever for a client that takes none.
    """

    def __init__(self, protocol: MCPServer, read: int, write: int) -> None:
        protocol.streamable_http_app()  # 0.2 ms; its manager alone gives the server that every transport runs
        self._server = protocol.session_manager.app
        self._input = Input(read, MAX_REQUEST)
        self._output = Output(write, self._leave)
        self._writing = asyncio.Lock()
        self._calls = 0
        """Requests that are being answered, or whose answers are not taken."""
        self._settled, self._over = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave)
        passed, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, said = anyio.create_memory_object_stream[SessionMessage](0)
        serving = self._server.run(messages, answers, self._server.create_initialization_options())
        ending = [asyncio.create_task(serving), asyncio.create_task(self._say(said))]
        taking = asyncio.create_task(self._take(passed))
        for task in (taking, *ending):
            task.add_done_callback(self._leave)
        with self._output.watched():
            await self._over.wait()
        taking.cancel()
        await asyncio.wait([taking])
        await passed.aclose()  # for the server the end of what it is asked: it ends what runs, and says so
        await asyncio.wait(ending, timeout=FLUSH_SECONDS)
        for task in ending:
            task.cancel()
        for problem in await asyncio.gather(taking, *ending, return_exceptions=True):
            if isinstance(problem, Exception):
                raise problem

    def _leave(self, _: object = None) -> None:
        self._over.set()

    async def _take(self, passed: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        with suppress(ConnectionError):
            async for line in self._input.lines():
                await self._pass_on(await apart(len(line or b""), _message, line), passed)

    async def _pass_on(
        self, message: JSONRPCMessage | bytes, passed: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        """Give the server a message; a request when there is room for its answer. Write what answers one already."""
        if isinstance(message, bytes):
            await self._write(message)
            return
        metadata = None
        if isinstance(message, JSONRPCRequest):
            while self._calls >= MAX_CALLS:
                self._settled.clear()
                await self._settled.wait()
            self._calls += 1
            metadata = ServerMessageMetadata(on_request_unanswered=self._settle)
        await passed.send(SessionMessage(message, metadata))

    async def _say(self, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async for one in said:
            await self._write(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            if isinstance(one.message, JSONRPCResponse | JSONRPCError):
                await self._settle()

    async def _settle(self) -> None:
        self._calls -= 1
        self._settled.set()

    async def _write(self, line: bytes) -> None:
        async with self._writing:
            await self._output.write(line)


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
        return _fault(identity, code, str(error))
    return b""


def _fault(identity: str | int | None, code: int, problem: str) -> bytes:
    fault = {"code": code, "message": f"the message is not read: {problem}"}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": fault}).encode() + b"\n"


def _message(line: bytes | None) -> JSONRPCMessage | bytes:
    """Return the message in a line, or the error that answers what is none."""
    if problem := _error_for(line):
        return problem
    assert line is not None
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        identity = shaped(line, _Envelope).id
        return _fault(None if identity is msgspec.UNSET else identity, PARSE, error.errors()[0]["msg"])


class HttpMcpServer(McpServer):
    """The server as an application of `safeexec.servers.running`, at `/mcp`, for those who know the token."""

    def __init__(self, policy: str | Policy, tools: Sequence[Callable[..., Any]], token: str) -> None:
        super().__init__(policy, tools)
        # It logs each client that leaves before its answer, with a traceback.
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
