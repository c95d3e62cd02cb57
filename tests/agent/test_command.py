"""`safeexec agent`: offline replays, a local server, pictures, transcripts, and what it says without a key."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from safeexec.cli.agent import shipped
from tests.agent.chat_server import Drip, Say, chat_server
from tests.alone import alone, importing
from tests.conftest import Called
from tests.footprint import until
from tests.interrupting import ended_by


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_run_is_shown_offline(name: str, called: Called, tmp_path: Path) -> None:
    told = called("agent", "--replay", name)
    assert told.status == 0 and all(part in told.out for part in ("--- step 1 ---", "Hint: ", "=== "))
    assert list(tmp_path.iterdir()) == []


def test_without_a_key_it_says_how_to_go_on_and_without_an_answer_that_there_is_none(called: Called) -> None:
    told = called("agent", "What is 2 + 2?")
    assert told.status == 2 and "MISTRAL_API_KEY" in told.err and "--server-url" in told.err
    with chat_server(Say("")) as server:
        told = called("agent", "t", "--server-url", server.url)
    assert told.status == 1 and "No answer: 3 replies in a row" in told.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "safeexec agent: "),
        (["--replay", "a", "--resume", "b"], "safeexec agent: "),
        (["t", "--report", "out"], "safeexec agent: "),
        (["t", "--file", "a/data.csv", "--file", "b/data.csv"], "NAME=PATH"),
    ],
)
def test_misuse_is_named(arguments: list[str], told: str, called: Called) -> None:
    misused = called("agent", *arguments)
    assert misused.status == 2 and told in misused.err


def test_a_run_is_resumed_and_replayed_under_the_policy_that_is_named(called: Called) -> None:
    path = "```python\nimport pathlib\nx = str(pathlib.PurePosixPath('a') / 'b')\nx\n```"
    again = "```python\nfinal_answer(x * 2)\n```"
    with chat_server(Say(path), Say("a/b"), Say(again)) as server:
        server_options = ("--server-url", server.url)
        told = called("agent", "t", "-p", "standard", *server_options, "--transcript", "run.jsonl")
        assert told.status == 0 and "transcript: run.jsonl" in told.out
        more = ("agent", "more", *server_options, "--resume", "run.jsonl")
        assert called(*more).status == 2
        assert called(*more, "-p", "standard").status == 0
    entries = [json.loads(line) for line in Path("run.jsonl").read_text().splitlines()]
    assert [entry["answer"] for entry in entries if entry["kind"] == "end"] == ["a/b", "a/ba/b"]
    told = called("agent", "--replay", "run.jsonl", "-p", "standard")
    assert told.status == 0 and "rejected" not in told.out
    assert "=== a/b\n" in told.out and "=== a/ba/b" in told.out, "a replay shows all tasks"


@pytest.mark.parametrize("policy", ["mine.yaml", "confined-python", "\x1b[2Jdata-analysis"])
def test_a_transcript_does_not_choose_its_policy(policy: str, tmp_path: Path, called: Called) -> None:
    (tmp_path / "mine.yaml").write_text("extends: confined-python\n")
    reply = {"kind": "reply", "text": "```python\nimport os\n```"}
    entries = [{"kind": "task", "task": "t", "policy": policy}, reply]
    (tmp_path / "foreign.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    told = called("agent", "--replay", "foreign.jsonl")
    assert told.status == 2 and "name a policy with --policy" in told.err and "\x1b" not in told.err


def test_a_transcript_is_a_new_file(tmp_path: Path, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.jsonl").write_text("something\n")
    with chat_server(Say("x")) as server:
        told = called("agent", "t", "--server-url", server.url, "--transcript", "run.jsonl")
    assert (told.status, server.requests) == (2, []) and "--resume" in told.err
    assert (tmp_path / "run.jsonl").read_text() == "something\n"
    monkeypatch.setattr("time.strftime", lambda form: "agent-now")
    (tmp_path / "agent-now.jsonl").symlink_to(tmp_path / "mine")
    with chat_server(Say("x")) as server:
        assert called("agent", "t", "--server-url", server.url).status == 0
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "agent-now-1.jsonl").read_text().startswith('{"kind": "task"')


def test_ctrl_c_ends_a_run_that_can_be_resumed(called: Called) -> None:
    stalled = Drip(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", b": wait\n\n")
    with chat_server(Say("```python\nx = 6\n```"), stalled) as server:
        arguments = ["agent", "t", "--server-url", server.url, "--transcript", "run.jsonl"]
        command = [sys.executable, "-m", "safeexec", *arguments]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, env=importing())
        until(lambda: len(server.requests) == 2)
        assert ended_by(signal.SIGINT, run) == 130
        shown, _ = run.communicate(timeout=60)
    assert b"transcript: run.jsonl" in shown
    with chat_server(Say("```python\nx * 7\n```"), Say("42")) as server:
        assert called("agent", "--resume", "run.jsonl", "--server-url", server.url).status == 0


def test_what_a_model_says_beside_its_code_is_shown_without_its_thinking(called: Called) -> None:
    call = (("run_python", '{"code": "6 * 7"}'),)
    thought = "<think>\r\nhm\r\n</think>\r\nSecond.\r\n```python\r\n7\r\n```"
    with chat_server(Say("First.\x1b[2J", calls=call), Say(thought), Say("Done \x1b[31m.")) as server:
        status, shown, _ = called("agent", "t", "--native", "--server-url", server.url)
    assert status == 0 and shown.startswith("First.") and "--- step 1 ---" in shown and "\x1b" not in shown
    assert "\nSecond.\n--- step 2 ---" in shown and "hm" not in shown


DRAWN = """\
class Picture:
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n"
display(Picture())"""


def test_a_picture_that_cannot_be_written_does_not_end_the_run(tmp_path: Path, called: Called) -> None:
    (tmp_path / "taken").write_text("")
    with chat_server(Say(f"```python\n{DRAWN}\n```"), Say("Drawn.")) as server:
        told = called("agent", "t", "--server-url", server.url, "--display-dir", "taken")
    assert told.status == 0
    assert "picture: none can be written to taken: a link or a file stands in the place" in told.out


@pytest.mark.modules("pandas", "matplotlib")
def test_pictures_and_a_report_are_written(tmp_path: Path, called: Called) -> None:
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,4\n")
    plot = "```python\nimport pandas as pd\npd.read_csv('data.csv').plot(title='t')\n```"
    with chat_server(Say(plot), Say("A line.")) as server:
        told = called("agent", "Plot it.", "--file", "data.csv", "--report", "out", "--server-url", server.url)
    assert told.status == 0, told
    assert (tmp_path / "pictures/picture-1.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


def test_importing_the_extractor_costs_no_sdk_and_no_sandbox() -> None:
    heavy = "mistralai pydantic httpx yaml rich numpy asyncio msgspec safeexec.engine.host"
    source = f"import sys\nfrom safeexec.agent import extract\nprint({{*'{heavy}'.split()}} & set(sys.modules))"
    assert alone(source, check=True, cwd=Path(__file__).parents[2]).stdout == "set()\n"
