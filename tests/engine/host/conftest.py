"""Fixtures of the tests of the host's side."""

from __future__ import annotations

import pytest

from safeexec.engine.host.session.history import Journal


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each state copied, whether its step could be repeated or not."""
    monkeypatch.setattr(Journal, "repeats", False)
