"""The connection under an SDK, which no server can abuse: a client per request, no redirect, bounded answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from safeexec.agent.errors import ModelUnavailable

MAX_RESPONSE_BYTES = 64 << 20


@asynccontextmanager
async def bounded_client(httpx: Any, tls: Any) -> AsyncIterator[Any]:
    """A client of `httpx`, which an SDK is built on, for one request. TLS settings are shared: they take long."""

    class Bounded(httpx.AsyncByteStream):  # type: ignore[misc]  # the SDK gives it no type
        """A response's bytes, until there are too many."""

        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            async for data in self._stream:
                received += len(data)
                if received > MAX_RESPONSE_BYTES:
                    raise ModelUnavailable(f"the server sent more than {MAX_RESPONSE_BYTES >> 20} MB for one reply")
                yield data

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: Any) -> None:
        if "content-encoding" in response.headers:  # a few bytes can stand for gigabytes, and none was asked for
            raise ModelUnavailable("the server sent a compressed reply, which was not asked for")
        response.stream = Bounded(response.stream)
        response.encoding = "utf-8"  # a server may name any codec of Python, and some take quadratic time (punycode)

    async with httpx.AsyncClient(
        verify=tls, headers={"accept-encoding": "identity"}, event_hooks={"response": [bound]}, follow_redirects=False
    ) as client:
        yield client
