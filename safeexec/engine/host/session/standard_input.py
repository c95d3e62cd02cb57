"""The input of a program: its arguments, and what it reads: text or bytes in a sealed file in memory, a stream
through a pipe.

A file of the host never reaches the child as a descriptor: what is behind it could be read again, from its start, or by
others. A thread copies it into a pipe, a piece at a time, so that an input of any size takes no memory here and an
input without an end stops nobody.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

Given = str | bytes | bytearray | memoryview | Iterable[str] | Iterable[bytes] | IO[bytes] | IO[str]
"""A text, bytes, an iterable of lines, or a file that is open for reading."""
MOST_ARGUMENTS = 128 << 10
"""Characters of all arguments together, as Linux allows for one of them."""
PIECE = 64 << 10
"""Bytes per piece: what a pipe holds."""


class StandardInput:
    """The input of one step. `fd` is the end that the child reads, once it is filled: `size` is what that moves."""

    __slots__ = ("_feeder", "_given", "_memory", "fd", "problem", "size")

    def __init__(self, given: Given) -> None:
        """Raises TypeError for what is not `Given`."""
        self._feeder: _Feeder | None = None
        self._memory = self.fd = -1
        self._given: str | bytes | bytearray | memoryview | None = None
        self.size = 0
        self.problem: str | None = None
        """The reason why the input ended early, if it did: once it is closed."""
        if isinstance(given, str | bytes | bytearray | memoryview):
            self._given, self.size = given, len(given)
        else:
            self._feeder = _Feeder(pieces_of(given))
            self.fd = self._feeder.read

    def fill(self) -> None:
        """Make ready what was given as a whole. Raises ValueError for text with lone surrogates, and OSError."""
        given, self._given = self._given, None
        if given is None:
            return
        import fcntl  # a client on Windows, which has none, reads this module for `Given`

        # A sealed copy, which `close` empties whoever still holds it.
        data = encoded(given, "stdin") if isinstance(given, str) else given
        self._memory = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[os.write(self._memory, rest) :]
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self._memory, fcntl.F_ADD_SEALS, seals)
        # Opened anew: with a position of its own, and for reading alone. Shrinking, which `close` does, is not sealed,
        # but this descriptor cannot do it (EINVAL).
        self.fd = os.open(f"/proc/self/fd/{self._memory}", os.O_RDONLY)

    def sent(self) -> None:
        """Feed the pipe from now on: the child has its end."""
        self._give_up_end()
        if self._feeder is not None:
            self._feeder.start()

    def _give_up_end(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def close(self) -> None:
        """Read nothing more from what was given: the step has ended. Harmless when closed already."""
        self._give_up_end()
        memory, self._memory, self.size = self._memory, -1, 0
        if memory >= 0:
            os.ftruncate(memory, 0)
            os.close(memory)
        if self._feeder is not None:
            feeder, self._feeder = self._feeder, None
            self.problem = feeder.stop()


class _Feeder:
    """Copies pieces into a pipe, in a thread of its own: reading them may block, and is code of the caller."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._problem: str | None = None
        self._thread = threading.Thread(target=self._run, name="safeexec-stdin", daemon=True)
        self._wake, self._stop = os.pipe()
        try:
            self.read, self._write = os.pipe()
        except OSError:
            os.close(self._wake)
            os.close(self._stop)
            raise
        os.set_blocking(self._write, False)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> str | None:
        """End the copying; a read of the caller's that blocks ends it when it returns."""
        os.close(self._stop)
        if self._thread.ident is None:
            self._close()
        return self._problem

    def _run(self) -> None:
        try:
            for piece in self._pieces:
                if not self._put(memoryview(piece)):
                    return
        except Exception as error:
            self._problem = f"{type(error).__name__} while it was read"
        finally:
            self._close()

    def _put(self, rest: memoryview) -> bool:
        """Write it all. False when nobody reads any more."""
        poller = select.poll()
        poller.register(self._write, select.POLLOUT)
        poller.register(self._wake, 0)  # its other end closes: POLLHUP
        while rest:
            ready = dict(poller.poll())
            if self._wake in ready:
                return False
            try:
                rest = rest[os.write(self._write, rest) :]
            except BrokenPipeError:
                return False
        return True

    def _close(self) -> None:
        os.close(self._write)
        os.close(self._wake)


def checked_arguments(argv: Sequence[str]) -> list[str]:
    """Return `sys.argv` of a program. Raises TypeError and ValueError for what no command line could hold."""
    if isinstance(argv, str):
        raise TypeError("argv must be a list of str, the program's name first, not a str")
    arguments = list(argv)
    if wrong := next((item for item in arguments if not isinstance(item, str)), None):
        raise TypeError(f"argv must be a list of str, not of {type(wrong).__name__}")
    if any("\0" in item for item in arguments):
        raise ValueError("argv holds a NUL character, which no argument of a program can")
    if sum(map(len, arguments)) > MOST_ARGUMENTS:
        raise ValueError(f"argv holds more than {MOST_ARGUMENTS} characters")
    for number, item in enumerate(arguments):
        encoded(item, f"argv[{number}]")
    return arguments


def encoded(text: str, what: str) -> bytes:
    """Return `text` as UTF-8. Raises ValueError for a lone surrogate, which stands for a byte that was no text."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        wrong = ascii(text[error.start])
        raise ValueError(f"{what} holds {wrong}, half of a character, which is no text and cannot cross") from None


def pieces_of(given: Any) -> Iterator[bytes]:
    """Return the bytes of a file, or of lines. Raises TypeError at once for anything else."""
    if hasattr(given, "read"):
        return _of_file(given)
    try:
        return _of_lines(iter(given))
    except TypeError:
        raise TypeError(
            f"stdin must be a str, bytes, an iterable of lines or a file, not {type(given).__name__}"
        ) from None


def _of_file(file: Any) -> Iterator[bytes]:
    """`read1` gives what is there; `read` may wait until a whole piece is."""
    read = getattr(file, "read1", file.read)
    while piece := read(PIECE):
        yield encoded(piece, "stdin") if isinstance(piece, str) else piece


def _of_lines(lines: Iterator[Any]) -> Iterator[bytes]:
    """Yield each item as one line, whether it ends with a newline or not."""
    for line in lines:
        if not isinstance(line, str | bytes):
            raise TypeError(f"a line of stdin must be str or bytes, not {type(line).__name__}")
        data = encoded(line, "a line of stdin") if isinstance(line, str) else line
        yield data if data.endswith(b"\n") else data + b"\n"
