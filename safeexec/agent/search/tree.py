"""The tree of a search as data: which program was tried in which state, and what came of it. No session, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from safeexec.common.text import one_line
from safeexec.results import Result, in_words

ROOT, UNTRIED, OPEN, FAILED, UNSCORED = "root", "untried", "open", "failed", "unscored"
"""Statuses of a node: where the search began; a program that has not run yet; a state with a score; a program that
failed, which was undone; a state without a score.
"""


@dataclass(eq=False, repr=False, slots=True)
class SearchNode:
    """One program tried in one state, and the state it led to."""

    id: int
    """From 0, the root, in the order in which the programs were proposed."""
    parent: SearchNode | None
    source: str
    depth: int
    status: str = UNTRIED
    result: Result | None = None
    score: float | None = None
    """The higher, the better."""
    problem: str = ""
    """The reason why there is no score, or no program could be proposed here."""

    expanded: bool = False
    """Programs were proposed that go on from here."""
    children: list[SearchNode] = field(default_factory=list)
    place: tuple[int, ...] = ()
    """The numbers of the children on the way to it: the same however often the search was interrupted."""

    @property
    def path(self) -> list[SearchNode]:
        """The nodes from the first program on to this one."""
        found, node = [], self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    @property
    def sources(self) -> list[str]:
        """The programs that lead from the root here, in order."""
        return [node.source for node in self.path]

    @property
    def why_not(self) -> str:
        """The reason why the program led to no score: `problem`, or its failure."""
        if self.problem or self.result is None or self.result.ok:
            return self.problem
        return f"it failed: {self.result.outcome if self.result.error is None else in_words(self.result.error)}"

    def __repr__(self) -> str:
        came = one_line(self.why_not.removeprefix("it failed: ").partition("\nhint:")[0], 80) or f"score {self.score}"
        return f"<SearchNode {self.id}: {one_line(self.source, 80)!r}: {self.status}, {came}, depth {self.depth}>"


@dataclass(slots=True)
class Spent:
    """Costs of a search so far: programs tried, seconds, tokens of models; `replayed` are programs that were run once
    more to have a state again.
    """

    steps: int = 0
    seconds: float = 0.0
    tokens: int = 0
    replayed: int = 0


class SearchTree:
    """All that a search has tried. Handed to another search as `resume` it is gone on with."""

    def __init__(self) -> None:
        self.nodes: list[SearchNode] = [SearchNode(0, None, "", 0, ROOT)]
        self.spent = Spent()

    @property
    def root(self) -> SearchNode:
        """The state in which the search began: no program, no score."""
        return self.nodes[0]

    @property
    def best(self) -> SearchNode | None:
        """The node with the best score; of equals that with the fewest programs. None as long as none has a score."""
        scored = [node for node in self.nodes if node.status == OPEN]
        return min(scored, key=rank, default=None)

    def add(self, parent: SearchNode, sources: Iterable[str]) -> list[SearchNode]:
        """Add programs to try in the state of `parent`, without those that it has already."""
        known = {child.source for child in parent.children}
        made = []
        for source in dict.fromkeys(sources):
            if source not in known:
                place = (*parent.place, len(parent.children))
                made.append(SearchNode(len(self.nodes), parent, source, parent.depth + 1, place=place))
                self.nodes.append(made[-1])
                parent.children.append(made[-1])
        return made

    def __repr__(self) -> str:
        tried = sum(node.status != UNTRIED for node in self.nodes[1:])
        return f"<SearchTree: {tried} of {len(self.nodes) - 1} programs tried, best {self.best!r}>"


def rank(node: SearchNode) -> tuple[float, int, tuple[int, ...]]:
    """Sort the best node first; of equals the one that takes fewer programs, and of these that proposed first."""
    assert node.score is not None
    return -node.score, node.depth, node.place
