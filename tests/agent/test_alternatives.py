"""Alternatives of a cleaning step: each in a branch, the best by a score that the user names is gone on from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from safeexec import Allow, AsyncSandbox, Deny, Policy, Sandbox
from safeexec.agent import AgentError, DataAnalyst, ScriptedModel, Transcript

DATA = {"numbers.txt": b"1\n\n3\nx\n5\n"}
POLICY = Policy.load("standard").replace(filesystem={"workspace": "read-write"}, builtins={"add": ["open"]})
READ = "rows = open('numbers.txt').read().split('\\n')\n"
KEEP_NUMBERS = READ + "clean = [int(r) for r in rows if r.isdigit()]"
KEEP_FIRST = READ + "clean = [int(rows[0])]"
FAIL = READ + "clean = [int(r) for r in rows]"
THREE = "Three ways.\n" + "\n".join(f"```python\n{source}\n```" for source in (KEEP_FIRST, FAIL, KEEP_NUMBERS))
LAST = "<execute_python>final_answer(sum(clean))</execute_python>"


def analyst(*replies: Any, sandbox: Any = POLICY, **options: Any) -> tuple[DataAnalyst, ScriptedModel]:
    model = ScriptedModel([*replies], keep_requests=True)
    given = {"files": DATA} if isinstance(sandbox, Policy) else {}
    return DataAnalyst(model, policy=sandbox, **{"alternatives": 3, "score": "len(clean)", **given, **options}), model


def test_the_best_alternative_is_the_first_step() -> None:
    made, model = analyst(THREE, LAST)
    analysis = made.run("What is the sum?")
    assert (analysis.ok, analysis.answer) == (True, 9)
    assert [(each.score, each.chosen) for each in analysis.alternatives] == [(1, False), (None, False), (3, True)]
    assert "ValueError" in analysis.alternatives[1].problem
    assert [step.number for step in analysis.run.steps] == [0, 1]
    assert analysis.run.steps[0].source == KEEP_NUMBERS
    assert analysis.run.usage.model_calls == 2
    first, second = (" ".join(message.content for message in request) for request in model.requests)
    assert "write 3 alternative programs" in first and "len(clean)" in first
    assert "Alternative 3: score 3; this one was kept" in second and "Alternative 2: no score: ValueError" in second


def test_a_function_of_the_host_may_be_the_score() -> None:
    made, model = analyst(THREE, LAST, score=lambda session: -len(session.get("clean")))
    analysis = made.run("What is the sum?")
    assert analysis.answer == 1 and [each.chosen for each in analysis.alternatives] == [True, False, False]
    assert "a score that you do not see" in model.requests[0][-1].content


def test_where_no_alternative_has_a_score_the_loop_goes_on(tmp_path: Path) -> None:
    failing = f"```python\n{FAIL}\n```"
    made, model = analyst(failing, f"```python\n{KEEP_NUMBERS}\n```", LAST, transcript=tmp_path / "run.jsonl")
    analysis = made.run("What is the sum?")
    assert "no score: ValueError" in Transcript.load(tmp_path / "run.jsonl").entries[2]["text"]
    assert analysis.answer == 9 and not any(each.chosen for each in analysis.alternatives)
    assert "no score: ValueError" in model.requests[1][-1].content
    made, _ = analyst("I would rather talk.", "The sum is 9.")
    assert made.run("What is the sum?").alternatives == ()


def test_each_alternative_is_confirmed() -> None:
    def confirm(source: str) -> Allow | Deny:
        return Deny("no") if source == KEEP_NUMBERS else Allow()

    made, _ = analyst(THREE, LAST, confirm=confirm)
    analysis = made.run("What is the sum?")
    assert [each.source for each in analysis.alternatives] == [KEEP_FIRST, FAIL] and analysis.answer == 1


def test_a_transcript_of_it_is_gone_on_with(tmp_path: Path) -> None:
    made, _ = analyst(THREE, LAST, transcript=tmp_path / "run.jsonl")
    made.run("What is the sum?")
    made, _ = analyst("<execute_python>final_answer(max(clean))</execute_python>")
    assert made.resume(Transcript.load(tmp_path / "run.jsonl"), "And the largest?").answer == 5


def test_in_a_session_that_is_given_and_awaited() -> None:
    with Sandbox(POLICY, files=DATA) as sandbox, sandbox.session() as session:
        made, _ = analyst(THREE, LAST, sandbox=session)
        assert made.run("What is the sum?").answer == 9
        assert session.get("clean") == [1, 3, 5]

    async def awaited() -> Any:
        async with AsyncSandbox(POLICY, files=DATA) as sandbox:
            made, _ = analyst(THREE, LAST, sandbox=sandbox)
            return await made.run_async("What is the sum?")

    analysis = asyncio.run(awaited())
    assert analysis.answer == 9 and [each.score for each in analysis.alternatives] == [1, None, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alternatives": 0}, "at least 1"),
        ({"alternatives": 2, "score": None}, "go together"),
        ({"alternatives": 1, "score": "x"}, "go together"),
        ({"score": 3}, "a program whose value counts"),
        ({"native": True}, "native=True"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AgentError, match=message):
        analyst(THREE, **options)
