"""What a child printed, read from the files behind its descriptors 1 and 2.

The host makes both files (memfds) and hands them down; it reads at any time without asking the child. The child may
write there what it likes, also through C code: it is text of unknown origin, and bounded here.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from safeexec.protocol.printed import EMPTY_BYTES, FILE_BYTES, PYTHON_AT, PYTHON_BYTES, extents

RESET_BYTES = 1 << 20
"""A file that has grown past this is emptied before the next step."""
OnOutput = Callable[[str], object]
Extent = tuple[int, int]
"""Offset and size of a piece of a file."""
Position = tuple[int, int]
"""Where a stream ends at a moment: in the first area of its file, and in the second, which is all of a plain file."""
_CHUNK = 16 << 10
_EMPTY = bytes(EMPTY_BYTES)
_HOLE = re.compile(rb"\0(?!\x01[0-9a-f]{8}\x02)")
"""A NUL that does not begin a mark."""


class Printed(NamedTuple):
    """Text of one stream of one step. `left_out` counts the bytes cut from its middle."""

    text: str
    size: int
    left_out: int


NOTHING = Printed("", 0, 0)


class OutputFile:
    """One stream of one session: a file that is only appended to."""

    __slots__ = ("_start", "_streamed", "fd")

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(name)
        self._start = 0
        self._streamed = 0
        self._prepare()

    def _prepare(self) -> None:
        fcntl.fcntl(self.fd, fcntl.F_SETFL, os.O_APPEND)

    def begin(self) -> None:
        """A step begins: what is in the file belongs to earlier ones."""
        size = os.lseek(self.fd, 0, os.SEEK_END)
        if size > RESET_BYTES:
            os.ftruncate(self.fd, 0)
            size = 0
        self._start = self._streamed = size

    def size(self) -> int:
        """Bytes that this step has written."""
        return max(0, self._end() - self._start)

    def _end(self) -> int:
        # Three times as fast as fstat, and called four times in a step. It moves the position that the child shares;
        # a write with O_APPEND ignores that.
        return os.lseek(self.fd, 0, os.SEEK_END)

    def _extents(self) -> list[Extent]:
        """Where this step's text lies in the file, in its order."""
        size = os.lseek(self.fd, 0, os.SEEK_END) - self._start
        return [(self._start, size)] if size > 0 else []

    def text(self, cap: int) -> Printed:
        """What this step wrote; past `cap` bytes its head and its tail, with an exact count of what lies between."""
        extents = self._extents()
        if not extents:
            return NOTHING
        size = sum(length for _, length in extents)
        if size <= cap:
            return Printed(_decode(self._read(extents, 0, size)), size, 0)
        head = _decode(self._read(extents, 0, cap // 2))
        tail = _decode(self._read(extents, size - (cap - cap // 2), size))
        # Whole lines where there are any: half a line misleads more than none.
        head = head[: head.rfind("\n") + 1] or head
        tail = tail[tail.find("\n") + 1 :] or tail
        left_out = size - len(head.encode("utf-8", "replace")) - len(tail.encode("utf-8", "replace"))
        return Printed(f"{head}\n[… {left_out} bytes left out …]\n{tail}", size, left_out)

    def _read(self, extents: list[Extent], start: int, end: int) -> bytes:
        """The bytes from `start` to `end` of what the extents hold together."""
        pieces, at = [], 0
        for offset, length in extents:
            first, last = max(start - at, 0), min(end - at, length)
            if first < last:
                pieces.append(os.pread(self.fd, last - first, offset + first))
            at += length
        return b"".join(pieces)

    def position(self) -> Position:
        """Where it ends now."""
        return 0, self._end()

    def fresh(self, cap: int, until: Position) -> str:
        """Whole lines that came since the last call; the part of a line at the end waits for its newline."""
        size = min(self._end(), until[1])
        if size <= self._streamed:
            return ""
        data = os.pread(self.fd, min(size - self._streamed, cap), self._streamed)
        end = data.rfind(b"\n") + 1
        self._streamed += end
        return _decode(data[:end])

    def rest(self, cap: int, until: Position) -> str:
        """What `fresh` has not given out yet, an unfinished line included."""
        size = min(self._end(), until[1])
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
        """Harmless when closed already, also in a process that another thread has forked meanwhile."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class PrintedFile(OutputFile):
    """The standard output of a session whose child shares memory with it: two areas in one file (`protocol.printed`).

    It holds one step's text only. A second position in it is not needed: what is written to the descriptor moves the
    position of the open file, which the host shares.
    """

    __slots__ = ("_hole", "_partial", "_python")

    def _prepare(self) -> None:
        self._partial = b""
        self._python = 0
        self._hole = -1
        self._extend()

    def _extend(self) -> None:
        """Make room for the first area. A host whose files are held shorter (RLIMIT_FSIZE) has none: then the child
        writes to the descriptor, a system call for each line.
        """
        try:
            os.ftruncate(self.fd, FILE_BYTES)
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise

    def begin(self) -> None:
        """A step begins, and finds the file empty."""
        if os.lseek(self.fd, 0, os.SEEK_CUR) or os.pread(self.fd, EMPTY_BYTES, PYTHON_AT) != _EMPTY:
            os.ftruncate(self.fd, 0)
            self._extend()
            os.lseek(self.fd, 0, os.SEEK_SET)
        self._start = self._streamed = self._python = 0
        self._partial = b""
        self._hole = -1

    def _raw(self) -> int:
        """Bytes in the second area."""
        return os.lseek(self.fd, 0, os.SEEK_CUR)

    def _python_text(self, start: int, end: int = PYTHON_BYTES) -> bytes:
        """What is in the first area from `start` on."""
        pieces = []
        end = min(end, PYTHON_BYTES)
        while start < end:
            size = min(_CHUNK, end - start)
            piece = os.pread(self.fd, size, PYTHON_AT + start)
            text = piece.rstrip(b"\0")
            if not text:
                break
            pieces.append(piece)
            start += size
        return b"".join(pieces).rstrip(b"\0")

    def size(self) -> int:
        self._python += len(self._python_text(self._python))
        return self._python + self._raw()

    def _extents(self) -> list[Extent]:
        if not os.lseek(self.fd, 0, os.SEEK_CUR) and os.pread(self.fd, EMPTY_BYTES, PYTHON_AT) == _EMPTY:
            return []
        return extents(self._python_text(0), self._raw())

    def position(self) -> Position:
        return self._start + len(self._python_text(self._start)), self._raw()

    def fresh(self, cap: int, until: Position) -> str:
        data = self._partial + self._new(self._written(self._python_text(self._start, until[0])), cap, until[1])
        end = data.rfind(b"\n") + 1
        self._partial = data[end:]
        return _decode(data[:end])

    def rest(self, cap: int, until: Position) -> str:
        data, self._partial = self._partial + self._new(self._python_text(self._start, until[0]), cap, until[1]), b""
        return _decode(data)

    def _written(self, python: bytes) -> bytes:
        """`python` up to where the child is still writing: a later page is read with its new bytes when an earlier one
        was read without them. A NUL that is there at the next look too was printed.
        """
        hole = _HOLE.search(python)
        if hole is None or self._start + hole.start() == self._hole:
            return python
        self._hole = self._start + hole.start()
        return python[: hole.start()]

    def _new(self, python: bytes, cap: int, most: int) -> bytes:
        """What came since the last call, of the second area the first `most` bytes at most: `_start` is how far the
        first area was read, `_streamed` the second.
        """
        raw = min(self._raw(), most)
        if not python and raw <= self._streamed:
            return b""
        pieces, at, left = [], 0, cap
        for offset, size in extents(python, raw, self._start):
            if offset >= PYTHON_AT:
                pieces.append(python[offset - PYTHON_AT : offset - PYTHON_AT + size])
            else:
                first = max(offset, self._streamed)
                at = max(at, offset + size)
                # `cap` is for all pieces together: a guest can make a mark for each MiB of a hole.
                pieces.append(os.pread(self.fd, min(max(at - first, 0), left), first))
                left -= len(pieces[-1])
        self._start += len(python)
        self._streamed = max(self._streamed, at)
        return b"".join(pieces)


def new_streams() -> tuple[PrintedFile, OutputFile]:
    """The files of standard output and standard error of a session. Raises OSError, and leaves nothing open then."""
    out = PrintedFile("stdout")
    try:
        return out, OutputFile("stderr")
    except OSError:
        out.close()
        raise


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
