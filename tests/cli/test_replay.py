"""`safeexec replay`."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Sandbox
from tests.conftest import Called


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    with Sandbox("calculator", spare=0) as sandbox, sandbox.session(record=path) as session:
        session.set("n", 2)
        session.run("n * 2")
        session.run("while True: pass", timeout=0.1)
        session.run("print('\x1b[31m', n)\nn * 3")
    return path


def test_a_recording_is_run_again(recording: Path, tmp_path: Path, called: Called) -> None:
    same = f"step 2 was stopped (timeout): taken as recorded\n2 steps of {recording}: nothing differs\n"
    assert called("replay", recording) == (0, same, "")
    assert called("replay", recording, "--to", "1").out.startswith("1 step of ")
    told = called("replay", recording, "--set", "n=1 + 4")
    assert told.status == 1 and "step 1: text was '4', and is '10'; because n was set" in told.out
    other = tmp_path / "other.py"
    other.write_text("print(n)\nn * 3")
    told = called("replay", recording, "--replace", f"3={other}")
    assert told.status == 0 and "step 3 was replaced: stdout was" in told.out
    assert "nothing else differs" in told.out and "\x1b" not in told.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--to", "x"], "'x' is no step: N, or SESSION.N"),
        (["--to", "9"], "there is no step 9 of session 1"),
        (["--to", "2.1"], "there is no step 1 of session 2"),
        (["--set", "n"], "'n' has no ="),
        (["--set", "n=("], "never closed"),
        (["--file", "a=/nowhere"], "no file 'a' is in the recording"),
        (["--policy", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_command_line_is_explained(recording: Path, called: Called, arguments: list[str], told: str) -> None:
    wrong = called("replay", recording, *arguments)
    assert wrong.status == 2 and told in wrong.err
