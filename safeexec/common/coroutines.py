"""Coroutines that serve a sync and an async API with one text: where the callees block, nothing is ever awaited."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def now_or_awaited(answer: Any) -> Any:
    """Return an answer that is there, or the one that is awaited."""
    return await answer if inspect.isawaitable(answer) else answer


def at_once(coroutine: Coroutine[Any, Any, T], awaits: Exception) -> T:
    """Return what a coroutine returns that waits for nothing. Raises `awaits` for one that does."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise awaits
