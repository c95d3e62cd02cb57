"""An answer that is sent while the work goes on: lines of JSON, or server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from safeexec.common.identity import weight
from safeexec.results.jsonable import pieces_of
from safeexec.servers.account import count_taken, made
from safeexec.servers.http.requests import RefusedRequest, refused, send_pieces
from safeexec.servers.http.tenancy import Tenancy
from safeexec.servers.wire import strictly

Put = Callable[..., None]
"""Takes a function that makes a piece of the answer, and its arguments: it is called when the piece is sent."""
Work = Callable[[Put], Awaitable[None]]
SILENCE_SECONDS = 0.5
"""After how long the head is sent where there is nothing to say yet."""


class Streamed(Response):  # type: ignore[misc]
    """An answer that `work` puts, piece by piece. It is cancelled when the client leaves, or takes no more.

    The head is sent with the first piece, or after half a second: work that fails before is answered as any other.
    """

    def __init__(
        self, request: Request, work: Work, media_type: str, failed: Callable[[RefusedRequest], bytes]
    ) -> None:
        """`failed` makes the last piece of an answer that had begun when the work was refused."""
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._request, self._work, self._failed = request, work, failed

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        tenancy: Tenancy = scope["tenancy"]
        await tenancy.while_there(self._request, self._both(send))

    async def _both(self, send: Any) -> None:
        pieces: asyncio.Queue[tuple[Any, ...] | None] = asyncio.Queue()
        work = asyncio.ensure_future(self._work(lambda *piece: pieces.put_nowait(piece)))
        work.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            piece: tuple[Any, ...] | None = ()
            with suppress(TimeoutError):
                async with asyncio.timeout(SILENCE_SECONDS):
                    piece = await pieces.get()
            if piece is None:
                await work
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while piece is not None:
                if piece:
                    await send_pieces(send, await made(weight(piece[1:]), *piece))
                    count_taken()
                piece = await pieces.get()
            try:
                await work
            except Exception as error:
                known = refused(error)
                if known is None:
                    raise
                await send({"type": "http.response.body", "body": self._failed(known), "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            work.cancel()
            await asyncio.wait({work})


def line(data: Any) -> bytes:
    """Return one line of JSON, in ASCII: what a guest prints begins no second one."""
    return b"".join(map(strictly, pieces_of(data))) + b"\n"


def event(name: str, data: Any) -> bytes:
    """Return one server-sent event. JSON in ASCII has no line ends, so nothing in it begins another."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + line(data) + b"\n"
