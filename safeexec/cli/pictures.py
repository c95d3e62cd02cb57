"""Pictures in a terminal: written to files whose names are printed, and shown inline where the terminal can show
them. Guest code made them: bytes are what they are called, files are new, and pages run nothing.
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from safeexec.common.text import printable
from safeexec.untrusted.markup import framed_html, framed_svg
from safeexec.untrusted.saving import SIGNATURES, NewFiles, is_picture

if TYPE_CHECKING:
    from safeexec import Display


def _same(text: str) -> str:
    return text


SUFFIXES: dict[str, tuple[str, Callable[[str], str]]] = {
    "image/png": (".png", _same),
    "image/svg+xml": (".svg.html", framed_svg),
    "image/jpeg": (".jpg", _same),
    "text/html": (".html", framed_html),
    "text/latex": (".tex", _same),
}
"""Kinds of a display that are worth a file, the best first, and how text is put into it."""
_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
_KITTY_CHUNK = 4096


class Pictures:
    """Writes the displays of one run into `directory`, numbered; without one it shows the pictures that it can."""

    def __init__(self, directory: str | None, *, temporary: bool = False) -> None:
        """`temporary`: what the terminal cannot show is written to a new directory of its own."""
        self._files = NewFiles(directory) if directory else None
        self._new = temporary
        """Whether files are for what cannot be shown alone."""
        self._first = 0
        self._count = 0

    def show(self, displays: Iterable[Display]) -> None:
        """Write and show each display; one that is neither is described on stderr. Raises OSError."""
        for display in displays:
            self._count += 1
            shown = inline(display, os.environ) if sys.stdout.isatty() else ""
            names = self._write(self._files, display) if self._files is not None and not (shown and self._new) else []
            if shown:
                sys.stdout.write(shown + "\n")
            elif self._new and self._files is None and is_drawn(display):
                self._files = NewFiles(tempfile.mkdtemp(prefix="safeexec-"))
                names = self._write(self._files, display)
            for name in names:
                print(f"display {self._count}: {printable(name)}", file=sys.stderr)
            if not names and not shown and is_drawn(display):
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
    """Tell whether a display is a picture."""
    return any(mime in display for mime in _PICTURES)


def _content(display: Display, mime: str, put: Callable[[str], str]) -> bytes | None:
    """The bytes of a file for one kind; None for an invalid picture."""
    data = display[mime]
    if isinstance(data, bytes) or mime in SIGNATURES:
        return data if isinstance(data, bytes) and is_picture(mime, data) else None
    return put(data).encode("utf-8", "replace")


def inline(display: Display, environment: Mapping[str, str]) -> str:
    """The control sequence that shows a PNG in this terminal, or an empty string for a terminal that cannot.

    The bytes are the guest's, but base64 leaves nothing in them that a terminal could take for a command.
    """
    png = display.png
    if png is None or not is_picture("image/png", png):
        return ""
    encoded = base64.standard_b64encode(png).decode("ascii")
    if environment.get("KITTY_WINDOW_ID") or environment.get("TERM", "") in ("xterm-kitty", "xterm-ghostty"):
        return _kitty(encoded)
    if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm"):
        return f"\x1b]1337;File=inline=1;size={len(png)}:{encoded}\x07"
    return ""


def _kitty(encoded: str) -> str:
    """https://sw.kovidgoyal.net/kitty/graphics-protocol: transmit and display (a=T) a PNG (f=100) in chunks of 4096.

    ``q=2``: the terminal does not answer, or its answer would be read as typed.
    """
    chunks = [encoded[start : start + _KITTY_CHUNK] for start in range(0, len(encoded), _KITTY_CHUNK)]
    parts = []
    for number, chunk in enumerate(chunks):
        head = "a=T,f=100,q=2," if number == 0 else ""
        parts.append(f"\x1b_G{head}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(parts)
