"""Pictures at a terminal: written to files whose names are printed. Guest code made them: bytes are what they are
called, files are new, and pages run nothing.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from safeexec.common.text import printable
from safeexec.untrusted.markup import framed_html, framed_svg
from safeexec.untrusted.saving import SIGNATURES, NewFiles, is_picture

if TYPE_CHECKING:
    from safeexec import Display


SUFFIXES: dict[str, tuple[str, Callable[[str], str]]] = {
    "image/png": (".png", str),
    "image/svg+xml": (".svg.html", framed_svg),
    "image/jpeg": (".jpg", str),
    "text/html": (".html", framed_html),
    "text/latex": (".tex", str),
}
"""Kinds of a display that are worth a file, the best first, and how text is put into it."""
_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")


class Pictures:
    """Writes the displays of one run into `directory`, numbered; without one it says that there are some."""

    def __init__(self, directory: str | None, *, temporary: bool = False) -> None:
        """`temporary`: pictures are written to a new directory of their own."""
        self._files = NewFiles(directory) if directory else None
        self._new = temporary
        self._first = 0
        self._count = 0

    def show(self, displays: Iterable[Display]) -> None:
        """Write each display; a picture that is not written is described on stderr. Raises OSError."""
        for display in displays:
            self._count += 1
            if self._new and self._files is None and is_drawn(display):
                self._files = NewFiles(tempfile.mkdtemp(prefix="safeexec-"))
            names = self._write(self._files, display) if self._files is not None else []
            for name in names:
                print(f"display {self._count}: {printable(name)}", file=sys.stderr)
            if not names and is_drawn(display):
                advice = (
                    "left out, its bytes are not of its kind"
                    if self._files
                    else "--display-dir DIR writes it to a file"
                )
                print(f"display {self._count}: a picture; {advice}", file=sys.stderr)

    def _write(self, files: NewFiles, display: Display) -> list[str]:
        """Write each kind that a display has; the paths. Numbers begin behind those that are taken."""
        self._first = self._first or files.next_number("display")
        stem = f"display-{self._first + self._count - 1}"
        contents = {suffix: _content(display, mime, put) for mime, (suffix, put) in SUFFIXES.items() if mime in display}
        return [files.write(stem + suffix, data) for suffix, data in contents.items() if data is not None]


def is_drawn(display: Display) -> bool:
    """Return whether a display is a picture."""
    return any(mime in display for mime in _PICTURES)


def _content(display: Display, mime: str, put: Callable[[str], str]) -> bytes | None:
    """Return the bytes of a file for one kind; None for an invalid picture."""
    data = display[mime]
    if isinstance(data, bytes) or mime in SIGNATURES:
        return data if isinstance(data, bytes) and is_picture(mime, data) else None
    return put(data).encode("utf-8", "replace")
