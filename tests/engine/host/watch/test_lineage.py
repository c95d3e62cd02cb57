"""How the processes of a session end, when its runner is killed."""

from __future__ import annotations

import pytest

from safeexec import Session
from safeexec.engine.host.session.channel import Channel
from safeexec.engine.host.waiting import Core
from safeexec.engine.linux import processes
from tests.engine.host.inside import members, pids_of
from tests.footprint import until
from tests.profiles import FORKING


@pytest.mark.profile(FORKING)
def test_what_a_runner_has_forked_stands_still_until_the_runner_has_ended(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take the processor that the end of the runner needs."""

    found: list[int] = []

    def is_alone() -> bool:
        """Return whether it is the one process that nobody knows: of a copy that is being made the host learns late."""
        found[:] = [pid for pid in members(session) if pid not in pids_of(session)]
        return len(found) == 1

    session.run("import os\nif os.fork() == 0:\n    while True: pass").check()
    until(is_alone)
    (endless,) = found
    wait_exiting, stood = Channel.wait_exiting, []

    def waited(channel: Channel, deadline: float) -> Core[bool]:
        until(lambda: (stat := processes.process_stat(endless)) is not None and stat.state == "T")
        stood.append(endless)
        return (yield from wait_exiting(channel, deadline))

    monkeypatch.setattr(Channel, "wait_exiting", waited)
    assert session.run("while True: pass", timeout=0.1).outcome == "timeout"
    assert stood == [endless]
    until(lambda: endless not in members(session))
