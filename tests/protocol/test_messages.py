"""What a child may say is bounded before anybody reads it, and an honest child keeps to that."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from safeexec import Session
from safeexec.engine.host.waiting import drive
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.conversation import ANSWERING, RUNNING, STARTING, Conversation, frame

TOKEN = bytes(range(8))
LONG_NOTE, LONG_PROBLEM = "x" * (m.NOTE_CHARACTERS + 1), "x" * (m.PROBLEM_CHARACTERS + 1)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (STARTING, m.Ready(notes=[LONG_NOTE])),
        (STARTING, m.Ready(notes=[""] * (m.FEW + 1))),
        (RUNNING, m.StepDone("ok", notes=[LONG_NOTE])),
        (ANSWERING, m.Done(notes=[LONG_NOTE])),
        (ANSWERING, m.Done(LONG_PROBLEM)),
        (ANSWERING, m.Saved(0, [], {}, {}, LONG_PROBLEM)),
    ],
)
def test_a_text_that_is_too_long_is_no_message(state: str, message: Any) -> None:
    with pytest.raises(ProtocolError):
        Conversation(state, 1 << 20, TOKEN).receive(frame(msgspec.msgpack.encode(message), TOKEN))


def test_a_long_name_is_cut_by_the_child(session: Session) -> None:
    session.run("x = 1").check()
    with pytest.raises(KeyError, match="no variable 'aaa") as missing:
        drive(session._core.variables.remove("a" * 100_000))
    assert len(str(missing.value)) <= m.PROBLEM_CHARACTERS + 2
    assert session.run("x").value == 1


@pytest.mark.profile("confined-python")
def test_a_long_path_is_cut_by_the_child(session: Session) -> None:
    session.run("import os\nplace = '/'.join(['d' * 200] * 4)\nos.makedirs(place)").check()
    session.run("file = open(place + '/f', 'w')\nos.unlink(place + '/f')").check()
    result = session.run("while True: pass", timeout=0.2)
    assert result.state == "restored"
    (note,) = result.notes
    assert note.startswith("the open file 'ddd") and len(note) == m.NOTE_CHARACTERS
