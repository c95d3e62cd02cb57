"""Fixtures of the tests of the host's side."""

from __future__ import annotations

import pytest

from safeexec.engine.host.session import session
from safeexec.engine.host.session.history import Journal

REST_SECONDS = session.REST_SECONDS


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each state copied, whether its step could be repeated or not."""
    monkeypatch.setattr(Journal, "repeats", False)


@pytest.fixture(autouse=True)
def awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no session rest by itself: half a second without use, which a busy machine puts between any two lines of a
    test, would take the process or the copy away that the test has in hand. `inside.rests` has one rest.
    """
    monkeypatch.setattr(session, "REST_SECONDS", 3600.0)


@pytest.fixture
def rests_by_itself(awake: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have sessions rest when they are idle, as everywhere else."""
    monkeypatch.setattr(session, "REST_SECONDS", REST_SECONDS)
