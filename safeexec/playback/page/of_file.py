"""The page of a file: a recording of a session, or the transcript of an agent."""

from __future__ import annotations

import os
import re

from safeexec.common.text import one_line
from safeexec.errors import RecordingError
from safeexec.playback.page.nodes import Kind, Node, RunPage, title_of
from safeexec.playback.page.of_recording import cut, display_html, of_recording
from safeexec.recordings.format import DisplayText, Task, Transcribed, Tried
from safeexec.recordings.reader import MAX_TRANSCRIPT, Recording, entries_of, whole_transcript
from safeexec.untrusted.below import read_named

_MARKUP = re.compile(r"^[ \t]*(?:<[^<>\n]*>|```\w*)[ \t]*$", re.MULTILINE)
"""A line of a reply that says where code begins or ends."""
_TITLES = {
    "task": "the task",
    "reply": "the model",
    "unanswered": "a call that was not run",
    "notice": "the loop says",
    "end": "the run ends",
}


def page_of(path: str | os.PathLike[str]) -> RunPage:
    """Return the page of what was written down in `path`.

    Raises `RecordingError` for a file that is neither, OSError for what cannot be read.
    """
    try:
        recording = Recording(path)
    except RecordingError as no_recording:
        data = read_named(path, max_bytes=MAX_TRANSCRIPT)
        try:
            first = next(entries_of(data, path), None)
        except RecordingError:
            first = None
        if not isinstance(first, Task):
            raise no_recording from None
        return _of_transcript(first, whole_transcript(data, path))
    return of_recording(recording)


def _of_transcript(task: Task, entries: list[Transcribed]) -> RunPage:
    """Return the page of what was said and run, one after the other."""
    nodes: list[Node] = []
    steps = 0
    for parent, entry in enumerate(entries, -1):
        steps += isinstance(entry, Tried)
        nodes.append(_node(entry, steps, parent))
    facts = [(name, text) for name in ("model", "policy") if (text := getattr(task, name))]
    said = next((node.text for node in nodes if node.text), "A transcript")
    return RunPage(title=one_line(title_of(said), 160), facts=facts, nodes=nodes)


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
    words = next(filter(None, (getattr(entry, name, None) for name in ("task", "text", "answer", "reason"))), "")
    said = title_of(_MARKUP.split(words, maxsplit=1)[0] if kind == "reply" else words)
    title = f"{_TITLES[kind]}: {said}" if said or kind != "reply" else "the model writes code"
    shown: Kind = "end" if kind == "end" else "words"
    return Node(kind=shown, title=one_line(title, 160), parent=parent, step=step, text=cut(words))
