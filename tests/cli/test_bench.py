"""`safeexec bench`: figures with their references, as a table and as JSON."""

from __future__ import annotations

import json

import pytest

from safeexec.cli import main


def test_every_figure_stands_beside_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--policy", "calculator", "--rounds", "3", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"a named checkpoint", "a step, x = x + 1, checkpoints off"} <= {row["what"] for row in rows}
    assert all(row["ours"] > 0 and row["reference"] > 0 and row["against"] for row in rows)


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--policy", "no-such-profile"]])
def test_mistakes_of_the_caller_are_told_before_anything_is_measured(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("safeexec")
