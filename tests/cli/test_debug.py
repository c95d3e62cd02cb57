"""`safeexec debug`, and what the REPL has of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.alone import alone
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


def test_commands_are_read_and_a_mistake_ends_nothing(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("at 99\n\nat x\nwhen rate\nquit\nhistory\n"))
    status, out, err = called("debug", ERRAND)
    assert status == 0 and "the host set rate" in out and "while True" not in out
    assert "no step 99" in err and "'x' is no step" in err


KILLED = """
import os, sys
from safeexec import Sandbox, tool

@tool(effect="deferred", idempotent=True)
def pay(amount: int, *, effect_key: str) -> None:
    if amount == 3:
        os.kill(os.getpid(), 9)

@tool(undo=lambda seat, row: os.kill(os.getpid(), 9))
def book(row: int) -> int:
    return row if row else os.kill(os.getpid(), 9)

def ask(text: str) -> str:
    return text

with Sandbox("standard", tools=[pay, book, ask], spare=0) as sandbox:
    session = sandbox.session(record=sys.argv[1])
    session.run("ask('x'); pay(1); book(1)").check()
    session.rollback() if sys.argv[2] == "rollback" else session.run(sys.argv[2])
"""


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ("pay(2); pay(3)", "     2  pay(3), key "),
        pytest.param("book(0)", "     2  book(0), key ", marks=pytest.mark.slow),
        pytest.param("rollback", "     1  undo of book(1), key ", marks=pytest.mark.slow),
    ],
)
def test_effects_that_a_killed_host_began_are_listed(last: str, told: str, tmp_path: Path, called: Called) -> None:
    path = str(tmp_path / "r.jsonl")
    assert alone(KILLED, path, last).returncode == -9
    status, out, _ = called("debug", path, "effects")
    assert status == 0 and out.startswith(told) and out.count("\n") == 1, "every other one has its end"


def test_the_repl_shows_its_past(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "x = 2\ny = x * 3\n:history\n:at 2\n:when y\n:at z\n:quit\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    status, out, err = called("repl", "-p", "calculator")
    assert status == 0 and "     2  ok         y = x * 3" in out
    assert "read: x\nwrote: y" in out and "y = int 6" in out and "'z' is no step" in err
