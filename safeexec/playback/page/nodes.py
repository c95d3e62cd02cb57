"""Nodes of a page, in the order in which they happened, each with the state that it began from.

The texts are a stranger's. They go into the page as JSON, and its script shows them as text; `displays` alone are HTML,
made harmless by `safeexec.results.mimebundle`.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from safeexec.results.outcomes import ErrorInfo

TEXT_CHARACTERS = 20_000
"""The most characters of one text of a node; of a longer one head and tail are shown."""
TITLE_CHARACTERS = 160

Kind = Literal["start", "step", "query", "change", "checkpoint", "rollback", "branch", "command", "words", "end"]
"""The kinds of events: a session began, a step or an SQL query ran, the host changed something, gave a state a name,
went back to one, made branches, ran a program; a person or a model said something; a session or the run ended.
"""


class ToolUse(Struct, frozen=True, omit_defaults=True):
    """One call of a host tool."""

    tool: str
    outcome: str
    arguments: str = ""
    answer: str = ""
    ms: float = 0.0


class Node(Struct, kw_only=True, omit_defaults=True):
    """One row of the page, and its details."""

    kind: Kind
    title: str
    parent: int = -1
    """The node whose state this one began from, or -1."""
    session: int = 1
    step: int = 0
    outcome: str = ""
    at: float = 0.0
    """Seconds since the beginning."""
    ms: float = 0.0
    score: float | None = None
    undone: bool = False
    """True where the session went back behind it."""
    labels: list[str] = []
    """Names of checkpoints, and of what else is to be found."""
    source: str = ""
    stdout: str = ""
    stderr: str = ""
    value: str = ""
    text: str = ""
    """Words: of a model, of a person, of the host."""
    displays: list[str] = []
    error: ErrorInfo | None = None
    refusals: list[ErrorInfo] = []
    created: list[str] = []
    changed: list[str] = []
    deleted: list[str] = []
    described: dict[str, str] = {}
    files: list[str] = []
    calls: list[ToolUse] = []
    notes: list[str] = []
    cpu_ms: float = 0.0
    peak_mb: float = 0.0
    state: str = ""


class RunPage(Struct, kw_only=True):
    """A run as the page shows it."""

    title: str
    facts: list[tuple[str, str]]
    nodes: list[Node]


def chains_of(parents: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return the lines of the tree: track, the row that a line comes from (its own first one where it has no parent),
    its first and its last row.

    A node's last child goes on in its line, each other child begins one, beside the line that it comes from. No two
    lines of a track touch.
    """
    chain_of: list[int] = []
    spans: list[list[int]] = []
    last_child = dict(zip(parents, range(len(parents)), strict=True))
    for row, parent in enumerate(parents):
        if parent >= 0 and last_child[parent] == row:
            chain = chain_of[parent]
            spans[chain][2] = row
        else:
            chain = len(spans)
            spans.append([parent if parent >= 0 else row, row, row])
        chain_of.append(chain)
    tracks = [0] * len(spans)
    free: list[int] = []
    taken: list[tuple[int, int]] = []
    used = 0
    for chain, (_, first, end) in enumerate(spans):
        while taken and taken[0][0] < first:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            tracks[chain] = heapq.heappop(free)
        else:
            tracks[chain], used = used, used + 1
        heapq.heappush(taken, (end, tracks[chain]))
    return [(tracks[chain], start, first, end) for chain, (start, first, end) in enumerate(spans)]


def title_of(source: str) -> str:
    """Return the first line of a source that says something, in short: no comment and, if there is another, no import;
    with the next one where a block begins, for many programs begin alike.
    """
    lines = [line for line in map(str.strip, source.split("\n")) if line]
    said = [line for line in lines if not line.startswith("#")] or lines
    does = [line for line in said if not line.startswith(("import ", "from "))] or said
    title = " ".join(does[: 2 if does[0].endswith(":") else 1]) if does else ""
    return title[:TITLE_CHARACTERS]
