"""What the page makes of recordings that were made by running sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec.playback.page.nodes import Node
from safeexec.playback.page.of_recording import display_html, of_recording
from safeexec.recordings import format as f
from safeexec.recordings.reader import Recording
from safeexec.recordings.timeline import LEVELS
from tests.untrusted.doubling import SLACK, growth

DATA = Path(__file__).parents[2] / "recordings" / "data"


def nodes(name: str) -> list[Node]:
    return of_recording(Recording(DATA / f"{name}.jsonl")).nodes


@pytest.mark.parametrize("name", ["errand", "search", "analysis"])
def test_each_row_comes_from_one_before(name: str) -> None:
    for row, node in enumerate(nodes(name)):
        assert -1 <= node.parent < row
        assert node.parent >= 0 or node.kind == "start"


def test_an_errand_is_told_step_by_step() -> None:
    rows = nodes("errand")
    steps = [node for node in rows if node.kind == "step"]
    first = steps[0]
    assert (first.outcome, first.value, first.described["total"]) == ("ok", "10.0", "float 10.0")
    assert {call.tool for call in first.calls} == {"price"}
    assert {"error", "rejected", "timeout"} <= {node.outcome for node in steps}
    assert any(node.kind == "checkpoint" and node.labels == ["before tax"] for node in rows)
    (branch,) = (row for row, node in enumerate(rows) if node.kind == "branch")
    assert {node.session for node in rows if node.parent == branch and node.kind == "step"} == {2, 3}


def record(*lines: f.Record) -> list[Node]:
    return of_recording([f.Heading(format=1, safeexec="1", python="3.11", policy="p"), *lines]).nodes


def step(number: int, source: str, *, session: int = 1, outcome: str = "ok", state: str = "kept") -> list[f.Record]:
    ended = f.Ended(
        session=session, step=number, now=number if state == "kept" else number - 1, outcome=outcome, state=state
    )  # type: ignore[arg-type]
    return [f.Run(session=session, step=number, source=source), ended]


def test_what_was_undone_killed_or_failed_leads_nowhere() -> None:
    rows = record(*step(1, "a"), *step(2, "b"), f.RolledBack(step=2, now=1), *step(3, "c"))
    assert [(node.title, node.parent, node.undone) for node in rows[1:]] == [
        ("a", 0, False),
        ("b", 1, True),
        ("roll back to the state after step 1", 1, False),
        ("c", 3, False),
    ]
    rows = record(*step(1, "a"), *step(2, "b", outcome="timeout", state="restored"), *step(3, "c"))
    assert [(node.title, node.parent, node.undone) for node in rows[2:]] == [("b", 1, True), ("c", 1, False)]
    rows = record(*step(1, "a"), f.RolledBack(step=1, now=1, name="x", problem="CheckpointError: no checkpoint 'x'"))
    assert (rows[2].outcome, rows[2].parent, rows[1].undone) == ("error", 1, False)


def test_records_in_an_order_that_no_host_writes() -> None:
    rows = record(
        f.Ended(session=7, step=1, outcome="ok"),
        f.Answered(call=9),
        f.RolledBack(session=4, now=99, name="x"),
        f.Branched(session=5, branches=[5, 1]),
        *step(1, "a", session=5),
        f.Closed(session=8),
    )
    assert all(-1 <= node.parent < row for row, node in enumerate(rows))


def test_a_named_state_is_found_again_with_what_the_host_had_set() -> None:
    value = f.Value(text="5")
    rows = record(
        *step(1, "a"),
        f.Set(step=1, now=1, name="k", value=value),
        f.Named(step=1, now=1, name="there"),
        *step(2, "b"),
        f.RolledBack(step=2, now=1, name="there"),
        *step(3, "c"),
    )
    assert [node.kind for node in rows] == ["start", "step", "change", "checkpoint", "step", "rollback", "step"]
    assert rows[5].parent == 3
    assert rows[2].described == {"k": "5"}


def test_each_kind_of_record_has_its_row() -> None:
    rows = record(
        f.FromTemplate(name="warm", now=0),
        f.Run(step=1, source="x = 1"),
        f.Called(step=1, call=1, tool="price", arguments=f.Value(text="'tea'")),
        f.Answered(step=1, call=1, outcome="error", error_type="KeyError", error="tea"),
        f.Ended(step=1, now=1, outcome="ok", displays=[f.DisplayText({"image/png": "no base64"})]),
        f.Called(step=1, call=2, tool="price", arguments=f.Value()),
        f.Effect(step=1, call=1, tool="send", became="failed", message="nobody is there"),
        f.StateSaved(step=1, now=1, failed={"lock": "it cannot be pickled"}),
        f.Command(step=1, now=1, argv=["make", "all"], status=2, stderr="no rule"),
        f.RolledBack(step=1, now=1, name="gone", problem="there is no such checkpoint"),
        f.Branched(step=1, now=1, problem="too many"),
        f.Stop(reason="full"),
    )
    assert [(node.kind, node.title, node.outcome, node.text) for node in rows[1:]] == [
        ("checkpoint", "the template warm is prepared: the session begins here", "", ""),
        ("step", "x = 1", "ok", ""),
        ("words", "effect of send: failed", "", "nobody is there"),
        ("words", "the session is saved to a file", "", ""),
        ("command", "make all", "error", "exit status 2"),
        ("rollback", "roll back to gone", "error", "there is no such checkpoint"),
        ("branch", "branch: session ", "error", "too many"),
        ("end", "the recording was full", "", ""),
    ]
    loaded = rows[2]
    assert [(call.tool, call.answer) for call in loaded.calls] == [("price", "KeyError: tea")]
    assert rows[4].notes == ["lock is not in it: it cannot be pickled"]


def test_a_display_is_made_harmless() -> None:
    shown = display_html(f.DisplayText({"text/html": "<script>alert(1)</script><b>x</b>", "text/plain": "x"}))
    assert "<iframe sandbox=" in shown
    assert "<script" not in shown
    assert "data: image/png" not in display_html(f.DisplayText({"image/png": "no base64 !", "text/plain": "x"}))


def calls_of_one_step(n: int) -> list[f.Record]:
    calls: list[f.Record] = [f.Run(source="1")]
    for call in range(1, n):
        calls += [f.Called(call=call, tool="t", arguments=f.Value()), f.Answered(call=call, value=f.Value(text="1"))]
    return [*calls, f.Ended(outcome="ok")]


def test_calls_rows_and_branches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert growth(of_recording, calls_of_one_step, 1 << 8, 1 << 12) < SLACK
    nested: list[f.Record] = [f.Branched(session=number, branches=[number + 1]) for number in range(1, LEVELS + 500)]
    page = of_recording([*nested, f.RolledBack(session=LEVELS + 500, now=7)])
    assert page.nodes[-1].kind == "rollback"
    monkeypatch.setattr("safeexec.playback.page.of_recording.MAX_ROWS", 100)
    page = of_recording(f.Note(text="x") for _ in range(110))
    assert len(page.nodes) == 101
    assert "no more than" in page.nodes[-1].title
