"""Searches in sessions in memory: whatever goes wrong, and whenever, everything is closed but the best."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import pytest

from safeexec import (
    Budget,
    CheckpointError,
    Proposal,
    Result,
    SandboxError,
    SearchResult,
    SearchState,
    SearchTree,
    SessionClosed,
    async_search,
    search,
)
from safeexec.agent.search.plan import Method
from tests.agent.search.model import ModelSession, World

OPS = ["x = x + 3", "x = x * 2", "x = x - 1", "x = 1 / 0"]
METHODS: list[Method] = ["best-of-n", "beam"]
NEAR = "-abs(x - 37)"


def found(world: World, method: Method = "beam", tree: SearchTree | None = None, **options: Any) -> SearchResult[Any]:
    """A search for 37 from 1."""
    (root,) = [session for session in world.open if session.depth == 0]
    options = {"budget": Budget(steps=25), "width": 3, "depth": None if method == "best-of-n" else 4} | options
    return search(root, OPS, NEAR, method=method, resume=tree, **options)


def told(tree: SearchTree) -> list[tuple[Any, ...]]:
    return [(node.sources, node.status, node.score) for node in tree.nodes]


def tried(tree: SearchTree) -> list[tuple[Any, ...]]:
    """Without what the budget left untried."""
    return [row for row in told(tree) if row[1] != "untried"]


def throw(error: BaseException) -> None:
    raise error


def left_open(world: World, result: SearchResult[Any] | None) -> bool:
    """Whether more is open than the caller's session and the best one."""
    best = None if result is None else result.best
    return bool([session for session in world.open if session.depth and session is not best])


def textbook(proposals: Callable[[list[str]], list[str]], width: int, depth: int) -> tuple[int, float]:
    """A plain beam search: how many programs it tries, and the best value of x."""
    level: list[list[str]] = [[]]
    best, count = -math.inf, 0
    for _ in range(depth):
        scored = []
        for path in level:
            for source in proposals(path):
                count += 1
                names = {"x": 1}
                with suppress(ZeroDivisionError):
                    for program in [*path, source]:
                        exec(program, {}, names)
                    scored.append((names["x"], [*path, source]))
        scored.sort(key=lambda pair: -pair[0])  # of equals the one that was proposed first
        best = max([best, *(score for score, _ in scored)])
        level = [path for _, path in scored[:width]]
    return count, best


@pytest.mark.parametrize("width", [1, 2, 3, 1000])
def test_a_beam_is_that_of_the_textbook(width: int) -> None:
    """Over made-up trees of programs: the same proposals for the same path. With room for all each is tried once."""
    for seed in range(30):

        def proposals(path: list[str], seed: int = seed) -> list[str]:
            rolled = Random(f"{seed}{path}")
            return [rolled.choice([f"x = x * {n}", f"x = x + {n}", "x = 1 / 0"]) for n in range(rolled.randint(0, 4))]

        def propose(state: SearchState, proposals: Callable[[list[str]], list[str]] = proposals) -> list[str]:
            return list(dict.fromkeys(proposals(state.sources)))

        result = search(World().root(x=1), propose, "x", method="beam", width=width, depth=3, budget=Budget(None))
        count, best = textbook(lambda path, known=proposals: list(dict.fromkeys(known(path))), width, 3)  # type: ignore[misc]
        assert (result.spent.steps, -math.inf if result.score is None else result.score) == (count, best)
        assert result.why == "exhausted"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("branches", [1, 2, 3, 5])
def test_with_few_branches_the_choice_is_the_same(method: Method, branches: int) -> None:
    few = World(branches, x=1)
    whole, part = found(World(x=1), method), found(few, method)
    assert tried(whole.tree) == tried(part.tree)
    assert part.best is not None and part.best.names == whole.best.names
    assert not left_open(few, part)


