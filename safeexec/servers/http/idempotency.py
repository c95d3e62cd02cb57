"""A request that is sent twice runs once: ids of requests, and their answers for a while."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from typing import Any

from starlette.responses import Response

from safeexec.servers.http.requests import RefusedRequest, refused

RETURN_SECONDS = 10.0
"""How long the work of a request goes on when all who asked for it have left: one of them may come back."""
MAX_IDS = 10_000
"""Ids of one tenant that are remembered after their work has ended. That of many more requests than a tenant makes in
`RETURN_SECONDS`: whoever comes back in time is not forgotten."""
MAX_KEPT = 32 << 20
"""Bytes of answers that are kept for one tenant."""


class Answers:
    """The answers to one tenant's requests with an id."""

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        """Never forgotten before its end: it would run a second time beside itself."""
        self._ran: OrderedDict[str, bytes] = OrderedDict()
        """The digest of the request that each id stood for, the oldest end first."""
        self._kept: OrderedDict[str, Response] = OrderedDict()
        """The answers of some of them."""
        self._bytes = 0

    async def once(
        self, identity: str, digest: bytes, work: Callable[[], Coroutine[Any, Any, Response]], room: ExitStack
    ) -> Response:
        """Return the answer of `work`, or of that which the same id began before. `digest`: of what was asked; `room`:
        that of the request, which the work keeps until it ends. Raises `RefusedRequest` for an id that stood for
        another request, and for one that has no answer any more.
        """
        running = self._running.get(identity)
        if running is None and identity not in self._ran:
            running = self._running[identity] = _Running(digest, work())
            kept = room.pop_all()
            running.task.add_done_callback(lambda _: kept.close())
            running.task.add_done_callback(lambda _: self._ended(identity))
        if digest != (self._ran[identity] if running is None else running.digest):
            raise RefusedRequest(409, "this request_id was used for another request", "RequestIdUsed")
        if running is not None:
            return await running.answer()
        if identity not in self._kept:
            raise _unknown()
        return self._kept[identity]

    def tasks(self) -> list[asyncio.Task[Response]]:
        """Return the work that goes on."""
        return [running.task for running in self._running.values()]

    def _ended(self, identity: str) -> None:
        """Keep the answer, also that of what failed: nobody can tell that it has done nothing."""
        running = self._running.pop(identity)
        answer = None
        if not running.task.cancelled():
            problem = running.task.exception()
            if isinstance(problem, Exception):
                known = refused(problem)
                if known is not None and (known.status == 429 or known.kind in ("SessionBusy", "StepWaiting")):
                    return  # it has not begun: the next one with this id may have better luck
                answer = None if known is None else known.response()
            elif problem is None:
                answer = running.task.result()
        self._ran[identity] = running.digest
        if answer is not None and len(answer.body) <= MAX_KEPT:
            self._kept[identity] = answer
            self._bytes += len(answer.body)
        while self._bytes > MAX_KEPT:
            self._bytes -= len(self._kept.popitem(last=False)[1].body)
        while len(self._ran) > MAX_IDS:
            forgotten = self._kept.pop(self._ran.popitem(last=False)[0], None)
            self._bytes -= 0 if forgotten is None else len(forgotten.body)


class _Running:
    """A request whose work goes on. It is stopped when nobody has waited for it for `RETURN_SECONDS`."""

    def __init__(self, digest: bytes, work: Coroutine[Any, Any, Response]) -> None:
        self.digest = digest
        self.task = asyncio.ensure_future(work)
        self._waiting = 0
        self._left: asyncio.TimerHandle | None = None
        self._given_up = False

    async def answer(self) -> Response:
        if self._left is not None:
            self._left.cancel()
        self._waiting += 1
        try:
            await asyncio.wait({self.task})
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self._left = asyncio.get_running_loop().call_later(RETURN_SECONDS, self._give_up)
        if self._given_up and self.task.cancelled():
            raise _unknown()  # this one came back when it was being stopped
        return self.task.result()

    def _give_up(self) -> None:
        self._given_up = True
        self.task.cancel()


def digest_of(asked: Iterable[bytes | bytearray]) -> bytes:
    digest = hashlib.sha256()
    for part in asked:
        digest.update(part)
    return digest.digest()


def _unknown() -> RefusedRequest:
    return RefusedRequest(
        409, "this request ran, or was stopped after its client had left; there is no answer any more", "AnswerUnknown"
    )
