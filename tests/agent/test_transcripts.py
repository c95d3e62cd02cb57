"""Transcripts and recordings: what is written can be read, replayed and shortened; damage is named with its line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec import Sandbox
from safeexec.agent import CodeAgent, Message, RecordedModel, Reply, ScriptedModel, Transcript, TranscriptError
from safeexec.agent.messages import TokenUsage, ToolCall
from safeexec.agent.transcript import conversation, read_replies
from tests.untrusted.hostile import FILES

REPLIES = [
    Reply("plain"),
    Reply("", (ToolCall("a1", "run_python", '{"code": "x"}'),), TokenUsage(5, 6), "tool_calls"),
    Reply("lone surrogate \ud800 and NUL \0", usage=TokenUsage(1, 2, estimated=True), finish="length"),
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_comes_back_as_it_was(reply: Reply, tmp_path: Path) -> None:
    transcript = Transcript(path=tmp_path / "t.jsonl")
    transcript.add("task", task="t")
    transcript.add("reply", **reply.to_dict())
    assert Transcript.load(tmp_path / "t.jsonl").pending_reply == reply


@pytest.mark.profile("calculator")
def test_the_transcript_of_a_run_replays_it(sandbox: Sandbox, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    model = ScriptedModel(["```python\nx = 6\n```", "```python\nx * 7\n```", "42"])
    first = CodeAgent(model, sandbox, transcript=path).run("6 times 7?")
    again = CodeAgent(RecordedModel(path), sandbox).run(first.transcript.task)
    assert again.answer == first.answer == "42"
    assert [step.result.value for step in again.steps] == [None, 42]
    replay = RecordedModel(path)
    assert [replay.complete([]).text for _ in range(3)] == ["```python\nx = 6\n```", "```python\nx * 7\n```", "42"]
    with pytest.raises(TranscriptError, match="no further reply"):
        replay.complete([])


TASK = '{"kind": "task", "task": "t"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "begins with its task"),
        ('{"kind": "reply", "text": "x"}', "begins with its task"),
        ('{"kind": "task"}', ":1: not a line of kind 'task'.*`task`"),
        (f"{TASK}\0", ":2: "),
        (TASK + '{"kind": "task", "task": "t", "n": ' + "9" * 10_000 + "}", ":2: "),
        (TASK + '{"kind": "task", "task": ' + "[" * 100_000, ":2: "),
        (f"{TASK}not json", ":2: not JSON"),
        (TASK + '{"kind": "hello"}', ":2: `kind` must be one of"),
        (TASK + '{"kind": "reply", "text": "", "tool_calls": [1]}', ":2: not a line of kind 'reply'"),
        (TASK + '{"kind": "end", "stop": "answer"}', ":2: not a line of kind 'end'.*`reason`"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{content}\n" if content else "")
    with pytest.raises(TranscriptError, match=message):
        Transcript.load(path)


def test_a_line_of_others_is_read_without_the_fields_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    reply = {"kind": "reply", "text": "x", "usage": None, "finish": None, "score": 1, "tool_calls": []}
    path.write_text('{"kind": "task", "task": "t", "by": "me"}\n\n' + json.dumps(reply) + "\n")
    read = Transcript.load(path)
    assert read.entries[0] == {"kind": "task", "task": "t", "model": None, "policy": None}
    assert read.pending_reply == Reply("x") == next(read_replies(path))


def test_a_run_that_died_in_the_middle_of_a_line_loses_that_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    written = Transcript(path=path)
    for text in ("first", "second ä"):
        written.add("task", task=text)
    whole = path.read_bytes()
    for end in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:end])
        read = Transcript.load(path)
        assert read.tasks == ["first"]
        read.add("notice", text="on")
        assert [entry["kind"] for entry in Transcript.load(path)] == ["task", "notice"]


@pytest.mark.parametrize("kind", [*(kind for kind in FILES if kind != "link to a file"), "none"])
def test_a_transcript_is_a_regular_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "below" / "run.jsonl"
    path.parent.mkdir()
    FILES.get(kind, str)(path)
    with pytest.raises(TranscriptError, match=r"run\.jsonl: cannot be read"):
        Transcript.load(path)
    with pytest.raises(TranscriptError, match=r"run\.jsonl: cannot be read"):
        RecordedModel(path).complete([])


def steps(count: int, size: int) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = [{"kind": "task", "task": "the task"}]
    for number in range(count):
        entries.append({"kind": "reply", "text": f"reply {number}"})
        entries.append({"kind": "step", "source": "x", "outcome": "ok", "observation": f"seen {number} " + "x" * size})
    return entries


def test_old_observations_are_shortened_then_the_middle_goes_and_the_newest_task_never() -> None:
    messages = conversation(steps(30, 2000), "system", 10_000)
    assert len(messages) == 62
    assert "characters left out" in messages[3].content
    assert messages[-1].content == "seen 29 " + "x" * 2000
    messages = conversation(steps(300, 2000), "system", 5_000)
    assert messages[1].content.startswith("the task\n\n(The ")
    assert messages[2].role == "assistant"
    assert "seen 299" in messages[-1].content
    entries = [*steps(3, 10), {"kind": "task", "task": "the further task"}, *steps(300, 2000)[1:]]
    messages = conversation(entries, "system", 5_000)
    assert messages[1].content.startswith("the task\n\n(The ")
    assert messages[1].content.endswith("the further task")


def test_thinking_does_not_go_back_and_a_conversation_ends_with_a_word_of_the_user() -> None:
    replies = [{"kind": "reply", "text": f"<think>\nhm\n</think>{said}"} for said in ("\nSo.", "")]
    messages = conversation([{"kind": "task", "task": "t"}, *replies], "system", 10_000)
    assert [message.content.strip() for message in messages[2:]] == ["So.", "Go on.", "(empty reply)", "Go on."]
    entries: list[dict[str, object]] = [
        {"kind": "task", "task": "t"},
        {"kind": "reply", "text": "no"},
        {"kind": "end", "stop": "refused", "reason": "filtered", "answer": None},
    ]
    assert conversation(entries, "system", 10_000)[-1] == Message("user", "Go on.")
    resumed = conversation([*entries, {"kind": "reply", "text": "yes"}], "system", 10_000)
    assert [message.role for message in resumed] == ["system", "user", "assistant", "user", "assistant", "user"]
    entries.append({"kind": "task", "task": "then this"})
    assert conversation(entries, "system", 10_000)[-1].content == "(The work was stopped: filtered.)\n\nthen this"


@pytest.mark.parametrize("arguments", ["print(1", "[1]", "1", '{"code": "' + "x" * 100_000 + '"}', "[" * 100_000])
def test_arguments_go_back_as_an_object_of_bounded_size(arguments: str) -> None:
    call = {"id": "a", "name": "set policy\ud800", "arguments": arguments}
    entries: list[dict[str, object]] = [
        {"kind": "task", "task": "t"},
        {"kind": "reply", "text": "", "tool_calls": [call]},
    ]
    (sent,) = conversation(entries, "system", 10_000)[2].tool_calls
    assert json.loads(sent.arguments)["code"].startswith(arguments[:1])
    assert len(sent.arguments) < 40_000 and sent.name == "set_policy_"


@st.composite
def recorded_runs(draw: st.DrawFn) -> list[dict[str, object]]:
    """Entries of some runs in one transcript, each of which may have ended anywhere."""
    entries: list[dict[str, object]] = []
    for run in range(draw(st.integers(1, 3))):
        if run == 0 or draw(st.booleans()):
            entries.append({"kind": "task", "task": f"task {run}"})
        for turn in range(draw(st.integers(0, 6))):
            ids = [f"r{run}t{turn}c{n}" for n in range(draw(st.integers(0, 3)))]
            text = draw(st.sampled_from(["", "words", "<think>hm", "\ud800", "x" * 500]))
            calls = [{"id": ident, "name": "run_python", "arguments": "{"} for ident in ids]
            entries.append({"kind": "reply", "text": text, "tool_calls": calls})
            step = {"kind": "step", "source": "x", "outcome": "ok", "observation": "seen" * 50}
            entries.extend({**step, "call": ident} for ident in ids[: draw(st.integers(0, 3))])
            if not ids and draw(st.booleans()):
                entries.append({**step, "call": None})
            if draw(st.booleans()):
                entries.append({"kind": "notice", "text": "by the way"})
        if draw(st.booleans()):
            answer = draw(st.sampled_from([None, "42"]))
            entries.append({"kind": "end", "stop": "answer", "reason": "why", "answer": answer})
    return entries


@given(recorded_runs(), st.sampled_from([50, 400, 10_000]))
def test_a_conversation_is_one_that_apis_take_whatever_happened(entries: list[dict[str, object]], tokens: int) -> None:
    messages = conversation(entries, "system", tokens)
    assert [message.role for message in messages[:2]] == ["system", "user"]
    waiting: list[str] = []
    for before, message in pairwise(messages):
        message.content.encode()
        if message.role == "tool":
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting, "a call has no answer"
            assert (message.role == "assistant") == (before.role in ("user", "tool"))
            waiting = [call.id for call in message.tool_calls]
    assert not waiting and messages[-1].role in ("user", "tool")
