"""How large something is, and how much is dealt with at once where an event loop waits."""

from __future__ import annotations

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

AT_ONCE = 4096
"""So many bytes, or parts of a value, are dealt with where they are; more in a thread, which costs 0.14 ms. 4096 parts
hold an event loop for 8 ms where they are written as JSON (dicts of one key), for 2 to 8 ms where they are packed, for
2 ms where they come from a child; JSON of so many bytes is read in 0.03 ms. Eight times as much took 11 to 70 ms.
"""
LARGE = AT_ONCE + 1
"""Stands for a size that nobody knows, or that does not tell how long it takes."""


def weight(value: Any) -> int:
    """Return about how large a value of the host is: its items, and the characters of its texts. What is nothing of
    Python's own (an array, a frame) counts as large; beyond `AT_ONCE` it counts no further.
    """
    size, left = 1, [value]
    while left and size <= AT_ONCE:
        item = left.pop()
        kind = type(item)
        if kind in _SCALARS:
            continue
        if kind not in _SIZED:
            return LARGE
        size += 2 * len(item) if kind is dict else len(item)
        if kind in _TEXTS or size > AT_ONCE:
            continue
        left += item
        if kind is dict:
            left += item.values()
    return size


_SCALARS = (int, float, bool, type(None), complex)
_TEXTS = (str, bytes, bytearray)
_SIZED = (*_TEXTS, list, tuple, set, frozenset, dict)
