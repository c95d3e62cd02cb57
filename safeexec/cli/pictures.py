"""Pictures in a terminal: written to files whose names are printed, and shown inline where the terminal can show
them.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safeexec import Display

SUFFIXES = {
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/jpeg": ".jpg",
    "text/html": ".html",
    "text/latex": ".tex",
}
"""Kinds of a display that are worth a file, the best first; plain text is on the terminal already."""
_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
_KITTY_CHUNK = 4096


class Pictures:
    """Writes the displays of one run into `directory`, numbered; without one only pictures that can be shown are
    shown.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory = directory
        self._count = 0

    def show(self, displays: Iterable[Display]) -> None:
        """Write and show each display; one that is neither is described on stderr. Raises OSError."""
        for display in displays:
            self._count += 1
            names = [self._write(display, mime) for mime in SUFFIXES if mime in display] if self._directory else []
            shown = inline(display, os.environ) if sys.stdout.isatty() else ""
            if shown:
                sys.stdout.write(shown + "\n")
            for name in names:
                print(f"display {self._count}: {name}", file=sys.stderr)
            if not names and not shown and any(mime in display for mime in _PICTURES):
                print(f"display {self._count}: a picture; --display-dir DIR writes it to a file", file=sys.stderr)

    def _write(self, display: Display, mime: str) -> str:
        assert self._directory is not None
        os.makedirs(self._directory, exist_ok=True)
        path = os.path.join(self._directory, f"display-{self._count}{SUFFIXES[mime]}")
        data = display[mime]
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
        return path


def inline(display: Display, environment: Mapping[str, str]) -> str:
    """The control sequence that shows a PNG in this terminal, or an empty string for a terminal that cannot.

    The bytes are the guest's, but base64 leaves nothing in them that a terminal could take for a command.
    """
    png = display.png
    if png is None:
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
