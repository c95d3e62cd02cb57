"""Typical work of the data libraries under `data-analysis`: what plain CPython gives, and no refusal by the kernel.

Refusals that a library catches are listed in the result; `tests.kernel.test_libraries` kills at each, from C code too.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec import Result
from tests.alone import ran
from tests.test_programs import ORACLE

PROGRAMS = sorted((Path(__file__).parent / "data" / "libraries").glob("*.py"))
CASES = [pytest.param(path, id=path.stem, marks=pytest.mark.modules(path.stem)) for path in PROGRAMS]
ALONE = {
    "MPLBACKEND": "Agg",
    "TZ": "UTC",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # The processes of a pool would outlive the oracle, with its output open: nobody saw the end of that.
    "JOBLIB_MULTIPROCESSING": "0",
}
"""Of a session's environment what changes what a library does."""
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@pytest.mark.profile("data-analysis")
@pytest.mark.parametrize("path", CASES)
def test_a_library_works_as_in_cpython(run: Callable[..., Result], path: Path, tmp_path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    result = run(source, timeout=120)
    expected = by_cpython(source, tmp_path)
    assert result.error is not None, "each program ends in an error, so that its type and message are compared too"
    assert ADDRESS.sub("0x", result.stdout) == ADDRESS.sub("0x", expected["stdout"])
    assert result.error.type.rpartition(".")[2] == expected["error"]
    assert ADDRESS.sub("0x", result.error.message) == ADDRESS.sub("0x", expected["message"])
    assert result.refusals == ()
    assert result.stderr == ""


def by_cpython(source: str, directory: Path) -> dict[str, str]:
    command, program = [sys.executable, "-X", "utf8", ORACLE], json.dumps([[], [source]])
    done = ran(command, input=program, cwd=directory, env={**os.environ, **ALONE})
    assert done.returncode == 0, done.stderr
    outcome: dict[str, str] = json.loads(done.stdout.splitlines()[-1])[0]
    return outcome
