"""`search` and `async_search`: the plan, carried out in sessions.

`Search` says which jobs are to be done next and takes in their results; `search` and `async_search` do them, side by
side. States are branches of the caller's session. Those that will be needed are kept alive, as far as the policy allows
so many branches; any other is made again by running the programs that led there.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Any, Generic, TypeVar

from safeexec.errors import CheckpointError, SandboxError, SessionClosed
from safeexec.searching import jobs
from safeexec.searching.plan import Budget, Method, Plan, TriedProgram
from safeexec.searching.tree import OPEN, SearchNode, SearchTree, Spent

S = TypeVar("S")

DEEPEST = 6
"""Branches of branches, after which a state is made again from the root: each of them keeps copies of those above it,
and a process has only so many layers of Landlock."""
STOP_SECONDS = 0.05
"""How often programs are stopped that nobody waits for any more."""
EXHAUSTED, INTERRUPTED, LOST, REFUSED = "exhausted", "interrupted", "lost", "refused"


class SearchResult(Generic[S]):
    """The result of a search. Closing it, or leaving its `with` block, closes `best`."""

    def __init__(self, best: S | None, tree: SearchTree, why: str, message: str) -> None:
        self.best = best
        """A session in the best state, to go on from; None if no state has a score, or if the sandbox has gone."""
        self.tree = tree
        self.why = why
        """Why the search is over: ``exhausted`` (nothing left to try), ``goal``, ``steps``, ``seconds`` or ``tokens``
        (of the budget), ``interrupted``, ``lost`` (the sandbox has gone), ``refused`` (no branch can be made).
        """
        self.message = message
        """The same in a sentence."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> SearchResult[S]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if (closing := self.close()) is not None:
            await closing

    def __repr__(self) -> str:
        return f"<SearchResult: {self.message}; {self.tree!r}>"


class Stopped(BaseException):
    """The search is to end with what it has."""


class SearchTask:
    """A job, and what came of it."""

    __slots__ = ("done", "error", "job", "value")

    def __init__(self, job: jobs.Job) -> None:
        self.job = job
        self.done = False
        self.value: Any = None
        self.error: Exception | None = None

    def next(self, given: Any = None, error: BaseException | None = None) -> Callable[[], Any] | None:
        """The next call of the job, after what the one before returned or raised. None: it is over."""
        try:
            return self.job.send(given) if error is None else self.job.throw(error)
        except StopIteration as stop:
            self.value, self.done = stop.value, True
        except Exception as failure:
            self.error = failure
        return None


Tasks = list[SearchTask]


