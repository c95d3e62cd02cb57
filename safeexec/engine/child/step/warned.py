"""Writes each warning of a step once, with a count at the end where it came again; none names a file of ours. The same
holds for what libraries log where nothing is configured (`findfont: …`).
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from safeexec import errors
from safeexec.common.text import shorten
from safeexec.engine.child.on_import import after_import

MAX_KINDS = 200
"""Different ones of a step that are told apart; further ones are written as they come."""
ALIKE = 3
"""Different texts of one line of code that are written; of further ones their number (`row 17 is odd`, one per row)."""
_SHOWN = 120
_OURS = os.path.dirname(os.path.abspath(errors.__file__)) + os.sep


class RepeatedWarnings:
    """Counts the warnings of one step after the other."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """The warnings of the step that runs, and how often each came."""
        self._places: dict[object, int] = {}
        """How many different ones have come from one line of code."""

    def install(self) -> None:
        """Show warnings by `showwarning`, and look at what is logged. Once per process: a fork inherits it."""
        warnings.showwarning = self.showwarning
        after_import("logging", self._take_over_logging)

    def _take_over_logging(self) -> None:
        handler = sys.modules["logging"].lastResort
        if handler is not None:
            handler.addFilter(self._is_first_logged)

    def _is_first_logged(self, record: Any) -> bool:
        try:
            return self._is_first(record.getMessage())
        except Exception:  # of a record that cannot be written: its handler says so
            return True

    def _is_first(self, text: str, place: object = None) -> bool:
        count = self.counts.get(text, 0)
        if place is not None and not count and len(self._places) < MAX_KINDS:
            self._places[place] = kinds = self._places.get(place, 0) + 1
            if kinds > ALIKE:
                return False
        if count or len(self.counts) < MAX_KINDS:
            self.counts[text] = count + 1
        return not count

    def showwarning(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        """Show a warning, in the place of `warnings.showwarning`."""
        if filename.startswith(_OURS):  # the line of ours that called a library, or let go of the guest's coroutine
            text = f"{category.__name__}: {message}\n"
        else:
            text = warnings.formatwarning(message, category, filename, lineno, line)
        out = sys.stderr if file is None else file
        if out is None or (file is None and not self._is_first(text, f"{filename}:{lineno}: {category.__name__}")):
            return
        try:
            out.write(text)
        except OSError:  # as the original: there is nowhere to report it
            return

    def begin(self) -> None:
        """Forget those of the last step."""
        self.counts.clear()
        self._places.clear()

    def end(self) -> None:
        """Write how often each came again, and forget them."""
        repeated = [(count - 1, "time", text) for text, count in self.counts.items()]
        repeated += [(kinds - ALIKE, "text", str(place)) for place, kinds in self._places.items()]
        for count, what, of in repeated:
            if count > 0:
                line = shorten(of.partition("\n")[0], _SHOWN)
                try:
                    sys.stderr.write(f"[{count} more {what}{'s' if count > 1 else ''}: {line}]\n")
                except Exception:  # the stream may be the guest's own, or closed
                    return
        self.begin()
