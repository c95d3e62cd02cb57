r"""How one file holds what a step printed: the layout that the child writes and the host reads.

The file of standard output has two areas, each of which only grows while a step runs. What Python code prints is copied
into the first through a shared mapping: no system call per line, and the host has every line the moment it is printed,
also when the process is killed right after. What anything else writes to descriptor 1 (C code, a forked process, Python
past the end of the first area) goes through the descriptor, whose position, shared with the host, is in the second.

The order of the two is told by marks in the first area: before a line, when there is something new in the second. A
mark says how much of the second area comes before what follows it. The host puts both together; what a guest makes of
the marks is the order of its own output.
"""

from __future__ import annotations

import re

PYTHON_BYTES = 8 << 20
"""As much as the profiles let a step print at all: a page of it is memory only once it is written to."""
RAW_BYTES = 256 << 10
"""How much of the second area the child watches for new text. It has no end of its own."""
FILE_BYTES = PYTHON_BYTES + RAW_BYTES
EMPTY_BYTES = 64
"""So many NULs at its start tell that nothing was printed into the first area."""
EVERYWHERE = (1 << 60, 1 << 60, 1 << 60)
"""Behind every end: of the two areas of standard output, and of the file of standard error."""
_MARK = b"\0\x01([0-9a-f]{8})\x02"


def mark(position: int) -> bytes:
    """A mark: the first `position` bytes of the second area come before what follows."""
    return b"\0\x01%08x\x02" % min(position, 0xFFFFFFFF)


def extents(python: bytes, raw_size: int) -> list[tuple[int, int]]:
    """Where the text lies in the file, in its order: (offset, size) of each piece that is not empty.

    `python`: the first area up to its last byte that is not NUL; `raw_size`: how much was written to the second.
    """
    if not raw_size and b"\0" not in python:
        return [(0, len(python))] if python else []
    found: list[tuple[int, int]] = []
    start = raw = 0
    for match in re.finditer(_MARK, python):
        told = min(max(int(match[1], 16), raw), raw_size)
        found += ((start, match.start() - start), (PYTHON_BYTES + raw, told - raw))
        start, raw = match.end(), told
    found += ((start, len(python) - start), (PYTHON_BYTES + raw, raw_size - raw))
    return [(offset, size) for offset, size in found if size > 0]
