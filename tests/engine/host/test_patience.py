"""The host waits longer for its own processes on a machine that has shown to be slow, or where it is told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from safeexec import ProtectionError, Sandbox
from safeexec.engine.host import patience
from safeexec.engine.host.patience import MOST, USUAL_SECONDS, VARIABLE, note_boot, patient
from safeexec.engine.host.startup import launcher


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(patience, "_factor", 1.0)
    yield


@pytest.mark.parametrize(
    ("boot", "factor"), [(0.0, 1.0), (USUAL_SECONDS, 1.0), (3 * USUAL_SECONDS, 3.0), (1e6, MOST)], ids=str
)
def test_the_bounds_grow_with_what_the_start_took(boot: float, factor: float) -> None:
    note_boot(boot)
    assert patient(10.0) == pytest.approx(10.0 * factor)


def test_the_variable_says_it_from_the_start_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "50")
    monkeypatch.setattr(launcher, "START_SECONDS", 0.05)
    with Sandbox("calculator") as sandbox:
        assert sandbox.run("1 + 1").value == 2
        assert patient(10.0) == 500.0


@pytest.mark.parametrize("given", ["fast", "0.5", "nan", "inf", "-3"])
def test_a_value_that_is_no_factor_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(ProtectionError, match="SAFEEXEC_PATIENCE is a factor from 1 to 1000"), Sandbox("calculator"):
        pass
    assert patient(1.0) == 1.0


def test_each_start_measures_anew() -> None:
    note_boot(1e6)
    with Sandbox("calculator") as sandbox:
        assert sandbox.run("1 + 1").value == 2
    assert patient(1.0) < MOST
