"""The work of a server for one client beside its event loop, and what it holds for it: the one place that counts both.

The host has the value of a step, within the policy's limits, as soon as the step has ended. All that is made of it for
the client (JSON, base64), and all that is read of files, is counted here, and waits until there is room.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from time import monotonic, thread_time
from typing import Any, ParamSpec, TypeVar

from safeexec.common.identity import AT_ONCE

P = ParamSpec("P")
R = TypeVar("R")
Sent = TypeVar("Sent", bytes, bytearray)
MAX_UNTAKEN = 64 << 20
"""Bytes of the answers of one client that it has not taken, beyond which no large one is made for it: the last one that
was made comes on top.
"""


class ClientAccount:
    """The account of one client of a server."""

    def __init__(self, pay: Callable[[float], object] | None = None) -> None:
        """`pay` hears of the CPU seconds of what is read and written for it beside the loop."""
        self.pay = pay
        self.untaken = 0
        """Bytes of answers that it has not taken yet."""
        self._draining = 0
        self.turn, self.thread = asyncio.Lock(), asyncio.Lock()
        self.taken = asyncio.Event()
        self._rests = 0.0
        """Until when its connections rest, in monotonic seconds."""

    def rest(self, seconds: float, rest: float) -> float:
        """Charge CPU seconds of the loop to the client. Returns for how many seconds the connection that used them is
        not read: its own `rest` begins when those of the client's other connections are over. 0 without one.
        """
        if self.pay is not None:
            self.pay(seconds)
        if rest:
            now = monotonic()
            self._rests = max(self._rests, now) + rest
            rest = self._rests - now
        return rest

    @property
    def full(self) -> bool:
        """True while an answer, or what would give one, waits for room."""
        return self._draining > 0

    async def drain(self) -> None:
        """Wait until it has taken enough for one answer more."""
        waits = self.untaken > MAX_UNTAKEN
        self._draining += waits
        try:
            while self.untaken > MAX_UNTAKEN:
                self.taken.clear()
                await self.taken.wait()
        finally:
            self._draining -= waits

    def begin(self) -> None:
        """Begin to answer a request: what this task does until its end is for it, and then the client has the answer,
        or has left.
        """
        answering.set(request := Answering(self))
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(request.end)


class Answering:
    """A request of a client that is being answered."""

    def __init__(self, account: ClientAccount) -> None:
        self.account, self.pay = account, account.pay
        self.untaken = 0
        self.waited = 0.0
        """Seconds for which it waited until answers were taken, and for other requests of the client."""
        self._over = False

    def count_untaken(self, size: int) -> None:
        """Count so many bytes more of its answer. Work that goes on when all have left has nobody who could take it."""
        if not self._over:
            self.untaken += size
            self.account.untaken += size

    def count_taken(self) -> None:
        """Note that all of its answer that there is was taken."""
        self.count_untaken(-self.untaken)
        self.account.taken.set()

    def end(self, _: object) -> None:
        self.count_taken()
        self._over = True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count how long it takes what is done meanwhile."""
        began = monotonic()
        try:
            yield
        finally:
            self.waited += monotonic() - began


answering: ContextVar[Answering | None] = ContextVar("safeexec_answering", default=None)
"""The request that this task answers, where a client has one."""


async def apart(size: int, read: Callable[P, R], *arguments: P.args, **how: P.kwargs) -> R:
    """Return what `read` makes of the arguments, which are `size` large: where that may hold the loop in a thread, of
    which a client has one at a time. Its CPU time is paid by the client, also when the task that waits for it is
    cancelled.
    """
    if size <= AT_ONCE:
        return read(*arguments, **how)
    request = answering.get()
    if request is None:
        return await asyncio.to_thread(read, *arguments, **how)
    loop, pay, thread = asyncio.get_running_loop(), request.pay, request.account.thread

    def charged() -> R:
        began = thread_time()
        try:
            return read(*arguments, **how)
        finally:
            if pay is not None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(pay, thread_time() - began)

    with request.waiting():
        await thread.acquire()
    done = loop.run_in_executor(None, charged)
    done.add_done_callback(lambda _: thread.release())  # it goes on when this task is cancelled
    return await asyncio.shield(done)


@asynccontextmanager
async def own_thread() -> AsyncIterator[None]:
    """Wait for the one thread that a client has beside the loop, for what takes one itself and ends with this task."""
    request = answering.get()
    if request is None:
        yield
        return
    with request.waiting():
        await request.account.thread.acquire()
    try:
        yield
    finally:
        request.account.thread.release()


@asynccontextmanager
async def room() -> AsyncIterator[None]:
    """Wait until the client has taken enough for one answer more, and have no other one made meanwhile. One that is
    made already in part waits for nobody.
    """
    request = answering.get()
    if request is None or request.untaken:
        yield
        return
    account = request.account
    with request.waiting():
        await account.turn.acquire()
    try:
        with request.waiting():
            await account.drain()
        yield
    finally:
        account.turn.release()


async def made(size: int, make: Callable[..., Sent], *arguments: Any) -> Sent:
    """Return what `make` makes for the client as `apart` does; what is large, when there is room. It counts until it is
    taken.
    """
    async with room() if size > AT_ONCE else nullcontext():
        data = await apart(size, make, *arguments)
        count_untaken(len(data))
        return data


def count_untaken(size: int) -> None:
    """Count so many bytes of the answer to the request that this task answers, if it does."""
    if (request := answering.get()) is not None:
        request.count_untaken(size)


def count_taken() -> None:
    """Note that the client has taken what was made of the answer so far."""
    if (request := answering.get()) is not None:
        request.count_taken()
