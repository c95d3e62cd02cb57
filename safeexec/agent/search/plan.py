"""Plan the next step of a search from its tree. Pure: figures are handed in.

Nothing here depends on the order in which programs end: the choice is made when all that were chosen before are
recorded, and they are recorded in the order in which they were proposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan
from typing import Literal

from safeexec.agent.search.tree import FAILED, OPEN, UNSCORED, UNTRIED, SearchNode, SearchTree, rank
from safeexec.results import Result

Method = Literal["best-of-n", "beam"]
DEPTH = {"best-of-n": 1, "beam": 8}
WIDTH = {"best-of-n": None, "beam": 4}
PROPOSALS = 1000
"""Programs that are taken from one call of a proposer at most: a generator may never end."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a search: `steps` programs, `seconds`, `tokens` of models. None: no such limit. The search is over
    where one is used up; with a zero before it begins.
    """

    steps: int | None = 100
    seconds: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "seconds", "tokens"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"Budget({name}={value!r}): 0 or more, or None")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A program, and the tokens that a model took to write it: for proposers that count them."""

    source: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class TriedProgram:
    """The outcome of a program. `result` is None where it could not be run."""

    result: Result | None
    score: object = None
    problem: str = ""
    spoiled: bool = False
    """The session is not in that state any more: the program that scores it has changed it."""


class Plan:
    """One search: its tree, its method, what is left of its budget."""

    def __init__(
        self,
        tree: SearchTree,
        *,
        method: Method = "best-of-n",
        width: int | None = None,
        depth: int | None = None,
        budget: Budget | None = None,
        goal: float | None = None,
    ) -> None:
        if method not in DEPTH:
            raise ValueError(f"method={method!r}: one of {', '.join(DEPTH)}")
        for name, value in (("width", width), ("depth", depth)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name}={value!r}: a whole number, at least 1")
        if method == "best-of-n" and depth not in (None, 1):
            raise ValueError("best-of-n tries programs in one state: depth is for beam")
        if budget is not None and not isinstance(budget, Budget):
            raise TypeError(f"budget={budget!r:.60}: a Budget, such as Budget(steps=100), or None")
        self.tree = tree
        self.method = method
        self.width = WIDTH[method] if width is None else width
        self.depth = depth or DEPTH[method]
        self.budget = Budget() if budget is None else budget
        self.goal = goal

    # The budget

    def over(self) -> str | None:
        """Return why the search is over: `goal`, or the part of the budget that is used up; None: it is not."""
        best, spent, budget = self.tree.best, self.tree.spent, self.budget
        if self.goal is not None and best is not None and best.score is not None and best.score >= self.goal:
            return "goal"
        for name in ("steps", "seconds", "tokens"):
            most = getattr(budget, name)
            # What tokens were spent on is tried.
            if most is not None and getattr(spent, name) >= most and not (name == "tokens" and self._waiting()):
                return name
        return None

    def _waiting(self) -> list[SearchNode]:
        return [node for node in self.tree.nodes if node.status == UNTRIED]

    # The next step

    def untried(self) -> list[SearchNode]:
        """Return the programs to run next, in order: no more than the budget has steps left."""
        waiting, left = self._waiting(), self.budget.steps
        return waiting if left is None else waiting[: max(0, left - self.tree.spent.steps)]

    def select(self) -> list[SearchNode]:
        """Return the states to go on from, where nothing is untried. None of them: there is nothing left to try."""
        if self.method == "best-of-n":
            return [] if self.tree.root.expanded else [self.tree.root]
        # The best `width` states of the least depth at which not all of these have been gone on from.
        level = [self.tree.root]
        for _ in range(self.depth):
            if todo := [node for node in level if not node.expanded]:
                return todo
            level = sorted((child for node in level for child in node.children if child.status == OPEN), key=rank)
            level = level[: self.width]
        return []

    def needed_states(self) -> list[SearchNode]:
        """Return the nodes whose states will be needed: the best one, and those to go on from next."""
        best = self.tree.best
        ahead = [n for n in self.tree.nodes if n.status == OPEN and not n.expanded and n.depth < self.depth]
        ahead.sort(key=lambda node: (-node.depth, *rank(node)))
        return list(dict.fromkeys([*([] if best is None else [best]), *ahead[: self.width]]))

    # Outcomes

    def room(self, node: SearchNode) -> int:
        """Return the number of new programs to take from a call of the proposer."""
        most = PROPOSALS
        if self.method != "beam" and self.width is not None:
            most = min(most, self.width - len(node.children))
        return max(0, min(most, self._steps_left()))

    def _steps_left(self) -> int:
        return PROPOSALS if self.budget.steps is None else self.budget.steps - self.tree.spent.steps

    def proposed(self, node: SearchNode, sources: Iterable[str], problem: str = "") -> None:
        """Take programs to try in the state of `node`; `problem`: why there are no more. The proposer is asked again
        where the budget had no room for all, or where there are to be so many in one state, as long as it has new ones.
        """
        left = self._steps_left()
        made = self.tree.add(node, sources)
        sampled = self.method == "best-of-n" and self.width is not None
        full = sampled and self.width is not None and len(node.children) >= self.width
        node.expanded = full or bool(problem) or not made or not (sampled or len(made) >= left)
        node.problem = node.problem or problem

    def record(self, node: SearchNode, tried: TriedProgram) -> None:
        """Record the outcome of a program. To be called in the order of the nodes."""
        node.result, node.problem = tried.result, tried.problem
        self.tree.spent.steps += 1
        if tried.result is None or not tried.result.ok:
            node.status = FAILED
            return

        node.score, problem = as_score(tried.score)
        node.status = OPEN if node.score is not None else UNSCORED
        node.problem = node.problem or problem


def as_score(value: object) -> tuple[float | None, str]:
    """Return the score as a float, or why it is none."""
    if isinstance(value, bool | int | float) or hasattr(value, "__float__"):
        try:
            score = float(value)
        except Exception as error:
            return None, f"the score is no number ({type(error).__name__})"
        return (None, "the score is NaN") if isnan(score) else (score, "")
    return None, f"the score is no number, but {type(value).__name__}"
