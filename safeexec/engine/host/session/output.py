"""The output of a child, read from the files behind its descriptors 1 and 2.

The host makes the files (memfds) in their full size, seals that, and hands them down; it reads at any time without
asking the child. The child may write there what it likes, also through C code: it is text of unknown origin, and
bounded here. How much a step has written is where the position of the open file is, which both sides share. A guest may
move it: then it shows less or other text than it wrote, and holds no more.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from safeexec.engine.linux.libc import syscall
from safeexec.protocol.printed import PYTHON_AT, extents, python_bytes, stream_bytes

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Limits

OnOutput = Callable[[str], object]
Extent = tuple[int, int]
"""Offset and size of a piece of a file."""
Position = tuple[int, int]
"""The end of a stream at a moment: in the first area of its file, and in the second, which is all of a plain file."""
_HUGE_PAGE = 2 << 20
"""The most memory that the kernel gives a file at a time: of fewer NULs nobody knows whether they were written."""
_PUNCH_HOLE = 0x02 | 0x01  # FALLOC_FL_PUNCH_HOLE, which needs FALLOC_FL_KEEP_SIZE
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

    The standard output of a session whose child shares memory with it has two areas (`protocol.printed`): the second is
    as another stream, and the first is in the file `shared`, which is -1 for every other stream.
    """

    __slots__ = ("_hole", "_length", "_partial", "_python", "_start", "_streamed", "fd", "shared")

    def __init__(self, name: str, output_bytes: int, shared_bytes: int = 0) -> None:
        """`shared_bytes`: how much output the sandbox keeps, by which its zygote made the mappings of children."""
        self._start = self._python = self._streamed = 0
        self._partial = b""
        self._hole = self.shared = -1
        self._length = python_bytes(shared_bytes) if shared_bytes else 0
        self.fd = _sealed(name, stream_bytes(output_bytes))  # its position is that of the child, too
        if self._length:
            try:
                self.shared = _sealed(f"{name}-python", PYTHON_AT + self._length)
                self._length = max(0, os.fstat(self.shared).st_size - PYTHON_AT)
            except OSError:
                self.close()
                raise

    def begin(self) -> None:
        """Empty the file for a step that begins."""
        if size := os.lseek(self.fd, 0, os.SEEK_CUR):
            _empty(self.fd, 0, size)
            os.lseek(self.fd, 0, os.SEEK_SET)
        if self._length and os.lseek(self.shared, PYTHON_AT, os.SEEK_HOLE) > PYTHON_AT:
            _empty(self.shared, PYTHON_AT, PYTHON_AT + self._length)
        self._start = self._python = self._streamed = 0
        self._partial = b""
        self._hole = -1

    def size(self) -> int:
        """Return how many bytes this step has written."""
        if self._length:
            self._python += len(self._python_text(self._python))
        return self._python + self.mark()

    def mark(self) -> int:
        """Return where the file ends, without what is shared."""
        # Three times as fast as fstat, and called four times in a step.
        return os.lseek(self.fd, 0, os.SEEK_CUR)

    def held(self) -> int:
        """Return how many bytes of memory it takes, with those that a guest wrote where nobody reads."""
        return sum(os.fstat(fd).st_blocks * 512 for fd in (self.fd, self.shared) if fd >= 0)

    def text(self, cap: int) -> Printed:
        """Return what this step wrote; past `cap` bytes its head and tail, with an exact count of what lies between."""
        size = os.lseek(self.fd, 0, os.SEEK_CUR)
        if not size and not (self._length and os.lseek(self.shared, PYTHON_AT, os.SEEK_HOLE) > PYTHON_AT):
            return NOTHING
        parts = extents(self._python_text(0), size)
        size = sum(length for _, length in parts)
        if size <= cap:
            return Printed(_decode(self._read(parts, 0, size)), size, 0)
        head = _decode(self._read(parts, 0, cap // 2))
        tail = _decode(self._read(parts, size - (cap - cap // 2), size))
        # Whole lines where there are any: half a line misleads more than none.
        head = head[: head.rfind("\n") + 1] or head
        tail = tail[tail.find("\n") + 1 :] or tail
        left_out = size - len(head.encode("utf-8", "replace")) - len(tail.encode("utf-8", "replace"))
        return Printed(f"{head}\n[… {left_out} bytes left out …]\n{tail}", size, left_out)

    def _read(self, parts: list[Extent], start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end` of what the parts hold together."""
        pieces, at = [], 0
        for offset, length in parts:
            first, last = max(start - at, 0), min(end - at, length)
            if first < last:
                fd = self.fd if offset < PYTHON_AT else self.shared
                pieces.append(os.pread(fd, last - first, offset + first))
            at += length
        return b"".join(pieces)

    def _python_text(self, start: int, end: int = PYTHON_AT) -> bytes:
        """Return what is in the first area from `start` on."""
        if start >= min(end, self._length):
            return b""
        # It is written from its start on, and a page that nobody has written to is a hole.
        end = min(end, os.lseek(self.shared, PYTHON_AT + start, os.SEEK_HOLE) - PYTHON_AT)
        data = os.pread(self.shared, end - start, PYTHON_AT + start)
        text = data.rstrip(b"\0")
        return text if len(data) - len(text) <= _HUGE_PAGE else data  # or a guest could have us read them at each look

    def position(self) -> Position:
        """Return where it ends now. The second area is read first: the first then has all that comes before."""
        mark = self.mark()
        return self._start + len(self._python_text(self._start)), mark

    def fresh(self, cap: int, until: Position) -> str:
        """Return the whole lines that came since the last call; the part of a line at the end waits for its newline."""
        found = self._python_text(self._start, until[0])
        written = self._written(found)
        data = self._partial + self._new(written, cap, until[1] if written is found else 0)
        end = data.rfind(b"\n") + 1
        self._partial = data[end:]
        return _decode(data[:end])

    def rest(self, cap: int, until: Position) -> str:
        """Return what `fresh` has not given out yet, an unfinished line included."""
        data, self._partial = self._partial + self._new(self._python_text(self._start, until[0]), cap, until[1]), b""
        return _decode(data)

    def _written(self, python: bytes) -> bytes:
        """Return `python` up to where the child is still writing: a later page is read with its new bytes when an
        earlier one was read without them. A NUL that is there at the next look too was printed.
        """
        hole = _HOLE.search(python)
        if hole is None or self._start + hole.start() == self._hole:
            return python
        self._hole = self._start + hole.start()
        return python[: hole.start()]

    def _new(self, python: bytes, cap: int, most: int) -> bytes:
        """Return what came since the last call, of the second area the first `most` bytes, and what marks in the first
        claim: `_start` is how far the first area was read, `_streamed` the second.
        """
        raw = self.mark()
        if not python and min(raw, most) <= self._streamed:
            return b""
        pieces, at, left = [], 0, cap
        for offset, size in extents(python, raw, self._start, most):
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

    def tail_since(self, mark: int, cap: int) -> bytes:
        """Return at most `cap` bytes written after the file had `mark` bytes."""
        return os.pread(self.fd, max(0, min(cap, self.mark() - mark)), mark)

    def hide(self, mark: int) -> None:
        """Cut off what was written after the file had `mark` bytes: it was not the guest's."""
        if (end := self.mark()) > mark:
            _empty(self.fd, mark, end)
            os.lseek(self.fd, mark, os.SEEK_SET)

    def close(self) -> None:
        """Close the files. Harmless when closed already, also in a process that another thread has forked meanwhile."""
        (fd, self.fd), (shared, self.shared) = (self.fd, -1), (self.shared, -1)
        for one in (fd, shared):
            if one >= 0:
                os.close(one)


class SessionOutput:
    """Standard output and standard error of one session."""

    __slots__ = ("stderr", "stdout")

    def __init__(self, limits: Limits, of_sandbox: Limits) -> None:
        """By the limits of the session and those of its sandbox. Raises OSError, and leaves nothing open then."""
        self.stdout = OutputFile("stdout", limits.output_kb << 10, of_sandbox.output_kb << 10)
        try:
            self.stderr = OutputFile("stderr", limits.output_kb << 10)
        except OSError:
            self.stdout.close()
            raise

    @property
    def closed(self) -> bool:
        return self.stdout.fd < 0

    @property
    def for_child(self) -> tuple[int, int, int]:
        """The descriptors that a new child begins with, in the order in which it takes them."""
        return self.stdout.fd, self.stderr.fd, self.stdout.shared

    @property
    def for_branch(self) -> tuple[int, int, int]:
        """The descriptors that a branch goes on with, in the order in which it takes them."""
        return self.stdout.shared, self.stdout.fd, self.stderr.fd

    def begin(self) -> None:
        """Empty both for a step that begins."""
        self.stdout.begin()
        self.stderr.begin()

    def held(self) -> int:
        """Return how many bytes of memory both take."""
        return self.stdout.held() + self.stderr.held()

    def close(self) -> None:
        """Close the files. Harmless when closed already."""
        self.stdout.close()
        self.stderr.close()


def _sealed(name: str, size: int) -> int:
    """Return a file in memory of this size for good; a page of it is taken once it is written to. Where the host's own
    files are held shorter (RLIMIT_FSIZE) it is empty, and RLIMIT_FSIZE of the child bounds it: then nothing is shared,
    and the child makes a system call for each line.
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
    # A hole changes no size, so `_SEALS` allow it; `ftruncate` they refuse to the host, too (EPERM).
    syscall("fallocate", fd, _PUNCH_HOLE, start, end - start)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
