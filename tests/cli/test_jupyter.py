"""`safeexec jupyter install`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Called

pytestmark = pytest.mark.modules("ipykernel", "jupyter_client")


def test_the_kernel_is_where_jupyter_looks(tmp_path: Path, called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    told = called("jupyter", "install", "--prefix", tmp_path)
    assert told.status == 0 and f"the policy data-analysis in {tmp_path}" in told.out
    spec = json.loads((tmp_path / "share/jupyter/kernels/safeexec/kernel.json").read_text())
    assert spec["interrupt_mode"] == "message"
    assert os.path.isabs(spec["argv"][0]) and spec["argv"][1] == "-P"
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("extends: calculator\n")
    assert called("jupyter", "install", "-p", "mine.yaml", "--name", "mine", "--prefix", tmp_path).status == 0
    spec = json.loads((tmp_path / "share/jupyter/kernels/mine/kernel.json").read_text())
    assert spec["argv"][5] == str(tmp_path / "mine.yaml")


@pytest.mark.parametrize("arguments", [["--policy", "no-such"], ["--name", "../x"]])
def test_mistakes_are_one_line(arguments: list[str], tmp_path: Path, called: Called) -> None:
    told = called("jupyter", "install", *arguments, "--prefix", tmp_path)
    assert told.status == 2 and told.err.startswith("safeexec: ")
    assert not list(tmp_path.iterdir())
