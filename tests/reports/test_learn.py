"""The smallest policy for a recording: one line of each kind, and what is asked of a policy for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Policy, RecordOptions
from safeexec.recordings import format as form
from safeexec.recordings.forms import content, encoded, packed
from safeexec.recordings.writer import RecordWriter
from safeexec.reports.learn import Learnt
from safeexec.results.outcomes import ErrorInfo, Usage

HEADING = form.Heading(format=form.FORMAT, safeexec="0", python="3")


def learnt_from(path: Path, *records: form.Record) -> Learnt:
    writer = RecordWriter(RecordOptions(path=path))
    for record in records:
        writer.add(record)
    writer.close()
    assert not writer.problem
    return Policy.learn([path])


def step(source: str, outcome: str = "ok", error: ErrorInfo | None = None) -> tuple[form.Record, ...]:
    return form.Run(source=source, step=1), form.Ended(step=1, outcome=outcome, error=error)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([form.Command(argv=["git", "log"])], "the program git of Session.command"),
        ([form.Queried(step=2, source="select 1", name="t")], "step 2: its SQL, which takes duckdb under `imports`"),
        (step("import os", "rejected"), "step 1: it was refused when it was recorded"),
        (step("global x\nx = 1\nglobal x"), "step 1: the program is not valid Python, line 3: name 'x' is assigned"),
        (step("import ctypes"), "step 1: ctypes: it reads and writes memory by address"),
        (step("f.__globals__"), "step 1: .__globals__ (attributes.danger_allow)"),
    ],
)
def test_what_no_policy_is_proposed_for_is_told(tmp_path: Path, records: list[form.Record], told: str) -> None:
    learnt = learnt_from(tmp_path / "r.jsonl", HEADING, *records)
    assert len(learnt.left_out) == 1 and told in learnt.left_out[0]
    policy = learnt.policy
    assert not (policy.danger_allow_commands or policy.attributes.danger_allow)
    assert policy.filesystem.workspace == "none" and not policy.filesystem.read


def test_files_checkpoints_and_branches_are_opened_as_far_as_they_were_used(tmp_path: Path) -> None:
    assert learnt_from(tmp_path / "a", HEADING).policy.limits.branches == 0
    held = form.Heading(format=form.FORMAT, safeexec="0", python="3", files={"a.txt": content(b"x")})
    assert learnt_from(tmp_path / "b", held).policy.filesystem.workspace == "read-write"
    written = form.Written(name="a.txt", content=content(b"x"))
    assert learnt_from(tmp_path / "c", HEADING, written, written).policy.filesystem.workspace == "read-write"
    limits = learnt_from(
        tmp_path / "d", HEADING, form.Named(name="one"), form.Branched(branches=[2, 3]), form.Branched(branches=[4])
    ).policy.limits
    assert (limits.checkpoints, limits.branches) == (2, 6)


def test_no_limit_is_proposed_that_no_policy_can_have(tmp_path: Path) -> None:
    """What a recording says of itself is anybody's word, and a machine may be larger than what a policy knows."""
    most = Usage(wall_ms=1e308, cpu_ms=9e7, peak_memory_mb=1e308, output_bytes=10**15)
    run, ended = form.Run(source="1", step=1), form.Ended(step=1, outcome="ok", usage=most)
    limits = learnt_from(tmp_path / "r.jsonl", HEADING, run, ended).policy.limits
    assert (limits.wall_seconds, limits.max_wall_seconds, limits.cpu_seconds) == (86400, 86400, 86400)
    assert (limits.memory_mb, limits.output_kb) == (1 << 20, 1 << 20)


def test_a_step_that_was_no_python_needs_nothing(tmp_path: Path) -> None:
    typo = ErrorInfo(type="SyntaxError", message="invalid syntax")
    learnt = learnt_from(tmp_path / "r.jsonl", HEADING, *step("import math x", "error", typo), *step("1 + 1"))
    assert not learnt.left_out and "imports" not in learnt.yaml
    called = form.Called(call=1, tool="price", arguments=packed(encoded(1)))
    told = learnt_from(tmp_path / "s.jsonl", HEADING, called, *step("import math", "timeout")).left_out
    assert told == ("the tool price (tools.allow)",)
