"""Who may say what, and when: the host is held to the table as well."""

from __future__ import annotations

import pytest

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import FROM_CHILD, FROM_HOST, Conversation

STATES = {*FROM_HOST.values(), *FROM_CHILD.values(), *(state for state, _ in (*FROM_HOST, *FROM_CHILD))}


@pytest.mark.parametrize("state", sorted(STATES))
def test_the_host_speaks_in_its_turn(state: str) -> None:
    for message in (m.Fetch("x"), m.Proceed(1), m.Resume(), m.Ready()):
        conversation = Conversation(state)
        if (follows := FROM_HOST.get((state, type(message)))) is not None:
            assert conversation.send(message) and conversation.state == follows
            continue
        with pytest.raises(ProtocolError, match=f"{type(message).__name__} may not be sent while the child is {state}"):
            conversation.send(message)
        assert conversation.state == state
