"""What a search does next, in memory: against plain searches over the same made-up trees."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest

from safeexec import Budget, Result, SearchNode, SearchTree
from safeexec.agent.search.plan import Method, Plan, TriedProgram, as_score
from safeexec.agent.search.tree import FAILED, OPEN, UNSCORED

OK, BAD = Result(outcome="ok"), Result(outcome="error")
Path = tuple[str, ...]
Outcome = Callable[[Path], TriedProgram]


def carry_out(plan: Plan, proposals: Callable[[Path], list[str]], outcome: Outcome, order: Random | None = None) -> str:
    """Do what the plan says, to its end. Why it is over. `order`: in which order the programs of a wave run."""
    while (over := plan.over()) is None:
        if untried := plan.untried():
            ran = list(untried)
            if order is not None:
                order.shuffle(ran)
            found = {node: outcome(tuple(node.sources)) for node in ran}
            for node in untried:
                plan.record(node, found[node])
        elif nodes := plan.select():
            for node in nodes:
                known = [child.source for child in node.children]
                new = [source for source in proposals(tuple(node.sources)) if source not in known]
                plan.proposed(node, new[: plan.room(node)])
        else:
            return "exhausted"
    return over


def world(seed: int) -> tuple[Callable[[Path], list[str]], Outcome]:
    """A tree of programs: the same proposals and scores for the same path. One in eight fails, one in eight has no
    score."""

    def proposals(path: Path) -> list[str]:
        return [f"p{number}" for number in range(Random(f"{seed}{path}").randint(0, 4))]

    def outcome(path: Path) -> TriedProgram:
        rolled = Random(f"{path}{seed}")
        kind = rolled.randrange(8)
        if kind == 0:
            return TriedProgram(BAD)
        return TriedProgram(OK, math.nan if kind == 1 else rolled.choice([0.0, 0.25, 0.5, rolled.random()]))

    return proposals, outcome


def plain_beam(proposals: Callable[[Path], list[str]], outcome: Outcome, width: int, depth: int) -> tuple[int, float]:
    """The textbook's beam search: how many programs it tries, and the best score."""
    level: list[Path] = [()]
    best, tried = -math.inf, 0
    for _ in range(depth):
        scored: list[tuple[float, Path]] = []
        for path in level:
            for source in proposals(path):
                tried += 1
                made = outcome((*path, source))
                if made.result is OK and not math.isnan(made.score):  # type: ignore[arg-type]
                    scored.append((made.score, (*path, source)))  # type: ignore[arg-type]
        scored.sort(key=lambda pair: (-pair[0], pair[1]))
        best = max([best, *(score for score, _ in scored)])
        level = [path for _, path in scored[:width]]
    return tried, best


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_beam_is_that_of_the_textbook(width: int) -> None:
    for seed in range(150):
        proposals, outcome = world(seed)
        tree = SearchTree()
        plan = Plan(tree, method="beam", width=width, depth=4, budget=Budget(steps=None))
        assert carry_out(plan, proposals, outcome) == "exhausted"
        tried, best = plain_beam(proposals, outcome, width, 4)
        assert tree.spent.steps == len(tree.nodes) - 1 == tried
        assert (tree.best.score if tree.best else -math.inf) == best


def test_with_room_for_all_everything_is_tried_once() -> None:
    for seed in range(100):
        proposals, outcome = world(seed)
        tree = SearchTree()
        carry_out(Plan(tree, method="beam", width=1000, depth=3, budget=Budget(steps=None)), proposals, outcome)
        paths = {tuple(node.sources) for node in tree.nodes}
        assert len(paths) == len(tree.nodes)
        expected = [()]
        for path in expected:
            made = outcome(path) if path else TriedProgram(OK, 1.0)
            if len(path) < 3 and made.result is OK and not math.isnan(made.score):  # type: ignore[arg-type]
                expected += [(*path, source) for source in proposals(path)]
        assert paths == set(expected)


@pytest.mark.parametrize("method", ["best-of-n", "beam"])
def test_the_choice_does_not_depend_on_the_order_in_which_programs_end(method: Method) -> None:
    for seed in range(40):
        proposals, outcome = world(seed)
        trees = []
        for order in (None, Random(1), Random(2)):
            trees.append(SearchTree())
            carry_out(
                Plan(trees[-1], method=method, width=3, budget=Budget(steps=40), seed=7), proposals, outcome, order
            )
        told = [[(node.source, node.status, node.score) for node in tree.nodes] for tree in trees]
        assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("method", ["best-of-n", "beam"])
def test_a_search_that_is_gone_on_with_comes_to_the_same(method: Method) -> None:
    for seed in range(40):
        proposals, outcome = world(seed)
        whole, parts = SearchTree(), SearchTree()
        carry_out(Plan(whole, method=method, width=3, budget=Budget(steps=30), seed=seed), proposals, outcome)
        for steps in (0, 1, 7, 8, 30):
            carry_out(Plan(parts, method=method, width=3, budget=Budget(steps=steps), seed=seed), proposals, outcome)
            assert parts.spent.steps <= steps
        assert {tuple(node.sources) for node in parts.nodes} == {tuple(node.sources) for node in whole.nodes}


