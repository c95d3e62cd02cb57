"""Mistakes of a policy file: collected and reported all at once, each with its place and the nearest valid word."""

from __future__ import annotations

from typing import NamedTuple

from safeexec.common.text import shorten
from safeexec.errors import PolicyError
from safeexec.untrusted.yaml_text import Mark

MOST = 100
"""Mistakes that one error lists."""


class Mistake(NamedTuple):
    """One thing that is wrong: `path` is dotted (``limits.wall_seconds``), `text` says what was expected."""

    file: str
    mark: Mark | None
    path: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.mark.line}:{self.mark.column}" if self.mark else self.file
        path = shorten(self.path if self.path.isprintable() else repr(self.path), 120)
        return f"{place}: {path}: {self.text}" if path else f"{place}: {self.text}"


def fail(mistakes: list[Mistake]) -> PolicyError:
    """Return the one error for all that is wrong, file by file, from top to bottom."""
    files = [mistake.file for mistake in mistakes]
    unique = sorted({*mistakes}, key=lambda mistake: (files.index(mistake.file), mistake.mark or (), mistake))
    shown = [f"  {mistake}" for mistake in unique[:MOST]]
    if len(unique) > MOST:
        shown.append(f"  and {len(unique) - MOST} more")
    message = str(unique[0]) if len(unique) == 1 else f"{len(unique)} mistakes:\n" + "\n".join(shown)
    error = PolicyError(message)
    error.mistakes = tuple(unique)
    return error
