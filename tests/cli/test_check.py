"""`safeexec check` of files and directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec import Sandbox
from tests.conftest import Called


def test_a_directory_is_checked_file_by_file(tmp_path: Path, called: Called) -> None:
    """Every module in it, hidden directories and links left out."""
    (tmp_path / "pkg" / ".git").mkdir(parents=True)
    (tmp_path / "fine.py").write_text("import math\n")
    wrong = tmp_path / "pkg" / "wrong.py"
    for path in (wrong, tmp_path / "pkg" / ".git" / "hook.py", tmp_path / "notes.txt"):
        path.write_text("x = 1\nimport socket\n")
    (tmp_path / "pkg" / "link.py").symlink_to(wrong)
    told = called("check", "--json", tmp_path)
    (line,) = told.out.splitlines()
    found = json.loads(line)
    assert (told.status, found["file"], found["line"]) == (3, str(wrong), 2)
    wrong.unlink()
    assert called("check", tmp_path).status == 0
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    told = called("check", tmp_path)
    assert told.status == 2 and "latin.py is not UTF-8 text" in told.err


def test_a_file_is_judged_as_run_runs_it_and_open_is_told(tmp_path: Path, sandbox: Sandbox, called: Called) -> None:
    """With a standard input."""
    file = tmp_path / "reads.py"
    file.write_text("import sys\nname = input()\nlines = sys.stdin.readlines()\n")
    assert called("check", file).status == 0
    assert sandbox.check("input()").outcome == "rejected"
    assert sandbox.check("input()", stdin=True).ok
    # With a standard input `open` is there, for that alone.
    source = "import socket\nopen(0)\nopen('a')\nwith open('b', 'w') as file: pass\n"
    source += "try: open('c')\nexcept OSError: pass\n"
    error = sandbox.check(source, stdin=True).error
    assert error is not None
    assert [(one.line, one.message) for one in error.diagnostics] == [
        (1, "import of 'socket' is refused"),
        *[(line, "builtin 'open' is refused") for line in (3, 4)],
    ]
    assert error.diagnostics[1].hint == sandbox.check("open('a')").error.hint  # type: ignore[union-attr]
    for fine in ("open(0)", "name = 'a'\nopen(name)", "def open(name): pass\nopen('a')", "'open'"):
        assert sandbox.check(fine, stdin=True).ok, fine


@pytest.mark.profile("data-analysis")
def test_where_the_policy_has_open_it_is_no_matter(sandbox: Sandbox) -> None:
    assert sandbox.check("open('a')", stdin=True).ok


@pytest.mark.profile("plugin")
def test_a_check_ends_and_undoes_nothing_whatever_a_failed_step_would(sandbox: Sandbox) -> None:
    """`plugin` undoes steps that fail; here there is none, and with `checkpoints="off"` nothing to go back to."""
    found = sandbox.check("x = (")
    assert (found.outcome, found.state) == ("error", "kept")
    assert found.error is not None and found.error.type == "SyntaxError"


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_checked(tmp_path: Path, called: Called) -> None:
    (tmp_path / "a.py").write_text("import socket\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    with open(tmp_path / "z.py", "wb") as large:
        large.truncate(3 << 30)
    said = called("check", tmp_path)
    assert said.status == 3 and "a.py:1" in said.out and "z.py is not checked: " in said.err
    (tmp_path / "a.py").unlink()
    said = called("check", tmp_path)
    assert said.status == 2 and "b.py" in said.err
