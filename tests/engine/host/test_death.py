"""What outlives what: nothing outlives the host, nothing a session, and orphans of a guest outlive no kill."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import psutil
import pytest

from safeexec import Sandbox, Session, SessionClosed
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.waiting import Core
from tests.alone import alone, importing
from tests.engine.host.inside import members, runner_of
from tests.footprint import until
from tests.profiles import FORKING

HOST = """\
import os, sys
from safeexec import Sandbox
sandbox = Sandbox({profile!r}).open()
session = sandbox.session()
session.run("x = 1")
session.checkpoint("named")
branch, = session.branch()
branch.run("y = 2")
{extra}
print(sandbox._core.children.root.path if sandbox._core.children.root else "", flush=True)
session.run("while True: pass", timeout=60)
"""
REAL_TIME = """\
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
from safeexec import Sandbox
with Sandbox("calculator") as sandbox, sandbox.session() as session:
    session.run("x = 1").check()
    print(session.run("while True: pass", timeout=0.2).state, session.get("x"))
"""
ORPHANS = """\
import os
for _ in range(3):
    if os.fork() == 0:
        while True: pass
"""


def descendants(pid: int) -> set[psutil.Process]:
    try:
        return set(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return set()


def gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize(
    ("profile", "extra"), [("standard", ""), ("confined-python", ""), (FORKING, f"session.run({ORPHANS!r})")]
)
def test_nothing_outlives_the_host(profile: str, extra: str) -> None:
    command = [sys.executable, "-c", HOST.format(profile=profile, extra=extra)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=importing()) as host:
        root = host.stdout.readline().strip()
        until(lambda: len(descendants(host.pid)) >= 4)
        left = descendants(host.pid)
        host.kill()
        host.wait()
    until(lambda: all(gone(process) for process in left))
    if root:
        # Nobody is left to remove the directory of a host that was killed; it holds nothing but the guest's own files.
        shutil.rmtree(root, ignore_errors=True)


@pytest.mark.profile(FORKING)
def test_orphans_that_a_step_leaves_behind_speak_for_nobody(session: Session) -> None:
    """A fork of the guest goes on in the step's code. What it does there is not the session's word."""
    result = session.run("import os\nx = 1\npid = os.fork()\nif pid == 0:\n    x = 2\nx")
    assert (result.outcome, result.value) == ("ok", 1)
    for _ in range(3):
        assert session.run("x").value == 1
    result = session.run("if os.fork() == 0:\n    raise ValueError('of the fork')\n'of the parent'")
    assert result.value == "of the parent"
    assert session.run("x").value == 1


@pytest.mark.profile(FORKING)
def test_nothing_survives_close(profile: str) -> None:
    with Sandbox(profile) as sandbox:
        session = sandbox.session()
        session.run(ORPHANS + "print('on')").check()
        session.checkpoint("a")
        found = [psutil.Process(pid) for pid in members(session)]
        assert len(found) >= 5, "the runner, its orphans, the checkpoint"
        session.close()
        until(lambda: all(gone(member) for member in found))


def test_a_sandbox_kills_all_of_its_sessions_before_it_waits_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    dead: list[bool] = []
    ends = SessionCore.end_and_wait

    def end(core: SessionCore) -> Core[None]:
        until(lambda: all(gone(runner) for runner in runners))
        dead.append(True)
        yield from ends(core)

    with Sandbox("calculator") as sandbox:
        sessions = [sandbox.session() for _ in range(3)]
        sessions += sessions[0].branch()
        for session in sessions:
            session.run("x = 1").check()
        runners = [psutil.Process(runner_of(session)) for session in sessions]
        monkeypatch.setattr(SessionCore, "end_and_wait", end)
        sandbox.close()
    assert dead == [True] * 4
    with pytest.raises(SessionClosed, match="the sandbox was closed, and this session with it"):
        sessions[-1].run("1")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may take a real-time priority")
def test_a_host_with_a_real_time_priority_keeps_it_to_itself() -> None:
    """On one core with it a guest's loop would never be interrupted."""
    done = alone(REAL_TIME)
    assert done.stdout == "restored 1\n", done.stderr
