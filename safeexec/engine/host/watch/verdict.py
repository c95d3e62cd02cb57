"""Verdicts: the reasons why the host ends a step, or what a session does otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec.results import Outcome

if TYPE_CHECKING:
    from safeexec.errors import WorkspaceError


class Verdict(Struct, frozen=True):
    """The reason why the host ends a step."""

    outcome: Outcome
    message: str
    seconds: float | None = None
    """The deadline that the step had, where that is why."""
    rule: str | None = None
    """The setting that it broke, where the outcome alone does not say."""
    exit_status: int | None = None
    """The status that its process exited with by itself."""


def too_much_in_files(error: WorkspaceError) -> Verdict:
    """Return the verdict on a workspace that holds too much, or cannot be read any more: then no limit is its rule."""
    return Verdict("violation", str(error), rule=error.rule)
