"""What fails, with as much taken away as can be: half of what is left, a quarter, … one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", str, bytes, list)  # type: ignore[type-arg]


def shortened(given: T, fails: Callable[[T], bool], goes_on: Callable[[], bool]) -> T:
    """As little of it as `fails` still says yes to, of all that is tried while it `goes_on`."""
    size = max(len(given) // 2, 1)
    while size:
        at = 0
        while at < len(given):
            if not goes_on():
                return given
            shorter = given[:at] + given[at + size :]
            if fails(shorter):
                given = shorter
            else:
                at += size
        size //= 2
    return given