def test_the_proposer_of_best_of_n_is_asked_until_it_repeats_itself() -> None:
    given = iter([["a"], ["a", "b"], ["b"], ["c"]])
    tree = SearchTree()
    carry_out(Plan(tree, width=5), lambda path: next(given), lambda path: TriedProgram(OK, 1.0))
    assert [node.source for node in tree.nodes[1:]] == ["a", "b"]


@pytest.mark.parametrize(
    ("budget", "why"), [(Budget(0), "steps"), (Budget(seconds=0), "seconds"), (Budget(tokens=0), "tokens")]
)
def test_a_budget_of_zero_is_used_up_before_it_begins(budget: Budget, why: str) -> None:
    tree = SearchTree()
    assert carry_out(Plan(tree, budget=budget), lambda path: pytest.fail("asked"), lambda path: TriedProgram(OK)) == why
    assert len(tree.nodes) == 1 and tree.best is None


def test_tokens_and_steps_are_counted() -> None:
    tree = SearchTree()
    plan = Plan(tree, method="beam", budget=Budget(steps=3))
    assert carry_out(plan, lambda path: list("ab"), lambda path: TriedProgram(OK, 0.5)) == "steps"
    assert tree.spent.steps == 3
    tree.spent.tokens = 10
    plan = Plan(tree, budget=Budget(steps=None, tokens=10))
    assert plan.over() is None, "what tokens were spent on is tried"
    for node in plan.untried():
        plan.record(node, TriedProgram(BAD))
    assert plan.over() == "tokens"


@pytest.mark.parametrize(
    ("value", "score", "problem"),
    [
        (2, 2.0, ""),
        (True, 1.0, ""),
        (math.inf, math.inf, ""),
        (-math.inf, -math.inf, ""),
        (math.nan, None, "the score is NaN"),
        (None, None, "the score is no number, but NoneType"),
        ("1", None, "the score is no number, but str"),
        (10**400, None, "the score is no number (OverflowError)"),
    ],
)
def test_what_is_a_score(value: object, score: float | None, problem: str) -> None:
    assert as_score(value) == (score, problem)


def test_statuses_and_the_best_of_equals() -> None:
    tree = SearchTree()
    found = {
        "a": TriedProgram(BAD),
        "b": TriedProgram(OK, math.nan),
        "c": TriedProgram(OK, 1),
        "d": TriedProgram(OK, 1),
        "e": TriedProgram(None, problem="x"),
    }
    carry_out(Plan(tree), lambda path: list("abcde"), lambda path: found[path[0]])
    assert [node.status for node in tree.nodes[1:]] == [FAILED, UNSCORED, OPEN, OPEN, FAILED]
    assert tree.best is tree.nodes[3]
    assert tree.nodes[5].problem == "x"


def test_scores_without_bound_can_be_compared() -> None:
    tree = SearchTree()
    scores = {"a": -math.inf, "b": 0.0, "c": math.inf}
    plan = Plan(tree, method="beam", width=9, depth=3, budget=Budget(steps=None))
    carry_out(plan, lambda path: list("abc"), lambda path: TriedProgram(OK, scores[path[-1]]))
    assert len(tree.nodes) == 1 + 3 + 9 + 27 and tree.best is not None and tree.best.score == math.inf
    assert tree.spent.steps == 39


def test_what_is_worth_keeping() -> None:
    def after(method: Method, width: int) -> list[str]:
        tree = SearchTree()
        plan = Plan(tree, method=method, width=width, depth=1 if method == "best-of-n" else 3)
        for node in plan.proposed(plan.select()[0], list("abcd")):
            plan.record(node, TriedProgram(OK, "acbd".index(node.source)))
        return [node.source for node in plan.needed_states()]

    assert after("best-of-n", 4) == ["d"]
    assert after("beam", 2) == ["d", "b"]


def test_arguments_that_make_no_sense() -> None:
    for wrong in ({"method": "dfs"}, {"width": 0}, {"depth": 0}, {"depth": 2}, {"width": 1.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Plan(SearchTree(), **wrong)  # type: ignore[arg-type]
    for name in ("steps", "seconds", "tokens"):
        with pytest.raises(ValueError, match=name):
            Budget(**{name: -1})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds"):
        Budget(seconds=math.nan)


def test_nodes_tell_of_themselves() -> None:
    tree = SearchTree()
    (node,) = tree.add(tree.root, ["x = 1", "x = 1"])
    assert isinstance(node, SearchNode) and repr(node) == "<SearchNode 1: 'x = 1': untried, score None, depth 1>"
    assert tree.add(tree.root, ["x = 1"]) == []
    assert repr(tree) == "<SearchTree: 0 of 1 programs tried, best None>"
    node.status, node.problem = UNSCORED, "the score is\nnan"
    assert repr(node) == "<SearchNode 1: 'x = 1': unscored, the score is\\nnan, depth 1>"
