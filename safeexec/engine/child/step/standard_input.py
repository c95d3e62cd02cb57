"""The standard input and the arguments of one step. They are there while the step runs, and not afterwards."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any, TextIO

from safeexec.common.own import os
from safeexec.engine.policy.names import INPUT_FILE

STDIN = 0
NO_ARGUMENTS = ("",)
"""`sys.argv` of a step that was given none, as at a prompt."""


class GuestInput:
    """Descriptor 0, `sys.stdin`, and the builtins that read them: `input`, and `open` where there are no files.

    `builtins` is the dict of the guest's builtins. Those of `refused`, which refuse, are replaced while a step has
    something to read.
    """

    def __init__(self, builtins: dict[str, Any], refused: Collection[str]) -> None:
        self._builtins = builtins
        self._lent = {name: value for name, value in _OFFERED.items() if name in refused}
        self._kept: dict[str, Any] = {}
        """The builtins that stand in the place of these while no step has an input."""
        self._empty = -1
        """A copy of descriptor 0 as it was before the first input: reading it gives nothing."""
        self.stream: TextIO | None = None
        """The stream that the step that runs reads; None: it has no input."""
        self._threads: set[Any] = set()
        """Threads that ran before the step."""

    def begin(self, fd: int | None, argv: Sequence[str] | None) -> None:
        """Begin a step that has these arguments and reads `fd`, which is taken over."""
        sys.argv = list(NO_ARGUMENTS if argv is None else argv)
        if fd is None:
            return
        if self._empty < 0:
            self._empty = os.dup(STDIN)
        os.dup2(fd, STDIN)
        os.close(fd)
        self.stream = self._open()
        self._threads = set(_running())
        self._kept = {name: self._builtins[name] for name in self._lent if name in self._builtins}
        self._builtins.update(self._lent)

    def wait_for_threads(self) -> None:
        """Wait for what a program waits for at its end: the threads that it has started and that are no daemons."""
        while others := [thread for thread in _running() if thread not in self._threads and not thread.daemon]:
            others[0].join()

    def end(self) -> None:
        """End the step. What the guest put in place of `sys.stdin` stays its own."""
        sys.argv = list(NO_ARGUMENTS)
        if self.stream is None:
            return
        os.dup2(self._empty, STDIN)
        if sys.stdin is self.stream:
            self._open()
        self.stream = None
        for name, value in self._lent.items():
            if self._builtins.get(name) is value:
                del self._builtins[name]
                if name in self._kept:
                    self._builtins[name] = self._kept[name]

    @staticmethod
    def _open() -> TextIO:
        """Return a stream over descriptor 0, as `sys.stdin`."""
        stream = io.TextIOWrapper(
            io.BufferedReader(io.FileIO(STDIN, "r", closefd=False)), encoding="utf-8", newline="\n"
        )
        setattr(stream, "mode", "r")  # noqa: B010 - as that of an interpreter; templates of contests look at it
        sys.stdin = vars(sys)["__stdin__"] = stream
        return stream


def program_file(argv: Sequence[str] | None, has_workspace: bool) -> str:
    """Return ``__file__`` of a program called with `argv`: a name in the workspace, if there is one. May be empty."""
    name = os.path.basename(argv[0]) if argv else ""
    if name[:1] in ("", "-"):
        return ""
    try:
        return os.path.join(os.getcwd(), name) if has_workspace else name
    except FileNotFoundError:  # the program has removed the directory that it is in
        return name


def _running() -> list[Any]:
    """Return the other threads of this process."""
    threading: Any = sys.modules.get("threading")
    return [] if threading is None else [one for one in threading.enumerate() if one is not threading.current_thread()]


def read_line(prompt: object = "", /) -> str:
    """Print `prompt` and read one line: `input` of guest code. Raises EOFError at the end."""
    if type(prompt) is not str or prompt:
        print(prompt, end="", flush=True)
    line: str = sys.stdin.readline()
    if not line:
        raise EOFError("EOF when reading a line")
    return line.removesuffix("\n")


class _NoFile(PermissionError, FileNotFoundError):
    """No file is there to be read: what a program with a fallback catches is either."""


_NoFile.__name__ = _NoFile.__qualname__ = "PermissionError"
_NoFile.__module__ = "builtins"


def open_input(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
    """Open the standard input, by `open(0)` or its name, and refuse all else: `open` of a step whose policy gives no
    files.
    """
    reads = mode in ("r", "rt", "rb")
    if type(file) not in (int, str) or file not in (STDIN, INPUT_FILE) or not reads:
        refusal = _NoFile if reads else PermissionError
        raise refusal(f"open({file!r}) is refused: the only file here is open(0), the standard input")
    # Up to `newline`: what is opened never closes the descriptor.
    return open(STDIN, mode, *arguments[:4], **options | {"closefd": False})


_OFFERED: dict[str, Callable[..., Any]] = {"input": read_line, "open": open_input}
for _name, _function in _OFFERED.items():
    _function.__name__ = _function.__qualname__ = _name  # as programs know them
    _function.__module__ = "builtins"
