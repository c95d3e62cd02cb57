"""What a broken-out guest uses, whenever and however, is found and ended, and its session goes on.

These guests may fork: without that they could do little of it.
"""

from __future__ import annotations

import os

import pytest

from safeexec import Policy, Sandbox, SandboxError
from tests.engine.host.inside import ended_at_rest, members
from tests.footprint import until
from tests.profiles import FORKING

MIB = 1 << 20
HELD_MB = 64
HOG = """
def hog(mib):
    held = bytearray(mib << 20)
    for i in range(0, len(held), 4096): held[i] = 1
    time.sleep(3600)
"""
CHAIN = """
import os, time
end = time.monotonic() + 60
if os.fork():
    time.sleep(3600)
while time.monotonic() < end:
    spent = time.process_time()
    while time.process_time() - spent < 0.2: pass
    if os.fork(): os._exit(0)
"""
BURNS_AT_REST = """
import os, time
if os.fork() == 0:
    while True: pass
"""
ANSWERS_LATE = f"""
import os, time
import safeexec.engine.child.process.serve as serve
{HOG}
def late(*_, **__):
    for _ in range(6):
        if os.fork() == 0:
            hog(40)
    time.sleep(3600)
serve.encode = late
x = 1
"""
FREEZES_LATE = """
import time
import safeexec.engine.child.process.serve as serve
def late(self, *_):
    time.sleep(3600)
serve.Server._freeze_on_request = late
"""
STORM = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""


@pytest.fixture(scope="module")
def forking() -> Policy:
    return Policy.load(FORKING).replace(memory_mb=HELD_MB, cpu_seconds=1)


def test_a_step_is_ended_for_what_its_forks_use(forking: Policy) -> None:
    """One after the other, each but a moment there."""
    with Sandbox(forking.replace(cpu_seconds=0.4), spare=0) as sandbox, sandbox.session() as session:
        session.run("x = 1").check()
        result = session.run(CHAIN, timeout=60)
        assert (result.outcome, result.state) == ("cpu", "restored")
        assert session.run("x").value == 1
        until(lambda: len(members(session)) <= 4)


def test_a_child_that_answers_late_is_looked_at_meanwhile(forking: Policy) -> None:
    with Sandbox(forking.replace(wall_seconds=60), spare=0) as sandbox, sandbox.session() as session:
        session.run("y = 1").check()
        session.run(ANSWERS_LATE).check()
        with pytest.raises(SandboxError, match=r"limits\.memory_mb is 64"):
            session.get("x")
        assert session.run("y").value == 1
        until(lambda: len(members(session)) <= 4)


def test_sessions_that_do_not_answer_delay_no_look_at_another(forking: Policy) -> None:
    with Sandbox(forking.replace(cpu_seconds=0.4), spare=0) as sandbox:
        slow, burner = [sandbox.session() for _ in range(6)], sandbox.session()
        for session in (*slow, burner):
            session.run("x = 1").check()
        for session in slow:
            session.run(FREEZES_LATE).check()
        burner.run(BURNS_AT_REST).check()
        until(lambda: ended_at_rest(burner))
        assert burner.run("x").value == 1


def test_a_storm_of_forks_ends_with_its_step_and_leaves_the_state_whole(forking: Policy) -> None:
    # An ordinary user's host cannot read which pages the forks share, and may find the sum too much before the end.
    expected = {"timeout", "violation"} if os.geteuid() == 0 else {"timeout", "violation", "memory"}
    with Sandbox(forking.replace(cpu_seconds=60), spare=0) as sandbox, sandbox.session() as session:
        session.run("x = [1]").check()
        session.checkpoint("here")
        for _ in range(2):
            result = session.run(STORM, timeout=0.5)
            assert result.outcome in expected and result.state == "restored"
            assert session.run("x").value == [1]
            until(lambda: len(members(session)) <= 5)
        session.rollback("here")
        assert session.run("x").value == [1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the shares of processes that gave up their rights")
def test_what_only_copies_hold_counts_for_them() -> None:
    """Two checkpoints of the same 60 MiB that the session has let go of: nobody holds them alone."""
    policy = Policy.load("confined-python").replace(checkpoint_memory_mb=40)
    with Sandbox(policy, spare=0) as sandbox, sandbox.session() as session:
        session.run(f"held = bytearray({60 * MIB})\nfor i in range(0, len(held), 4096): held[i] = 1").check()
        session.checkpoint("one")
        with pytest.raises(SandboxError, match="checkpoint_memory_mb"):
            session.run("y = 1").check()
            session.checkpoint("two")
            session.run("del held").check()
            session.checkpoint("three")


def test_the_thread_ends_with_the_sessions_and_comes_back_with_them() -> None:
    for _ in range(2):
        with Sandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
            session.run("x = 1").check()
            looks = session._core.watched.accountant
            assert looks._alive
    until(lambda: not looks._alive)
