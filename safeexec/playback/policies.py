"""What another policy would make of recorded steps."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from safeexec.engine.policy.model import Policy
from safeexec.playback.replay import Place, replay
from safeexec.results import Result


class Otherwise(Struct, frozen=True, kw_only=True):
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


def compare_policies(before: Policy, after: Policy, recordings: Iterable[str | os.PathLike[str]]) -> list[Otherwise]:
    """Return the steps of some recordings that end otherwise under `after` than under `before`. Each recording is run
    under both; steps that were stopped are no part of it.
    """
    found = []
    for path in recordings:
        one, other = _results(path, before), _results(path, after)
        for place in sorted(one.keys() & other.keys()):
            was, now = one[place], other[place]
            if _ends(was) != _ends(now):
                rule = next((r.error.rule for r in (now, was) if r.error is not None and r.error.rule), "")
                found.append(
                    Otherwise(
                        recording=os.fspath(path),
                        session=place[0],
                        step=place[1],
                        before=_ends(was),
                        after=_ends(now),
                        rule=rule or "",
                    )
                )
    return found


def _results(path: str | os.PathLike[str], policy: Policy) -> dict[Place, Result]:
    with replay(path, policy=policy, on_difference="go on") as replayed:
        return replayed.results


def _ends(result: Result) -> str:
    return result.outcome if result.error is None else f"{result.outcome}: {result.error.type}"
