"""`safeexec run`, `check` and `repl` as a person or a script uses them: text in, text and an exit status out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec.cli.common import read_source
from tests.alone import importing, ran
from tests.conftest import Called

Done = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What runs in this process has an empty standard input."""
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield


def safeexec(*arguments: str, text: str = "") -> Done:
    """The command in a process of its own."""
    return ran([sys.executable, "-m", "safeexec", *arguments], input=text, env=importing(NO_COLOR="1"))


@pytest.mark.parametrize("command", [["run", "-"], ["repl"]])
def test_a_closed_standard_input_is_an_empty_one(command: list[str]) -> None:
    shell = ["sh", "-c", 'exec "$0" -m safeexec "$@" <&-', sys.executable, *command]
    done = ran(shell, env=importing(NO_COLOR="1"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "done"),
    [
        (["-p", "calculator", "-c", "import math; print(math.sqrt(2))"], (0, "1.4142135623730951\n", "")),
        (["-c", "6 * 7"], (0, "42\n", "")),
        (["-c", "import sys\nprint('out')\nprint('err', file=sys.stderr)"], (0, "out\n", "err\n")),
        (["-c", "exit(7)", "-c", "print('never')"], (7, "", "")),
        (["-c", "exit()", "-c", "print('never')"], (0, "", "")),
        (["-c", "import sys\nsys.exit('no')"], (1, "", "no\n")),
    ],
)
def test_streams_and_status_are_the_programs(called: Called, arguments: list[str], done: tuple[int, str, str]) -> None:
    assert called("run", *arguments) == done


def test_a_program_comes_by_standard_input_too_and_a_terminal_goes_on_after_mistakes() -> None:
    done = safeexec("run", "-", text="print('in')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "in\n", "")
    done = safeexec("repl", "-p", "calculator", text="x = 20\n1 / 0\ndef f():\n    return x + 1\n\nf() * 2\n")
    assert done.returncode == 0
    assert "42" in done.stdout
    assert "ZeroDivisionError" in done.stdout + done.stderr


def test_steps_come_from_files_and_texts_with_workspace_files_and_go_as_json(tmp_path: Path, called: Called) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("print(x + y)")
    assert called("run", "--step", tmp_path / "a.py", "-c", "y = 2", tmp_path / "b.py") == (0, "3\n", "")
    assert "'./none.py'" in called("run", "--step", "./none.py").err  # as it was written: `./-` is no `-`
    done = called("run", "--json", "-c", "x = 1", "-c", "print(x)\nx + 1")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["outcome"], second["stdout"], second["value"]) == ("ok", "1\n", 2)
    (tmp_path / "data.csv").write_text("a\n1\n")
    words = ("run", "-p", "data-analysis", "--file", tmp_path / "data.csv", "-c", "print(open('data.csv').read())")
    assert called(*words) == (0, "a\n1\n\n", "")


def test_a_program_has_arguments_and_standard_input_also_such_as_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text("import sys\nprint(int(sys.argv[1]) + sum(int(line) for line in sys.stdin), sys.argv[2:])\n")
    done = safeexec("run", str(path), "1", "--json", "-c", text="2\n3\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 ['--json', '-c']\n", "")
    path = os.fsencode(tmp_path) + b"/\xff.py"
    Path(os.fsdecode(path)).write_text("import sys\nprint(sys.argv[0][-4:], sys.argv[1:])\n")
    done = safeexec("run", os.fsdecode(path), os.fsdecode(b"a\xfe"))
    assert (done.returncode, done.stdout) == (0, "?.py ['a?']\n")


def test_a_program_that_reads_no_input_ends_while_somebody_could_still_write_some(tmp_path: Path) -> None:
    """As behind a pipe whose other end is slow."""
    (tmp_path / "deaf.py").write_text("print('done')\n")
    command = [sys.executable, "-m", "safeexec", "run", str(tmp_path / "deaf.py")]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **streams) as process:  # type: ignore[call-overload]
        assert (process.stdout.read(), process.stderr.read(), process.wait(100)) == (b"done\n", b"", 0)


