"""What one step reads: its standard input and its arguments. They are there while the step runs, and not afterwards."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from safeexec.child.language.native import builtin
from safeexec.facades.replacements.streams import current_stream, set_has_input

STDIN = 0
NO_ARGUMENTS = ("",)
"""`sys.argv` of a step that was given none, as at a prompt."""


class GuestInput:
    """Descriptor 0, `sys.stdin`, and the builtins that read them: `input`, and `open` where there are no files.

    `builtins` is the dict of the guest's builtins. Where it is `restricted` both are missing until a step has something
    to read.
    """

    __slots__ = ("_builtins", "_empty", "_lent", "_stream")

    def __init__(self, builtins: dict[str, Any], *, restricted: bool) -> None:
        self._builtins = builtins
        offered: dict[str, Callable[..., Any]] = {"input": read_line, "open": open_input} if restricted else {}
        self._lent = {name: builtin(value, name) for name, value in offered.items() if name not in builtins}
        self._empty = -1
        """What was behind descriptor 0 before the first input: reading it gives nothing."""
        self._stream: TextIO | None = None

    def begin(self, fd: int | None, argv: Sequence[str] | None) -> None:
        """A step begins that has these arguments and reads `fd`, which is taken over."""
        sys.argv = list(NO_ARGUMENTS if argv is None else argv)
        if fd is None:
            return
        if self._empty < 0:
            self._empty = os.dup(STDIN)
        os.dup2(fd, STDIN)
        os.close(fd)
        self._stream = self._open()
        self._builtins.update(self._lent)
        set_has_input(True)

    def end(self) -> None:
        """The step has ended. What the guest put in place of `sys.stdin` stays its own."""
        sys.argv = list(NO_ARGUMENTS)
        if self._stream is None:
            return
        set_has_input(False)
        os.dup2(self._empty, STDIN)
        if sys.stdin is self._stream:
            self._open()
        self._stream = None
        for name, value in self._lent.items():
            if self._builtins.get(name) is value:
                del self._builtins[name]

    @staticmethod
    def _open() -> TextIO:
        """A stream over descriptor 0, as `sys.stdin`."""
        stream = io.TextIOWrapper(io.BufferedReader(io.FileIO(STDIN, "r", closefd=False)), encoding="utf-8")
        sys.stdin = vars(sys)["__stdin__"] = stream
        return stream


def read_line(prompt: object = "", /) -> str:
    """`input` of guest code: prints `prompt` and reads one line. Raises EOFError at the end."""
    print(prompt, end="", flush=True)
    line: str = current_stream("stdin").readline()
    if not line:
        raise EOFError("EOF when reading a line")
    return line.removesuffix("\n")


def open_input(file: Any, mode: str = "r", *_: Any, **options: Any) -> Any:
    """`open` of a step whose policy gives no files: `open(0)` is its standard input, all else is refused."""
    if type(file) is not int or file != STDIN or mode not in ("r", "rt", "rb"):
        raise PermissionError(f"open({file!r}) is refused: the only file here is open(0), the standard input")
    stream = current_stream("stdin")
    return stream if mode != "rb" else stream.buffer
