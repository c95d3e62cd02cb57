"""What the tools of frameworks take: a session, which their caller opened."""

from __future__ import annotations

from typing import Any

import pytest

from safeexec import Policy, Session
from safeexec.adapters.sessions import described


def test_a_policy_in_the_place_of_a_session_is_told_at_once(session: Session) -> None:
    given: Any
    for given in ("calculator", Policy.load("calculator")):
        with pytest.raises(TypeError, match=r"runs code in a session.*found (str|Policy): write `with Sandbox"):
            described(given, None)
    assert described(session, None) is session and described(session, "calculator") == "calculator"
