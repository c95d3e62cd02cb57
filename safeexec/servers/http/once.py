"""A request that is sent twice runs once: ids of requests, and their answers for a while."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from safeexec.servers.http.requests import RefusedRequest

MAX_IDS = 10_000
"""Ids of one tenant that are remembered."""
MAX_KEPT = 32 << 20
"""Bytes of answers that are kept for one tenant."""


class Answers:
    """What one tenant's requests with an id were answered. The work goes on when its client leaves: one who asks again
    gets the answer.
    """

    def __init__(self) -> None:
        self._asked: OrderedDict[str, _Asked] = OrderedDict()
        self._bytes = 0

    async def once(self, identity: str, asked: bytes, work: Coroutine[Any, Any, Response]) -> Response:
        """The answer of `work`, or of that which the same id began before. Raises `RefusedRequest` for an id that
        stood for another request, and for one whose answer is not kept any more.
        """
        digest = hashlib.sha256(asked).digest()
        known = self._asked.get(identity)
        if known is None:
            task = asyncio.ensure_future(work)
            begun = known = self._asked[identity] = _Asked(digest, task)
            task.add_done_callback(lambda _: self._ended(identity, begun))
            self._forget()
        else:
            work.close()
        if known.digest != digest:
            raise RefusedRequest(409, "this request_id was used for another request", "RequestIdUsed")
        if known.task is None:
            raise RefusedRequest(409, "this request ran; its answer is not kept any more", "AnswerUnknown")
        return await asyncio.shield(known.task)

    def tasks(self) -> list[asyncio.Task[Response]]:
        """The work that goes on."""
        return [asked.task for asked in self._asked.values() if asked.task is not None and not asked.task.done()]

    def _ended(self, identity: str, asked: _Asked) -> None:
        """An answer is kept, a refusal by an exception is not: the next one with this id may have better luck."""
        task = asked.task
        assert task is not None
        failed = task.cancelled() or task.exception() is not None
        if self._asked.get(identity) is not asked:
            return  # so many ids have come since that this one is forgotten
        if failed:
            del self._asked[identity]
            return
        asked.size = len(task.result().body)
        self._bytes += asked.size
        self._forget()

    def _forget(self) -> None:
        """Give up the oldest answers, and the oldest ids, beyond what is kept."""
        for asked in self._asked.values():
            if self._bytes <= MAX_KEPT:
                break
            if asked.size:
                self._bytes -= asked.size
                asked.task, asked.size = None, 0
        while len(self._asked) > MAX_IDS:
            _, asked = self._asked.popitem(last=False)
            self._bytes -= asked.size


@dataclass(slots=True)
class _Asked:
    """A request. `task`: None once its answer is not kept any more; `size`: the bytes of the answer, once counted."""

    digest: bytes
    task: asyncio.Task[Response] | None
    size: int = 0
