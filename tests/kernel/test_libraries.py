"""Ordinary libraries never trip the lockdown: typical work of each runs under `data-analysis` without one refused call.

The programs lie in `data/libraries/`. A refused call that a library would catch and hide kills the child here.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernel.harness import Outcome

PROGRAMS = sorted((Path(__file__).parent / "data" / "libraries").glob("*.py"))
_IMPORTS = {"pillow": "PIL", "standard": "os"}


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_library_makes_no_refused_call(run: Callable[..., Outcome], program: Path, situation: str) -> None:
    if importlib.util.find_spec(_IMPORTS.get(program.stem, program.stem)) is None:
        pytest.skip(f"{program.stem} is not installed")
    # chmod and utime (shutil.copy) need the new root, which hides all other files that could be changed
    metadata = "without-namespaces" not in situation
    if program.stem == "standard" and not metadata:
        pytest.skip("shutil.copy changes modes, which is refused without a new root")
    outcome = run(program.read_text(), "data-analysis", strict=True)
    assert outcome.status == 0, outcome.output
    assert outcome.output.endswith("done\n"), outcome.output
