"""What a target is, and how one is run: for a number of examples in the tests, for minutes by hand."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.shortening import shortened

CORPUS = Path(__file__).parent / "corpus"
SHORTENINGS = 400
"""How often a finding is tried in a shorter form."""
Holds = Callable[[Any], object]
"""Is given one input; whatever it raises is a finding."""


class Target(NamedTuple):
    """One row of the table. Its inputs are Python literals, so that a finding is a line of its corpus."""

    name: str
    about: str
    inputs: Callable[[], SearchStrategy[Any]]
    opened: Callable[[], AbstractContextManager[Holds]]
    """What must hold, with whatever it needs open: a sandbox, a server."""
    examples: int = 100
    """How many the tests run."""
    modules: tuple[str, ...] = ()
    """Without one of these libraries there is nothing to run."""

    def missing(self) -> list[str]:
        """The libraries that are not installed."""
        return [name for name in self.modules if find_spec(name) is None]

    def corpus(self) -> list[Any]:
        """What was found before: a literal a line, below a comment that says what came of it."""
        path = CORPUS / f"{self.name}.txt"
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
        return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]


class Finding(NamedTuple):
    """The shortest input that was found for which a target does not hold."""

    input: Any
    error: BaseException


def plain(holds: Holds) -> Callable[[], AbstractContextManager[Holds]]:
    """For a target that needs nothing open."""

    @contextmanager
    def opened() -> Iterator[Holds]:
        yield holds

    return opened


def run(target: Target, holds: Holds, examples: int, number: int | None = None) -> Finding | None:
    """Give `holds` the corpus, then so many inputs, always the same ones for a `number` (and for None)."""
    last: list[Any] = [None]  # the one under test; None: the strategy itself failed

    def tried(value: Any) -> None:
        last[0] = value
        holds(value)
        last[0] = None

    wanted = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=number is None,
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=Verbosity.quiet,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    test = wanted(given(target.inputs())(tried))
    try:
        for value in target.corpus():
            tried(value)
        (test if number is None else seed(number)(test))()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return shortest(Finding(last[0], error), holds)
    return None


def told(target: Target, finding: Finding) -> None:
    """Print it, for people and for the corpus."""
    print(f"FOUND by {target.name}; its line for {CORPUS.name}/{target.name}.txt:\n{finding.input!r}", flush=True)
    traceback.print_exception(finding.error, limit=-6, chain=False)
    sys.stderr.flush()


def shortest(found: Finding, holds: Holds) -> Finding:
    """The finding with as much taken away as can be, in so many tries."""
    if not isinstance(found.input, str | bytes | list):
        return found
    best, tries = found, iter(range(SHORTENINGS))

    def fails(shorter: Any) -> bool:
        nonlocal best
        try:
            holds(shorter)
        except Exception as error:
            if type(error) is type(found.error):
                best = Finding(shorter, error)
                return True
        return False

    shortened(found.input, fails, lambda: next(tries, None) is not None)
    return best


def run_for(target: Target, holds: Holds, seconds: float, number: int) -> tuple[int, Finding | None]:
    """Rounds with the seeds from `number` on, until the time is over. How many inputs there were."""
    started, tried = monotonic(), [0]

    def counted(value: Any) -> None:
        tried[0] += 1
        holds(value)

    while True:
        finding = run(target, counted, target.examples, number)
        if finding is not None or monotonic() - started > seconds:
            return tried[0], finding
        number += 1