def test_a_state_for_which_nothing_is_proposed_is_closed_before_the_next_programs_run() -> None:
    world = World(x=0)
    (root,) = world.open
    opened: dict[str, int] = {}
    programs = {0: ["x = 1", "x = 2", "x = 3"], 3: ["x = 4"]}

    def score(session: Any) -> int:
        opened[session.programs[-1]] = len(world.open)
        return int(session.names["x"])

    search(root, lambda state: programs.get(state.session.names["x"], []), score, method="beam", width=3, depth=2)
    assert opened["x = 4"] == len({"root", "x = 3", "x = 4"})


@pytest.mark.parametrize("method", METHODS)
def test_the_workers_change_nothing(method: Method) -> None:
    one, four = (told(found(World(x=1), method, workers=workers).tree) for workers in (1, 4))
    assert one == four


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_is_interrupted_at_any_call_ends_with_its_best_and_can_be_gone_on_with(method: Method) -> None:
    world = World(x=1)
    whole = found(world, method)
    for at in range(1, world.calls + 1):
        interrupted, tree = World(x=1), SearchTree()
        interrupted.fail(at, partial(throw, KeyboardInterrupt()))
        result = found(interrupted, method, tree)
        assert result.why == "interrupted" or result.best is not None
        assert not left_open(interrupted, result), at
        if (best := tree.best) is not None and result.best is not None:
            assert -abs(result.best.names["x"] - 37) == best.score
            result.close()
        again = found(interrupted, method, tree)
        assert again.score == whole.score and again.sources == whole.sources, at
        again.close()
        assert not left_open(interrupted, None)


@pytest.mark.parametrize("error", [SessionClosed("the zygote died"), SandboxError("the process died"), MemoryError()])
def test_an_error_at_any_call_leaves_nothing_open(error: Exception) -> None:
    world = World(x=1)
    found(world)
    for at in range(1, world.calls + 1):
        failing, result = World(x=1), None
        failing.fail(at, partial(throw, error))
        try:
            result = found(failing)
        except MemoryError:
            assert isinstance(error, MemoryError)
        assert not left_open(failing, result), at
        if result is not None and isinstance(error, SessionClosed):
            assert result.why == "lost" and "the zygote died" in result.message and result.best is None


def test_a_refusal_is_tried_again_with_fewer_and_told_where_there_are_none() -> None:
    expected = told(found(World(x=1)).tree)
    for at in range(1, 12):
        world = World(x=1)
        branched = iter(range(1, 1000))

        def refuse(name: str, at: int = at, branched: Iterator[int] = branched) -> None:
            if name == "branch" and next(branched) == at:
                raise CheckpointError("no room")

        world.before = refuse
        result = found(world)
        assert told(result.tree) == expected and not left_open(world, result)
    result = found(World(0, x=1))
    assert (result.why, result.best) == ("refused", None) and "0 allowed" in result.message


def test_a_program_that_fails_when_it_is_run_once_more_is_a_dead_end_and_deep_searches_begin_again() -> None:
    world, runs = World(1), iter(range(9))
    root = world.root(x=0, run=lambda: next(runs))
    once, after = "x = 5 if run() == 0 else 1 / 0", "x = x + 1"
    result = search(root, [once, after], "x", method="beam", width=2, depth=2)
    assert "failed when it was run once more: ZeroDivisionError" in result.tree.nodes[1].problem
    assert not left_open(world, result)
    # A process has only so many layers: after some branches of branches a state is made by its programs alone.
    world = World()
    root = world.root(x=0)
    with search(root, ["x += 1", "x -= 1"], "x", method="beam", width=1, depth=30, budget=Budget(None)) as result:
        assert result.score == 30 and len(result.sources) == 30 and result.spent.replayed > 0
        assert not left_open(world, result)


PROPOSERS: list[tuple[Any, str, int]] = [
    (lambda state: 1 / 0, "ZeroDivisionError", 0),
    (lambda state: "x = 1", "an iterable of sources, not str", 0),
    (lambda state: None, "an iterable of sources, not NoneType", 0),
    (lambda state: ["x = 1", 2], "a str or a Proposal, not int", 1),
    (lambda state: [], "", 0),
    (lambda state: ["x = 2"] * 500, "", 1),
]


