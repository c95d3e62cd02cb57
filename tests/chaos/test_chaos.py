"""A few dozen acts and faults, always the same (``python -m tests.chaos``: more), and that a wrong answer is found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec import Session
from tests.alone import importing
from tests.chaos.faults import FAULTS, temporary_place
from tests.chaos.model import Model
from tests.chaos.run import ACTS, ELSEWHERE, WEIGHTS, Act, Outcome, play, shortest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _own_place() -> Iterator[None]:
    with temporary_place(own_disk=False):
        yield


@pytest.mark.parametrize("seed", [2, 7])
def test_every_answer_is_the_models(seed: int) -> None:
    """In a process of its own: the limits that are lowered there are no test's."""
    command = [sys.executable, "-m", "tests.chaos", "--minutes", "0", "--acts", "30", "--seed", str(seed)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, env=importing())
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_act_and_fault_has_a_weight() -> None:
    assert WEIGHTS.keys() == ACTS.keys() | ELSEWHERE.keys() | FAULTS.keys() | {"killed zygote"}


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Session.get

    def wrong(self: Session, name: str, default: Any = None) -> Any:
        value = true(self, name, default)
        return value + 1 if isinstance(value, int) else value

    monkeypatch.setattr(Session, "get", wrong)
    assert "should hold" in play([Act("set", 0, 1)]).wrong


def test_a_loss_that_nobody_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that forgets by itself: nothing was done to it."""
    true = Session.run
    monkeypatch.setattr(Session, "run", lambda self, source, **options: true(self, "None", **options))
    outcome = play([Act("step", 0, seed) for seed in range(3)])
    assert "should hold" in outcome.wrong


def test_the_shortest_sequence_keeps_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(given: list[Act]) -> Outcome:
        wrong = {3, 11} <= {act.seed for act in given}
        return Outcome(None, 0, "so" if wrong else "", 0)  # type: ignore[arg-type]

    monkeypatch.setattr("tests.chaos.run.play", fails)
    assert [act.seed for act in shortest([Act("rest", 0, seed) for seed in range(20)], 60.0)] == [3, 11]


def test_a_model_goes_where_it_was() -> None:
    model = Model()
    model.step({"a": 1})
    model.checkpoint("p")
    model.step({"a": 2})
    branch = model.branch()
    model.go_back()
    assert model.now == {"a": 1} and branch.now == {"a": 2}
    branch.go_to("p") if "p" in branch.named else branch.go_back()
    assert branch.now == {"a": 1} and branch.past == [{}]
    assert model.may_be_lost_to({}) and not model.may_be_lost_to({"a": 3})
