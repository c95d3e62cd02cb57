"""A child goes on to answer, whatever its steps have left it."""

from __future__ import annotations

import pytest

from safeexec import CheckpointError, Policy, Sandbox

FILLED = """
held = []
for size in (10 << 20, 1 << 20, 200_000, 100_000, 10_000, 2000):
    try:
        while True:
            held.append(bytes(size))
    except MemoryError:
        pass
"""
"""Takes all address space there is; the pages stay untouched, so that no look of the host finds them."""


def test_a_session_whose_memory_is_full_says_so_and_goes_on() -> None:
    with Sandbox(Policy.load("confined-python").replace(limits={"memory_mb": 64})) as sandbox:
        for checkpoints in ("idle", "off"):
            with sandbox.session(checkpoints=checkpoints) as session:
                session.run(FILLED).check()
                for source in ("x = 1", "'a' * 400_000"):
                    result = session.run(source)
                    assert (result.outcome, result.state, result.error.type) == ("memory", "kept", "MemoryError")
                    assert "memory is full" in result.error.message
                assert session.run("1 / 0").error.type == "ZeroDivisionError"
                session.run("del held").check()
                assert session.run("x").value == 1


SCARCE = """
import os, sys
module = sys.modules["safeexec.engine.linux.fork"]
signals, me = module._signal, os.getpid()
class Scarce:
    SIG_BLOCK, SIG_SETMASK = signals.SIG_BLOCK, signals.SIG_SETMASK
    def pthread_sigmask(self, how, mask):
        if os.getpid() != me:
            raise MemoryError
        return signals.pthread_sigmask(how, mask)
"""


def test_a_copy_that_has_no_memory_to_freeze_takes_no_request_of_its_runner() -> None:
    """It is a fork at the same socket: the one that read the next request was whichever came first."""
    with Sandbox("confined-python") as sandbox, sandbox.session() as session:
        session.run(SCARCE).check()
        session.run("module._signal = Scarce()").check()
        for _ in range(5):
            with pytest.raises(CheckpointError):
                session.checkpoint("never")
            assert session.run("1 + 1", timeout=60).value == 2
