"""Mistakes that were collected after the rules were written: nearly all get a useful hint at first sight."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest

from safeexec import Sandbox
from tests.hints.first_sight import MISTAKES

LIBRARIES = all(importlib.util.find_spec(name) for name in ("pandas", "sklearn", "matplotlib"))


@pytest.mark.parametrize("profile", ["calculator", "standard", "data-analysis"])
def test_a_useful_hint_at_first_sight(profile: str, sandbox_for: Callable[[str], Sandbox]) -> None:
    if profile == "data-analysis" and not LIBRARIES:
        pytest.skip("the libraries of data-analysis are not installed")
    weak, count = [], 0
    for where, source, words in MISTAKES:
        if where != profile:
            continue
        count += 1
        with sandbox_for(profile).session() as session:
            error = session.run(source, timeout=60).error
        said = ((error and error.hint) or "").lower()
        if not any(word.lower() in said for word in words.split("|")):
            weak.append((source, said))
    assert count >= 5
    assert len(weak) <= 0.05 * count, weak
