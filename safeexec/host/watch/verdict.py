"""Why the host ends a step, or what a session does otherwise."""

from __future__ import annotations

from msgspec import Struct

from safeexec.results import Outcome

OUTPUT_CEILING = 16
"""A step that prints this many times what is kept is ended."""


class Verdict(Struct, frozen=True):
    """Why the host ended a step."""

    outcome: Outcome
    message: str
    seconds: float | None = None
    """The deadline that the step had, where that is why."""
    rule: str | None = None
    """The setting that it broke, where the outcome alone does not say."""


def too_much_in_files(message: str) -> Verdict:
    """The verdict on a workspace that holds too much, or too many files."""
    rule = "limits.workspace_files" if "limits.workspace_files" in message else "limits.workspace_mb"
    return Verdict("violation", message, rule=rule)
