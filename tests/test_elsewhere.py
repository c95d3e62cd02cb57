"""On macOS and Windows no sandbox is of this machine; all else works there. What runs there has its own process."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.alone import alone, importing
from tests.remote.commands import command

PROJECT = Path(__file__).resolve().parents[1]
SYSTEMS = ("darwin", "win32")
_COMMAND = """
import sys
from tests.elsewhere import pretend

pretend(sys.argv[1])
"""
_COMMANDS = """
import contextlib, io, json
from safeexec.cli import main

for words in json.loads(sys.argv[2]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            status = main(words)
        except SystemExit as end:
            status = end.code
    print(json.dumps([status or 0, out.getvalue()]))

from safeexec import Policy, evaluate
assert evaluate("2 ** 10 + math.sqrt(4)") == 1026
assert evaluate("sqrt(144)", functions="mathematics") == 12
assert Policy.from_yaml("extends: calculator\\nlimits: {memory_mb: 64}").limits.memory_mb == 64
assert Policy.load("calculator").needs("import os")
"""


def _there(system: str, program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = alone(_COMMAND + program, system, *arguments, cwd=cwd, env=importing())
    assert "Traceback" not in done.stderr, done.stderr
    return done


START_NOTHING = {
    ("policy", "list"): (0, "calculator"),
    ("policy", "why", "os.listdir"): (1, "it works on files"),
    ("policy", "check", "policies/standard.yaml"): (0, ""),
    ("policy", "diff", "calculator", "standard"): (1, "imports"),
    ("card", "--policy", "calculator"): (0, "math"),
    ("example", "ten_lines"): (0, "from safeexec"),
    ("--version",): (0, "safeexec"),
    ("--help",): (0, "policy"),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_commands_expressions_and_policies_start_nothing(system: str, tmp_path: Path) -> None:
    made = tmp_path / "search.jsonl"
    made.write_bytes((PROJECT / "tests/recordings/data/search.jsonl").read_bytes())
    wanted = {**START_NOTHING, ("view", str(made)): (0, "search.html")}
    done = _there(system, _COMMANDS, json.dumps([*wanted]), cwd=PROJECT)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    for (words, (status, says)), (ended, shown) in zip(wanted.items(), told, strict=True):
        assert ended == status and says in shown, (words, done.stderr)
    assert "<html" in (tmp_path / "search.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["search.html", "search.jsonl"]


_CONNECT = """
import asyncio
from safeexec import SandboxError, async_connect, connect
from safeexec.agent import CodeAgent, ScriptedModel

command = sys.argv[2:]
with connect(command=command) as sandbox, sandbox.session() as session:
    assert session.run("x = 20\\nx + 1").value == 21
    assert session.run("while True: pass", timeout=0.2).outcome == "timeout"
    session.write_file("f", b"12")
    assert session.read_file("f") == b"12"
    session.save("state")
    replies = ["<execute_python>\\nx * 2\\n</execute_python>", "The answer is 40."]
    assert CodeAgent(ScriptedModel(replies), session).run("Twice x?").answer.endswith("40.")
    with sandbox.restore("state") as again:
        assert again.run("x").value == 20
    try:
        sandbox.plugin("x = 1")
    except SandboxError as error:
        assert "plugins are not offered" in str(error)

async def main():
    async with async_connect(command=command) as sandbox:
        session = await sandbox.session()
        step = asyncio.create_task(session.run("while True: pass"))
        await asyncio.sleep(0.3)
        step.cancel()
        try:
            await step
        except asyncio.CancelledError:
            pass
        assert (await session.run("1")).value == 1

asyncio.run(main())
try:
    connect(command=[sys.executable, "-c", "pass"])
except SandboxError as error:
    assert "has ended" in str(error), error
try:
    connect("http://127.0.0.1:9", token="x")
except SandboxError as error:
    print("done")
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_server_elsewhere_is_used_as_from_linux(system: str, tmp_path: Path) -> None:
    done = _there(system, _CONNECT, *command("confined-python"), cwd=tmp_path)
    assert done.stdout == "done\n", done.stdout + done.stderr
