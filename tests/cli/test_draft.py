"""`safeexec policy review`: what a package's source says, without importing it, told as text."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest

from safeexec import PolicyError
from safeexec.cli import main
from safeexec.cli.draft import _PROGRAM, _lines, draft


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("shelve", '"open": PICKLE,  # pickle.'),
        ("webbrowser", '"register": PROCESS,  # subprocess.'),
        ("packaging", '    "packaging.version": Table('),
    ],
)
def test_a_draft_names_what_a_name_leads_to(package: str, line: str) -> None:
    text = draft(package)
    assert line in text
    tables = ast.parse(text.replace("Table(", "dict(")).body
    assert isinstance(tables[0], ast.Assign)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policy", "review", "antigravity"]) == 0
    shown = capsys.readouterr().out
    assert '"antigravity": Table(' in shown and "geohash" in shown  # importing it would open a browser


@pytest.mark.parametrize("package", ["no_such_package", "../x", "os.path", "a b", ""])
def test_what_is_no_package(package: str) -> None:
    with pytest.raises(PolicyError, match=r"not installed|not the name"):
        draft(package)


def test_hostile_names_stay_in_their_line() -> None:
    name = 'x\\\\"""\n), __import__("os")\x1b[31m#'
    module = {"module": "m", "names": [name], "found": {name: {"PROCESS": name, "ATTRIBUTES": name}}, "note": ""}
    text = "\n".join(_lines("m", {"modules": [module, {**module, "note": name}], "left": 0}))
    assert "\x1b" not in text and "\n)," not in text.replace("\n    ),", "")
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert [ast.unparse(call.func) for call in calls] == ["Table"]


def test_only_regular_files_of_a_package_are_read(tmp_path: Path) -> None:
    (tmp_path / "device.py").symlink_to(os.devnull)
    names: dict[str, Any] = {}
    exec(_PROGRAM, names)  # as in the child
    assert names["look_at"]("theirs.device", str(tmp_path / "device.py"))["note"] == "no regular file"
