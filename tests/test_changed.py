"""Each file of the project has tests that `python -m tests.changed` finds."""

from __future__ import annotations

import pytest

from tests import changed
from tests.test_map import HOUSE, PROJECT


@pytest.mark.parametrize(
    ("file", "test"),
    [
        ("safeexec/engine/host/session/history.py", "tests/engine/host/session/test_history.py"),
        ("tests/engine/host/session/test_history.py", "tests/engine/host/session/test_history.py"),
        ("tests/engine/host/watch/scripted.py", "tests/engine/host/watch/test_account.py"),
        ("tests/kernel/broken/files-in-flight.py", "tests/kernel/test_broken_out.py"),
        ("tests/escapes/native/nv-openpty.py", "tests/test_escapes.py"),
        ("tests/kernel/conftest.py", "tests/kernel"),
        ("tests/recordings/data/search.jsonl", "tests/recordings/test_reader.py"),
        ("policies/calculator.yaml", "tests/engine/policy"),
    ],
)
def test_a_file_has_its_own_tests(file: str, test: str) -> None:
    assert test in changed.tests_of(PROJECT / file)


def test_every_module_has_tests_that_are_there() -> None:
    for module in HOUSE.rglob("*.py"):
        found = changed.tests_of(module)
        assert found and all((PROJECT / path).exists() for path in found), module
