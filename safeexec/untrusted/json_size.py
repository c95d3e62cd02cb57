"""Bounds how many parts a JSON text has before anything is built of it: a scan that allocates next to nothing.

`[1,1,1,…` takes 20 to 100 times its size as objects, and a reader that has a bound counts when it has built them.
"""

from __future__ import annotations

import re

PIECE = 1 << 16
"""Bytes that one call of C goes through: other threads run in between."""
_MARKS = (b",", b":", b"[", b"{")
MOST_ESCAPES = 6_000_000
"""Backslashes: 32 MiB of `\\u00e9` have fewer. To undo one takes 7 ns, in a call that no other thread interrupts."""
_TEXT = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"', re.DOTALL)
_WHOLE = re.compile(rb'[^"]*+(?>(?:"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"[^"]*+)*)', re.DOTALL)
"""Texts that end, and what is around them."""
_INSIDE = re.compile(rb'[^"\\]*+(?>(?:\\.[^"\\]*+)*)', re.DOTALL)
"""The inside of a text in quotes, up to its end."""
_QUOTE = ord('"')


def check_parts(data: bytes | bytearray, most: int) -> None:
    """Raise ValueError for a text with more than `most` lists, dicts, items and keys, or more escapes than one call of
    a reader may go through. Whatever is no JSON may pass.
    """
    if _marks(data, 0, len(data), MOST_ESCAPES, (b"\\",)) > MOST_ESCAPES:
        raise ValueError(f"it has more than {MOST_ESCAPES:,} escapes (\\n, \\u00e9): send such a text as base64")
    if _marks(data, 0, len(data), most) <= most:
        return
    found = at = 0  # some of them may stand inside of texts
    while at < len(data) and found <= most:
        whole = _WHOLE.match(data, at, at + PIECE)
        assert whole is not None  # it may be empty
        outside = _TEXT.sub(b"", whole[0])
        found += _marks(outside, 0, len(outside), most)
        # A text that goes on behind the piece begins the next one; one that fills a piece is passed over.
        at = whole.end() if whole[0] else _end_of_text(data, at + 1)
    if found > most:
        raise ValueError(f"it has more than {most:,} lists, dicts, items and keys")


def _marks(data: bytes | bytearray, at: int, end: int, most: int, marks: tuple[bytes, ...] = _MARKS) -> int:
    """Return how many marks are between `at` and `end`; where they are more than `most`, at least `most` and one."""
    found = 0
    for start in range(at, end, PIECE):
        found += sum(data.count(mark, start, min(start + PIECE, end)) for mark in marks)
        if found > most:
            break
    return found


def _end_of_text(data: bytes | bytearray, at: int) -> int:
    """Return where what follows a text begins, whose quote is before `at`."""
    while at < len(data):
        inside = _INSIDE.match(data, at, at + PIECE)
        assert inside is not None  # it may be empty
        at = inside.end()
        if at < len(data) and data[at] == _QUOTE:
            return at + 1
        if at + 1 >= len(data):  # nothing is left, or half an escape
            break
    return len(data)
