"""stdout and stderr of the guest: text streams over the two files that the host reads.

The host created both files (memfds) and reads them whenever it likes, so nothing is copied through the protocol, and
what C code writes to descriptors 1 and 2 keeps its place among what Python code writes.
"""

from __future__ import annotations

import io
import sys

EAGER_LINES = 200
"""Lines of a step that are written one by one. A kill loses none of them; later output is written in blocks of 8 KiB,
so that 10,000 lines cost 12 system calls and not 10,000."""

_nothing = [].reverse
"""A C function that does nothing: what `flush` becomes once a step has printed its eager lines (30 ns instead of
400).
"""


class _Outlet(io.BufferedWriter):
    """A block buffer whose `flush`, which a line-buffered text stream calls at every newline, stops working after
    `EAGER_LINES`.
    """

    _left = EAGER_LINES

    def flush(self) -> None:
        super().flush()
        self._left -= 1
        if self._left < 0:
            self.__dict__["flush"] = _nothing

    def rewind(self, *, eager: bool) -> None:
        """Write out what is buffered and count the lines of the next step afresh; `eager` never stops writing line
        by line.
        """
        self.__dict__.pop("flush", None)
        super().flush()
        self._left = sys.maxsize if eager else EAGER_LINES


class Streams:
    """The guest's stdout and stderr, installed as `sys.stdout` and `sys.stderr`."""

    __slots__ = ("_err", "_out", "stderr", "stdout")

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        self._out, self.stdout = _stream(1, "strict")
        self._err, self.stderr = _stream(2, "backslashreplace")

    def install(self) -> None:
        """Put the streams into `sys`, whatever the last step left there."""
        sys.stdout, sys.stderr = self.stdout, self.stderr
        # What faulthandler, logging and a guest's own reset of sys.stdout fall back on.
        vars(sys).update(__stdout__=self.stdout, __stderr__=self.stderr)

    def begin(self, *, stream: bool) -> None:
        """Before a step: open again what the guest closed; with `stream` every line is written at once."""
        if self.stdout.closed or self.stderr.closed:
            self._open()
        if sys.stdout is not self.stdout or sys.stderr is not self.stderr:
            self.install()
        if stream:
            self._out.rewind(eager=True)

    def end(self) -> None:
        """After a step: everything it printed is in the files."""
        for text, outlet in ((self.stdout, self._out), (self.stderr, self._err)):
            try:
                text.flush()
                outlet.rewind(eager=False)
            except (OSError, ValueError):
                # Past RLIMIT_FSIZE (EFBIG), or closed by the guest: what did not fit is lost, the step is not.
                self._open()
                self.install()


def _stream(fd: int, errors: str) -> tuple[_Outlet, io.TextIOWrapper]:
    outlet = _Outlet(io.FileIO(fd, "w", closefd=False))
    text = io.TextIOWrapper(outlet, encoding="utf-8", errors=errors, newline="\n", line_buffering=True)
    setattr(text, "mode", "w")  # noqa: B010 - TextIOWrapper has the attribute, its stub does not
    return outlet, text
