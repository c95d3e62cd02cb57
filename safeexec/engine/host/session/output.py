"""What a child printed, read from the files behind its descriptors 1 and 2.

The host makes the files (memfds) in their full size, seals that, and hands them down; it reads at any time without
asking the child. The child may write there what it likes, also through C code: it is text of unknown origin, and
bounded here. How much a step has written is where the position of the open file is, which both sides share. A guest may
move it: then it tells less or other text than it wrote, and holds no more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.linux.libc import syscall
from safeexec.protocol.printed import EMPTY_BYTES, PYTHON_AT, extents, python_bytes, stream_bytes

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Limits

OnOutput = Callable[[str], object]
Extent = tuple[int, int]
"""Offset and size of a piece of a file."""
Position = tuple[int, int]
"""Where a stream ends at a moment: in the first area of its file, and in the second, which is all of a plain file."""
_CHUNK = 16 << 10
_EMPTY = bytes(EMPTY_BYTES)
_PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE, which wants FALLOC_FL_KEEP_SIZE
_SEALS = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_HOLE = re.compile(rb"\0(?!\x01[0-9a-f]{8}\x02)")
"""A NUL that does not begin a mark."""


class Printed(NamedTuple):
    """Text of one stream of one step. `left_out` counts the bytes cut from its middle."""

    text: str
    size: int
    left_out: int


NOTHING = Printed("", 0, 0)


class OutputFile:
    """One stream of one session: a file that holds one step's text, in which the kernel lets nobody write past
    `stream_bytes(output_bytes)`.
    """

    __slots__ = ("_streamed", "fd")

    def __init__(self, name: str, output_bytes: int) -> None:
        self.fd = _sealed(name, stream_bytes(output_bytes))
        self._streamed = 0

    def begin(self) -> None:
        """A step begins, and finds the file empty."""
        if size := os.lseek(self.fd, 0, os.SEEK_CUR):
            _empty(self.fd, 0, size)
            os.lseek(self.fd, 0, os.SEEK_SET)
        self._streamed = 0

    def size(self) -> int:
        """Bytes that this step has written."""
        return self._end()

    def _end(self) -> int:
        # Three times as fast as fstat, and called four times in a step.
        return os.lseek(self.fd, 0, os.SEEK_CUR)

    def held(self) -> int:
        """Bytes of memory that it takes, those included that a guest wrote where nobody reads."""
        return os.fstat(self.fd).st_blocks * 512

    def _extents(self) -> list[Extent]:
        """Return where this step's text lies, in its order."""
        return [(0, size)] if (size := os.lseek(self.fd, 0, os.SEEK_CUR)) else []

    def text(self, cap: int) -> Printed:
        """Return what this step wrote; past `cap` bytes its head and its tail, with an exact count of what lies
        between.
        """
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
                pieces.append(self._at(offset + first, last - first))
            at += length
        return b"".join(pieces)

    def _at(self, offset: int, size: int) -> bytes:
        """Return what an extent, or a part of it, holds."""
        return os.pread(self.fd, size, offset)

    def position(self) -> Position:
        """Return where it ends now."""
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
        """Return what `fresh` has not given out yet, an unfinished line included."""
        size = min(self._end(), until[1])
        if size <= self._streamed:
            return ""
        data = os.pread(self.fd, min(size - self._streamed, cap), self._streamed)
        self._streamed = size
        return _decode(data)

    def tail_since(self, mark: int, cap: int) -> bytes:
        """At most `cap` bytes written after the file had `mark` bytes."""
        return os.pread(self.fd, max(0, min(cap, self._end() - mark)), mark)

    def hide(self, mark: int) -> None:
        """Cut off what was written after the file had `mark` bytes: it was not the guest's."""
        if (end := self._end()) > mark:
            _empty(self.fd, mark, end)
            os.lseek(self.fd, mark, os.SEEK_SET)

    def mark(self) -> int:
        return self._end()

    def close(self) -> None:
        """Harmless when closed already, also in a process that another thread has forked meanwhile."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class PrintedFile(OutputFile):
    """The standard output of a session whose child shares memory with it: two areas (`protocol.printed`), of which the
    second is as another stream, and the first is in the file `shared`.

    `shared_bytes`: how much output the sandbox keeps, after which its zygote has made the mappings of its children.
    """

    __slots__ = ("_hole", "_length", "_partial", "_python", "_start", "shared")

    def __init__(self, name: str, output_bytes: int, shared_bytes: int) -> None:
        self._start = 0
        self._partial = b""
        self._python = 0
        self._hole = -1
        self._length = python_bytes(shared_bytes)
        super().__init__(name, output_bytes)
        try:
            self.shared = _sealed(f"{name}-python", PYTHON_AT + self._length)
        except OSError:
            super().close()
            raise

    def begin(self) -> None:
        super().begin()
        if os.pread(self.shared, EMPTY_BYTES, PYTHON_AT) != _EMPTY:
            _empty(self.shared, PYTHON_AT, PYTHON_AT + self._length)
        self._start = self._python = 0
        self._partial = b""
        self._hole = -1

    def handed_to_branch(self, err: OutputFile) -> tuple[int, int, int]:
        """The descriptors that a branch goes on with, in the order in which it takes them."""
        return self.shared, self.fd, err.fd

    def held(self) -> int:
        return super().held() + os.fstat(self.shared).st_blocks * 512

    def _at(self, offset: int, size: int) -> bytes:
        return os.pread(self.fd if offset < PYTHON_AT else self.shared, size, offset)

    def _python_text(self, start: int, end: int = PYTHON_AT) -> bytes:
        """Return what is in the first area from `start` on."""
        pieces = []
        end = min(end, self._length)
        while start < end:
            size = min(_CHUNK, end - start)
            piece = os.pread(self.shared, size, PYTHON_AT + start)
            text = piece.rstrip(b"\0")
            if not text:
                break
            pieces.append(piece)
            start += size
        return b"".join(pieces).rstrip(b"\0")

    def size(self) -> int:
        self._python += len(self._python_text(self._python))
        return self._python + self._end()

    def _extents(self) -> list[Extent]:
        size = os.lseek(self.fd, 0, os.SEEK_CUR)
        if not size and os.pread(self.shared, EMPTY_BYTES, PYTHON_AT) == _EMPTY:
            return []
        return extents(self._python_text(0), size)

    def position(self) -> Position:
        return self._start + len(self._python_text(self._start)), self._end()

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
        """Return what came since the last call, of the second area the first `most` bytes at most: `_start` is how far
        the first area was read, `_streamed` the second.
        """
        raw = min(self._end(), most)
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

    def close(self) -> None:
        fd, self.shared = self.shared, -1
        if fd >= 0:
            os.close(fd)
        super().close()


def new_streams(limits: Limits, of_sandbox: Limits) -> tuple[PrintedFile, OutputFile]:
    """The files of standard output and standard error of a session, by its limits and those of its sandbox. Raises
    OSError, and leaves nothing open then.
    """
    out = PrintedFile("stdout", limits.output_kb << 10, of_sandbox.output_kb << 10)
    try:
        return out, OutputFile("stderr", limits.output_kb << 10)
    except OSError:
        out.close()
        raise


def _sealed(name: str, size: int) -> int:
    """A file in memory of this size for good; a page of it is taken once it is written to. Where the host's own files
    are held shorter (RLIMIT_FSIZE) it is empty, and RLIMIT_FSIZE of the child bounds it: then nothing is shared, and
    the child makes a system call for each line.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, size)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    except OSError as error:
        if error.errno != errno.EFBIG:
            os.close(fd)
            raise
    return fd


def _empty(fd: int, start: int, end: int) -> None:
    """Make a hole from `start` to `end`: it reads as NULs, and takes no memory."""
    syscall("fallocate", fd, _PUNCH_HOLE, start, end - start)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
