"""`safeexec bench`: figures with their references, as a table and as JSON."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Called


def test_every_figure_stands_beside_a_reference(called: Called) -> None:
    told = called("bench", "--policy", "calculator", "--rounds", "3", "--json")
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert told.status == 0
    assert {"a named checkpoint", "a step, x = x + 1, checkpoints off"} <= {row["what"] for row in rows}
    assert all(row["ours"] > 0 and row["reference"] > 0 and row["against"] for row in rows)


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--policy", "no-such-profile"]])
def test_mistakes_are_told_before_anything_is_measured(arguments: list[str], called: Called) -> None:
    told = called("bench", *arguments)
    assert (told.status, told.out) == (2, "") and told.err.startswith("safeexec")
