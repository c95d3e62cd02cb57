"""Verdicts of verifications, and the comparison of two of them. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict of one verification."""

    ok: bool
    log: str
    ended: str = "exit"
    """`exit`, or the outcome that ended it: `timeout`, `memory`, `crashed` …; `missing`: there is no such command."""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Tests by name: `passed`, `failed`, `skipped`, `xfailed`. Empty where no test was reported."""
    exit_at: str = ""
    """The file that ended the program by SystemExit, if one did."""
    parts: tuple[Verification, ...] = ()
    """The verdicts of several commands, in their order; empty where there is one command."""

    @property
    def failing(self) -> frozenset[str]:
        """The tests that failed."""
        return frozenset(test for test, outcome in self.outcomes.items() if outcome == "failed")

    @property
    def passed(self) -> int | None:
        """The number of tests that passed; None where no test was reported."""
        return sum(outcome == "passed" for outcome in self.outcomes.values()) if self.outcomes else None

    def worse_than(self, before: Verification, *, may_lose_failing: bool = False) -> str:
        """Return the reason why this is worse than `before`, or empty. `may_lose_failing`: failed tests may be gone."""
        if self.parts and len(self.parts) == len(before.parts):
            judged = zip(self.parts, before.parts, strict=True)
            reasons = (now.worse_than(then, may_lose_failing=may_lose_failing) for now, then in judged)
            return next(filter(None, reasons), "")
        if before.ok and not self.ok:
            return "the verification passed before and fails now"
        if before.ended == "exit" and self.ended != "exit":
            return f"the verification does not come to its end any more ({self.ended})"
        if before.outcomes and not self.outcomes:
            return "the verification does not say any more which tests ran"
        good = _Tests(test for test, outcome in before.outcomes.items() if outcome != "failed")
        if new := sorted(test for test in self.failing - before.failing if good.hold(test)):
            return f"tests fail that did not before: {', '.join(new[:10])}"
        if self.ended != "exit":
            return ""  # neither came to its end: how far they came says nothing
        if lost := sorted(self._lost(before, may_lose_failing)):
            return f"tests that ran before do not run to their end any more: {', '.join(lost[:10])}"
        if (self.passed or 0) < (before.passed or 0):
            return f"{self.passed} tests pass, {before.passed} did before"
        return ""

    def _lost(self, before: Verification, may_lose_failing: bool) -> set[str]:
        """Return the tests that passed or failed before, and now are skipped, expected to fail, or gone."""
        ran = {test for test, outcome in self.outcomes.items() if outcome in _RAN}
        there = _Tests(ran)
        return {
            test
            for test, outcome in before.outcomes.items()
            if outcome in _RAN[:1 if may_lose_failing else 2] and test not in ran
            # A case of a parametrized test may have another name now, a file that could not be imported has tests.
            and (test in self.outcomes or not (there.hold(test) or there.hold(test.partition("[")[0])))
        }  # fmt: skip

    def better_than(self, before: Verification) -> bool:
        """Return True if it has less to mend; of several commands, of one of them at least."""
        if self.parts and len(self.parts) == len(before.parts):
            return any(now.better_than(then) for now, then in zip(self.parts, before.parts, strict=True))
        if self.ok != before.ok:
            return self.ok
        return len(self.failing) < len(before.failing) or (self.passed or 0) > (before.passed or 0)

    def summary(self) -> str:
        if self.ended != "exit":
            return f"ended by {self.ended}"
        passed = f", {self.passed} passed" if self.passed is not None else ""
        failing = f", {len(self.failing)} failing" if self.failing else ""
        return ("passes" if self.ok else f"fails{failing}") + passed


_RAN = ("passed", "failed")


class _Tests:
    """Names of tests, and of their function, class, module, file. Sorted, as a name may have many parts."""

    def __init__(self, tests: Iterable[str]) -> None:
        self._exact = frozenset(tests)
        self._names = sorted(self._exact)

    def hold(self, whole: str) -> bool:
        """Return True if `whole` is one of the tests, or one of them is part of it."""
        return whole in self._exact or any(self._begins(start) for start in (f"{whole}[", f"{whole}::", f"{whole}."))

    def _begins(self, start: str) -> bool:
        place = bisect_left(self._names, start)
        return place < len(self._names) and self._names[place].startswith(start)


def together(parts: Sequence[Verification], commands: Sequence[str]) -> Verification:
    """Return the verdicts of several commands as one. A test's name begins with the number of its command, from 1."""
    if len(parts) == 1:
        return parts[0]
    return Verification(
        ok=all(part.ok for part in parts),
        log="\n\n".join(f"$ {command}\n{part.log}" for command, part in zip(commands, parts, strict=True)),
        ended=next((part.ended for part in parts if part.ended != "exit"), "exit"),
        outcomes={
            f"{number}: {test}": outcome
            for number, part in enumerate(parts, 1)
            for test, outcome in part.outcomes.items()
        },
        exit_at=next((part.exit_at for part in parts if part.exit_at), ""),
        parts=tuple(parts),
    )
