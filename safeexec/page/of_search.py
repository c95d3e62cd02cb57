"""The nodes of a search: each program that was tried, in the state that it was tried in."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from safeexec.common.text import one_line
from safeexec.page.nodes import Node, RunPage, chains_of, title_of
from safeexec.page.of_recording import cut
from safeexec.results.outcomes import Changes, ErrorInfo, Usage

MAX_NODES = 100_000
_STATUS = {"untried": "untried", "failed": "error", "unscored": "unscored", "merged": "merged"}


class StepSummary(Struct):
    """The fields of a result's `to_dict` that the page shows."""

    outcome: str = ""
    text: str = ""
    stdout: str = ""
    stderr: str = ""
    error: ErrorInfo | None = None
    changes: Changes = Changes()
    usage: Usage = Usage()
    notes: list[str] = []


class NodeSummary(Struct):
    """A node in a tree's `to_dict`."""

    id: int
    parent: int | None
    source: str
    status: str
    score: float | str | None = None
    visits: int = 0
    problem: str = ""
    same_as: int | None = None
    result: StepSummary | None = None


class Searched(Struct):
    """The data of a tree's `to_dict`."""

    nodes: list[NodeSummary]
    best: int | None = None
    spent: dict[str, float] = {}


def of_search(tree: dict[str, Any]) -> RunPage:
    """The page of a search, of which `tree` is what `to_dict` of its tree said. Raises ValueError for anything else."""
    searched = msgspec.convert(tree, Searched)
    if len(searched.nodes) > MAX_NODES:
        raise ValueError(f"the search has {len(searched.nodes)} nodes, and {MAX_NODES} are shown")
    nodes: list[Node] = []
    for row, tried in enumerate(searched.nodes):
        parent = -1 if tried.parent is None else tried.parent
        if tried.id != row or not -1 <= parent < row:
            raise ValueError(f"node {row} of the search is not in its place")
        nodes.append(_node(tried, parent))
    best = searched.best
    if best is not None and 0 <= best < len(nodes):
        nodes[best].labels = ["best"]
        while best >= 0:
            nodes[best].undone, best = False, nodes[best].parent
    facts = [
        (name, f"{amount:.3g}" if amount % 1 else f"{amount:.0f}") for name, amount in searched.spent.items() if amount
    ]
    chains = chains_of([node.parent for node in nodes])
    title = f"A search over {len(nodes) - 1} programs"
    way = "on the way to the best"
    return RunPage(title=title, facts=facts, nodes=nodes, chains=chains, left=f"not {way}", kept=way)


def _node(tried: NodeSummary, parent: int) -> Node:
    """A row. What does not lead to the best state is shown as left; `of_search` takes that back for what does."""
    node = Node(
        kind="step" if tried.parent is not None else "start",
        title=one_line(title_of(tried.source), 160) or "where the search began",
        parent=parent,
        step=tried.id,
        outcome=_STATUS.get(tried.status, ""),
        score=tried.score if isinstance(tried.score, float) else None,
        visits=tried.visits,
        undone=True,
        source=cut(tried.source),
        text=cut(tried.problem),
        notes=[f"its state is that of {tried.same_as}"] if tried.same_as is not None else [],
    )
    if (result := tried.result) is not None:
        if not node.outcome or result.outcome != "ok":
            node.outcome = result.outcome
        node.stdout, node.stderr, node.value = cut(result.stdout), cut(result.stderr), cut(result.text)
        node.error, node.ms, node.cpu_ms = result.error, result.usage.wall_ms, result.usage.cpu_ms
        node.created, node.changed = [*result.changes.created], [*result.changes.changed]
        node.deleted, node.described = [*result.changes.deleted], dict(result.changes.descriptions)
        node.notes += result.notes
    return node
