"""What other policies would make of recorded steps, and the smallest that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Policy, RecordingError, compare_policies, replay
from safeexec.cli import main

ERRAND = Path(__file__).parents[1] / "recordings" / "data" / "errand.jsonl"


def test_steps_that_end_otherwise_are_told_with_the_line() -> None:
    before = Policy.load("standard")
    found = compare_policies(before, before.replace(builtins={"remove": ["sorted", "round"]}), [ERRAND])
    assert [(one.session, one.step) for one in found] == [(1, 8), (2, 8)]
    assert {(one.before, one.after) for one in found} == {("ok", "rejected: PolicyViolation")}
    assert all(one.rule for one in found) and "errand.jsonl, step 8" in str(found[0])
    assert not compare_policies(before, before.replace(memory_mb=300), [ERRAND])


def test_what_is_learnt_runs_what_was_recorded_and_opens_no_more() -> None:
    learnt = Policy.learn([ERRAND])
    policy = learnt.policy
    assert policy.imports == Policy.load("calculator").imports
    assert "input" in policy.builtins and "open" not in policy.builtins and "eval" not in policy.builtins
    assert not policy.attributes.danger_allow and not policy.danger_allow_commands and not policy.filesystem.read
    assert policy.filesystem.workspace == "none" and "price" not in policy.tools.allow
    assert policy.require == Policy.load("calculator").require, "no less of the kernel than a shipped profile"
    assert [told.partition(":")[0] for told in learnt.left_out] == ["the tool price (tools.allow)", f"{ERRAND}, step 5"]
    runs = policy.replace(tools={"allow": "all"}, determinism=Policy.load("standard").determinism)
    with replay(ERRAND, policy=runs, on_difference="go on") as replayed:
        ends = {place: result.outcome for place, result in replayed.results.items()}
    refused = {place for place, outcome in ends.items() if outcome in ("rejected", "violation", "memory")}
    assert refused == {(1, 5)}


def test_what_could_harm_is_told_and_never_proposed(tmp_path: Path) -> None:
    text = ERRAND.read_text()
    assert text.count("sorted(basket), total, rate") == 1
    path = tmp_path / "r.jsonl"
    uses = "import asyncio\\nasyncio.run(asyncio.sleep(0)), total.__class__.__subclasses__()"
    path.write_text(text.replace("sorted(basket), total, rate", uses))
    learnt = Policy.learn([path])
    assert not learnt.policy.attributes.danger_allow and learnt.policy.socketpair, "which event loops take"
    assert any(".__subclasses__ (attributes.danger_allow)" in told for told in learnt.left_out)


def test_the_command_learns_and_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "learn", str(ERRAND)]) == 0
    told = capsys.readouterr().out
    path = tmp_path / "mine.yaml"
    path.write_text(told)
    assert "# not in it: the tool price (tools.allow)" in told
    assert Policy.load(path) == Policy.learn([ERRAND]).policy.replace(name="mine")
    assert "extends: calculator" in told and len(told.splitlines()) < 15
    assert main(["policy", "learn", "--extends", "data-analysis", str(ERRAND)]) == 0
    assert "extends: data-analysis" in capsys.readouterr().out
    narrow = tmp_path / "narrow.yaml"
    narrow.write_text("extends: standard\nbuiltins: {remove: [sorted]}\n")
    assert main(["policy", "diff", "standard", str(narrow), "--recording", str(ERRAND)]) == 1
    assert "step 8: ok → rejected: PolicyViolation" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_what_is_no_recording_is_a_mistake_about_recordings(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordingError, match=r"the recording '.*' cannot be read: .*directory"):
        replay(tmp_path / name)
