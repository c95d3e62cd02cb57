"""Fixtures of the tests of the engine."""

from __future__ import annotations

import pytest

from safeexec.engine.host.session import session
from safeexec.engine.host.session.history import CopyDecision

REST_SECONDS = session.REST_SECONDS


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each state copied, whether its step could be repeated or not."""
    monkeypatch.setattr(CopyDecision, "repeats", False)


@pytest.fixture(autouse=True)
def _awake(awake: None) -> None:
    """These tests look at processes; `tests.engine.host.inside.rests` has a session rest."""


@pytest.fixture
def rests_by_itself(_awake: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sessions rest when they are idle, as everywhere else."""
    monkeypatch.setattr(session, "REST_SECONDS", REST_SECONDS)
