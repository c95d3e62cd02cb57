"""Reads the JSON that clients send, which has a known shape and may be long.

`check_parts` bounds how many parts it has before anything is built of it, by a scan that allocates next to nothing, and
`shaped` builds what the shape names. (Of `[1,1,1,…` objects take 20 to 100 times the size, and a reader that has a
bound counts when it has built them.)
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from safeexec.common.text import shorten

T = TypeVar("T")
SHOWN = 500
"""Characters of what is wrong."""
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


def shaped(data: bytes | bytearray | msgspec.Raw, kind: type[T]) -> T:
    """Return the value of a JSON text, which is a `kind`: nothing is built that the shape does not name, and no long
    number is read. ValueError for whatever does not fit. The caller bounds the length.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise ValueError(shorten(str(error), SHOWN)) from None  # it names a field, however long the client made that
    except msgspec.DecodeError as error:
        text = bytes(data) if isinstance(data, msgspec.Raw) else data
        half = " (half of a character, as \\ud800, is no text)" if b"\\ud" in text or b"\\uD" in text else ""
        raise ValueError(f"{error}{half}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


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
