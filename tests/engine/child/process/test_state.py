"""What a saved state of an earlier release says is understood."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from safeexec import Sandbox

STATE = Path(__file__).parents[3] / "data" / "state-0.9"
"""Saved by 0.9.0 under `standard`: data, functions, a closure, a dataclass, a cached function, names of facades."""


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="it holds functions of CPython 3.11")
def test_a_state_of_0_9_loads() -> None:
    with Sandbox("standard") as sandbox, sandbox.restore(STATE) as session:
        assert session.run("x, c(), p.y, fib(20), get([7]), total('101'), d").value == (
            *([1, {"a": (2, 3)}], 2, [2]),
            *(6765, 7, 5, {}),
        )
        assert session.run("area(1) < s.area(), math.pi > 3, repr(p)").value == (True, True, "P(x=1, y=[2])")
