"""Every rule answers an example, and the mended form of each example runs."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

from safeexec.hints.runtime import RULES
from tests.alone import ran
from tests.hints.examples import name_of

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The rules that answered the examples: in processes of their own, for examples leave files open and loops behind,
    as mistakes do.
    """
    for library in (
        *("pandas", "sklearn", "matplotlib", "scipy", "sympy", "plotly", "duckdb"),
        *("PIL", "bs4", "networkx", "seaborn", "statsmodels"),
    ):
        pytest.importorskip(library)
    found: set[str] = set()
    for half in ("0", "1"):
        done = ran(
            [sys.executable, "-m", "tests.hints.examples", half],
            timeout=600,
            cwd=tmp_path_factory.mktemp("examples"),
            env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        )
        assert done.returncode == 0, done.stderr[-2000:]
        told = json.loads(done.stdout.splitlines()[-1])
        assert not told["wrong"]
        found.update(told["answered"])
    return found


def test_every_rule_answers_an_example(answered: set[str]) -> None:
    """So no rule hides another. Without one are those of what a policy refuses."""
    rules = {name_of(rule.hint) for rule in RULES.rules}
    without = {"files._no_open", "files._no_semaphores"}
    silent = rules - answered - {f"safeexec.hints.{name}" for name in without}
    assert not silent or sys.version_info >= (3, 12), silent  # later ones use other words
