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
