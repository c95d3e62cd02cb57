"""The transcript of a run: what was said and done, in order, as JSON lines; and the conversation that a model gets of
it.

Each kind of entry is a class of `Transcribed` in `safeexec.recordings.format`; here entries are dicts of its
fields, with their `kind`. Fields that a class does not have are not read. Entries hold text only, pictures as URLs. A
transcript is what a run resumes from, and what `RecordedModel` replays.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from safeexec.agent.errors import TranscriptError
from safeexec.agent.extraction import without_thinking
from safeexec.agent.messages import Message, Reply, Role, ToolCall
from safeexec.common.text import estimate_tokens, head_and_tail
from safeexec.errors import RecordingError
from safeexec.recordings.format import Replied
from safeexec.recordings.reader import MAX_TRANSCRIPT, entries_of, whole_transcript
from safeexec.untrusted.below import read_named
from safeexec.untrusted.json_text import loads

Entry = dict[str, Any]

_LIMITS = ("max_steps", "max_tokens", "max_seconds")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
"""Characters that APIs do not take in the name of a tool, which has 64 at most."""
_REPLY_CHARACTERS = 32_000  # of one reply, when it goes back to the model
_OLD_OBSERVATION_CHARACTERS = 400
_RECENT_ENTRIES = 8
_PICTURES = 4
"""The newest pictures that a conversation holds: Mistral's API takes eight in a request."""
_PICTURE_TOKENS = 1500

Pictures = Mapping[int, tuple[str, ...]]
"""Position of a step's entry → its pictures as ``data:`` URLs that the model of this run sees."""


class Transcript:
    """The entries of a run. With `path` each is appended to that file as it comes: a run that dies can be resumed."""

    def __init__(self, entries: Iterable[Mapping[str, Any]] = (), *, path: str | Path | None = None) -> None:
        self.entries: list[Entry] = [dict(entry) for entry in entries]
        self.path = Path(path) if path is not None else None
        self.untouched: set[str] | None = None
        """The files that were there before the run, and as they are still, of a `DataAnalyst`."""
        self.held: Any = None
        """The open session of a run that waits, and what closes it: the drivers' own."""
        self._torn_at: int | None = None
        """Offset of a last line that a dying run has written in part: the next entry takes its place."""

    @classmethod
    def load(cls, path: str | Path) -> Transcript:
        """Read a transcript; later entries go to the same file. A last line without its end does not count: the run
        died while it wrote it. Raises TranscriptError that names the line.
        """
        data = read_transcript(path)
        try:
            entries = whole_transcript(data, path)
        except RecordingError as error:
            raise TranscriptError(str(error)) from None
        transcript = cls(map(to_builtins, entries), path=path)
        whole = data.rfind(b"\n") + 1
        transcript._torn_at = whole if whole < len(data) else None
        return transcript

    def add(self, kind: str, **content: Any) -> Entry:
        entry: Entry = {"kind": kind, **content}
        self.entries.append(entry)
        if self.path is not None:
            if self._torn_at is not None:
                os.truncate(self.path, self._torn_at)
                self._torn_at = None
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=True) + "\n")
        return entry

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @property
    def task(self) -> str:
        """The newest task."""
        return self.tasks[-1] if self.tasks else ""

    @property
    def tasks(self) -> list[str]:
        """All tasks, in order."""
        return [str(entry["task"]) for entry in self.entries if entry["kind"] == "task"]

    @property
    def pending_reply(self) -> Reply | None:
        """The reply at the very end, if nothing of it was run yet: the run died, or a limit came in between."""
        entries = self.entries
        at_limit = bool(entries) and entries[-1]["kind"] == "end" and entries[-1].get("stop") in _LIMITS
        last = entries[-2:-1] if at_limit else entries[-1:]
        return Reply.from_dict(last[0]) if last and last[0]["kind"] == "reply" else None

    @property
    def answered(self) -> Entry | None:
        """The end of a run that has its answer."""
        last = self.entries[-1] if self.entries else {}
        return last if last.get("kind") == "end" and last.get("stop") in ("answer", "final_answer") else None

    @property
    def waiting(self) -> Entry | None:
        """The step that waits for an answer, if the run ended so."""
        step = next((entry for entry in reversed(self.entries) if entry["kind"] != "end"), {})
        return step if step.get("kind") == "step" and step.get("outcome") == "waiting" else None

    def kept_steps(self) -> list[Entry]:
        """Return the steps whose state was kept: their sources, run again in order, rebuild the session."""
        return [
            e
            for e in self.entries
            if e["kind"] == "step" and e.get("state", "kept") == "kept" and e["outcome"] != "rejected"
        ]


