"""Ask a model that blocks without being held up by it: it works in a thread of its own, and what it reports meanwhile
comes back to the thread that waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

from safeexec.agent.errors import ModelError, ModelUnavailable, TranscriptError
from safeexec.agent.messages import Reply
from safeexec.agent.models.base import ModelEvents
from safeexec.common.text import type_name


@contextmanager
def answering(model: str, events: ModelEvents) -> Iterator[ModelEvents]:
    """Yield the events for a call of the model in this block. Whatever the model raises is a ModelError: a run keeps
    its steps. What a callback of `events` raises is the caller's, and stays what it is.
    """
    raised: list[BaseException] = []

    def report(callback: Callable[..., None], *content: Any) -> None:
        try:
            callback(*content)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        yield ModelEvents(partial(report, events.on_text), partial(report, events.on_retry), events.seconds)
    except (ModelError, TranscriptError):
        raise
    except Exception as error:
        if any(error is one for one in raised):
            raise
        raise ModelError(f"the model {model!r} raised {type_name(type(error))}: {error}") from error


class _NobodyWaits(Exception):
    """Ends a model at its next report, when nobody waits for its reply any more."""


def ask_in_thread(ask: Callable[[ModelEvents], Reply], events: ModelEvents) -> Reply:
    """Call `ask` in a thread; return or raise as it does. The callbacks of `events` are called here, in this thread.

    After `events.seconds` the thread is left to itself: ModelUnavailable.
    """
    reports: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
    replied: Future[Reply] = Future()
    left_alone = Event()

    def report(callback: Callable[..., None], *content: Any) -> None:
        if left_alone.is_set():
            raise _NobodyWaits
        reports.put(partial(callback, *content))

    def work() -> None:
        inner = ModelEvents(partial(report, events.on_text), partial(report, events.on_retry), events.seconds)
        try:
            replied.set_result(ask(inner))
        except BaseException as error:
            replied.set_exception(error)
        reports.put(None)

    deadline = None if events.seconds is None else time.monotonic() + events.seconds
    Thread(target=copy_context().run, args=(work,), name="safeexec-model", daemon=True).start()
    try:
        while callback := reports.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic())):
            callback()
        return replied.result()
    except Empty:
        raise out_of_time(events.seconds) from None
    finally:
        left_alone.set()


def out_of_time(seconds: float | None) -> ModelUnavailable:
    """Return the error of a model that took longer than its caller waits."""
    return ModelUnavailable(f"no reply within the {seconds or 0.0:.1f} s that were left")
