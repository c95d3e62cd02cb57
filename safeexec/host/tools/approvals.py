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


def decision(answer: object, what: str) -> Allow | Deny:
    """An approval's answer. An invalid one denies the call, and its reason tells the author of the host."""
    if isinstance(answer, Allow | Deny):
        return answer
    if answer is True:
        return Allow()
    if answer is False:
        return Deny()
    return Deny(
        f"the approval of {what} answered an object of type {type(answer).__name__}; "
        "it answers safeexec.Allow(arguments=...), safeexec.Deny(reason), True or False"
    )
