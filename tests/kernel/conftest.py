"""The situations in which the same promises must hold: as root and as anybody, with namespaces and without."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

import pytest

from safeexec.engine.linux.probe import probe
from tests.kernel import harness

Run = Callable[..., harness.Outcome]

SITUATIONS = {
    "root": {},
    "root-without-namespaces": {"namespaces": False},
    "ordinary": {"ordinary": True},
    "ordinary-without-namespaces": {"ordinary": True, "namespaces": False},
}


def _skip_where_impossible(name: str) -> None:
    facts = probe()
    if name.startswith("root") and os.geteuid() != 0:
        pytest.skip("needs root")
    if name.startswith("ordinary") and os.geteuid() == 0 and not facts.mount.works:
        pytest.skip(f"root becomes an ordinary user in a mount namespace: {facts.mount.reason}")
    if not name.endswith("without-namespaces") and not facts.mount.works:
        pytest.skip(f"no namespaces here: {facts.mount.reason}")


@pytest.fixture(params=SITUATIONS)
def situation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    _skip_where_impossible(name)
    return name


@pytest.fixture
def run(situation: str) -> Run:
    """`harness.run` in one of the four situations."""
    return functools.partial(harness.run, **SITUATIONS[situation])
