"""A session that nobody uses: it settles, which must change nothing but how much memory it holds."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from time import monotonic

import psutil
import pytest

from safeexec import Sandbox, Session
from safeexec.host.runner import SETTLE_SECONDS
from tests.footprint import pause

OpenSession = Callable[..., Session]
SOON = 30.0


def parked(session: Session) -> int:
    """The process that holds the newest checkpoint, once it has parked."""
    newest = session._core.checkpoints.automatic[-1]
    deadline = monotonic() + SOON
    while (pid := newest.pid()) is None and monotonic() < deadline:
        pause()
    assert pid is not None
    return pid


def rest(session: Session) -> None:
    """Leave the session alone until it has settled."""
    before, deadline = parked(session), monotonic() + SOON
    while parked(session) == before and monotonic() < deadline:
        pause()
    assert parked(session) != before, f"it has not settled within {SOON:g} s"


def test_a_settled_session_is_as_it_was(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = [1]\ndef count():\n    n = 0\n    while True:\n        n += 1\n        yield n\ng = count()")
    session.run("x.append(next(g))").check()
    rest(session)
    result = session.run("x.append(next(g))\nx").check()
    assert result.value == [1, 1, 2] and result.state == "kept" and not result.notes
    assert session.run("while True: pass", timeout=0.1).state == "restored"
    assert session.run("x.append(next(g))\nx").value == [1, 1, 2, 3]


def test_the_step_before_a_rest_can_be_undone(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    session.run("x = 2").check()
    rest(session)
    session.rollback()
    assert session.run("x").value == 1


def test_a_kill_after_a_rest_goes_back_to_the_rest(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    rest(session)
    assert session.run("x = 2\nwhile True: pass", timeout=0.1).state == "restored"
    assert session.run("x").value == 1


@pytest.mark.profile("confined-python")
def test_files_are_those_of_the_state(session: Session) -> None:
    session.run("f = open('a', 'w+')\nf.write('one')\nf.flush()").check()
    rest(session)
    assert session.run("f.write('two')\nwhile True: pass", timeout=0.1).state == "restored"
    assert session.run("f.write('!')\nf.seek(0)\nf.read()").value == "one!"


def test_a_process_that_died_at_rest_is_told_of(open_session: OpenSession) -> None:
    session = open_session()
    session.run("x = 1").check()
    before = parked(session)
    runner = session._core.runner_pid()
    assert runner is not None
    os.kill(runner, signal.SIGKILL)
    deadline = monotonic() + SOON
    while session._core.runner_pid() in (runner, None) and monotonic() < deadline:
        pause()
    result = session.run("x")
    assert result.value == 1 and "between its steps the process died" in result.notes[0]
    assert parked(session) != before


def test_rest_takes_more_than_a_moment(open_session: OpenSession) -> None:
    """A step that comes soon finds what was made ready for it."""
    session = open_session()
    session.run("x = 1").check()
    assert not session._core.restless() and SETTLE_SECONDS >= 0.5


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the memory of processes that gave up their rights")
def test_a_settled_session_holds_half_of_what_it_held() -> None:
    with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        first = {parked(session), session._core.runner_pid()}
        before = _private(first)
        rest(session)
        after = _private({parked(session), session._core.runner_pid()})
    assert after < before * 0.7, f"{before >> 10} KiB before, {after >> 10} KiB after"


def _private(pids: set[int | None]) -> int:
    """Bytes that only these processes hold, each counted by itself."""
    return sum(psutil.Process(pid).memory_full_info().uss for pid in pids)
