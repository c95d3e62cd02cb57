"""A request read within bounds, and its answer. What comes from outside is a closed shape, or refused."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from safeexec import SandboxBusy, SandboxError, SessionBusy, SessionClosed, SessionTaken, StepFailed, StepWaiting
from safeexec.servers.wire import BadCall, encode, encode_apart, parse, problem_of

E = TypeVar("E", bound=Callable[..., Any])

MAX_BODY = 32 << 20
"""Bytes of one body. A call of C that goes through so many holds all threads for 5 to 20 ms."""
MAX_UNDER_WAY = 2 * MAX_BODY
"""Bytes of all bodies of one tenant that are under way."""
BODY_SECONDS = 30.0
"""How long one body may take to arrive."""
ANSWER_PIECE = 1 << 18
RETRY_SECONDS = 1
"""After how long one may ask again where nobody knows better."""
STATUSES: dict[int, tuple[type[Exception], ...]] = {
    429: (SandboxBusy,),
    409: (SessionBusy, SessionTaken, StepFailed, StepWaiting),
    404: (SessionClosed, KeyError),
    400: (SandboxError, TypeError, ValueError),
}


class Offered(Route):  # type: ignore[misc]
    """A route, with the shapes of its body and its answer, and the words that it reads of the query."""

    takes: Any = None
    gives: Any = None
    queries: Sequence[str] = ()


class RefusedRequest(Exception):
    """A request that is answered with an error. `kind` is a word for programs, the message a sentence for people."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "Refused",
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after = retry_after
        self.headers = dict(headers or {})

    def response(self) -> Response:
        headers = self.headers.copy()
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.status in (408, 413):
            headers["Connection"] = "close"  # the rest of the body is nothing to anybody
        return answer(self.as_json(), self.status, headers)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.status, "type": self.kind, "message": str(self)}


def full(reason: str) -> RefusedRequest:
    """Return the answer to a client for which there is no room now."""
    return RefusedRequest(429, reason, "Full", RETRY_SECONDS)


def refused(error: Exception) -> RefusedRequest | None:
    """Return an exception that the caller of a method deserves, as an answer. None for a fault of ours."""
    if isinstance(error, RefusedRequest):
        return error
    if isinstance(error, BadCall):
        return RefusedRequest(422, str(error), "InvalidArguments")
    for status, kinds in STATUSES.items():
        if isinstance(error, kinds):
            problem = problem_of(error)
            return RefusedRequest(status, problem.message, problem.type, RETRY_SECONDS if status == 429 else None)
    return None


class Large(Response):  # type: ignore[misc]
    """An answer that may be large. It is handed on in pieces: a server copies what the client has not taken yet."""

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send_pieces(send, self.body)
        await send({"type": "http.response.body", "body": b""})


async def send_pieces(send: Any, data: bytes) -> None:
    """Hand on a part of an answer that is not yet its end."""
    view = memoryview(data)
    for start in range(0, len(view), ANSWER_PIECE):
        await send({"type": "http.response.body", "body": bytes(view[start : start + ANSWER_PIECE]), "more_body": True})


async def answer_apart(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return `answer` of what guests or clients made, which is encoded in a thread where it is large."""
    return Large(await encode_apart(data), status, headers, "application/json")


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return `data` as JSON that strict readers take, whatever guests print. Raises `SandboxError` for more than
    `MAX_MESSAGE` bytes.
    """
    return Response(encode(data), status, headers, "application/json")


async def body_of(request: Request) -> bytearray:
    """Return the body, which is refused as soon as it is too long or too slow, or there is no room for it. Its room is
    given back when ``request.scope["room"]`` is closed.
    """
    declared = request.headers.get("content-length", "0")
    if len(declared) > 15 or int(declared) > MAX_BODY:
        raise RefusedRequest(413, f"the body is longer than {MAX_BODY} bytes", "TooLarge")
    body = bytearray()
    if (tenant := request.scope.get("tenant")) is not None:
        request.scope["room"].callback(lambda: tenant.take_body(-len(body)))
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                if len(body) + len(piece) > MAX_BODY:
                    raise RefusedRequest(413, f"the body is longer than {MAX_BODY} bytes", "TooLarge")
                if tenant is not None:
                    tenant.take_body(len(piece))
                body += piece
    except TimeoutError:
        raise RefusedRequest(408, f"the body did not arrive within {BODY_SECONDS:g} s", "Timeout") from None
    except ClientDisconnect:
        raise RefusedRequest(400, "the body ended early") from None
    return body


class Routes(list[Offered]):
    """The routes of one shape. Called with methods of HTTP and paths it is a decorator, which offers a function there.

    The function is given the request, and its body as `takes`: whatever does not fit is refused. What it returns is the
    answer as JSON, None an answer without content. `gives` is the shape of that, and `queries` the words of the query
    that it reads, for the description of the methods.
    """

    def __call__(
        self, methods: str, *paths: str, takes: Any = None, gives: Any = None, queries: str = "", read: bool = True
    ) -> Callable[[E], E]:
        """`read`: the body is read here."""

        def mark(function: E) -> E:
            @wraps(function)
            async def endpoint(request: Request) -> Response:
                given = []
                if read and takes is not None:
                    given.append(await parse("the body", await body_of(request), takes))
                found = await function(request, *given)
                if isinstance(found, Response):
                    return found
                return Response(status_code=204) if found is None else answer(found)

            for path in paths:
                self.append(route := Offered(path, endpoint, methods=methods.split()))
                route.takes, route.gives, route.queries = takes, gives, queries.split()
            return function

        return mark
