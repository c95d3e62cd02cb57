"""Runs host tools for blocking callers when they cannot simply be called: asynchronous ones, and those with a deadline.

Asynchronous tools share one event loop in a thread of their own, started at the first call: a client that a tool keeps
(httpx, a database pool) belongs to one loop, and the caller's thread may be running one already (Jupyter). The thread
ends with the last sandbox that used it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import closing
from contextvars import copy_context
from typing import Any

END_SECONDS = 1.0
"""Time that the last owner waits for the thread to end."""

_lock = threading.RLock()
"""Taken again where it is held already: what is allocated there may have the garbage collector end a sandbox."""
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_owners: set[object] = set()


def await_blocking(value: Awaitable[Any], timeout: float | None, owner: object) -> Any:
    """Return what `value` gives when it is awaited, on the private event loop, in the caller's context. Raises
    TimeoutError, and what it raises.
    """

    async def work() -> tuple[Any, BaseException | None]:
        try:
            async with asyncio.timeout(timeout):
                return await value, None
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # some would end the loop
            return None, error

    outcome = asyncio.run_coroutine_threadsafe(work(), _private_loop(owner))
    try:
        result, error = outcome.result()
    except CancelledError:
        raise RuntimeError("the tool was cancelled") from None
    except BaseException:  # Ctrl-C, or what another signal handler has raised
        outcome.cancel()
        raise
    if error is not None:
        raise error
    return result


def run_in_thread(call: Callable[[], Any], timeout: float | None) -> Any:
    """Return what `call()` returns, from a thread of its own, which is left to itself at the timeout: TimeoutError."""
    outcome: Future[Any] = Future()
    context = copy_context()

    def work() -> None:
        try:
            result = context.run(call)
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    threading.Thread(target=work, name="safeexec-tool", daemon=True).start()
    return outcome.result(timeout)


def _private_loop(owner: object) -> asyncio.AbstractEventLoop:
    global _loop, _thread
    with _lock:
        _owners.add(owner)
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_run, args=(_loop,), name="safeexec-async-tools", daemon=True)
            _thread.start()
        return _loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with closing(loop):
        loop.run_forever()
        loop.run_until_complete(_end_calls())


async def _end_calls() -> None:
    """Cancel what is under way, so that nobody waits for it any longer."""
    await asyncio.sleep(0)  # a call that is cancelled before it begins would reach nobody
    calls = asyncio.all_tasks() - {asyncio.current_task()}
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def release(owner: object) -> None:
    """Note that `owner` makes no more calls. With the last one the loop and its thread end; calls under way are
    cancelled.

    The wait for the thread is short: a finalizer may call this with a lock held that a tool in that thread wants.
    """
    global _loop, _thread
    with _lock:
        _owners.discard(owner)
        if _owners or _loop is None or _thread is None or _thread is threading.current_thread():
            return
        loop, thread = _loop, _thread
        _loop = _thread = None
    loop.call_soon_threadsafe(loop.stop)
    thread.join(END_SECONDS)


def _forget() -> None:
    """Begin anew after a fork: the thread is gone, and its lock may be held for ever."""
    global _lock, _loop, _thread
    _lock = threading.RLock()
    _loop = _thread = None
    _owners.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)
