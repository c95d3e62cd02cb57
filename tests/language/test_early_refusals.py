"""What an honest program writes and cannot have is refused before a line of it ran: with its line, its rule, a hint."""

from __future__ import annotations

import pytest

from tests.conftest import OpenSandbox
from tests.language.early import ALL, PROGRAMS, Early

CASES = [
    pytest.param(profile, case, id=f"{profile}-{case.source.splitlines()[case.line - 1].strip()[:40]}")
    for case in PROGRAMS
    for profile in case.profiles
    if profile != "deterministic" or case.name in ("open", "__base__", "os.system", "pdb")
]


@pytest.mark.modules("numpy", "sympy", "mpmath", "pandas")
@pytest.mark.parametrize(("profile", "case"), CASES)
def test_refused_before_a_line_ran(sandbox_for: OpenSandbox, profile: str, case: Early) -> None:
    with sandbox_for(profile).session() as session:
        result = session.run(f"print('ran')\n{case.source}")
        assert (result.outcome, result.stdout) == ("rejected", ""), result
        error = result.error
        assert error is not None and error.type == "PolicyViolation"
        told = (f"'{case.name}'", "open() of" if case.name == "open" else f"'{case.name}'")
        (found, *_) = [one for one in error.diagnostics if any(text in one.message for text in told)]
        assert found.line == case.line + 1
        assert found.rule and found.hint, found
        assert found.source_line in case.source
        assert not session.variables()


def test_there_are_some_of_each_kind() -> None:
    assert len(PROGRAMS) > 35 and {profile for case in PROGRAMS for profile in case.profiles} == set(ALL)


@pytest.mark.profile("standard")
@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import requests\nexcept ImportError:\n    requests = None\nrequests",
        "import sys\nif sys.platform == 'win32':\n    import winreg\nsys.platform",
        "from unittest.mock import patch\nimport os\nwith patch('os.system') as run:\n    os.system('ls')\nrun.called",
        "import os\nhasattr(os, 'fork') and callable(getattr(os, 'fork'))",
        "open = lambda name: name\nopen('/etc/passwd')",
        "class Shell:\n    def system(self, what): return what\nShell().system('ls')",
        "'{0.real}'.format(1)",
        "text = 'import os; os.system(1)'\nlen(text)",
    ],
)
def test_what_only_looks_like_it_runs(sandbox_for: OpenSandbox, profile: str, source: str) -> None:
    with sandbox_for(profile).session() as session:
        result = session.run(source)
        assert result.outcome == "ok", result
