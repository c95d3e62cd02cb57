"""`safeexec replay`."""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec import Sandbox
from safeexec.cli import main


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "r.jsonl"
    with Sandbox("calculator", spare=0) as sandbox, sandbox.session(record=path) as session:
        session.set("n", 2)
        session.run("n * 2")
        session.run("while True: pass", timeout=0.1)
        session.run("print('\x1b[31m', n)\nn * 3")
    return path


def test_a_recording_is_run_again(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(recording)]) == 0
    told = capsys.readouterr().out
    assert told == f"step 2 was stopped (timeout): taken as recorded\n2 steps of {recording}: nothing differs\n"
    assert main(["replay", str(recording), "--to", "1"]) == 0
    assert capsys.readouterr().out.startswith("1 step of ")
    assert main(["replay", str(recording), "--set", "n=1 + 4"]) == 1
    assert "step 1: text was '4', and is '10'; because n was set" in capsys.readouterr().out
    other = tmp_path / "other.py"
    other.write_text("print(n)\nn * 3")
    assert main(["replay", str(recording), "--replace", f"3={other}"]) == 0
    told = capsys.readouterr().out
    assert "step 3 was replaced: stdout was" in told and "nothing else differs" in told and "\x1b" not in told


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
def test_a_wrong_command_line_says_what_is_wrong(
    recording: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    try:
        assert main(["replay", str(recording), *arguments]) == 2
    except SystemExit as end:
        assert end.code == 2
    assert told in capsys.readouterr().err
