r"""Two files hold what a step printed: the layout that the child writes and the host reads.

Standard output has two areas, each of which only grows while a step runs. What Python code prints is copied into the
first through a shared mapping: no system call per line, and the host has every line the moment it is printed, also when
the process is killed right after. What anything else writes to descriptor 1 (C code, a forked process, Python past the
end of the first area) goes through the descriptor, whose position, shared with the host, is in the second.

Each area has a file of its own, and so has standard error. They have their full size from the start, and the kernel
lets nobody change it (seals): it refuses what a guest writes past that, however fast. The first lies behind whatever a
guest's own files can hold: at that offset, and no other, the filter of system calls lets a file be mapped shared
(`syscalls.table`). A child has no descriptor of its file by the time it runs guest code.

Marks in the first area give the order of the two: a mark comes before a line when there is something new in the second
area, and says how much of that area comes before the line. The host puts both together. A guest that forges marks
changes only the order of its own output. There are marks in the first `MARKED_BYTES` only, so that a guest that prints
nothing but marks costs the host no more than that: a child that would need a later one uses the descriptor from there
on.
"""

from __future__ import annotations

import re
from itertools import chain

from safeexec.protocol.plan import OUTPUT_CEILING

PYTHON_AT = 1 << 40
"""The offset of the first area: no file of a guest gets so far (`limits.workspace_mb` ends there, and RLIMIT_FSIZE)."""
PYTHON_BYTES = 8 << 20
"""As much as the profiles let a step print at all: a page of it is memory only once it is written to."""
MARKED_BYTES = 256 << 10
"""The place of a child's last mark in the first area, at the latest."""
RAW_BYTES = 256 << 10
"""Bytes of the second area that the child watches for new text."""
ROOM_BYTES = 64 << 10
"""The bytes of a stream beyond the ceiling of a step, by which the host sees that there was more."""
EVERYWHERE = (1 << 60, 1 << 60, 1 << 60)
"""Behind every end: of the two areas of standard output, and of the file of standard error."""
_MARK = re.compile(b"\0\x01([0-9a-f]{8})\x02")
_LAST_MARK = re.compile(_MARK.pattern + b"$")


def stream_bytes(output_bytes: int) -> int:
    """Return the size of the file behind descriptor 1 or 2, where so many bytes of output are kept."""
    return max(OUTPUT_CEILING * output_bytes, RAW_BYTES) + ROOM_BYTES


def python_bytes(output_bytes: int) -> int:
    """Return the size of the first area."""
    return min(PYTHON_BYTES, stream_bytes(output_bytes))


def mark(position: int) -> bytes:
    """Return a mark: the first `position` bytes of the second area come before what follows."""
    return b"\0\x01%08x\x02" % min(position, 0xFFFFFFFF)


_LOOKED_AT = MARKED_BYTES + len(mark(0))
"""The end of the last mark of the marked part, at the latest."""


def extents(python: bytes, raw_size: int, start: int = 0, behind: int = 1 << 60) -> list[tuple[int, int]]:
    """Return where the text lies in the file, in its order: (offset, size) of each piece that is not empty.

    `python`: the first area from `start` up to its last byte that is not NUL; `raw_size`: how much was written to the
    second. The first area counts from `start`, too. Behind the first area comes the second up to `behind` at most.
    """
    if not raw_size and b"\0" not in python:
        return [(PYTHON_AT, len(python))] if python else []
    found: list[tuple[int, int]] = []
    begin = raw = 0
    looked_at = max(_LOOKED_AT - start, 0)
    # A mark behind printed NULs is at the end, wherever that is.
    fence = len(python) - (len(mark(0)) if len(python) > looked_at else 0)
    for match in chain(_MARK.finditer(python, 0, looked_at), _LAST_MARK.finditer(python, max(fence, 0))):
        claimed = min(max(int(match[1], 16), raw), raw_size)
        found += ((PYTHON_AT + begin, match.start() - begin), (raw, claimed - raw))
        begin, raw = match.end(), claimed
    found += ((PYTHON_AT + begin, len(python) - begin), (raw, min(raw_size, behind) - raw))
    return [(offset, size) for offset, size in found if size > 0]
