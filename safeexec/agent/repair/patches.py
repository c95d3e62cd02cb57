"""What a repair has done: its accepted patches, and what a person should look at in them. No version control is used:
a patch is known by its diff.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_CHARACTERS = 64 << 20
"""Of all diffs of a repair."""


@dataclass(frozen=True, slots=True)
class RepairCommit:
    """One accepted patch. `id` is its number in the repair, from 1."""

    id: str
    message: str
    files: tuple[str, ...]
    diff: str


@dataclass(frozen=True, slots=True)
class RepairWarning:
    """One thing to look at before a patch is applied. `rule` is a stable word; `line` counts from 1 in the file as it
    is after the patch, and is None for what concerns the whole file.
    """

    path: str
    line: int | None
    rule: str
    message: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"
