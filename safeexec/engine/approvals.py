"""What an approval may answer, and how its answer is read: whatever is no clear yes is a no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct


class Allow(Struct, frozen=True):
    """Yes. `arguments` replaces those arguments of a tool call that it names; `source` the code of a step that an agent
    is about to run.
    """

    arguments: Mapping[str, Any] = {}
    source: str | None = None


class Deny(Struct, frozen=True):
    """No. Whoever asked gets the `reason`: a model reads it and tries something else."""

    reason: str = "it was not approved"


Decision = Allow | Deny | bool
"""True is `Allow()`, False is `Deny()`."""
Approval = Callable[[str, dict[str, Any]], Decision | Awaitable[Decision]]
"""Sees a tool's name and its arguments."""


def decision(answer: object, who: str) -> Allow | Deny:
    """What `who` (an approval, or a `confirm`) answered. An invalid answer denies, and its reason tells the author of
    the host.
    """
    if isinstance(answer, Allow):
        source: object = answer.source
        if isinstance(source, str | None):
            return answer
        return Deny(f"{who} answered Allow(source=...) with an object of type {type(source).__name__}: no text")
    if isinstance(answer, Deny):
        return answer
    if isinstance(answer, bool):
        return Allow() if answer else Deny()
    return Deny(
        f"{who} answered an object of type {type(answer).__name__}; "
        "it answers safeexec.Allow(...), safeexec.Deny(reason), True or False"
    )
