"""`search` and `async_search`: the plan, carried out in sessions.

`Search` is written once, as a coroutine: on an event loop it waits, in a thread nothing that it calls does. States are
branches of the caller's session. Those that will be needed are kept alive, as far as the policy allows so many
branches; any other is made again by running the programs that led there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Generic, TypeVar

from safeexec.agent.search import jobs
from safeexec.agent.search.plan import Budget, Method, Plan, TriedProgram
from safeexec.agent.search.tree import OPEN, ROOT, SearchNode, SearchTree, Spent
from safeexec.common.coroutines import at_once, now_or_awaited
from safeexec.errors import CheckpointError, SandboxError, SessionClosed

S = TypeVar("S")

DEEPEST = 6
"""Branches of branches, after which a state is made again from the root: each of them keeps copies of those above it,
and a process has only so many layers of Landlock."""
STOP_SECONDS = 0.05
"""Seconds between two attempts to stop programs that nobody waits for any more."""
EXHAUSTED, INTERRUPTED, LOST, REFUSED = "exhausted", "interrupted", "lost", "refused"


class SearchResult(Generic[S]):
    """The result of a search. Closing it, or leaving its `with` block, closes `best`."""

    def __init__(self, best: S | None, tree: SearchTree, why: str, message: str) -> None:
        self.best = best
        """A session in the best state, to go on from; None if no state has a score, or if the sandbox has gone."""
        self.tree = tree
        self.why = why
        """The reason for its end: ``exhausted`` (nothing left to try), ``goal``, ``steps``, ``seconds`` or ``tokens``
        (of the budget), ``interrupted``, ``lost`` (the sandbox has gone), ``refused`` (no branch can be made).
        """
        self.message = message
        """The reason why it ended, in a sentence."""

    @property
    def score(self) -> float | None:
        """The best score."""
        return None if self.tree.best is None else self.tree.best.score

    @property
    def sources(self) -> list[str]:
        """The programs that lead to the best state, in order."""
        return [] if self.tree.best is None else self.tree.best.sources

    @property
    def spent(self) -> Spent:
        return self.tree.spent

    def close(self) -> Any:
        """Close `best`. To be awaited where the session is."""
        return self.best.close() if self.best is not None else None  # type: ignore[attr-defined]

    def __enter__(self) -> SearchResult[S]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> SearchResult[S]:
        return self

    async def __aexit__(self, *_: object) -> None:
        if (closing := self.close()) is not None:
            await closing

    def __repr__(self) -> str:
        return f"<SearchResult: {self.message}; {self.tree!r}>"


class Job:
    """Something to do, and its outcome."""

    __slots__ = ("_do", "error", "value")

    def __init__(self, do: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._do = do
        self.value: Any = None
        self.error: Exception | None = None

    async def run(self) -> None:
        """Do it. What it raises is kept, but for what ends the search."""
        try:
            self.value = await self._do()
        except Exception as error:
            self.error = error

    def result(self) -> Any:
        """Return the outcome, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