@pytest.mark.parametrize(("proposer", "problem", "tried"), PROPOSERS)
def test_proposers_that_fail_or_repeat_themselves(proposer: Any, problem: str, tried: int) -> None:
    world = World()
    result = search(world.root(x=0), proposer, "x")
    assert result.why == "exhausted" and result.spent.steps == tried and problem in result.tree.root.problem
    assert result.message == "nothing is left to try" + (problem and f"; {result.tree.root.problem}")
    assert (result.best is not None) == bool(tried) and not left_open(world, result)


def test_a_proposer_that_never_ends() -> None:
    def endless(state: SearchState) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield f"x = {number}"

    def breaks(state: SearchState) -> Iterator[str]:
        yield "x = 5"
        raise KeyError("no more")

    world = World()
    with search(world.root(x=1), endless, "x", budget=Budget(steps=40)) as result:
        assert (result.why, result.score, result.spent.steps) == ("steps", 40, 40)
    given = iter([["x = 1"], ["x = 1", "x = 2"], ["x = 2"], ["x = 3"]])
    with search(world.root(x=1), lambda state: next(given), "x", width=5) as result:
        assert result.score == 2, "it is asked until it repeats itself"
    with search(world.root(x=1), breaks, "x") as result:
        assert result.score == 5 and "KeyError: 'no more'" in result.tree.root.problem
        assert result.message.endswith("the proposer raised KeyError: 'no more'")


def test_what_a_proposer_is_told_and_its_tokens() -> None:
    heard: list[tuple[list[str], float | None, int]] = []

    def propose(state: SearchState) -> list[Proposal]:
        assert state.session.names["x"] == 1 + state.depth
        assert (state.result is None) == (state.depth == 0)
        heard.append((state.sources, state.score, state.depth))
        return [Proposal("x = x + 1", tokens=7)]

    for _ in range(2):
        world = World()
        result = search(world.root(x=1), propose, "x", method="beam", depth=8, budget=Budget(None, tokens=20))
        assert result.why == "tokens" and result.spent.tokens == 21 and result.score == 4
    assert heard[:3] == heard[3:] and [depth for _, _, depth in heard[:3]] == [0, 1, 2]


def test_scores_of_all_kinds() -> None:
    def with_result(session: ModelSession, result: Result) -> float:
        assert result.ok
        return session.names["x"] * 2

    def fails(session: ModelSession) -> float:
        if session.names["x"] == 3:
            return math.nan
        raise ValueError("no score for this")

    world = World()
    options = ["x = 2", "x = 3"]
    assert search(world.root(x=1), options, "x").score == 3
    assert search(world.root(x=1), options, lambda session: -session.names["x"]).score == -2
    assert search(world.root(x=1), options, with_result).score == 6
    endless = search(world.root(x=1), ["x = 1e999", "x = -1e999", "x = 'a'"], "x")
    assert endless.score == math.inf and [node.score for node in endless.tree.nodes[1:]] == [math.inf, -math.inf, None]
    assert "unscored, the score is no number, but str, depth 1" in repr(endless.tree.nodes[3])
    for score, problems in (
        (fails, ["the score raised ValueError: no score for this", "the score is NaN"]),
        ("undefined", ["the score raised StepFailed: error: NameError: name 'undefined' is not defined"] * 2),
        ("[]", ["the score is no number, but list"] * 2),
        ("10 ** 400", ["the score is no number (OverflowError)"] * 2),
    ):
        result = search(world.root(x=1), options, score)
        assert result.best is None and result.score is None and result.sources == []
        assert [node.problem for node in result.tree.nodes[1:]] == problems
        assert problems[0] in result.message
        assert [node.status for node in result.tree.nodes[1:]] == ["unscored"] * 2


@pytest.mark.parametrize("method", ["best-of-n", "beam"])
def test_a_program_that_scores_leaves_no_trace(method: Method) -> None:
    world = World()
    root = world.root(x=1)
    with search(root, ["x = x + 2"], "(y := x)", method=method, depth=1 if method == "best-of-n" else 3) as result:
        assert result.best is not None and result.best.names == {"x": 1 + 2 * len(result.sources)}
        assert root.names == {"x": 1} and not left_open(world, result)


