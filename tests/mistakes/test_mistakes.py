"""Mistakes that models make, in a real sandbox: outcome, type and line as recorded, a hint that helps, a fix that runs.

Each file is one case: `hint_any` are words of which the hint or message has one, `hint_none` words that would mislead,
`fixed` the corrected last step.
"""

from __future__ import annotations

import importlib.util
import json
import pathlib
from collections.abc import Iterator

import pytest

from safeexec import Sandbox

CASES = {path.stem: json.loads(path.read_text()) for path in sorted(pathlib.Path(__file__).parent.glob("*.json"))}
DATA_LIBRARIES = all(importlib.util.find_spec(name) for name in ("pandas", "sklearn", "matplotlib"))


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[str, Sandbox]]:
    opened: dict[str, Sandbox] = {}
    yield opened
    for sandbox in opened.values():
        sandbox.close()


@pytest.mark.parametrize("name", CASES)
def test_mistake(sandboxes: dict[str, Sandbox], name: str) -> None:
    case = CASES[name]
    profile = case["profile"]
    if profile == "data-analysis" and not DATA_LIBRARIES:
        pytest.skip("the libraries of data-analysis are not installed")
    if profile not in sandboxes:
        sandboxes[profile] = Sandbox(profile).__enter__()
    *before, wrong = case["steps"]
    with sandboxes[profile].session() as session:
        for step in before:
            session.run(step, timeout=30).check()
        result = session.run(wrong, timeout=30)
        if not (result.ok and case.get("note")):  # a note says that an engine may allow it
            _check_failure(case, result)
    with sandboxes[profile].session() as session:
        for step in [*before, case["fixed"]]:
            session.run(step, timeout=30).check()


def _check_failure(case: dict, result: object) -> None:
    expected, error = case["fails"], result.error
    if expected["outcome"] == "rejected":  # the kernel may refuse it when it is used
        assert not result.ok
    else:
        assert result.outcome in ("error", *expected.get("also", ()))
    if result.outcome == "error" and expected["type"]:
        assert error.type == expected["type"]
    assert expected["line"] in (None, error.line)
    hint = (error.hint or "").lower()
    said = f"{hint} {error.message}".lower()  # a library may say itself what to write instead
    assert any(words.lower() in said for words in case["hint_any"]), error
    assert not any(words.lower() in hint for words in case.get("hint_none", ())), error
