"""Several commands, held-out ones, and programs that verifications start, each in a branch of one prepared copy."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from safeexec import Policy
from safeexec.agent import RepairError, ScriptedModel
from safeexec.agent.repair import RepairAgent, RepairResult, witness
from safeexec.agent.repair.copies import WorkingCopy
from safeexec.agent.repair.judges import held_out_paths, likely_code
from safeexec.agent.repair.verdicts import Verification, together
from safeexec.agent.repair.verification import PROGRAMS, Verifier, read_log
from safeexec.agent.repair.witness import read_report
from tests.agent.scripted import code
from tests.agent.test_repair import verify

CHECK = "import m\nassert m.half(4) == 2, 'four'\n"
HELD_OUT = "import m\nassert m.half(10) == 5, 'the secret is ten'\n"
PYTHON = Policy.load("confined-python").replace(danger_allow_commands=["bash"])


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    root = tmp_path / "halves"
    (root / "held").mkdir(parents=True)
    (root / "m.py").write_text("def half(n):\n    return n\n")
    (root / "check.py").write_text(CHECK)
    (root / "held/secret.py").write_text(HELD_OUT)
    return root


def repaired(root: Path, expression: str, **options: Any) -> tuple[RepairResult, str]:
    """The result of one patch, and all that the model was told."""
    source = (
        f"print(list_files())\nreplace_text('m.py', 'return n', 'return {expression}')\nprint(verify('Mend'))\n"
        "try:\n    read_file('held/secret.py')\nexcept Exception as error:\n    print(error)"
    )
    model = ScriptedModel([code(source), "Done.", "Done."], keep_requests=True)
    result = RepairAgent(
        model, root, verify=["python", "check.py"], held_out=["python", "held/secret.py"], editable=["."], **options
    ).run()
    return result, "\n".join(message.content for message in model.requests[-1])


def test_what_is_held_out_decides_and_is_never_shown(halves: Path) -> None:
    result, told = repaired(halves, "2")
    assert result.after.ok and result.commits
    assert result.held_out is not None and not result.held_out.ok and not result.ok
    assert "the secret is ten" in result.held_out.log, "a person reads it"
    assert "held/secret.py: there is no such file" in told
    assert "secret is ten" not in told and "half(10)" not in told
    right, _ = repaired(halves, "n // 2")
    assert right.ok and right.held_out is not None and right.held_out.ok


@pytest.mark.parametrize("path", ["held/secret.py", "held/more.py", "held"])
def test_nothing_is_written_where_files_are_held_out(halves: Path, path: str) -> None:
    copy = WorkingCopy(halves, ["."], held_out=[["python", "held/secret.py"]])
    with pytest.raises(RepairError, match="may not be changed"):
        copy.write(path, "x = 1\n")
    assert copy.files() == ["check.py", "m.py"]
    assert "held/secret.py" in [path for path, _, _ in copy.visible(hidden=True)]


def test_the_files_that_words_name_and_the_code_of_a_repository() -> None:
    paths = ["src/m.py", "tests/test_a.py", "tests/held/test_b.py", "tests/held/data.json", "run.py"]

    def hidden(*words: str, shown: tuple[str, ...] = ()) -> list[str]:
        return held_out_paths(paths, ["src"], words, shown)

    assert hidden("pytest", "tests/held") == ["tests/held/test_b.py", "tests/held/data.json"]
    assert hidden("pytest", "./tests/held/test_b.py::test_x") == ["tests/held/test_b.py"]
    assert hidden("python", "-m", "unittest", "tests.held.test_b") == ["tests/held/test_b.py"]
    assert hidden("bash", "-c", "cd . && pytest 'tests/held'") == ["tests/held/test_b.py", "tests/held/data.json"]
    assert hidden("pytest", "--cov", "src", "run.py") == ["run.py"], "what may be edited is not held out"
    assert "tests/test_a.py" not in hidden("pytest", "tests", shown=("pytest", "tests/test_a.py"))
    assert likely_code(["src/a/b.py", "tests/test_a.py", "setup.py", "docs/conf.py"]) == ["src"]
    assert likely_code(["shop/__init__.py", "shop/price.py", "tests/__init__.py", "tool.py", "test_tool.py"]) == [
        "shop", "tool.py",
    ]  # fmt: skip
    assert likely_code(["README.md", "docs/x.py"]) == []


def test_verdicts_together_are_judged_one_by_one() -> None:
    good, bad = Verification(True, "fine", outcomes={"a": "passed", "b": "passed"}), Verification(False, "broken")
    before, swapped = together([bad, good], ["x", "y"]), together([good, bad], ["x", "y"])
    assert (before.ok, before.passed, before.outcomes) == (False, 2, {"2: a": "passed", "2: b": "passed"})
    assert before.log == "$ x\nbroken\n\n$ y\nfine"
    assert swapped.better_than(before) and swapped.worse_than(before), "one is mended, and another broken"
    assert not together([good, good], ["x", "y"]).worse_than(before)


def test_every_command_of_a_list_decides_and_runs_on_the_tree_as_it_is(halves: Path) -> None:
    copy = WorkingCopy(halves, ["."])
    leave = "import os, m; os.remove('check.py'); open('m.py', 'w').write('')"
    with Verifier([["python", "-c", leave], ["python", "check.py"]]) as verifier:
        first = verifier.run(copy)
        assert [part.ok for part in first.parts] == [True, False] and "four" in first.log
        copy.write("m.py", "def half(n):\n    return n // 2\n")
        assert verifier.run(copy).ok, "no module and no file of the run before is left"
        copy.write("m.py", None)
        assert "No module named 'm'" in verifier.run(copy).log
        copy.roll_back()
        assert [part.ok for part in verifier.run(copy).parts] == [True, False]


def test_a_prepared_copy_that_was_ended_is_made_anew(halves: Path) -> None:
    copy = WorkingCopy(halves, ["."])
    with Verifier(["python", "-c", "import m"]) as verifier:
        assert verifier.run(copy).ok
        assert verifier._prepared is not None
        verifier._prepared.close()
        assert verifier.run(copy).ok


def test_a_line_of_a_shell_starts_what_the_policy_lists(halves: Path) -> None:
    assert shutil.which("bash")
    line = ["bash", "-c", f"{sys.executable} -c 'import m' && {sys.executable} check.py"]
    verdict = verify(WorkingCopy(halves, ["."]), *line, policy=PYTHON)
    assert not verdict.ok and "four" in verdict.log
    assert not verify(WorkingCopy(halves, ["."]), "bash", "-c", "env true").ok
    line = ["python", "-c", "import subprocess; subprocess.run('exit 0', shell=True, check=True)"]
    assert "/bin/sh" in verify(WorkingCopy(halves, ["."]), *line).log
    shell = PYTHON.replace(danger_allow_commands=["/bin/sh"])
    assert verify(WorkingCopy(halves, ["."]), *line, policy=shell).ok


def test_a_policy_for_guest_code_and_a_command_that_holds_nothing_out_are_refused(halves: Path) -> None:
    with pytest.raises(RepairError, match=r"needs language\.mode: python"):
        verify(WorkingCopy(halves, ["."]), "pytest", policy="standard")
    with pytest.raises(RepairError, match="names no file of the repository"):
        RepairAgent(ScriptedModel([]), halves, verify=["python", "check.py"], held_out=["pytest", "-q"]).run()


@pytest.mark.parametrize(
    "log",
    [
        "bash: line 1: /usr/bin/ls: Permission denied",
        "./run: line 12: python3: Permission denied",
        "bash: ./x.sh: /bin/sh: bad interpreter: Permission denied",
        "subprocess.py:1950: in _execute_child\n    raise child(errno_num)\nE   PermissionError: [Errno 13] 'less'",
        "subprocess.py:1950: PermissionError",
        'File "subprocess.py", line 1950, in _execute_child\n    raise child(errno_num)\nPermissionError: [Errno 13]',
    ],
)
def test_a_program_that_may_not_be_started_is_explained(log: str) -> None:
    assert PROGRAMS in read_log(["bash"], 6000, 1, f"first\n{log}\n", {}).log
    assert PROGRAMS not in read_log(["bash"], 6000, 1, "bash: line 1: /root/x: No such file or directory", {}).log


END = b'{"status": 3, "place": "m.py"}\n'


@pytest.mark.parametrize("filling", [b"\n", b"[\n", b'["b", "begun"]\n'])
def test_of_a_long_report_the_first_and_last_lines_are_read(monkeypatch: pytest.MonkeyPatch, filling: bytes) -> None:
    monkeypatch.setattr(witness, "MAX_LINES", 100)
    report = read_report(b'["a", "passed"]\n' + filling * 1000 + b'["c", "passed"]\n' + END)
    assert (report.status, report.place, report.outcomes) == (3, "m.py", {"a": "passed"})


def test_what_the_program_says_of_its_end_is_a_strangers_word(halves: Path) -> None:
    """None, of another shape, too much of it, and what a terminal would obey."""
    forged = {
        "import os; os._exit(0)": "did not say how it ended",
        "import os; open('../report.jsonl', 'w').write('{\"status\": []}'); os._exit(0)": "did not say how it ended",
        "import os; open('../report.jsonl', 'w').truncate(1 << 26); os._exit(0)": "did not say how it ended",
        "import json, os; said = {'status': 'none\\x1b[2J' * 10_000, 'place': ''}\n"
        "open('../report.jsonl', 'w').write(json.dumps(said)); os._exit(0)": "none",
    }
    for program, said in forged.items():
        (halves / "check.py").write_text(program)
        verdict = verify(WorkingCopy(halves, ["."]), "python", "check.py")
        assert not verdict.ok and said in verdict.log, program
        assert "\x1b" not in verdict.log and len(verdict.log) < 10_000


@pytest.mark.slow
def test_a_tree_of_more_files_than_a_policy_gives_a_workspace_is_verified(halves: Path) -> None:
    for number in range(20_001):
        (halves / f"{number}.txt").touch()
    assert verify(WorkingCopy(halves, ["m.py"]), "python", "-c", "import m").ok
