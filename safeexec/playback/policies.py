"""Compares two policies by recordings: which steps end otherwise under the second one?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from safeexec.engine.policy.model import Policy
from safeexec.playback.replay import replay

if TYPE_CHECKING:
    from safeexec.results import Result


class ChangedStep(Struct, frozen=True):
    """A step that ends otherwise under the second of two policies."""

    recording: str
    session: int
    step: int
    before: str
    """``ok``, ``error: KeyError``."""
    after: str
    rule: str
    """The line of the policy that decides, where one does."""

    def __str__(self) -> str:
        of = "" if self.session == 1 else f" of session {self.session}"
        rule = f"   ({self.rule})" if self.rule else ""
        return f"{self.recording}, step {self.step}{of}: {self.before} → {self.after}{rule}"


def compare_policies(before: Policy, after: Policy, recordings: Iterable[str | os.PathLike[str]]) -> list[ChangedStep]:
    """Return the steps of some recordings that end otherwise under `after` than under `before`. Each recording is run
    under both; steps that were stopped are no part of it.
    """
    found = []
    for path in recordings:
        results = []
        for policy in (before, after):
            with replay(path, policy=policy, on_difference="go on") as replayed:
                results.append(replayed.results)
        for place in sorted(results[0].keys() & results[1].keys()):
            was, now = results[0][place], results[1][place]
            if _ends(was) != _ends(now):
                rules = (one.error.rule for one in (now, was) if one.error is not None and one.error.rule)
                found.append(ChangedStep(os.fspath(path), *place, _ends(was), _ends(now), next(rules, "")))
    return found


def _ends(result: Result) -> str:
    return result.outcome if result.error is None else f"{result.outcome}: {result.error.type}"