class Search:
    """One search. `carry_out` has its jobs done side by side by `doing`."""

    def __init__(
        self,
        session: Any,
        proposer: Any,
        score: Any,
        plan: Plan,
        doing: SideBySide,
        *,
        timeout: float | None,
        progress: Callable[[SearchTree], object],
    ) -> None:
        self.plan = plan
        self.tree = plan.tree
        if isinstance(proposer, str) or not (callable(proposer) or isinstance(proposer, Iterable)):
            raise TypeError(f"propose is a list of programs or a function, not {type(proposer).__name__}")
        self._proposer = proposer if callable(proposer) else list(proposer)
        self._began = monotonic() - self.tree.spent.seconds
        seconds = plan.budget.seconds
        self._trials = jobs.Trials(score, timeout, None if seconds is None else self._began + seconds)
        self._doing = doing
        self._progress = progress
        self._room: int = session.policy.limits.branches
        """Branches that may be open."""
        self._live: dict[SearchNode, Any] = {self.tree.root: session}
        self._layers: dict[SearchNode, int] = {self.tree.root: 0}

        self.opened: list[Any] = []
        """Sessions to close, and those that were."""
        self.stopping = False
        """Programs that ran were stopped, to be tried again when the search is gone on with."""
        self.best: Any = None
        self.why, self.message = EXHAUSTED, "nothing is left to try"

    async def result(self) -> SearchResult[Any]:
        """Carry it out, and close every session but the best one: with an error that one, too."""
        try:
            await self._carry_out()
        except BaseException:
            self.best = None
            raise
        finally:
            for session in self._to_close():
                with suppress(SandboxError):
                    await now_or_awaited(session.close())
        return SearchResult(self.best, self.tree, self.why, self.message)

    async def _carry_out(self) -> None:
        """Run the search to its end, whatever that is. After it `best` is a live session, if there can be one."""
        try:
            await self._search()
        except KeyboardInterrupt:
            self.why, self.message = INTERRUPTED, "the search was interrupted"
        except SandboxError as error:
            self._note_end(error)
        self._clock()
        best = self.tree.best
        asked = (node for node in self.tree.nodes if node.status in (ROOT, OPEN))
        if not_proposed := next((node.problem for node in asked if node.problem), ""):
            self.message += f"; {not_proposed}"
        if best is None and (first := next((node.why_not for node in self.tree.nodes[1:] if node.why_not), "")):
            self.message += f"; no program led to a score, the first because {first}"
        if best is not None and self.why != LOST:
            try:
                await self._keep(best)
            except KeyboardInterrupt:
                pass
            except SandboxError as error:
                self._note_end(error)

    def _note_end(self, error: SandboxError) -> None:
        refused = isinstance(error, CheckpointError)
        self.why, self.message = REFUSED if refused else LOST, f"the search could not go on: {error}"
        if not refused:
            self.best = None

    async def _keep(self, node: SearchNode) -> None:
        """Have the best state in a session whose steps can be undone as those of the caller's can."""
        self.best = self._live.get(node)
        await self._close(self._to_close())
        if self.best is None:
            await self._revive([node])
            self.best = self._live.get(node)
        elif self._room > 1:
            (branching,) = await self._branch([(self.best, 1)], self._live[self.tree.root].policy.checkpoints)
            if isinstance(branching.error, SessionClosed):
                raise branching.error
            if branching.error is None:
                (self.best,) = branching.value
                await self._close(self._to_close())

    async def _search(self) -> None:
        plan = self.plan
        while (over := plan.over()) is None:
            capacity = max(1, self._room - self._room // 2)  # sessions that may come to those that are kept
            if untried := plan.untried():
                await self._try(untried[:capacity])
            elif nodes := plan.select()[:capacity]:
                await self._ask(nodes)
            else:
                return
            self._clock()
            self._progress(self.tree)
        used = {"goal": "a state has the score that was asked for"}
        self.why, self.message = over, used.get(over, f"the budget is used up: {over}")

    def _clock(self) -> None:
        self.tree.spent.seconds = monotonic() - self._began

    async def _do(self, *work: Callable[[], Coroutine[Any, Any, Any]]) -> list[Job]:
        made = [*map(Job, work)]
        await self._doing(made, self)
        return made

    async def _branch(self, wanted: list[tuple[Any, int]], checkpoints: str) -> list[Job]:
        """Make so many branches of each session. Most run one program: ``off``, for nobody goes back in them."""

        async def branched(session: Any, count: int) -> Any:
            return await now_or_awaited(session.branch(count, checkpoints=checkpoints))

        branching = [Job(partial(branched, session, count)) for session, count in wanted]
        try:
            await self._doing(branching, self)
        finally:
            for job in branching:
                self.opened += job.value or []
        return branching

    # Proposals

    async def _ask(self, nodes: list[SearchNode]) -> None:
        await self._revive(nodes)
        plan, tree = self.plan, self.tree
        asked = [node for node in nodes if node in self._live]
        states = [jobs.SearchState(self._live[node], node, tree) for node in asked]
        proposing = [partial(jobs.propose, self._proposer, state, plan.room(state.node)) for state in states]
        for node, job in zip(asked, await self._do(*proposing), strict=True):
            sources, tokens, problem = job.result()
            tree.spent.tokens += tokens
            plan.proposed(node, sources, problem)
        await self._close(self._trim())

    # Programs

    async def _try(self, nodes: list[SearchNode]) -> None:
        """Try programs, each in a branch of the state that it is proposed for."""
        parents = list(dict.fromkeys(node.parent for node in nodes if node.parent is not None))
        await self._revive(parents)
        groups = {parent: [node for node in nodes if node.parent is parent] for parent in parents}
        for parent in [parent for parent in parents if parent not in self._live]:
            for node in groups.pop(parent):
                self.plan.record(node, TriedProgram(None, problem=parent.problem))
        if self._room <= 1 and self.tree.root not in groups:
            # No room for a branch beside the state: it is the state itself that goes on, and is made again if need be.
            await self._run([(group[0], self._live.pop(parent)) for parent, group in groups.items()])
            return
        branching = await self._branch([(self._live[parent], len(group)) for parent, group in groups.items()], "off")
        if refusals := [job.error for job in branching if isinstance(job.error, CheckpointError)]:
            await self._close([session for job in branching for session in job.value or ()])
            await self._halve_room(refusals[0])
            return
        pairs = [
            (node, session)
            for (_, group), job in zip(groups.items(), branching, strict=True)
            for node, session in zip(group, job.result(), strict=True)
        ]
        await self._run(sorted(pairs, key=lambda pair: pair[0].id))

    async def _halve_room(self, error: CheckpointError, keep: Iterable[SearchNode] = ()) -> None:
        """Open fewer branches at a time, after a refusal: others may have branches of the session, too."""
        if self._room <= 1:
            raise error
        self._room //= 2
        await self._close(self._trim(keep))

    async def _run(self, pairs: list[tuple[SearchNode, Any]]) -> None:
        running = [Job(partial(self._trials.attempt, session, node.source)) for node, session in pairs]
        lost: Exception | None = None
        try:
            await self._doing(running, self)
        finally:
            over: list[Any] = []
            for (node, session), job in zip(pairs, running, strict=True):
                lost = lost or (job.error if isinstance(job.error, SessionClosed) else None)
                over += self._record(node, session, job)
        await self._close([*over, *self._trim()])
        if lost is not None:
            raise lost

    def _record(self, node: SearchNode, session: Any, job: Job) -> list[Any]:
        """Record the outcome of a program. Return the session, if it is over."""
        if job.error is not None and not isinstance(job.error, SessionClosed):
            self.plan.record(node, TriedProgram(None, problem=jobs.in_words(job.error)))
        elif job.value is not None:
            tried = job.value
            if self.stopping and tried.result.outcome == "cancelled":
                return [session]
            self.plan.record(node, tried)
            if tried.spoiled:
                return [session]
        if node.status != OPEN:
            return [session]
        parent = node.parent
        self._live[node] = session
        self._layers[node] = 1 + (self._layers.get(parent, 0) if parent is not None else 0)
        return []

    # States

    async def _revive(self, nodes: list[SearchNode]) -> None:
        """Have the states of these nodes in sessions, by running the programs that led there once more, from the root.
        One that cannot be had is no state to go on from; its `problem` says why.
        """
        root = self._live[self.tree.root]
        deep = [self._live.pop(node) for node in nodes if self._layers.get(node, 0) >= DEEPEST and node in self._live]
        await self._close(deep)
        for node in nodes:
            if node in self._live:
                continue
            mode = root.policy.checkpoints
            (branching,) = await self._branch([(root, 1)], mode)
            if isinstance(branching.error, CheckpointError):
                await self._halve_room(branching.error, nodes)
                (branching,) = await self._branch([(root, 1)], mode)
            (session,) = branching.result()
            self.tree.spent.replayed += node.depth
            (job,) = await self._do(partial(self._trials.replay, session, node.sources))
            if problem := job.value or ("" if job.error is None else jobs.in_words(job.error)):
                node.problem, node.expanded = problem, True
                await self._close([session])
                continue
            self._live[node], self._layers[node] = session, 1

    def _trim(self, keep: Iterable[SearchNode] = ()) -> list[Any]:
        """Give up the states that will not be needed, and of the others those beyond what there is room for. Their
        sessions, to be closed.
        """
        waiting = {node.parent for node in self.plan.untried()}
        needed = [self.tree.root, *keep, *(node for node in self._live if node in waiting)]
        kept = {*needed, *self.plan.needed_states()[: self._room // 2]}
        return [self._live.pop(node) for node in list(self._live) if node not in kept]

    async def _close(self, sessions: list[Any]) -> None:
        async def closed(session: Any) -> None:
            await now_or_awaited(session.close())

        if sessions:
            await self._do(*(partial(closed, session) for session in sessions))
            self.opened = [session for session in self.opened if not any(session is one for one in sessions)]

    def _to_close(self) -> list[Any]:
        """Return the sessions to be closed at the end: all but the best one."""
        return [session for session in self.opened if session is not self.best]


# Sync and async API

SideBySide = Callable[[list[Job], Search], Coroutine[Any, Any, None]]
"""Does the jobs of a search, all of them."""


def _at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return at_once(coroutine, TypeError("something is awaited: use async_search()"))


def search(
    session: S,
    propose: Any,
    score: Any,
    *,
    budget: Budget | None = None,
    method: Method = "best-of-n",
    width: int | None = None,
    depth: int | None = None,
    workers: int = 1,
    goal: float | None = None,
    timeout: float | None = None,
    progress: Callable[[SearchTree], object] = lambda tree: None,
    resume: SearchTree | None = None,
) -> SearchResult[S]:
    """Try programs in branches of `session`, score the states that they lead to, and keep the best one.

        with search(session, ["x = 1", "x = 2"], "-abs(x - 1.7)") as found:
            found.best.run("x")

    `propose` is a list of programs, or a function that is asked about a state (`SearchState`) and gives programs to try
    in it (str, or `Proposal`, which counts tokens). `score` is a program whose value is the score of a state, the
    higher the better, or a function of the session, or of session and result. Neither is to change the session.

    ``best-of-n`` tries `width` programs in one state. ``beam`` goes on from the `width` best states of each depth, down
    to `depth`. A program that fails is undone. A score that raises, or is NaN, is none.

    The search is over when `budget` is used up, when a score reaches `goal`, or when nothing is left to try; and at
    Ctrl-C, or when the sandbox dies: `why` of the result says it. Its `tree`, given as `resume`, is gone on with; it is
    changed in place while the search runs. With `workers`, programs, scores and proposers run in so many threads; the
    choice does not depend on which of them are done first. `timeout` in seconds is that of each program. `progress`
    gets the tree after each round.

    `session` stays as it is. Every other session is closed but `best` of the result, which is the caller's to close.
    Raises ValueError and TypeError for arguments that make no sense.
    """
    plan = Plan(resume or SearchTree(), method=method, width=width, depth=depth, budget=budget, goal=goal)
    with ThreadPoolExecutor(_checked(workers), "safeexec-search") as pool:
        doing = partial(_in_threads, pool if workers > 1 else None)
        result: SearchResult[S] = _at_once(
            Search(session, propose, score, plan, doing, timeout=timeout, progress=progress).result()
        )
        return result


async def async_search(
    session: S,
    propose: Any,
    score: Any,
    *,
    budget: Budget | None = None,
    method: Method = "best-of-n",
    width: int | None = None,
    depth: int | None = None,
    workers: int = 1,
    goal: float | None = None,
    timeout: float | None = None,
    progress: Callable[[SearchTree], object] = lambda tree: None,
    resume: SearchTree | None = None,
) -> SearchResult[S]:
    """As `search`, on asyncio's event loop: `workers` programs at a time, proposers and scores may be asynchronous.

    Cancelling the task stops the search, closes all that it has opened and raises; what it had found is in the tree
    that was given as `resume`.
    """
    plan = Plan(resume or SearchTree(), method=method, width=width, depth=depth, budget=budget, goal=goal)
    places = asyncio.Semaphore(_checked(workers))

    async def one(job: Job) -> None:
        async with places:
            await job.run()

    async def doing(work: list[Job], _: Search) -> None:
        running = [asyncio.ensure_future(one(job)) for job in work]
        try:
            await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    return await Search(session, propose, score, plan, doing, timeout=timeout, progress=progress).result()


async def _in_threads(pool: ThreadPoolExecutor | None, work: list[Job], search: Search) -> None:
    """Do all of the work, in a pool of threads or one after the other. Ctrl-C stops the jobs that run, and waits."""
    if pool is None or len(work) == 1:
        for job in work:
            await job.run()
        return
    futures = [pool.submit(lambda job: _at_once(job.run()), job) for job in work]
    try:
        for future in futures:
            future.result()
    except BaseException:
        search.stopping = True
        for future in futures:
            future.cancel()
        while running := [future for future in futures if not future.done()]:
            for session in search.opened:
                session.cancel()
            wait(running, STOP_SECONDS)
        raise


def _checked(workers: int) -> int:
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r}: a whole number, at least 1")
    return workers
