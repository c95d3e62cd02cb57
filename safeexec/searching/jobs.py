"""Jobs of a search: propose, branch, try, score, replay. Each is written once, for the sync and the async API.

A job is a generator that yields calls of a session's methods and is resumed with what they return, awaited where the
session is that of an event loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from time import monotonic
from typing import Any

from safeexec.common.text import printable
from safeexec.errors import SessionClosed
from safeexec.results import Result
from safeexec.searching.plan import Proposal, TriedProgram
from safeexec.searching.tree import SearchNode, SearchTree

REPEATS = 100
"""Programs in a row that a proposer has given before, after which it is not asked further."""
SHORTEST_SECONDS = 0.01
"""What a step gets although the search is out of time: it ends as late, and is not recorded."""
Job = Generator[Callable[[], Any], Any, Any]


@dataclass(frozen=True, slots=True)
class SearchState:
    """A state of the search, given to a proposer. `session` is to be looked at, not changed; `random` gives
    the same numbers in each search with the same seed.
    """

    session: Any
    node: SearchNode
    tree: SearchTree
    random: Random

    @property
    def sources(self) -> list[str]:
        """The programs that led here."""
        return self.node.sources

    @property
    def result(self) -> Result | None:
        """The result of the last of them."""
        return self.node.result

    @property
    def score(self) -> float | None:
        return self.node.score

    @property
    def depth(self) -> int:
        return self.node.depth


@dataclass(frozen=True, slots=True)
class Proposals:
    """The programs of one call of a proposer."""

    sources: list[str]
    tokens: int = 0
    problem: str = ""


def propose(proposer: Any, state: SearchState, room: int) -> Job:
    """Ask for programs that go on from a state, `room` new ones at most."""
    sources: list[str] = []
    tokens, problem = 0, ""
    known = {child.source for child in state.node.children}
    try:
        if callable(proposer):
            given = yield partial(proposer, state)
        else:
            given = proposer
        for item in _new(given, known, room):
            sources.append(item.source)
            tokens += item.tokens
    except Exception as error:
        problem = f"the proposer raised {in_words(error)}"
    return Proposals(sources, tokens, problem)


def _new(given: Any, known: set[str], room: int) -> Iterator[Proposal]:
    """The proposals among `given` that are new. Ends where they repeat themselves for long."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"a proposer gives an iterable of sources, not {type(given).__name__}")
    repeated = 0
    for item in islice(given, room + REPEATS * (room + 1)):
        if room <= 0 or repeated >= REPEATS:
            return
        proposal = Proposal(item) if isinstance(item, str) else item
        if not isinstance(proposal, Proposal):
            raise TypeError(f"a proposal is a str or a Proposal, not {type(item).__name__}")
        if proposal.source in known:
            repeated += 1
            continue
        known.add(proposal.source)
        room, repeated = room - 1, 0
        yield proposal


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings of a trial; made by `trial`. `timeout`: seconds of a step, None: the policy's."""

    score: Any
    takes_result: bool
    timeout: float | None
    deadline: float | None
    """When the search is to end, monotonic seconds."""

    def limit(self, session: Any) -> float | None:
        """Seconds for the next step; None: the policy's."""
        if self.deadline is None:
            return self.timeout
        own = session.policy.limits.wall_seconds if self.timeout is None else self.timeout
        return max(SHORTEST_SECONDS, min(own, self.deadline - monotonic()))

    def is_late(self) -> bool:
        """Return whether the time of the search is over."""
        return self.deadline is not None and monotonic() >= self.deadline


def trial(score: Any, timeout: float | None, deadline: float | None) -> Trial:
    """`score`: a program whose value it is, or a function of the session, or of the session and the step's result."""
    takes_result = False
    if callable(score):
        try:
            parameters = list(inspect.signature(score).parameters.values())
        except (TypeError, ValueError):  # of C code: it is given the session
            parameters = []
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        required = [found for found in parameters if found.kind in kinds and found.default is found.empty]
        takes_result = len(required) > 1 or any(found.kind is inspect.Parameter.VAR_POSITIONAL for found in parameters)
    elif not isinstance(score, str):
        raise TypeError(f"score is a function or a program, not {type(score).__name__}")
    return Trial(score, takes_result, timeout, deadline)


def branch(session: Any, count: int, checkpoints: str) -> Job:
    """So many sessions that go on from this one's state."""
    return (yield partial(session.branch, count, checkpoints=checkpoints))


def attempt(session: Any, source: str, how: Trial) -> Job:
    """Try a program in a session of its own. Returns what came of it (`TriedProgram`), or None where there was no time
    left.
    """
    if how.is_late():
        return None
    result = yield partial(session.run, source, timeout=how.limit(session))
    if not result.ok:
        return None if how.is_late() and result.outcome == "timeout" else TriedProgram(result)
    try:
        value, spoiled = yield from scored(session, result, how)
    except SessionClosed:
        raise
    except Exception as error:
        return TriedProgram(result, None, f"the score raised {in_words(error)}")
    return TriedProgram(result, value, spoiled=spoiled)


def scored(session: Any, result: Result, how: Trial) -> Job:
    """The score of the state that a session is in, and whether the state is another one since."""
    if callable(how.score):
        return (yield partial(how.score, session, *([result] if how.takes_result else []))), False
    found = yield partial(session.run, how.score, timeout=how.limit(session))
    found.check()
    changes = found.changes
    return found.value, bool(changes.created or changes.changed or changes.deleted or found.files)


def replay(session: Any, sources: list[str], how: Trial) -> Job:
    """Run programs once more, to be in the state that they lead to. Why they do not, if they do not."""
    for source in sources:
        result = yield partial(session.run, source, timeout=how.limit(session))
        if not result.ok:
            error = result.error
            said = result.outcome if error is None else f"{error.type}: {error.message}"
            return f"a program that had run before failed when it was run once more: {printable(said)}"
    return ""


def in_words(error: BaseException) -> str:
    """An exception in one line."""
    return printable(f"{type(error).__name__}: {error}").partition("\n")[0][:500]
