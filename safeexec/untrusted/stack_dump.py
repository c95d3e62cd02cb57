"""Reads what `faulthandler` writes of a stopped guest, which shares the stream and may forge every line of it."""

from __future__ import annotations

import re
from itertools import islice

DUMP_BYTES = 64 << 10
"""Bytes of a dump that are looked at."""
FRAMES = 100
"""Frames of one dump: faulthandler itself stops at as many."""
NAME_CHARACTERS = 200
_HEAD = b"(most recent call first):\n"
_ENDS = (b" in <module>\n", b"  ...\n")
_FRAME = re.compile(rb'^  File "(<(?:step [0-9]{1,9}|plugin [^"\n]*)>)", line ([0-9]{1,9}) in ([^\n]++)$', re.M)
"""One frame of guest code. Digits are bounded: `int` refuses more than 4300, and is quadratic below that."""
_ESCAPE = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}")

Frames = tuple[tuple[str, int, str], ...]
"""File, line and function of each frame of guest code, the innermost first."""


def read(dump: bytes) -> tuple[Frames, bool] | None:
    """Return the frames in a dump, and whether it has come to its end. None before its first line has come."""
    dump = dump[:DUMP_BYTES]
    start = dump.find(_HEAD)
    if start < 0:
        return None
    # faulthandler writes frame by frame; the last one is a module's, or says that there are more.
    found = islice(_FRAME.finditer(dump, start), FRAMES)
    frames = tuple(
        (_unescaped(file), int(line), _unescaped(function)) for file, line, function in (m.groups() for m in found)
    )
    return frames, bool(frames) and dump.endswith(_ENDS)


def _unescaped(name: bytes) -> str:
    """Return a name as faulthandler writes it: in ASCII, every other character as Python would escape it."""
    return _ESCAPE.sub(_character, name.decode("ascii", "replace"))[:NAME_CHARACTERS]


def _character(escape: re.Match[str]) -> str:
    number = int(escape[0][2:], 16)  # eight digits at most
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else escape[0]
