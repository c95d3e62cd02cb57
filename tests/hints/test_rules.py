"""Every rule speaks of its own example, and the mended form of the example runs."""

from __future__ import annotations

import json
import os
import pathlib
import re._parser as parser
import subprocess
import sys

import pytest

from safeexec.hints.rules import needles
from safeexec.hints.runtime import RULES

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("half", [0, 1])
def test_every_rule_answers_its_own_example(half: int, tmp_path: pathlib.Path) -> None:
    """In a process of their own: examples leave files open and loops behind, as mistakes do."""
    for library in ("pandas", "sklearn", "matplotlib", "scipy", "sympy", "plotly"):
        pytest.importorskip(library)
    done = subprocess.run(
        [sys.executable, "-m", "tests.hints.examples", str(half)],
        capture_output=True,
        text=True,
        timeout=600,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["examples"] > 200
    assert not told["wrong"]


def test_only_what_a_policy_refuses_has_no_example() -> None:
    without = {
        str(getattr(rule.hint, "__name__", rule.hint))
        for rules in RULES.by_kind.values()
        for rule in rules
        if not rule.wrong
    }
    assert without == {"_no_open", "_no_semaphores", "_named_exception"}


def test_needles_never_hide_a_pattern() -> None:
    """A text made from a pattern's own literals always has one of its needles."""

    def shortest(tree: object) -> str:
        text = ""
        for op, value in tree:  # type: ignore[attr-defined]
            match str(op):
                case "LITERAL":
                    text += chr(value)
                case "SUBPATTERN":
                    text += shortest(value[3])
                case "BRANCH":
                    text += shortest(value[1][-1])
                case "MAX_REPEAT" | "MIN_REPEAT":
                    text += shortest(value[2]) * value[0]
                case "IN" | "ANY" | "NOT_LITERAL":
                    text += "7"
        return text

    for rule in [rule for rules in RULES.by_kind.values() for rule in rules]:
        if wanted := needles(rule.pattern):
            assert any(needle in shortest(parser.parse(rule.pattern)) for needle in wanted), rule.pattern