def read_transcript(path: str | Path) -> bytes:
    """Return the bytes of a transcript. Raises TranscriptError for one that is too large, or no regular file."""
    try:
        return read_named(path, max_bytes=MAX_TRANSCRIPT)
    except OSError as error:
        raise TranscriptError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_replies(path: str | Path) -> Iterator[Reply]:
    """Yield the replies of a transcript or recording. Raises TranscriptError for a damaged line, when it is come to."""
    try:
        for entry in entries_of(read_transcript(path), path):
            if isinstance(entry, Replied):
                yield Reply.from_dict(to_builtins(entry))
    except RecordingError as error:
        raise TranscriptError(str(error)) from None


def conversation(entries: list[Entry], system: str, max_tokens: int, pictures: Pictures | None = None) -> list[Message]:
    """Return the messages that a model gets. Past `max_tokens` (an estimate) old observations are shortened, then old
    entries left out. Of `pictures` the newest are shown.
    """
    shown = _newest(pictures or {})
    messages = _render(entries, system, shown, short_before=0)
    if _tokens(messages) > max_tokens:
        messages = _render(entries, system, shown, short_before=len(entries) - _RECENT_ENTRIES)
    if _tokens(messages) > max_tokens:
        tasks = [entry["task"] for entry in entries if entry["kind"] == "task"]
        messages = _without_middle(messages, max_tokens, _clean(tasks[-1]) if len(tasks) > 1 else "")
    return messages


def _newest(pictures: Pictures) -> dict[int, tuple[str, ...]]:
    shown: dict[int, tuple[str, ...]] = {}
    left = _PICTURES
    for position in sorted(pictures, reverse=True):
        shown[position] = pictures[position][-left:] if left else ()
        left -= len(shown[position])
    return shown


def _tokens(messages: list[Message]) -> int:
    return sum(
        estimate_tokens(m.content)
        + sum(estimate_tokens(c.arguments) for c in m.tool_calls)
        + _PICTURE_TOKENS * len(m.pictures)
        for m in messages
    )


def _render(entries: list[Entry], system: str, pictures: Pictures, short_before: int) -> list[Message]:
    built = _Conversation(system)
    for position, entry in enumerate(entries):
        kind = entry["kind"]
        if kind == "task":
            built.end_run(entries[position - 1] if position else {})
            built.add_input(entry["task"])
        elif kind == "reply":
            built.add_reply(_assistant(entry))
        elif kind == "notice":
            built.add_input(entry["text"])
        elif kind == "step" and entry["outcome"] == "waiting":
            continue  # what came of it follows, where it has gone on
        elif kind in ("step", "unanswered"):
            text = entry["observation"] if kind == "step" else entry["text"]
            text = head_and_tail(text, _OLD_OBSERVATION_CHARACTERS)[0] if position < short_before else text
            built.add_input(text, pictures.get(position, ()), call=entry.get("call"))
    return built.messages()


