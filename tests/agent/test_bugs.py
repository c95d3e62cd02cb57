"""Forty programs with a bug, repaired with a model that proposes wrong, special-cased and right patches."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec.agent import ScriptedModel
from safeexec.agent.repair import RepairAgent, RepairResult
from tests.agent.bugs import BUGS, Bug, Edit

SAMPLE = ("safe_divide", "fizz")
"""Those that every run of the tests takes; `tests/agent/test_surface.py` judges the patches of all."""


def code(edit: Edit) -> str:
    source = f"replace_text('m.py', {edit[0]!r}, {edit[1]!r})\nprint(verify('patch'))\nprint(undo())"
    return f"<execute_python>\n{source}\n</execute_python>"


def repaired(root: Path, bug: Bug, *edits: Edit) -> RepairResult:
    (root / "m.py").write_text(bug.source)
    (root / "check.py").write_text(f"import m\n{bug.checks}")
    model = ScriptedModel([*map(code, edits), "Done.", "Done."])
    return RepairAgent(model, root, verify=["python", "check.py"], timeout=20).run()


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in SAMPLE else pytest.mark.slow) for n in BUGS])
def test_a_right_patch_is_ok_without_a_warning_and_a_special_case_never(name: str, tmp_path: Path) -> None:
    bug = BUGS[name]
    right = repaired(tmp_path, bug, bug.wrong, bug.right)
    assert not right.before.ok and right.ok, right.after.log
    assert right.warnings == ()
    assert len(right.commits) == 1, "the wrong one was not kept"
    special = repaired(tmp_path, bug, bug.wrong, bug.special)
    assert special.ok, "the checks alone do not see it"
    assert special.warnings


def test_the_smallest_candidate_that_passes_without_a_warning_wins(tmp_path: Path) -> None:
    bug = BUGS["mean"]
    (tmp_path / "m.py").write_text(bug.source)
    (tmp_path / "check.py").write_text(f"import m\n{bug.checks}")
    long = (
        "    return sum",
        "    values = list(values)\n    total = sum(values)\n    return total / len(values)\n    return sum",
    )
    tries = [bug.wrong, bug.special, long, bug.right]
    replies = [
        reply
        for edit in tries
        for reply in ([code(edit), "No.", "No."] if edit == bug.wrong else [code(edit), "Done."])
    ]
    agent = RepairAgent(
        ScriptedModel(replies), tmp_path, verify=["python", "check.py"], candidates=4, transcript=tmp_path / "run.jsonl"
    )
    best = agent.run()
    assert best.ok and best is best.candidates[3] and "sum(values) / len(values)" in best.diff
    assert [candidate.after.ok for candidate in best.candidates] == [False, True, True, True]
    assert [bool(candidate.warnings) for candidate in best.candidates] == [False, True, False, False]
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        "run-2.jsonl", "run-3.jsonl", "run-4.jsonl", "run.jsonl",
    ]  # fmt: skip
