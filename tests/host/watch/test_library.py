"""What a step waits for in the zygote does not count against its limit; nothing else stops the clock."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from safeexec import Sandbox, Session


@pytest.fixture
def asleep() -> Iterator[Session]:
    """A session whose zygote sleeps for a second from now on, before it has filled what late imports are made from."""
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        zygote = sandbox._core.reapers[1]
        os.kill(zygote, signal.SIGSTOP)
        waking = threading.Timer(1.0, os.kill, (zygote, signal.SIGCONT))
        waking.start()
        yield session
        waking.join()


@pytest.mark.parametrize(
    ("source", "outcome"), [("import os", "rejected"), ("import sys\nsys.exit(3)", "error"), ("1 / 0", "error")]
)
def test_a_step_that_waits_for_late_imports_has_its_whole_time_afterwards(
    asleep: Session, source: str, outcome: str
) -> None:
    assert asleep.run(source, timeout=0.7).outcome == outcome


def test_what_asks_for_nothing_has_its_limit_and_so_has_every_later_step(asleep: Session) -> None:
    for _ in range(2):
        result = asleep.run("while True: pass", timeout=0.2)
        assert result.outcome == "timeout" and result.error is not None and "its limit of 0.2 s" in result.error.message
    assert asleep.run("1 / 0", timeout=5).outcome == "error"
    assert asleep.run("while True: pass", timeout=0.2).outcome == "timeout"