class _Conversation:
    """Builds the messages in the order that APIs accept. Each call takes time for what it adds alone."""

    def __init__(self, system: str) -> None:
        self._drafts: list[tuple[Message, list[str], list[str]]] = []
        """Messages, and the words and pictures that they get: others may join the last one."""
        self._open: dict[str, None] = {}
        """Calls of the last reply that have no answer yet."""
        self._add(Message("system", system))

    def _add(self, message: Message) -> None:
        self._drafts.append((message, [message.content], list(message.pictures)))

    @property
    def _last(self) -> Role:
        return self._drafts[-1][0].role

    def messages(self) -> list[Message]:
        self._end_with_input()
        return [
            replace(message, content="\n\n".join(words), pictures=tuple(pictures))
            for message, words, pictures in self._drafts
        ]

    def _end_with_input(self) -> None:
        """Ask the model to go on where the last message is its own: APIs expect one of the user or a tool before a
        reply, and a resumed run may have ended without.
        """
        self._answer_calls()
        if self._last == "assistant":
            self._add(Message("user", "Go on."))

    def _answer_calls(self) -> None:
        """Answer calls that have no answer: a run may end between the calls of a reply, and APIs refuse that."""
        for call in self._open:
            self._add(Message("tool", "Not run.", tool_call_id=call))
        self._open.clear()

    def add_reply(self, message: Message) -> None:
        self._end_with_input()
        self._add(message)
        self._open = dict.fromkeys(call.id for call in message.tool_calls)

    def end_run(self, end: Entry) -> None:
        """Add how the run before a further task ended, where the model has not said it in words itself."""
        self._answer_calls()
        if end.get("kind") != "end":
            return
        if end.get("answer") is None:
            self.add_input(f"(The work was stopped: {end['reason']}.)")
        elif self._last != "assistant":
            self._add(Message("assistant", _clean(head_and_tail(end["answer"], _REPLY_CHARACTERS)[0])))

    def add_input(self, text: str, pictures: tuple[str, ...] = (), *, call: str | None = None) -> None:
        """Add words of the user or the loop, as the answer to a call where they are one. Some APIs refuse a user
        message behind a tool's, or two in a row: there the text joins the last message.
        """
        text = _clean(text)
        if call:
            self._open.pop(call, None)
            self._add(Message("tool", text, tool_call_id=call, pictures=pictures))
            return
        if self._last == "assistant":
            self._answer_calls()
        if self._last in ("user", "tool"):
            _, words, shown = self._drafts[-1]
            words.append(text)
            shown += pictures
        else:
            self._add(Message("user", text, pictures=pictures))


def _assistant(entry: Entry) -> Message:
    calls = tuple(
        ToolCall(call.id, _NO_NAME.sub("_", call.name[:64]) or "unnamed", _arguments(call.arguments))
        for call in Reply.from_dict(entry).tool_calls
    )
    # Reasoning models take none of their thinking back.
    text = _clean(head_and_tail(without_thinking(entry["text"]), _REPLY_CHARACTERS)[0])
    return Message("assistant", text if text.strip() or calls else "(empty reply)", calls)


def _arguments(text: str) -> str:
    """Return arguments as an API takes them back: a JSON object, and no megabytes of it."""
    try:
        known = len(text) <= _REPLY_CHARACTERS and isinstance(loads(text), dict)
    except ValueError:
        known = False
    if known:
        return _clean(text)
    return json.dumps({"code": _clean(head_and_tail(text, _REPLY_CHARACTERS)[0])})


def _without_middle(messages: list[Message], max_tokens: int, task: str) -> list[Message]:
    """Return system, tasks and the newest messages, cut before a reply: no tool message loses its call."""
    head = messages[:2]
    room = max_tokens - _tokens(head)
    start = len(messages)
    for position in range(len(messages) - 1, 1, -1):
        room -= _tokens([messages[position]])
        if room < 0 and start < len(messages):
            break
        if messages[position].role == "assistant":
            start = position
    left_out = start - 2
    if left_out > 0:
        notice = (
            f"{head[1].content}\n\n(The {left_out} messages after this one were left out; variables are still there.)"
        )
        head[1] = Message("user", f"{notice}\n\n{task}" if task else notice)
    return head + messages[start:]


def _clean(text: str) -> str:
    """Return the text without lone surrogates, which no JSON body can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
