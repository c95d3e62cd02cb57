"""`safeexec run`, `check` and `repl` as a person or a script uses them: text in, text and an exit status out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from safeexec.cli import main
from safeexec.cli.common import read_source
from tests.alone import importing, ran

Done = subprocess.CompletedProcess[str]


def safeexec(*arguments: str, text: str = "") -> Done:
    """The command in a process of its own."""
    return ran([sys.executable, "-m", "safeexec", *arguments], input=text, env=importing(NO_COLOR="1"))


@pytest.mark.parametrize("command", [["run", "-"], ["repl"]])
def test_a_closed_standard_input_is_an_empty_one(command: list[str]) -> None:
    shell = ["sh", "-c", 'exec "$0" -m safeexec "$@" <&-', sys.executable, *command]
    done = ran(shell, env=importing(NO_COLOR="1"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "text", "done"),
    [
        (["-p", "calculator", "-c", "import math; print(math.sqrt(2))"], "", (0, "1.4142135623730951\n", "")),
        (["-c", "6 * 7"], "", (0, "42\n", "")),
        (["-"], "print('in')", (0, "in\n", "")),
        (["-c", "import sys\nprint('out')\nprint('err', file=sys.stderr)"], "", (0, "out\n", "err\n")),
        (["-c", "exit(7)", "-c", "print('never')"], "", (7, "", "")),
        (["-c", "exit()", "-c", "print('never')"], "", (0, "", "")),
        (["-c", "import sys\nsys.exit('no')"], "", (1, "", "no\n")),
    ],
)
def test_streams_and_exit_status_are_those_of_the_program(
    arguments: list[str], text: str, done: tuple[int, str, str]
) -> None:
    told = safeexec("run", *arguments, text=text)
    assert (told.returncode, told.stdout, told.stderr) == done


def test_files_and_texts_are_the_steps_of_one_session(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "b.py").write_text("print(x + y)")
    done = safeexec("run", "--step", str(tmp_path / "a.py"), "-c", "y = 2", str(tmp_path / "b.py"))
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert "'./none.py'" in safeexec("run", "--step", "./none.py").stderr  # as it was written: `./-` is no `-`


def test_a_program_has_arguments_and_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text("import sys\nprint(int(sys.argv[1]) + sum(int(line) for line in sys.stdin), sys.argv[2:])\n")
    done = safeexec("run", str(path), "1", "--json", "-c", text="2\n3\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 ['--json', '-c']\n", "")


def test_a_program_that_reads_no_input_ends_while_somebody_could_still_write_some(tmp_path: Path) -> None:
    """As behind a pipe whose other end is slow."""
    (tmp_path / "deaf.py").write_text("print('done')\n")
    command = [sys.executable, "-m", "safeexec", "run", str(tmp_path / "deaf.py")]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **streams) as process:  # type: ignore[call-overload]
        assert (process.stdout.read(), process.stderr.read(), process.wait(100)) == (b"done\n", b"", 0)


def test_names_and_arguments_that_are_not_utf_8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.py"
    Path(os.fsdecode(path)).write_text("import sys\nprint(sys.argv[0][-4:], sys.argv[1:])\n")
    done = safeexec("run", os.fsdecode(path), os.fsdecode(b"a\xfe"))
    assert (done.returncode, done.stdout) == (0, "?.py ['a?']\n")


@pytest.mark.parametrize(
    ("source", "status", "shown"),
    [
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("import subprocess\nsubprocess.run(['x'])", 3, "standard.yaml"),
        ("while True: pass", 6, "line 1"),
        ("x = [0] * 10**11", 5, "MemoryError: "),
        ("import math\nprint(math.squrt(2))", None, "sqrt"),
        ("x = (", 1, "SyntaxError: "),
    ],
)
def test_the_exit_status_tells_the_outcome(source: str, status: int | None, shown: str) -> None:
    done = safeexec("run", *(["--timeout", "1"] if status == 6 else []), "-c", source)
    assert done.returncode == status or (status is None and done.returncode)
    assert shown in done.stderr
    kind = shown.partition(":")[0]
    assert sum(line.startswith(kind) for line in done.stderr.splitlines()) <= 1, "it is said once"
    assert done.stdout == ""


def test_json_is_one_object_per_step() -> None:
    done = safeexec("run", "--json", "-c", "x = 1", "-c", "print(x)\nx + 1")
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first["outcome"] == "ok"
    assert (second["stdout"], second["value"]) == ("1\n", 2)


def test_files_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a\n1\n")
    done = safeexec(
        "run", "-p", "data-analysis", "--file", str(tmp_path / "data.csv"), "-c", "print(open('data.csv').read())"
    )
    assert (done.returncode, done.stdout) == (0, "a\n1\n\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["run", "-p", "calculater", "-c", "1"],
        ["run", "no-such-file.py"],
        ["run", "--timeout", "-1", "-c", "1"],
        ["walk"],
        ["card", "calculator"],
    ],
)
def test_a_wrong_command_line_is_status_2_and_one_clear_message(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = main(arguments)
    except SystemExit as end:
        status = end.code
    told = capsys.readouterr()
    assert (status, told.out) == (2, "")
    assert told.err and "Traceback" not in told.err


def test_a_command_that_is_misspelt_is_told() -> None:
    done = safeexec("polcy")
    assert "there is no command 'polcy'; did you mean policy?" in done.stderr and "Traceback" not in done.stderr
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("name", ["a.py", "-"])
def test_a_program_that_is_not_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.py").write_bytes(b"x = '\xff'")
    with (tmp_path / "a.py").open("rb") as file:
        command = [sys.executable, "-m", "safeexec", "run", str(tmp_path / name) if name != "-" else name]
        done = ran(command, stdin=file)
    assert done.returncode == 2
    assert "not UTF-8" in done.stderr and "Traceback" not in done.stderr


def test_a_file_is_read_as_python_reads_it(tmp_path: Path) -> None:
    """With a byte order mark, or a comment that names a charset; other comments name none."""
    path = tmp_path / "a.py"
    for codec in ("rot13", "undefined", "punycode", "hex", "no_such_codec", "utf-8-sig"):
        path.write_text(text := f"# coding: {codec}\nprint('é')\n", encoding="utf-8")
        assert read_source(str(path)) == text
    path.write_bytes("# coding: latin-1\nprint('é' == chr(233))\n".encode("latin-1"))
    assert safeexec("run", str(path)).stdout == "True\n"
    path.write_bytes(b"\xef\xbb\xbfprint('\xc3\xa9')")
    assert safeexec("run", str(path)).stdout == "é\n"


def test_the_name_of_a_policy_does_not_act_on_a_terminal(tmp_path: Path) -> None:
    policy = tmp_path / "a\x1b[31mb.yaml"
    policy.write_text("description: d\nextends: calculator\n")
    for command in (["doctor", "-p"], ["card", "-p"], ["policy", "show"]):
        done = safeexec(*command, str(policy))
        assert done.returncode in (0, 1)
        assert done.stdout and "\x1b" not in done.stdout + done.stderr, command


def test_the_doctor_tells_a_program_what_it_tells_a_person() -> None:
    done = safeexec("doctor", "--json")
    told = json.loads(done.stdout)
    assert told["ok"] == (done.returncode == 0) == (not told["problem"])
    assert told["safeexec"] and told["kernel"] and told["python"] and told["policy"] == "standard"
    (seccomp,) = [row for row in told["session"] if row["name"] == "seccomp"]
    assert seccomp["active"] and "socket() was refused (EPERM)" in seccomp["detail"]


def test_check_runs_nothing_and_shows_line_caret_rule_and_hint(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("print('run')\nimport subprocess\n")
    done = safeexec("check", str(path))
    assert done.returncode == 3
    assert f"{path}:2:" in done.stdout
    assert (
        "import subprocess" in done.stdout and "^" in done.stdout and "rule:" in done.stdout and "hint:" in done.stdout
    )
    assert "run\n" not in done.stdout.splitlines()
    path.write_text("print('run')\n")
    done = safeexec("check", str(path))
    assert (done.returncode, done.stdout) == (0, "")


def test_repl_keeps_state_and_goes_on_after_mistakes() -> None:
    done = safeexec("repl", "-p", "calculator", text="x = 20\n1 / 0\ndef f():\n    return x + 1\n\nf() * 2\n")
    assert done.returncode == 0
    assert "42" in done.stdout
    assert "ZeroDivisionError" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-c", "for i in range(20000): print(i)"],
        ["bench", "--rounds", "3", "--json"],
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


def test_a_run_is_recorded_and_replayed(tmp_path: Path) -> None:
    recording = str(tmp_path / "run.jsonl")
    assert safeexec("run", "--record", recording, "-c", "x = 20", "-c", "x + 1").stdout == "21\n"
    replayed = safeexec("replay", recording)
    assert replayed.returncode == 0 and replayed.stdout.startswith("2 steps of "), replayed
    again = safeexec("run", "--record", recording, "-c", "1")
    assert again.returncode == 2 and "run.jsonl" in again.stderr and "Traceback" not in again.stderr, again
