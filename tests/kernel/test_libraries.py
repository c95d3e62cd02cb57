"""Ordinary libraries never trip the lockdown: typical work of each runs under `data-analysis` without one refused call.

The programs are those of `tests/data/libraries/`, without the error that they end in, and for what these leave out (the
standard library, files that are mapped, pools of threads) those of `data/libraries/`. A refused call that a library
would catch and hide kills the child here.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from tests.kernel.conftest import Run

_IMPORTS = {"data": "sklearn", "standard": "os"}
OWN = sorted((Path(__file__).parent / "data" / "libraries").glob("*.py"))
SHARED = sorted((Path(__file__).parents[1] / "data" / "libraries").glob("*.py"))
WITHOUT_PROGRAMS = """\
import os
os.environ["MPLCONFIGDIR"] = os.getcwd() + "/.mpl"
import subprocess


def no_programs(*args, **kwargs):
    raise OSError("fc-list is not asked")


subprocess.check_output = no_programs
"""
"""matplotlib asks the machine for its fonts, by a program."""


def source_of(program: Path) -> str:
    source = program.read_text(encoding="utf-8")
    if program in OWN:
        return source
    last = ast.parse(source).body[-1]
    return "".join([WITHOUT_PROGRAMS, *source.splitlines(keepends=True)[: last.lineno - 1], 'print("done")\n'])


@pytest.mark.slow
@pytest.mark.parametrize("program", [*OWN, *SHARED], ids=lambda path: path.stem)
def test_a_library_makes_no_refused_call(run: Run, program: Path, situation: str) -> None:
    if importlib.util.find_spec(_IMPORTS.get(program.stem, program.stem)) is None:
        pytest.skip(f"{program.stem} is not installed")
    # chmod and utime (shutil.copy) need the new root, which hides all other files that could be changed
    if program.stem == "standard" and "without-namespaces" in situation:
        pytest.skip("shutil.copy changes modes, which is refused without a new root")
    outcome = run(source_of(program), "data-analysis", strict=True)
    assert outcome.status == 0 and outcome.output.endswith("done\n"), outcome.output