class Search:
    """One search, without the doing. `carry_out` yields jobs to be done side by side."""

    def __init__(
        self,
        session: Any,
        proposer: Any,
        score: Any,
        plan: Plan,
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
        self._how = jobs.trial(score, timeout, None if seconds is None else self._began + seconds)
        self._progress = progress
        self._room: int = session.policy.limits.branches
        """Branches that may be open."""
        self._live: dict[SearchNode, Any] = {self.tree.root: session}
        self._layers: dict[SearchNode, int] = {self.tree.root: 0}

        self.opened: list[Any] = []
        """Sessions to close, and those that were."""
        self.stopping = False
        """Whether programs that run are being stopped, to be tried again when the search is gone on with."""
        self.best: Any = None
        self.why, self.message = EXHAUSTED, "nothing is left to try"

    def carry_out(self) -> Generator[Tasks, None, None]:
        """To its end, whatever that is. After it `best` is a live session, if there can be one."""
        try:
            yield from self._search()
        except (Stopped, KeyboardInterrupt):
            self.why, self.message = INTERRUPTED, "the search was interrupted"
        except SandboxError as error:
            self._ended(error)
        self._clock()
        best = self.tree.best
        if best is None and (first := next((node.why_not for node in self.tree.nodes[1:] if node.why_not), "")):
            self.message += f"; no program led to a score, the first because {first}"
        if best is not None and self.why != LOST:
            try:
                yield from self._keep(best)
            except (Stopped, KeyboardInterrupt):
                pass
            except SandboxError as error:
                self._ended(error)

    def _ended(self, error: SandboxError) -> None:
        refused = isinstance(error, CheckpointError)
        self.why, self.message = REFUSED if refused else LOST, f"the search could not go on: {error}"
        if not refused:
            self.best = None

    def _keep(self, node: SearchNode) -> Generator[Tasks, None, None]:
        """Have the best state in a session whose steps can be undone as those of the caller's can."""
        self.best = self._live.get(node)
        yield from self._closed(self.left())
        if self.best is None:
            yield from self._revive([node])
            self.best = self._live.get(node)
        elif self._room > 1:
            (branching,) = yield from self._branched([(self.best, 1)], self._live[self.tree.root].policy.checkpoints)
            if isinstance(branching.error, SessionClosed):
                raise branching.error
            if branching.error is None:
                (self.best,) = branching.value
                yield from self._closed(self.left())

    def _search(self) -> Generator[Tasks, None, None]:
        plan = self.plan

        while (over := plan.over()) is None:
            if untried := plan.untried():
                yield from self._try(untried[: self._capacity])
            elif nodes := plan.select()[: self._capacity]:
                yield from self._ask(nodes)
            else:
                return
            self._clock()
            self._progress(self.tree)
        used = {"goal": "a state has the score that was asked for"}
        self.why, self.message = over, used.get(over, f"the budget is used up: {over}")

    def _clock(self) -> None:
        self.tree.spent.seconds = monotonic() - self._began

    @property
    def _capacity(self) -> int:
        """Return how many sessions may come to those that are kept."""
        return max(1, self._room - self._room // 2)

    def _done(self, work: list[jobs.Job]) -> Generator[Tasks, None, Tasks]:
        tasks = [SearchTask(job) for job in work]
        yield tasks
        return tasks

    def _branched(self, wanted: list[tuple[Any, int]], checkpoints: str) -> Generator[Tasks, None, Tasks]:
        """So many branches of each session. Most run one program: ``off``, for nobody goes back in them."""
        branching = [SearchTask(jobs.branch(session, count, checkpoints)) for session, count in wanted]
        try:
            yield branching
        finally:
            for task in branching:
                self.opened += task.value or []
        return branching

    # Proposals

    def _ask(self, nodes: list[SearchNode]) -> Generator[Tasks, None, None]:
        yield from self._revive(nodes)
        plan, tree = self.plan, self.tree
        asked = [node for node in nodes if node in self._live]
        states = [jobs.SearchState(self._live[node], node, tree, plan.random(node)) for node in asked]
        tasks = yield from self._done([jobs.propose(self._proposer, state, plan.room(state.node)) for state in states])
        for node, task in zip(asked, tasks, strict=True):
            given = _value(task)
            tree.spent.tokens += given.tokens
            if not plan.proposed(node, given.sources, given.problem):
                self._trim()

    # Programs

    def _try(self, nodes: list[SearchNode]) -> Generator[Tasks, None, None]:
        """Try programs, each in a branch of the state that it is proposed for."""
        parents = list(dict.fromkeys(node.parent for node in nodes if node.parent is not None))
        yield from self._revive(parents)
        groups = {parent: [node for node in nodes if node.parent is parent] for parent in parents}
        for parent in [parent for parent in parents if parent not in self._live]:
            for node in groups.pop(parent):
                self.plan.record(node, TriedProgram(None, problem=parent.problem))
        if self._room <= 1 and self.tree.root not in groups:
            # No room for a branch beside the state: it is the state itself that goes on, and is made again if need be.
            yield from self._run([(group[0], self._live.pop(parent)) for parent, group in groups.items()])
            return
        tasks = yield from self._branched([(self._live[parent], len(group)) for parent, group in groups.items()], "off")
        if refusals := [task.error for task in tasks if isinstance(task.error, CheckpointError)]:
            yield from self._refused(refusals[0], tasks)
            return
        pairs = [
            (node, session)
            for (_, group), task in zip(groups.items(), tasks, strict=True)
            for node, session in zip(group, _value(task), strict=True)
        ]
        yield from self._run(sorted(pairs, key=lambda pair: pair[0].id))

    def _refused(self, error: Exception, tasks: Tasks) -> Generator[Tasks, None, None]:
        """Fewer at a time, then: others may have branches of the session, too."""
        yield from self._closed([session for task in tasks for session in task.value or ()])
        if self._room <= 1:
            raise error
        self._room //= 2
        yield from self._closed(self._trim())

    def _run(self, pairs: list[tuple[SearchNode, Any]]) -> Generator[Tasks, None, None]:
        tasks = [SearchTask(jobs.attempt(session, node.source, self._how)) for node, session in pairs]
        lost: Exception | None = None
        try:
            yield tasks
        finally:
            over: list[Any] = []
            for (node, session), task in zip(pairs, tasks, strict=True):
                lost = lost or (task.error if isinstance(task.error, SessionClosed) else None)
                over += self._recorded(node, session, task)
        yield from self._closed([*over, *self._trim()])
        if lost is not None:
            raise lost

    def _recorded(self, node: SearchNode, session: Any, task: SearchTask) -> list[Any]:
        """Take in what came of a program. The session, if it is over."""
        if task.error is not None and not isinstance(task.error, SessionClosed):
            self.plan.record(node, TriedProgram(None, problem=jobs.in_words(task.error)))
        elif task.done and task.value is not None:
            tried = task.value
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

    def _revive(self, nodes: list[SearchNode]) -> Generator[Tasks, None, None]:
        """Have the states of these nodes in sessions, by running the programs that led there once more, from the root.
        One that cannot be had is no state to go on from; its `problem` says why.
        """
        root = self._live[self.tree.root]
        deep = [self._live.pop(node) for node in nodes if self._layers.get(node, 0) >= DEEPEST and node in self._live]
        yield from self._closed(deep)
        for node in nodes:
            if node in self._live:
                continue
            mode = root.policy.checkpoints
            (branching,) = yield from self._branched([(root, 1)], mode)
            if isinstance(branching.error, CheckpointError) and self._room > 1:
                self._room //= 2
                yield from self._closed(self._trim(nodes))
                (branching,) = yield from self._branched([(root, 1)], mode)
            (session,) = _value(branching)
            self.tree.spent.replayed += node.depth
            (task,) = yield from self._done([jobs.replay(session, node.sources, self._how)])
            if problem := task.value or ("" if task.error is None else jobs.in_words(task.error)):
                node.problem, node.expanded = problem, True
                yield from self._closed([session])
                continue
            self._live[node], self._layers[node] = session, 1

    def _trim(self, keep: Iterable[SearchNode] = ()) -> list[Any]:
        """Give up the states that will not be needed, and of the others those beyond what there is room for. Their
        sessions, to be closed.
        """
        waiting = {node.parent for node in self.plan.untried()}
        needed = [self.tree.root, *keep, *(node for node in self._live if node in waiting)]
        kept = {*needed, *self.plan.worth()[: self._room // 2]}
        return [self._live.pop(node) for node in list(self._live) if node not in kept]

    def _closed(self, sessions: list[Any]) -> Generator[Tasks, None, None]:
        if sessions:
            yield from self._done([_closing(session) for session in sessions])
            gone = {id(session) for session in sessions}
            self.opened = [session for session in self.opened if id(session) not in gone]

    def left(self) -> list[Any]:
        """Return what is to be closed at the end: every session but the best one."""
        return [session for session in self.opened if session is not self.best]


def _closing(session: Any) -> jobs.Job:
    yield session.close


def _value(task: SearchTask) -> Any:
    if task.error is not None:
        raise task.error
    return task.value


# Sync and async API


def do(task: SearchTask) -> None:
    """Do a job to its end, blocking."""
    call = task.next()
    while call is not None:
        try:
            value = call()
        except BaseException as error:
            call = task.next(error=error)
        else:
            call = task.next(value)


async def do_async(task: SearchTask) -> None:
    """The same on an event loop."""
    call = task.next()
    while call is not None:
        try:
            value = call()
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:
            call = task.next(error=error)
        else:
            call = task.next(value)


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
    seed: int = 0,
    goal: float | None = None,
    timeout: float | None = None,
    progress: bool | Callable[[SearchTree], object] = False,
    resume: SearchTree | None = None,
) -> SearchResult[S]:
    """Try programs in branches of `session`, score the states that they lead to, and keep the best one.

        with search(session, ["x = 1", "x = 2"], "-abs(x - 1.7)") as found:
            found.best.run("x")

    `propose` is a list of programs, or a function that is asked about a state (`SearchState`) and gives programs to try
    in it (str, or `Proposal`, which counts tokens). `score` is a program whose value is the score of a state, the
    higher the better, or a function of the session, or of session and result. Neither is to change the session.

    ``best-of-n`` tries `width` programs in one state. ``beam`` goes on from the `width` best states of each depth, down
    to `depth`. `seed` is that of the random numbers that proposers are given. A program that fails is undone. A score
    that raises, or is NaN, is none.

    The search is over when `budget` is used up, when a score reaches `goal`, or when nothing is left to try; and at
    Ctrl-C, or when the sandbox dies: `why` of the result says it. Its `tree`, given as `resume`, is gone on with; it is
    changed in place while the search runs. With `workers`, programs, scores and proposers run in so many threads; the
    choice does not depend on which of them are done first. `timeout` in seconds is that of each program. `progress`
    shows a line that grows, or is a function that gets the tree.

    `session` stays as it is. Every other session is closed but `best` of the result, which is the caller's to close.
    Raises ValueError and TypeError for arguments that make no sense.
    """
    plan = Plan(resume or SearchTree(), method=method, width=width, depth=depth, budget=budget, seed=seed, goal=goal)
    with _SearchThreads(_checked(workers)) as threads, _SearchProgress(progress) as shown:
        made = Search(session, propose, score, plan, timeout=timeout, progress=shown)
        try:
            _drive(made, threads)
        except BaseException:
            made.best = None
            raise
        finally:
            for left in made.left():
                with suppress(SandboxError):
                    left.close()
    return SearchResult(made.best, made.tree, made.why, made.message)


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
    seed: int = 0,
    goal: float | None = None,
    timeout: float | None = None,
    progress: bool | Callable[[SearchTree], object] = False,
    resume: SearchTree | None = None,
) -> SearchResult[S]:
    """As `search`, on asyncio's event loop: `workers` programs at a time, proposers and scores may be asynchronous.

    Cancelling the task stops the search, closes all that it has opened and raises; what it had found is in the tree
    that was given as `resume`.
    """
    plan = Plan(resume or SearchTree(), method=method, width=width, depth=depth, budget=budget, seed=seed, goal=goal)
    places = asyncio.Semaphore(_checked(workers))
    with _SearchProgress(progress) as shown:
        made = Search(session, propose, score, plan, timeout=timeout, progress=shown)
        try:
            await _drive_async(made, places)
        except BaseException:
            made.best = None
            raise
        finally:
            for left in made.left():
                with suppress(SandboxError):
                    await left.close()
    return SearchResult(made.best, made.tree, made.why, made.message)


def _drive(made: Search, threads: _SearchThreads) -> None:
    core = made.carry_out()
    try:
        tasks = next(core)
        while True:
            try:
                threads.do(tasks, made)
            except KeyboardInterrupt:
                tasks = core.throw(Stopped())
            else:
                tasks = next(core)
    except StopIteration:
        return


async def _drive_async(made: Search, places: asyncio.Semaphore) -> None:
    core = made.carry_out()

    async def one(task: SearchTask) -> None:
        async with places:
            await do_async(task)

    try:
        for tasks in core:
            running = [asyncio.ensure_future(one(task)) for task in tasks]
            try:
                await asyncio.gather(*running)
            except BaseException:
                for each in running:
                    each.cancel()
                await asyncio.gather(*running, return_exceptions=True)
                with suppress(StopIteration):
                    core.throw(Stopped())  # it takes in what is done
                raise
    finally:
        core.close()


class _SearchThreads:
    """Runs jobs: in this thread, one after the other, or in a pool of threads."""

    def __init__(self, workers: int) -> None:
        self._pool = None if workers == 1 else ThreadPoolExecutor(workers, thread_name_prefix="safeexec-search")

    def __enter__(self) -> _SearchThreads:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def do(self, tasks: Tasks, made: Search) -> None:
        """Do all of them. Ctrl-C stops those that run, and waits for that."""
        if self._pool is None or len(tasks) == 1:
            for task in tasks:
                do(task)
            return
        futures = [self._pool.submit(do, task) for task in tasks]
        try:
            for future in futures:
                future.result()
        except BaseException:
            made.stopping = True
            _stop(futures, made)
            made.stopping = False
            raise


def _stop(futures: list[Future[None]], made: Search) -> None:
    for future in futures:
        future.cancel()
    while running := [future for future in futures if not future.done()]:
        for session in made.opened:
            session.cancel()
        wait(running, STOP_SECONDS)


class _SearchProgress:
    """The progress of a search, for a person (one line of standard error, written anew) or for a function."""

    def __init__(self, progress: bool | Callable[[SearchTree], object]) -> None:
        self._tell = progress if callable(progress) else None
        self._shown = progress is True

    def __enter__(self) -> _SearchProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            print(file=sys.stderr)

    def __call__(self, tree: SearchTree) -> None:
        if self._tell is not None:
            self._tell(tree)
        if self._shown:
            best = None if tree.best is None else tree.best.score
            print(f"\rsearch: {tree.spent.steps} programs, best {best}", end="", file=sys.stderr, flush=True)


def _checked(workers: int) -> int:
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r}: a whole number, at least 1")
    return workers
