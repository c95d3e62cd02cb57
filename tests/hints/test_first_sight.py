"""Mistakes that were collected after the rules were written: nearly all get a useful hint at first sight.

`first_sight.jsonl` has profile, step, and words of which a useful hint has one. Text of the code that fails is no word.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec import Sandbox

MISTAKES = Path(__file__).with_name("first_sight.jsonl").read_text(encoding="utf-8").splitlines()
LIBRARIES = all(importlib.util.find_spec(name) for name in ("pandas", "sklearn", "matplotlib"))


@pytest.mark.parametrize("profile", ["calculator", "standard", "data-analysis"])
def test_a_useful_hint_at_first_sight(profile: str, sandbox_for: Callable[[str], Sandbox]) -> None:
    if profile == "data-analysis" and not LIBRARIES:
        pytest.skip("the libraries of data-analysis are not installed")
    weak, count = [], 0
    for case in map(json.loads, MISTAKES):
        if case["profile"] != profile:
            continue
        with sandbox_for(profile).session() as session:
            result = session.run(case["source"], timeout=60)
        if result.ok and case["source"].startswith("import") and "\n" not in case["source"].strip():
            continue  # of a library that is installed here
        count += 1
        said = ((result.error and result.error.hint) or "").lower()
        if not any(word.lower() in said for word in case["useful"]):
            weak.append((case["source"], said))
    assert count >= 5
    assert len(weak) <= 0.05 * count, weak
