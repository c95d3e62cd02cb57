"""What a process does that has answered is seen: code that goes on is ended, CPU time that no result tells counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from time import monotonic

import pytest

from safeexec import Policy, Sandbox, Session, WorkspaceError
from safeexec.engine.host.watch.watched import RESTLESS_LOOKS, Resting
from tests.engine.host.inside import SERVER
from tests.footprint import pause, until

FORGED = f"""{SERVER}
import time
from safeexec.protocol import messages as m
server.link.send(m.StepDone("ok", step=server._step))
n = 0
while True:
    open("beat", "w").write(str(n)); n += 1; time.sleep(0.01)
"""
SPIN = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"


@pytest.fixture
def session() -> Iterator[Session]:
    policy = Policy.load("confined-python").replace(limits={"wall_seconds": 1})
    with Sandbox(policy) as sandbox, sandbox.session(checkpoints="off") as session:
        yield session


def test_code_that_goes_on_after_a_forged_end_is_ended(session: Session) -> None:
    assert session.run(FORGED).ok
    seen: list[bytes] = []

    def stands_still() -> bool:
        with suppress(WorkspaceError):  # it has not been written yet
            seen.append(session.read_file("beat"))
        return len(seen) > 25 and len({*seen[-25:]}) == 1

    until(stands_still)
    assert any("went on" in note for note in session.run("1").notes)


def test_threads_that_a_step_leaves_go_on_and_count(session: Session) -> None:
    """The first thread of the process waits; a policy that gives threads lets them work between steps."""
    result = session.run(SPIN)
    assert result.ok
    before = session.untold_cpu
    until(lambda: session.untold_cpu > before + 0.5)
    assert session.run("threading.active_count()").value == 2


@pytest.mark.modules("duckdb", "pandas")
def test_what_the_result_of_a_query_tells_is_not_charged_once_more(session: Session) -> None:
    session.run("1").check()
    before = session.untold_cpu
    query = "select sum(hash(a.range + b.range)) as s from range(100000) a, range(2000) b"
    used = session.sql(query, timeout=60).check().usage.cpu_ms / 1000
    assert used > 0.3
    deadline = monotonic() + 1.0  # its processes are looked at each quarter of a second
    while monotonic() < deadline:
        assert session.untold_cpu - before < used / 2
        pause()


def test_a_process_that_waits_is_left_alone() -> None:
    resting = Resting()
    for spent in (1.0, 1.0, 1.1, 1.1, 1.2, 1.3, 1.3):
        resting = resting.look("a", spent)
        assert resting.looks < RESTLESS_LOOKS
    for spent in (1.4, 1.5, 1.6):
        resting = resting.look("a", spent)
    assert resting.looks == RESTLESS_LOOKS
    assert resting.look("another use", 2.0).looks == 0
