"""A few dozen acts and faults, always the same (``python -m tests.chaos``: more), and that a wrong answer is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from safeexec import Session
from tests.alone import importing
from tests.chaos.run import Act, play

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", [2, 7])
def test_every_answer_is_the_models(seed: int) -> None:
    """In a process of its own: the limits that are lowered there are no test's."""
    command = [sys.executable, "-m", "tests.chaos", "--minutes", "0", "--acts", "30", "--seed", str(seed)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, env=importing())
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Session.get

    def wrong(self: Session, name: str, default: Any = None) -> Any:
        value = true(self, name, default)
        return value + 1 if isinstance(value, int) else value

    monkeypatch.setattr(Session, "get", wrong)
    assert "should hold" in play([Act("set", 0, 1)]).wrong
