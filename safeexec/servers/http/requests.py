"""A request read within bounds, and its answer. What comes from outside is a closed shape, or refused."""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from safeexec import PolicyError, SandboxBusy, SandboxError, SessionBusy, SessionClosed, StepFailed
from safeexec.servers.service import BadCall, encoded, fitted

T = TypeVar("T")
E = TypeVar("E", bound=Callable[..., Any])

MAX_BODY = 64 << 20
"""Bytes of one body."""
BODY_SECONDS = 30.0
"""How long one body may take to arrive."""
RETRY_SECONDS = 1
"""After how long one may ask again where nobody knows better."""
STATUSES: tuple[tuple[type[Exception], int], ...] = (
    (SandboxBusy, 429),
    (SessionBusy, 409),
    (SessionClosed, 404),
    (PolicyError, 400),
    (StepFailed, 409),
    (SandboxError, 400),
    (TypeError, 400),
    (ValueError, 400),
)


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


def refused(error: Exception) -> RefusedRequest | None:
    """An exception that the caller of a method deserves, as an answer. None for a fault of ours."""
    if isinstance(error, RefusedRequest):
        return error
    for kind, status in STATUSES:
        if isinstance(error, kind):
            retry = RETRY_SECONDS if status == 429 else None
            return RefusedRequest(status, str(error), type(error).__name__, retry)
    return None


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`data` as JSON that strict readers take, whatever guests print. Raises `SandboxError` for more than `MAX_MESSAGE`
    bytes.
    """
    return Response(encoded(data), status, headers, "application/json")


async def body_of(request: Request) -> bytes:
    """The body, which is refused as soon as it is too long or too slow."""
    declared = request.headers.get("content-length", "0")
    if len(declared) > 15 or int(declared) > MAX_BODY:
        raise RefusedRequest(413, f"the body is longer than {MAX_BODY} bytes", "TooLarge")
    pieces, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.stream():
                size += len(piece)
                if size > MAX_BODY:
                    raise RefusedRequest(413, f"the body is longer than {MAX_BODY} bytes", "TooLarge")
                pieces.append(piece)
    except TimeoutError:
        raise RefusedRequest(408, f"the body did not arrive within {BODY_SECONDS:g} s", "Timeout") from None
    except ClientDisconnect:
        raise RefusedRequest(400, "the body ended early") from None
    return b"".join(pieces)


def queries(*names: str) -> Callable[[E], E]:
    """Tells, for the description of the methods, what an endpoint reads of the query."""

    def mark(endpoint: E) -> E:
        endpoint.queries = names  # type: ignore[attr-defined]
        return endpoint

    return mark


def takes(shape: type[Any]) -> Callable[[E], E]:
    """Tells, for the description of the methods, which shape an endpoint reads."""

    def mark(endpoint: E) -> E:
        endpoint.takes = shape  # type: ignore[attr-defined]
        return endpoint

    return mark


async def read(request: Request, kind: type[T]) -> T:
    """The body as `kind`. Refuses whatever does not fit it."""
    return parsed(await body_of(request), kind)


def parsed(data: bytes, kind: type[T]) -> T:
    """JSON as `kind`. Refuses whatever does not fit it."""
    try:
        return fitted("the body", data, kind)
    except BadCall as error:
        raise RefusedRequest(422, str(error), "InvalidArguments") from None


def from_base64(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedRequest(422, f"the content of {name[:200]!r} is not base64", "InvalidArguments") from None


def to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
