"""Jobs of a search: propose, try, score, replay. Each is written once, for the sync and the async API: what a session
returns is awaited where it is to be.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any

from safeexec.agent.search.plan import Proposal, TriedProgram
from safeexec.agent.search.tree import SearchNode, SearchTree
from safeexec.common.coroutines import now_or_awaited
from safeexec.common.text import printable
from safeexec.errors import SessionClosed
from safeexec.results import Result

REPEATS = 100
"""Programs in a row that a proposer has given before, after which it is not asked further."""
SHORTEST_SECONDS = 0.01
"""Limit of a step when the search is out of time: it ends as late, and is not recorded."""


@dataclass(frozen=True, slots=True)
class SearchState:
    """A state of the search, given to a proposer. `session` is to be looked at, not changed."""

    session: Any
    node: SearchNode
    tree: SearchTree

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


async def propose(proposer: Any, state: SearchState, room: int) -> tuple[list[str], int, str]:
    """Ask for programs that go on from a state, `room` new ones at most. Return them, the tokens that they took, and
    why there are no more.
    """
    sources: list[str] = []
    tokens, problem = 0, ""
    known = {child.source for child in state.node.children}
    try:
        given = await now_or_awaited(proposer(state)) if callable(proposer) else proposer
        for item in _new(given, known, room):
            sources.append(item.source)
            tokens += item.tokens
    except Exception as error:
        problem = f"the proposer raised {in_words(error)}"
    return sources, tokens, problem


def _new(given: Any, known: set[str], room: int) -> Iterator[Proposal]:
    """Yield the proposals among `given` that are new. Ends where they repeat themselves for long."""
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


class Trials:
    """Tries programs and scores states. `score`: a program whose value it is, or a function of the session, or of the
    session and the step's result. `timeout`: seconds of a step, None: the policy's. `deadline`: when the search is to
    end, monotonic seconds.
    """

    def __init__(self, score: Any, timeout: float | None, deadline: float | None) -> None:
        if not callable(score) and not isinstance(score, str):
            raise TypeError(f"score is a function or a program, not {type(score).__name__}")
        self._score = score
        self._takes_result = callable(score) and _takes_two(score)
        self._timeout = timeout
        self._deadline = deadline

    async def attempt(self, session: Any, source: str) -> TriedProgram | None:
        """Try a program in a session of its own. None where there was no time left."""
        if self._is_late():
            return None
        result = await self._run(session, source)
        if not result.ok:
            return None if self._is_late() and result.outcome == "timeout" else TriedProgram(result)
        try:
            return await self._scored(session, result)
        except SessionClosed:
            raise
        except Exception as error:
            return TriedProgram(result, None, f"the score raised {in_words(error)}")

    async def _scored(self, session: Any, result: Result) -> TriedProgram:
        if callable(self._score):
            given = (session, result) if self._takes_result else (session,)
            return TriedProgram(result, await now_or_awaited(self._score(*given)))
        found = (await self._run(session, self._score)).check()
        changes = found.changes
        spoiled = bool(changes.created or changes.changed or changes.deleted or found.files)
        return TriedProgram(result, found.value, spoiled=spoiled)

    async def replay(self, session: Any, sources: list[str]) -> str:
        """Run programs once more, to be in the state that they lead to. Return why they fail, if they do."""
        for source in sources:
            result = await self._run(session, source)
            if not result.ok:
                error = result.error
                said = result.outcome if error is None else f"{error.type}: {error.message}"
                return f"a program that had run before failed when it was run once more: {printable(said)}"
        return ""

    async def _run(self, session: Any, source: str) -> Result:
        limit = self._timeout
        if self._deadline is not None:
            own = session.policy.limits.wall_seconds if limit is None else limit
            limit = max(SHORTEST_SECONDS, min(own, self._deadline - monotonic()))
        result: Result = await now_or_awaited(session.run(source, timeout=limit))
        return result

    def _is_late(self) -> bool:
        """Return True when the time of the search is over."""
        return self._deadline is not None and monotonic() >= self._deadline


def _takes_two(score: Any) -> bool:
    """Return True for a function that takes the result of the step besides the session."""
    try:
        parameters = list(inspect.signature(score).parameters.values())
    except (TypeError, ValueError):  # of C code: it is given the session
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [found for found in parameters if found.kind in kinds and found.default is found.empty]
    return len(required) > 1 or any(found.kind is inspect.Parameter.VAR_POSITIONAL for found in parameters)


def in_words(error: BaseException) -> str:
    """Return an exception in one line."""
    return printable(f"{type(error).__name__}: {error}").partition("\n")[0][:500]
