"""`safeexec agent`: offline replays, a local server, pictures, transcripts, and what it says without a key."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from safeexec.cli import main
from safeexec.cli.agent import shipped
from tests.agent.chat_server import Drip, Say, chat_server
from tests.alone import alone
from tests.footprint import until
from tests.interrupting import ended_by


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_run_is_shown_offline(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["agent", "--replay", name]) == 0
    shown = capsys.readouterr().out
    assert "--- step 1 ---" in shown
    assert "Hint: " in shown
    assert "=== " in shown
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_it_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "What is 2 + 2?"]) == 2
    said = capsys.readouterr().err
    assert "MISTRAL_API_KEY" in said and "--server-url" in said


@pytest.mark.parametrize("arguments", [[], ["--replay", "a", "--resume", "b"], ["t", "--report", "out"]])
def test_misuse_is_named(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", *arguments]) == 2
    assert capsys.readouterr().err.startswith("safeexec agent: ")


def test_a_run_writes_its_transcript_and_can_be_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(Say("```python\nx = 21\n```"), Say("Set."), Say("```python\nfinal_answer(x * 2)\n```")) as server:
        assert main(["agent", "Set x.", "--server-url", server.url, "--transcript", "run.jsonl"]) == 0
        assert main(["agent", "Double it.", "--server-url", server.url, "--resume", "run.jsonl"]) == 0
    assert "transcript: run.jsonl" in capsys.readouterr().out
    entries = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [entry["answer"] for entry in entries if entry["kind"] == "end"] == ["Set.", "42"]


def test_a_run_is_resumed_and_replayed_under_the_policy_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    path = "import pathlib\nstr(pathlib.PurePosixPath('a') / 'b')"
    with chat_server(
        Say(f"```python\n{path}\n```"), Say("a/b"), Say(f"```python\n{path}\n```"), Say("again")
    ) as server:
        assert main(["agent", "t", "-p", "standard", "--server-url", server.url, "--transcript", "run.jsonl"]) == 0
        more = ["agent", "more", "--server-url", server.url, "--resume", "run.jsonl"]
        assert main(more) == 2
        assert main([*more, "-p", "standard"]) == 0
    assert main(["agent", "--replay", "run.jsonl", "-p", "standard"]) == 0
    shown = capsys.readouterr().out
    assert "rejected" not in shown
    assert shown.count("=== a/b") == 2 and shown.count("=== again") == 2, "a replay shows all tasks"


@pytest.mark.parametrize("policy", ["mine.yaml", "confined-python", "\x1b[2Jdata-analysis"])
def test_a_transcript_does_not_choose_its_policy(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("extends: confined-python\n")
    reply = {"kind": "reply", "text": "```python\nimport os\n```"}
    entries = [{"kind": "task", "task": "t", "policy": policy}, reply]
    (tmp_path / "foreign.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert main(["agent", "--replay", "foreign.jsonl"]) == 2
    said = capsys.readouterr().err
    assert "name a policy with --policy" in said and "\x1b" not in said


def test_a_transcript_is_not_mixed_with_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").write_text("something\n")
    with chat_server(Say("x")) as server:
        assert main(["agent", "t", "--server-url", server.url, "--transcript", "run.jsonl"]) == 2
    assert server.requests == []
    assert "--resume" in capsys.readouterr().err
    assert (tmp_path / "run.jsonl").read_text() == "something\n"


def test_two_files_of_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "t", "--file", "a/data.csv", "--file", "b/data.csv"]) == 2
    assert "NAME=PATH" in capsys.readouterr().err


def test_ctrl_c_ends_a_run_that_can_be_resumed() -> None:
    command = "import sys; from safeexec.cli import main; sys.exit(main(sys.argv[1:]))"
    stalled = Drip(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", b": wait\n\n")
    with chat_server(Say("```python\nx = 6\n```"), stalled) as server:
        arguments = ["agent", "t", "--server-url", server.url, "--transcript", "run.jsonl"]
        run = subprocess.Popen(
            [sys.executable, "-c", command, *arguments],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        until(lambda: len(server.requests) == 2)
        assert ended_by(signal.SIGINT, run) == 130
        shown, _ = run.communicate(timeout=60)
    assert b"transcript: run.jsonl" in shown
    with chat_server(Say("```python\nx * 7\n```"), Say("42")) as server:
        assert main(["agent", "--resume", "run.jsonl", "--server-url", server.url]) == 0


def test_what_a_model_says_beside_its_code_is_shown_without_its_thinking(capsys: pytest.CaptureFixture[str]) -> None:
    call = (("run_python", '{"code": "6 * 7"}'),)
    thought = "<think>\r\nhm\r\n</think>\r\nSecond.\r\n```python\r\n7\r\n```"
    with chat_server(Say("First.\x1b[2J", calls=call), Say(thought), Say("Done \x1b[31m.")) as server:
        assert main(["agent", "t", "--native", "--server-url", server.url]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("First.") and "--- step 1 ---" in shown and "\x1b" not in shown
    assert "\nSecond.\n--- step 2 ---" in shown and "hm" not in shown


DRAWN = """\
class Picture:
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n"
display(Picture())"""


def test_a_picture_that_cannot_be_written_does_not_end_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    with chat_server(Say(f"```python\n{DRAWN}\n```"), Say("Drawn.")) as server:
        assert main(["agent", "t", "--server-url", server.url, "--display-dir", "taken"]) == 0
    assert "picture: none can be written to taken: a link or a file stands in the place" in capsys.readouterr().out


def test_a_transcript_is_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda form: "agent-now")
    (tmp_path / "agent-now.jsonl").symlink_to(tmp_path / "mine")
    with chat_server(Say("x")) as server:
        assert main(["agent", "t", "--server-url", server.url]) == 0
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "agent-now-1.jsonl").read_text().startswith('{"kind": "task"')


@pytest.mark.modules("pandas", "matplotlib")
def test_pictures_and_a_report_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n")
    plot = "```python\nimport pandas as pd\npd.read_csv('data.csv').plot(title='t')\n```"
    with chat_server(Say(plot), Say("A line.")) as server:
        status = main(["agent", "Plot it.", "--file", "data.csv", "--report", "out", "--server-url", server.url])
    shown = capsys.readouterr().out
    assert status == 0, shown
    assert (tmp_path / "pictures/picture-1.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


def test_importing_the_extractor_costs_no_sdk_and_no_sandbox() -> None:
    source = (
        "import sys\nfrom safeexec.agent import extract\n"
        "heavy = {'mistralai', 'pydantic', 'httpx', 'yaml', 'rich', 'numpy', 'asyncio', 'msgspec'}\n"
        "heavy.add('safeexec.engine.host')\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = alone(source, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]"


def test_a_run_without_an_answer_ends_with_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    with chat_server(Say("")) as server:
        assert main(["agent", "t", "--server-url", server.url]) == 1
    assert "No answer: 3 replies in a row" in capsys.readouterr().out
