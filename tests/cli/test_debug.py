"""`safeexec debug`, and what the REPL has of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.conftest import Called

ERRAND = str(Path(__file__).parents[1] / "recordings" / "data" / "errand.jsonl")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["history"], "     6  timeout    while True:\\n    pass   (undone)\n"),
        (["at", "2"], "read: rate, total\nwrote: total\n"),
        (["when", "total"], "     1  ok         basket = "),
        (["when", "nothing"], "no step of it has changed nothing"),
        (["vars", "2.8"], "total = int 11"),
        (["vars"], "total = float 10.0"),
        (["effects"], "of every effect it is known what came of it\n"),
        (["help"], "history          the steps"),
        (["try", "1", "rate = 0.5; total * rate"], "5.0\n"),
        (["error", "4"], "<step 4>, line 2, in share\n    of = 10.8\n    among = 0\n"),
        (["error", "2"], "no function of it was running"),
    ],
)
def test_a_command_is_answered(command: list[str], told: str, called: Called) -> None:
    answer = called("debug", ERRAND, *command)
    assert answer.status == 0 and told in answer.out


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["histroy"], "there is no command 'histroy'; did you mean history?"),
        (["at"], "at takes other words"),
        (["at", "2.1"], "there is no step 1 of session 2"),
    ],
)
def test_a_command_that_is_none_is_an_error(command: list[str], told: str, called: Called) -> None:
    answer = called("debug", ERRAND, *command)
    assert answer.status == 2 and told in answer.err


def test_a_mistake_ends_nothing_and_the_repl_shows_its_past(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("at 99\n\nat x\nwhen rate\nquit\nhistory\n"))
    status, out, err = called("debug", ERRAND)
    assert status == 0 and "the host set rate" in out and "while True" not in out
    assert "no step 99" in err and "'x' is no step" in err
    lines = "x = 2\ny = x * 3\n:history\n:at 2\n:when y\n:at z\n:quit\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    status, out, err = called("repl", "-p", "calculator")
    assert status == 0 and "     2  ok         y = x * 3" in out
    assert "read: x\nwrote: y" in out and "y = int 6" in out and "'z' is no step" in err