def test_progress_is_told_time_is_a_budget_and_a_goal_ends_it() -> None:
    world = World()
    steps: list[int] = []
    result = search(world.root(x=1), OPS, NEAR, method="beam", progress=lambda tree: steps.append(tree.spent.steps))
    assert steps == sorted(steps) and steps[-1] == result.spent.steps > 0

    def stop(tree: SearchTree) -> None:
        raise KeyboardInterrupt

    assert search(world.root(x=1), OPS, NEAR, progress=stop).why == "interrupted"
    world = World()
    for why in ("steps", "seconds", "tokens"):
        result = search(world.root(x=1), ["x = 2"], "x", budget=Budget(**{why: 0}))  # type: ignore[arg-type]
        assert (result.why, result.spent.steps, result.best, len(result.tree.nodes)) == (why, 0, None, 1)
    result = search(world.root(x=1), [f"x = {n}" for n in range(100)], "x", goal=3, budget=Budget(None))
    assert result.why == "goal" and result.spent.steps < 60


def test_arguments_that_make_no_sense() -> None:
    root = World().root(x=1)
    with pytest.raises(TypeError, match="propose is a list of programs or a function, not str"):
        search(root, "x = 1", "x")
    with pytest.raises(TypeError, match="propose is a list of programs or a function, not int"):
        search(root, 3, "x")
    with pytest.raises(TypeError, match="score is a function or a program, not int"):
        search(root, ["x"], 3)
    wrong: list[dict[str, Any]] = [{"method": "dfs"}, {"width": 0}, {"depth": 0}, {"depth": 2}, {"width": 1.5}]
    for options in [*wrong, {"workers": 0}]:
        with pytest.raises(ValueError, match=next(iter(options))):
            search(root, ["x"], "x", **options)
    for name in ("steps", "seconds", "tokens"):
        with pytest.raises(ValueError, match=name):
            Budget(**{name: -1})  # type: ignore[arg-type]


# On an event loop


class AwaitedSession:
    """The session in memory as one of an event loop."""

    def __init__(self, session: ModelSession) -> None:
        self.inner = session
        self.policy = session.policy

    async def branch(self, n: int = 1, *, checkpoints: str | None = None) -> list[AwaitedSession]:
        return [AwaitedSession(session) for session in self.inner.branch(n)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            return getattr(self.inner, name)(*args, **kwargs)

        return call


async def awaited(world: World, tree: SearchTree | None = None, **options: Any) -> SearchResult[Any]:
    (root,) = [session for session in world.open if session.depth == 0]

    async def propose(state: SearchState) -> list[str]:
        await asyncio.sleep(0)
        return OPS

    return await async_search(
        AwaitedSession(root), propose, NEAR, method="beam", width=3, depth=4, budget=Budget(25), resume=tree, **options
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_on_an_event_loop_it_is_the_same(workers: int) -> None:
    world = World(x=1)
    result = asyncio.run(awaited(world, workers=workers))
    assert told(result.tree) == told(found(World(x=1)).tree)
    assert result.best is not None and not left_open(world, SearchResult(result.best.inner, result.tree, "", ""))


def test_a_task_that_is_cancelled_at_any_call_closes_all_and_its_tree_is_gone_on_with() -> None:
    world = World(x=1)
    whole = asyncio.run(awaited(world))
    for at in range(1, world.calls + 1, 3):
        cancelled, tree = World(x=1), SearchTree()

        async def main(cancelled: World = cancelled, tree: SearchTree = tree, at: int = at) -> None:
            task = asyncio.current_task()
            assert task is not None
            cancelled.fail(at, task.cancel)
            await awaited(cancelled, tree, workers=2)

        try:
            asyncio.run(main())
        except asyncio.CancelledError:
            assert not left_open(cancelled, None), at
            cancelled.before = lambda name: None
            again = asyncio.run(awaited(cancelled, tree))
            assert (again.score, again.sources) == (whole.score, whole.sources), at
