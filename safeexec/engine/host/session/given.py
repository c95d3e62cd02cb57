"""What a caller gives a program: its arguments, and what it reads, as bytes. No process, no descriptor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

Given = str | bytes | bytearray | memoryview | Iterable[str] | Iterable[bytes] | IO[bytes] | IO[str]
"""A text, bytes, an iterable of lines, or a file that is open for reading."""
MOST_ARGUMENTS = 128 << 10
"""Characters of all arguments together, as Linux allows for one of them."""
PIECE = 64 << 10
"""Bytes per piece: what a pipe holds."""


def checked_arguments(argv: Sequence[str]) -> list[str]:
    """`sys.argv` of a program. Raises TypeError and ValueError for what no command line could hold."""
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
    """`text` as UTF-8. Raises ValueError for a lone surrogate: Python puts one in place of a byte that was no text."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        wrong = ascii(text[error.start])
        raise ValueError(f"{what} holds {wrong}, half of a character, which is no text and cannot cross") from None


def pieces_of(given: Any) -> Iterator[bytes]:
    """The bytes of a file, or of lines. Raises TypeError at once for anything else."""
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
    """Each item is one line, whether it ends with a newline or not."""
    for line in lines:
        if not isinstance(line, str | bytes):
            raise TypeError(f"a line of stdin must be str or bytes, not {type(line).__name__}")
        data = encoded(line, "a line of stdin") if isinstance(line, str) else line
        yield data if data.endswith(b"\n") else data + b"\n"
