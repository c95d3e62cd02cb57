"""`safeexec.host.startup.configuration`: what the host says of the packages that a zygote will import."""

from __future__ import annotations

import py_compile
from pathlib import Path

import pytest

from safeexec.host.startup.configuration import tell_uncompiled


def test_a_package_without_byte_code_is_named_once_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("compiled_already", "never_compiled"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("x = 1\n")
    py_compile.compile(str(tmp_path / "compiled_already" / "__init__.py"))
    for _ in range(2):
        tell_uncompiled(["compiled_already", "never_compiled", "not_installed_at_all"])
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith("never_compiled has no byte code")
    assert told.endswith(f" -m compileall -q {tmp_path / 'never_compiled'}")
