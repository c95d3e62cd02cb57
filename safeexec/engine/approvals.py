"""The answers of an approval, and the reader of one: anything but a clear yes is a no, except a clear `Later`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct


class Allow(Struct, frozen=True):
    """Yes. `arguments` replaces those of a tool call that it names; `source` the code of a step of an agent."""

    arguments: Mapping[str, Any] = {}
    source: str | None = None


class Deny(Struct, frozen=True):
    """No. Whoever asked gets the `reason`: a model reads it and tries something else."""

    reason: str = "it was not approved"


class Later(Exception):
    """Not now: an approval returns it, a tool returns or raises it. The step ends as `waiting`, the session is as it
    was before, and ``session.answer(…)`` runs the step again from its start, whenever the answer is there. `note` is
    for who is to answer; `seconds` is how long the call may wait, where that is less than the policy's
    `tools.wait_days`.

    Raises TypeError and ValueError where `seconds` is not a number above 0.
    """

    def __init__(self, note: str = "", seconds: float | None = None) -> None:
        super().__init__(note, seconds)
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds={seconds!r}: a call that is put off waits for more than 0 seconds")
        self.note = str(note)
        self.seconds = seconds

    def __str__(self) -> str:
        return self.note


Decision = Allow | Deny | Later | bool
"""True is `Allow()`, False is `Deny()`."""
Approval = Callable[[str, dict[str, Any]], Decision | Awaitable[Decision]]
"""Sees a tool's name and its arguments."""


def decision(answer: object, who: str) -> Allow | Deny:
    """Return what `who` (an approval, or a `confirm`) answered. An invalid answer denies, and its reason tells the
    author of the host; so does `Later`, where nothing can wait.
    """
    if isinstance(answer, Allow):
        source: object = answer.source
        if isinstance(source, str | None):
            return answer
        return Deny(f"{who} answered Allow(source=...) with an object of type {type(source).__name__}: source is a str")
    if isinstance(answer, Deny):
        return answer
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    if isinstance(answer, Later):
        return Deny(f"{who} put its answer off ({answer.note}), and what it was asked about cannot wait")
    return Deny(
        f"{who} answered an object of type {type(answer).__name__}; "
        "it answers safeexec.Allow(...), safeexec.Deny(reason), True or False"
    )
