"""`safeexec check` of files and directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import Sandbox
from safeexec.cli import main


def test_a_directory_is_checked_file_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every module in it, hidden directories and links left out."""
    (tmp_path / "pkg" / ".git").mkdir(parents=True)
    (tmp_path / "fine.py").write_text("import math\n")
    (tmp_path / "pkg" / "wrong.py").write_text("x = 1\nimport socket\n")
    (tmp_path / "pkg" / ".git" / "hook.py").write_text("import socket\n")
    (tmp_path / "pkg" / "link.py").symlink_to(tmp_path / "pkg" / "wrong.py")
    (tmp_path / "notes.txt").write_text("import socket\n")
    assert main(["check", "--json", str(tmp_path)]) == 3
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["file"], found["line"]) == (str(tmp_path / "pkg" / "wrong.py"), 2)
    (tmp_path / "pkg" / "wrong.py").unlink()
    assert main(["check", str(tmp_path)]) == 0
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    assert main(["check", str(tmp_path)]) == 2
    assert "latin.py is not UTF-8 text" in capsys.readouterr().err


def test_a_file_is_judged_as_run_runs_it(tmp_path: Path) -> None:
    """With a standard input."""
    file = tmp_path / "reads.py"
    file.write_text("import sys\nname = input()\nlines = sys.stdin.readlines()\n")
    assert main(["check", str(file)]) == 0
    with Sandbox() as sandbox:
        assert sandbox.check("input()").outcome == "rejected"
        assert sandbox.check("input()", stdin=True).ok


def test_a_file_that_is_opened_by_name_is_told() -> None:
    """With a standard input `open` is there, for that alone."""
    source = "import socket\nopen(0)\nopen('a')\nwith open('b', 'w') as file: pass\n"
    source += "try: open('c')\nexcept OSError: pass\n"
    with Sandbox() as sandbox:
        error = sandbox.check(source, stdin=True).error
        assert error is not None
        assert [(one.line, one.message) for one in error.diagnostics] == [
            (1, "import of 'socket' is refused"),
            *[(line, "builtin 'open' is refused") for line in (3, 4)],
        ]
        assert error.diagnostics[1].hint == sandbox.check("open('a')").error.hint  # type: ignore[union-attr]
        for fine in ("open(0)", "name = 'a'\nopen(name)", "def open(name): pass\nopen('a')", "'open'"):
            assert sandbox.check(fine, stdin=True).ok, fine
    with Sandbox("data-analysis") as sandbox:
        assert sandbox.check("open('a')", stdin=True).ok


@pytest.mark.profile("plugin")
def test_a_check_ends_and_undoes_nothing_whatever_a_failed_step_would(sandbox: Sandbox) -> None:
    """`plugin` undoes steps that fail; here there is none, and with `checkpoints="off"` nothing to go back to."""
    found = sandbox.check("x = (")
    assert (found.outcome, found.state) == ("error", "kept")
    assert found.error is not None and found.error.type == "SyntaxError"


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("import socket\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    with open(tmp_path / "z.py", "wb") as large:
        large.truncate(3 << 30)
    assert main(["check", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert "a.py:1" in said.out and "z.py is not checked: " in said.err
    (tmp_path / "a.py").unlink()
    assert main(["check", str(tmp_path)]) == 2
    assert "b.py" in capsys.readouterr().err
