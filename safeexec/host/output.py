"""What a child printed, read from the files behind its descriptors 1 and 2.

The host makes both files (memfds, append-only) and hands them down; it reads at any time without asking the child. The
child may write there what it likes, also through C code: it is text of unknown origin, and bounded here.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import NamedTuple

RESET_BYTES = 1 << 20
"""A file that has grown past this is emptied before the next step."""
OnOutput = Callable[[str], object]


class Printed(NamedTuple):
    """Text of one stream of one step. `left_out` counts the bytes cut from its middle."""

    text: str
    size: int
    left_out: int


class OutputFile:
    """One stream of one session."""

    __slots__ = ("_start", "_streamed", "fd")

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(name)
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)
        self._start = 0
        self._streamed = 0

    def begin(self) -> None:
        """A step begins: what is in the file belongs to earlier ones."""
        size = self._end()
        if size > RESET_BYTES:
            os.ftruncate(self.fd, 0)
            size = 0
        self._start = self._streamed = size

    def size(self) -> int:
        """Bytes that this step has written."""
        return max(0, self._end() - self._start)

    def _end(self) -> int:
        # Three times as fast as fstat, four times a step. It moves the position that the child shares, which O_APPEND
        # ignores.
        return os.lseek(self.fd, 0, os.SEEK_END)

    def text(self, cap: int) -> Printed:
        """What this step wrote; past `cap` bytes its head and its tail, with an exact count of what lies between."""
        size = self.size()
        if size == 0:
            return Printed("", 0, 0)
        if size <= cap:
            return Printed(_decode(os.pread(self.fd, size, self._start)), size, 0)
        head = _decode(os.pread(self.fd, cap // 2, self._start))
        tail = _decode(os.pread(self.fd, cap - cap // 2, self._start + size - (cap - cap // 2)))
        # Whole lines where there are any: half a line misleads more than none.
        head = head[: head.rfind("\n") + 1] or head
        tail = tail[tail.find("\n") + 1 :] or tail
        left_out = size - len(head.encode("utf-8", "replace")) - len(tail.encode("utf-8", "replace"))
        return Printed(f"{head}\n[… {left_out} bytes left out …]\n{tail}", size, left_out)

    def fresh(self, cap: int) -> str:
        """Whole lines that came since the last call; the part of a line at the end waits for its newline."""
        size = self._end()
        if size <= self._streamed:
            return ""
        data = os.pread(self.fd, min(size - self._streamed, cap), self._streamed)
        end = data.rfind(b"\n") + 1
        self._streamed += end
        return _decode(data[:end])

    def rest(self, cap: int) -> str:
        """What `fresh` has not given out yet, an unfinished line included."""
        size = self._end()
        if size <= self._streamed:
            return ""
        data = os.pread(self.fd, min(size - self._streamed, cap), self._streamed)
        self._streamed = size
        return _decode(data)

    def tail_since(self, mark: int, cap: int) -> bytes:
        """At most `cap` bytes written after the file had `mark` bytes."""
        return os.pread(self.fd, cap, mark)

    def hide(self, mark: int) -> None:
        """Cut off what was written after the file had `mark` bytes: it was not the guest's."""
        if self._end() > mark:
            os.ftruncate(self.fd, mark)

    def mark(self) -> int:
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        os.close(self.fd)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
