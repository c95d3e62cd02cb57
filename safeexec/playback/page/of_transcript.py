"""The nodes of an agent's transcript: what was said and run, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from safeexec.common.text import one_line
from safeexec.playback.page.nodes import Kind, Node, RunPage, chains_of, title_of
from safeexec.playback.page.of_recording import cut, display_html
from safeexec.recordings.format import DisplayText, Task, Transcribed, TranscriptEntry, Tried

_MARKUP = re.compile(r"^[ \t]*(?:<[^<>\n]*>|```\w*)[ \t]*$", re.MULTILINE)
"""A line of a reply that says where code begins or ends."""
_TITLES = {
    "task": "the task",
    "reply": "the model",
    "unanswered": "a call that was not run",
    "notice": "the loop says",
    "end": "the run ends",
}


def of_transcript(entries: Iterable[Transcribed]) -> RunPage:
    """Return the page of a transcript."""
    nodes: list[Node] = []
    facts: list[tuple[str, str]] = []
    steps = 0
    for entry in entries:
        if isinstance(entry, Task):
            facts = [(name, text) for name in ("model", "policy") if (text := _text(entry, name))]
        steps += isinstance(entry, Tried)
        nodes.append(_node(entry, steps, len(nodes) - 1))
    task = next((node.text for node in nodes if node.text), "A transcript")
    chains = chains_of([node.parent for node in nodes])
    return RunPage(title=one_line(title_of(task), 160), facts=facts, nodes=nodes, chains=chains)


def _node(entry: Transcribed, step: int, parent: int) -> Node:
    if isinstance(entry, Tried):
        return Node(
            kind="step",
            title=one_line(title_of(entry.source), 160),
            parent=parent,
            step=step,
            outcome=entry.verdict if entry.verdict and entry.outcome == "ok" else entry.outcome,
            source=cut(entry.source),
            text=cut(entry.observation),
            state=entry.state or "",
            displays=[display_html(DisplayText({"image/png": url.partition(",")[2]})) for url in entry.pictures],
        )
    kind = str(entry.__struct_config__.tag)
    shown: Kind = "end" if kind == "end" else "words"
    words = next(filter(None, (_text(entry, name) for name in ("task", "text", "answer", "reason"))), "")
    said = title_of(_MARKUP.split(words, maxsplit=1)[0] if kind == "reply" else words)
    title = f"{_TITLES[kind]}: {said}" if said or kind != "reply" else "the model writes code"
    return Node(kind=shown, title=one_line(title, 160), parent=parent, step=step, text=cut(words))


def _text(entry: TranscriptEntry, name: str) -> str:
    value = getattr(entry, name, None)
    return value if isinstance(value, str) else ""
