"""`safeexec.engine.host.startup.configuration`: what a zygote is told, and of which packages."""

from __future__ import annotations

import logging
import os
import py_compile
from pathlib import Path
from typing import Any

import pytest

from safeexec import Policy, ProtectionError
from safeexec.engine.host.startup import confinement
from safeexec.engine.host.startup.configuration import configuration, preloaded, tell_uncompiled
from safeexec.engine.host.tools.toolbox import Toolbox
from safeexec.engine.policy.kernel import COMMAND_THREADS
from safeexec.protocol import messages as m
from tests.engine.host.startup.machines import able


def test_a_package_without_byte_code_is_named_once_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As soon as the application logs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("compiled_already", "never_compiled"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "compiled_already" / "__init__.py"))
    for logs in (False, True, True):
        monkeypatch.setattr(logging.getLogger("safeexec"), "propagate", logs)
        tell_uncompiled(["compiled_already", "never_compiled", "not_installed_at_all"])
        assert len(caplog.records) == logs
    told = caplog.records[0].getMessage()
    assert told.startswith("never_compiled has no byte code")
    assert told.endswith(f" -m compileall -q {tmp_path / 'never_compiled'}")


def configured(monkeypatch: pytest.MonkeyPatch, *lacking: str, **changes: Any) -> m.Configure:
    """What a zygote is told of a changed policy, on a machine that can do everything but this."""
    monkeypatch.setattr(confinement, "probe", lambda: able(*lacking))
    policy = Policy.load("confined-python").replace(**changes)
    return configuration(policy, Toolbox({}, policy, None), None, None)


def test_only_programs_that_are_allowed_may_be_executed_under_rules_of_their_own_and_none_without_landlock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = configured(monkeypatch, limits={"threads": 1})
    assert (plain.command, plain.confinement.programs, plain.child.programs) == (None, (), ())
    told = configured(monkeypatch, danger_allow_commands=["true"], limits={"threads": 1})
    assert os.path.realpath("/bin/true") in told.command.programs == told.confinement.programs
    assert (told.child.programs, told.child.threads) == ((), 1)
    assert (told.command.executable_memory, told.command.threads) == (True, COMMAND_THREADS)
    assert told.command.cpu_seconds < told.child.cpu_seconds
    with pytest.raises(ProtectionError, match="commands need Landlock"):
        configured(monkeypatch, "landlock", danger_allow_commands=["true"])


def test_a_zygote_imports_for_its_children_what_they_may_not_open() -> None:
    mathematics = Policy.load("mathematics")
    assert mathematics.filesystem.workspace == "none"
    assert {"sympy", "sympy.stats", "numpy.random", "math"} <= {*preloaded(mathematics)}
    with_files = preloaded(mathematics.replace(filesystem={"workspace": "read-only"}))
    assert "math" in with_files and "sympy.stats" not in with_files
    assert "sympy" not in preloaded(Policy.load("calculator"))
    assert preloaded(Policy.load("confined-python")) == (), "where the language is all of Python nobody knows what"
