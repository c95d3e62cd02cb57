"""Who may say what, and when: the host is held to the table as well."""

from __future__ import annotations

import pytest

from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import CHILD_SAYS, HOST_SAYS, Conversation

STATES = {*HOST_SAYS.values(), *CHILD_SAYS.values(), *(state for state, _ in (*HOST_SAYS, *CHILD_SAYS))}


@pytest.mark.parametrize("state", sorted(STATES))
def test_the_host_speaks_in_its_turn(state: str) -> None:
    for message in (m.Fetch("x"), m.Proceed(1), m.Thaw(), m.Ready()):
        conversation = Conversation(state)
        if (follows := HOST_SAYS.get((state, type(message)))) is not None:
            assert conversation.say(message) and conversation.state == follows
            continue
        with pytest.raises(ProtocolError, match=f"{type(message).__name__} may not be sent while the child is {state}"):
            conversation.say(message)
        assert conversation.state == state
