"""The engine holds without what stands on it: it starts from a copy that has neither the language layer nor the hints,
and from one that has nothing but what the engine imports.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import safeexec
from tests.alone import alone, importing

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


ENGINE = """
from safeexec.engine.host.sandbox import SandboxCore
from safeexec.engine.host.startup.launch import Launched, environment
from safeexec.engine.host.waiting import drive
from safeexec.engine.policy.model import Policy

policy = Policy.load("confined-python")
sandbox = SandboxCore(policy, tools={"two": lambda: 2}, files={"one.txt": b"1"}, approval=None, spare=1)
drive(sandbox.open(Launched(environment(policy))))
session = drive(sandbox.new_session())

def run(source, timeout=None):
    return drive(session.steps.run(source, timeout=timeout, atomic=False))

assert run("x = 6; x * 7").value == 42
assert run("import os; os.system('true')").refusals[0].type == "PermissionError"
assert not run("open('/etc/hostname').read()").ok
assert run("x = 7\\nwhile True: pass", 0.2).outcome == "timeout"
assert run("x, two(), open('one.txt').read()").value == (6, 2, "1")
drive(session.way_back.rollback(None, 1))
assert run("x").value == 6
drive(sandbox.close())
print("holds")
"""
IMPORTED = {"__init__.py", "py.typed", "errors.py", "common", "engine", "protocol", "results", "untrusted"}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package."""
    shutil.copytree(PACKAGE, tmp_path / "safeexec", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("__pycache__"))
    tmp_path.chmod(0o755)
    return tmp_path


def holds(program: str, copy: Path) -> None:
    done = alone(program, env=importing(PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1"), cwd=copy)
    assert done.stdout == "holds\n", done.stderr


def test_without_language_and_hints_the_wall_stands(copy: Path) -> None:
    for folder in ("language", "hints"):
        shutil.rmtree(copy / "safeexec" / folder)
    holds(PROGRAM, copy)


def test_without_all_that_stands_on_it_the_wall_stands(copy: Path) -> None:
    for path in (copy / "safeexec").iterdir():
        if path.name == "reports":  # `Policy` names its reports, which load when they are asked for
            for report in path.iterdir():
                if report.name != "__init__.py":
                    report.unlink()
        elif path.name not in IMPORTED:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    holds(ENGINE, copy)
