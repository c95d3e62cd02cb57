"""Attempts to get out. Each is judged from outside, by what it would have brought about, not by what it says.

`escapes/README.md` explains headers and oracles. Every case runs with the language layer off: it must reach nothing of
the host or of another session, and forge no effect. What it does to its own process is its own. After each case the
host is alive, the same session answers, and so does a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from safeexec import Policy, Sandbox
from tests.attempts import OFF, Case, World, attempt, every, suits


def cases(found: Iterable[Case]) -> Iterator[Any]:
    for case in found:
        marks = [pytest.mark.modules(*case.needs)] if case.needs else []
        if "consumes" in case.headers or case.oracle.startswith("late"):
            marks.append(pytest.mark.slow)
        if not suits(case.headers.get("version", "")):
            marks.append(pytest.mark.skip(reason=f"is about Python {case.headers['version']}"))
        yield pytest.param(case, id=f"{case.headers['id']}-{case.profile}", marks=marks)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.mark.parametrize("case", [*cases(every())])
def test_nothing_of_the_host_is_reached_without_a_language_layer(
    case: Case, world: World, sandbox_for: Callable[[str], Sandbox]
) -> None:
    then = world.reach if case.headers.get("then") == "reach" else ""
    tried = attempt(case, world, sandbox_for(OFF), then=then)
    assert not tried.problems, [(one.outcome, one.error and one.error.message[:200]) for one in tried.results]


PASSED = [case for case in every() if case.headers["class"] == "language-passed"]
"""Programs that are known to pass a language layer."""


@pytest.fixture(scope="module", params=["calculator", "mathematics", "standard", "plugin", "data-analysis"])
def broken(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A profile as whoever has passed its language layer meets it."""
    with Sandbox(Policy.load(request.param).replace(name=request.param, language={"mode": "python"})) as sandbox:
        yield sandbox


@pytest.mark.slow
@pytest.mark.parametrize("case", [*cases(PASSED)])
def test_whoever_passes_the_language_layer_of_a_profile_reaches_nothing(
    case: Case, world: World, broken: Sandbox
) -> None:
    tried = attempt(case, world, broken, then=world.reach)
    assert not tried.problems, [(one.outcome, one.error and one.error.message[:200]) for one in tried.results]