@pytest.mark.parametrize(
    ("source", "status", "shown"),
    [
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("import subprocess\nsubprocess.run(['x'])", 3, "standard.yaml"),
        ("while True: pass", 6, "line 1"),
        ("x = [0] * 10**11", 5, "MemoryError: "),
        ("x = (", 1, "SyntaxError: "),
    ],
)
def test_the_exit_status_tells_the_outcome(called: Called, source: str, status: int, shown: str) -> None:
    done = called("run", *(["--timeout", "1"] if status == 6 else []), "-c", source)
    assert (done.status, done.out) == (status, "") and shown in done.err
    kind = shown.partition(":")[0]
    assert sum(line.startswith(kind) for line in done.err.splitlines()) <= 1, "it is said once"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run", "FILE"),
        ("run -p calculater -c 1", "calculater"),
        ("run no-such-file.py", "no-such-file.py"),
        ("run --timeout -1 -c 1", "timeout"),
        ("card calculator", "calculator"),
        ("policy diff", "the following arguments are required: NEW"),
        ("polcy", "there is no command 'polcy'; did you mean policy?"),
    ],
)
def test_a_wrong_command_line_is_status_2_and_one_clear_message(words: str, told: str, called: Called) -> None:
    done = called(*words.split())
    assert (done.status, done.out) == (2, "") and told in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("name", ["a.py", "-"])
def test_a_program_that_is_not_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.py").write_bytes(b"x = '\xff'")
    with (tmp_path / "a.py").open("rb") as file:
        done = ran([sys.executable, "-m", "safeexec", "run", name], stdin=file, cwd=tmp_path, env=importing())
    assert done.returncode == 2 and "not UTF-8" in done.stderr and "Traceback" not in done.stderr


def test_a_file_is_read_as_python_reads_it(tmp_path: Path, called: Called) -> None:
    """With a byte order mark, or a comment that names a charset; other comments name none."""
    path = tmp_path / "a.py"
    for codec in ("rot13", "undefined", "punycode", "hex", "no_such_codec", "utf-8-sig"):
        path.write_text(text := f"# coding: {codec}\nprint('é')\n", encoding="utf-8")
        assert read_source(str(path)) == text
    path.write_bytes("# coding: latin-1\nprint('é' == chr(233))\n".encode("latin-1"))
    assert called("run", path).out == "True\n"
    path.write_bytes(b"\xef\xbb\xbfprint('\xc3\xa9')")
    assert called("run", path).out == "é\n"


@pytest.mark.parametrize("command", ["doctor -p", "card -p", "policy show"])
def test_the_name_of_a_policy_does_not_act_on_a_terminal(tmp_path: Path, command: str, called: Called) -> None:
    policy = tmp_path / "a\x1b[31mb.yaml"
    policy.write_text("description: d\nextends: calculator\n")
    done = called(*command.split(), policy)
    assert done.status in (0, 1) and done.out and "\x1b" not in done.out + done.err


def test_the_doctor_tells_a_program_what_it_tells_a_person(called: Called) -> None:
    done = called("doctor", "--json")
    told = json.loads(done.out)
    assert told["ok"] == (done.status == 0) == (not told["problem"])
    assert told["safeexec"] and told["kernel"] and told["python"] and told["policy"] == "standard"
    (seccomp,) = [row for row in told["session"] if row["name"] == "seccomp"]
    assert seccomp["active"] and "socket() was refused (EPERM)" in seccomp["detail"]


def test_check_runs_nothing_and_shows_line_caret_rule_and_hint(tmp_path: Path, called: Called) -> None:
    path = tmp_path / "a.py"
    path.write_text("print('run')\nimport subprocess\n")
    done = called("check", path)
    assert done.status == 3 and "run\n" not in done.out.splitlines()
    for shown in (f"{path}:2:", "import subprocess", "^", "rule:", "hint:"):
        assert shown in done.out
    path.write_text("print('run')\n")
    assert called("check", path)[:2] == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-c", "for i in range(20000): print(i)"],
        pytest.param(["bench", "--rounds", "3", "--json"], marks=pytest.mark.slow),
        ["policy", "show", "standard"],
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_reader_that_goes_ends_the_command_without_a_word(arguments: list[str]) -> None:
    """As in `safeexec bench | head -1`: the status is the one that SIGPIPE gives, and nothing is said."""
    read, write = os.pipe()
    command = [sys.executable, "-m", "safeexec", *arguments]
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True, env=importing()) as process:
        os.close(read)
        os.close(write)
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE


def test_a_run_is_recorded_and_replayed(tmp_path: Path, called: Called) -> None:
    recording = tmp_path / "run.jsonl"
    assert called("run", "--record", recording, "-c", "x = 20", "-c", "x + 1").out == "21\n"
    replayed = called("replay", recording)
    assert replayed.status == 0 and replayed.out.startswith("2 steps of "), replayed
    again = called("run", "--record", recording, "-c", "1")
    assert again.status == 2 and "run.jsonl" in again.err and "Traceback" not in again.err, again
