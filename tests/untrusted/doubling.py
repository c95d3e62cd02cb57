"""Whether work grows no faster than its input: measured in CPU time of one thread, judged by a ratio."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import TypeVar

T = TypeVar("T")
SMALL, LARGE = 1 << 16, 1 << 20
SLACK = 6.0
"""How much worse than linear the ratio may come out on a busy machine. Quadratic work is 16 times worse."""
FLOOR = 0.005
"""Seconds below which a time says nothing."""


def growth(work: Callable[[T], object], make: Callable[[int], T], small: int = SMALL, large: int = LARGE) -> float:
    """How many times more than `large / small` the work on `make(large)` takes than that on `make(small)`.

    There is a size between the two, so that quadratic work fails before it would take minutes. What looks worse
    than linear is measured again: the least of several times is what the work takes.
    """
    worst, first, size = 0.0, _seconds(work, make(small), 3), small
    while size < large:
        size = min(4 * size, large)
        given, most = make(size), max(first, FLOOR * size / large) * size / small
        ratio = _seconds(work, given, 1) / most
        if ratio > SLACK / 2:
            ratio = _seconds(work, given, 3) / most
        worst = max(worst, ratio)
        if worst > SLACK:
            break
    return worst


def _seconds(work: Callable[[T], object], given: T, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = thread_time()
        work(given)
        best = min(best, thread_time() - start)
    return best
