"""Pictures as sixels, for terminals that say that they can show them.

A guest made the picture, so a sandbox reads it. Its answer is printed only if it is sixels and nothing else.
"""

from __future__ import annotations

import os
import re
import select
import sys
from functools import cache
from time import monotonic

from safeexec import Sandbox, SandboxError, Session

ANSWER_SECONDS = 0.3
"""How long a terminal may take to say what it is; over a network it does."""
WIDTH, HEIGHT = 800, 600
"""Pixels of the largest picture; a larger one is made smaller."""
COLOURS = 64
MOST_BYTES = 4 << 20
_WHAT_ARE_YOU = b"\x1b[c"
_ANSWER = re.compile(rb"\x1b\[\?([0-9;]{1,100})c")
_SIXEL = b"4"
_SIXELS = re.compile(f"\x1bP[0-9;]{{0,20}}q[ -~\n]{{0,{MOST_BYTES}}}\x1b\\\\")
"""Printable ASCII between the two marks: nothing in it ends the sequence early, or begins another."""
_SOURCE = """
import io, re
import numpy as np
from PIL import Image

def sixels(data, width, height, colours):
    image = Image.open(io.BytesIO(data)).convert("RGB")
    image.thumbnail((width, height))
    image = image.quantize(colours)
    palette, pixels = image.getpalette(), np.asarray(image)
    rows, columns = pixels.shape
    parts = [f'\\x1bPq"1;1;{columns};{rows}']
    for colour in np.unique(pixels).tolist():
        red, green, blue = (round(value * 100 / 255) for value in palette[3 * colour : 3 * colour + 3])
        parts.append(f"#{colour};2;{red};{green};{blue}")
    for top in range(0, rows, 6):
        band = pixels[top : top + 6]
        weights = (1 << np.arange(len(band)))[:, None]
        for colour in np.unique(band).tolist():
            bits = ((band == colour) * weights).sum(axis=0) + 63
            line = bits.astype(np.uint8).tobytes().decode("ascii")
            line = re.sub(r"(.)\\1{3,}", lambda run: f"!{len(run[0])}{run[1]}", line)
            parts.append(f"#{colour}{line}$")
        parts.append("-")
    return "".join(parts) + "\\x1b\\\\"
"""


@cache
def understood() -> bool:
    """Whether this terminal says that it shows sixels. Asked once; what is typed meanwhile may be lost."""
    if sys.platform == "win32" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    import termios  # which Windows has not
    import tty

    source, target = sys.stdin.fileno(), sys.stdout.fileno()
    before = termios.tcgetattr(source)
    try:
        tty.setcbreak(source, termios.TCSANOW)
        os.write(target, _WHAT_ARE_YOU)
        return says_sixel(_answer(source))
    except OSError:
        return False
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)


def _answer(source: int) -> bytes:
    answer, deadline = b"", monotonic() + ANSWER_SECONDS
    while not _ANSWER.search(answer) and len(answer) < 200 and (left := deadline - monotonic()) > 0:
        if select.select([source], [], [], left)[0]:
            answer += os.read(source, 100)
    return answer


def says_sixel(answer: bytes) -> bool:
    """Whether sixels are among what a terminal says of itself: ``ESC [ ? 62 ; 4 ; 22 c``."""
    found = _ANSWER.search(answer)
    return found is not None and _SIXEL in found[1].split(b";")


class Sixels:
    """Makes them, in one sandbox that is opened with the first picture."""

    def __init__(self) -> None:
        self._sandbox: Sandbox | None = None
        self._session: Session | None = None

    def of(self, png: bytes) -> str:
        """The control sequence for a PNG, or an empty string where none can be made of it."""
        try:
            if self._session is None:
                self._sandbox = Sandbox("data-analysis", spare=0).open()
                self._session = self._sandbox.session()
                self._session.run(_SOURCE).check()
            self._session.set("data", png)
            result = self._session.run(f"sixels(data, {WIDTH}, {HEIGHT}, {COLOURS})", timeout=20.0)
        except (SandboxError, TypeError):
            return ""
        made = result.value if result.ok else None
        return made if isinstance(made, str) and _SIXELS.fullmatch(made) else ""

    def close(self) -> None:
        """End the sandbox."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = self._session = None
