"""The engine holds without the language layer and without the hints: it starts from a copy that has neither folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import safeexec

PACKAGE = Path(safeexec.__file__).parent
PROGRAM = """
import safeexec
from safeexec import Sandbox

with Sandbox("confined-python") as sandbox, sandbox.session() as session:
    assert session.run("x = 6; x * 7").value == 42
    failed = session.run("undefined_name")
    assert (failed.error.type, failed.error.hint) == ("NameError", None), failed
    assert session.run("import os; os.system('true')").refusals[0].type == "PermissionError"
    assert not session.run("open('/etc/hostname').read()").ok
    assert session.run("while True: pass", timeout=0.2).outcome == "timeout"
    assert session.run("x").value == 6
    session.write_file("helper.py", b"def double(n): return 2 * n")
    assert session.run("from helper import double; double(x)").value == 12
    modules = {"main": "from part import one\\ndef two(): return one + 1", "part": "one = 1"}
    plugin = sandbox.plugin(modules, name="main")
    assert plugin.call("two") == 2
try:
    Sandbox("calculator").open()
except safeexec.SandboxError as error:
    assert "safeexec.language" in str(error), error
else:
    raise AssertionError("a policy that restricts the language has started without the layer that does it")
print("holds")
"""


@pytest.fixture
def alone(tmp_path: Path) -> dict[str, str]:
    """The environment of a program that finds the package without the two folders."""
    shutil.copytree(PACKAGE, tmp_path / "safeexec", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("language", "hints"):
        shutil.rmtree(tmp_path / "safeexec" / folder)
    tmp_path.chmod(0o755)
    return {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


def test_without_language_and_hints_the_wall_stands(alone: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=alone, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "holds\n", done.stderr
