"""`safeexec.host.startup.confinement`: what of the installation a sandbox may read, wherever it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import safeexec

_NEEDED = ("RestrictedPython", "asttokens", "cloudpickle", "msgspec", "PyYAML")
_PROGRAM = """
import json, sys
import safeexec
from safeexec import Policy, Sandbox

told = {"installed": safeexec.__file__}
with Sandbox("calculator") as sandbox:
    told["refused"] = sandbox.run("import os").outcome
    with sandbox.session() as session:
        session.run("def f(): return 3")
        session.save(sys.argv[1])
    with sandbox.restore(sys.argv[1]) as session:
        told["restored"] = session.run("f() + 1").value
with Sandbox("confined-python") as sandbox, sandbox.session() as session:
    told["metadata"] = session.run("import importlib.metadata as m; m.version('asttokens')").value
    told["beside"] = session.run(f"open({sys.argv[2]!r}).read()").outcome
print(json.dumps(told))
"""


def _install(target: Path, *, metadata: bool) -> None:
    """What ``pip install --target`` leaves, of the files of this installation."""
    source = Path(safeexec.__file__).parent
    shutil.copytree(source, target / "safeexec", ignore=shutil.ignore_patterns("__pycache__"))
    policies = target / "safeexec" / "policies"
    if not policies.exists():
        shutil.copytree(source.parent / "policies", policies)
    for name in _NEEDED:
        found = distribution(name)
        for file in found.files or ():
            if file.parts[0] in ("..", "__pycache__") or (not metadata and ".dist-info" in file.parts[0]):
                continue
            place = target / file
            if not place.exists() and os.path.exists(found.locate_file(file)):
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(found.locate_file(file)), place)


def _run(target: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-S", "-c", _PROGRAM, *arguments],
        env={"PYTHONPATH": str(target), "HOME": str(target.parent)},
        cwd=target.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("metadata", [True, False], ids=["pip --target", "copied"])
def test_an_installation_reached_by_pythonpath_works(tmp_path: Path, metadata: bool) -> None:
    """Refusals, saved states and late imports do; what lies beside the packages stays out of reach."""
    target = tmp_path / "packages"
    target.mkdir()
    _install(target, metadata=metadata)
    (target / "secret.txt").write_text("of the caller")
    done = _run(target, str(tmp_path / "state"), str(target / "secret.txt"))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["installed"] == str(target / "safeexec" / "__init__.py")
    assert (told["refused"], told["restored"]) == ("rejected", 4)
    assert told["beside"] in ("error", "violation")
    if metadata:
        assert told["metadata"] == distribution("asttokens").version


def test_an_incomplete_installation_says_what_is_missing(tmp_path: Path) -> None:
    """At the start, by the package's name, instead of with every refusal."""
    target = tmp_path / "packages"
    target.mkdir()
    _install(target, metadata=True)
    shutil.rmtree(target / "RestrictedPython")
    done = _run(target, str(tmp_path / "state"), "")
    assert "ProtectionError: RestrictedPython, which safeexec needs, is in no directory" in done.stderr
