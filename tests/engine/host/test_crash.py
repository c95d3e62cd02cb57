"""The crash matrix: every way for a child to die, at every point of a step. The state is as promised, nothing leaks.

Guests run without the language layer here: they can do to their process what a broken-out guest could.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

from safeexec import CheckpointError, Result, Sandbox, SandboxClosed, SandboxError, Session, SessionClosed
from tests.engine.host.inside import is_alive
from tests.footprint import footprint, leaks, until

pytestmark = pytest.mark.profile("confined-python")

WAYS = {
    "SIGKILL": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "import ctypes; ctypes.string_at(0)",
    "exit": "import os; os._exit(3)",
    "stack": (
        "import sys, threading; sys.setrecursionlimit(10**9); threading.stack_size(64 << 10); "
        "f = lambda n: [*map(f, [n + 1])]; t = threading.Thread(target=f, args=(0,)); t.start(); t.join()"
    ),
    "memory": "blocks = []\n    while True: blocks.append(bytearray(64 << 20))",
}
DIE = "def die(*_):\n    {way}\n"
DEADLY = [way for way in WAYS if way != "memory"]


@pytest.fixture
def victim(sandbox: Sandbox, way: str) -> Iterator[Session]:
    """A session with a state worth keeping, and a function that dies in one of the ways."""
    with sandbox.session(memory_mb=512) as session:
        session.run("kept = [1, 2]\nsteps = 0").check()
        session.run(DIE.format(way=WAYS[way])).check()
        yield session
        # A guest may have arranged to die at every fork. Then what it reports before counts, or that its state is gone.
        last = [session.run("kept") for _ in range(3)]
        told = any("no checkpoint was left" in note for result in last for note in result.notes)
        assert told or [1, 2] in [result.value for result in last], last
        assert sandbox.run("1 + 1").value == 2


def died(result: Result, way: str) -> None:
    if way == "memory":
        assert result.outcome in ("memory", "crashed"), result
    elif way == "stack" and result.outcome in ("error", "ok"):
        # C recursion is counted from 3.12 on; from 3.14 on by the stack of each thread, whose error ends that thread.
        assert sys.version_info >= ((3, 14) if result.ok else (3, 12))
    else:
        assert (result.outcome, result.state) == ("crashed", "restored"), result


@pytest.mark.parametrize("way", WAYS)
def test_while_executing(victim: Session, way: str) -> None:
    result = victim.run("steps = 1\nkept.append(3)\ntry:\n    die()\nfinally:\n    kept.remove(3)", timeout=60)
    died(result, way)
    if result.state == "restored":
        assert victim.run("steps").value == 0
    if way in ("SIGKILL", "SIGSEGV"):
        assert result.error is not None and way in result.error.message


@pytest.mark.parametrize("point", ["before", "after_in_child", "after_in_parent"])
@pytest.mark.parametrize("way", DEADLY)
def test_while_freezing(victim: Session, way: str, point: str) -> None:
    """The automatic checkpoint is made in think time: the death shows at the next step, which finds an older state."""
    victim.run(f"import os\narmed = True\nos.register_at_fork({point}=lambda: armed and die())").check()
    result = victim.run("steps = 1", timeout=60)
    if result.outcome == "crashed":
        assert result.state == "restored"
    assert victim.run("steps", timeout=60).outcome in ("ok", "crashed")


@pytest.mark.parametrize("way", DEADLY)
def test_while_a_named_checkpoint_is_made(victim: Session, way: str) -> None:
    victim.run("import os\narmed = False\nos.register_at_fork(before=lambda: armed and die())").check()
    victim.set("armed", True)
    try:
        victim.checkpoint("here")
    except (CheckpointError, SandboxError) as error:
        assert "restored" in str(error) or "checkpoint" in str(error)


@pytest.mark.parametrize("way", DEADLY)
def test_while_the_checkpoint_is_being_resumed(victim: Session, way: str) -> None:
    """The copy lives, but each runner that it forks dies at once: an older state is taken, and said to be."""
    count = "def count():\n    global forks\n    forks += 1\n    if forks == 2: die()"
    victim.run(f"import os\nforks = 0\n{count}\nos.register_at_fork(after_in_child=count)").check()
    result = victim.run("while True: pass", timeout=0.2)
    assert (result.outcome, result.state) == ("timeout", "restored")


def test_when_the_zygote_dies_sessions_end_with_a_clear_error_and_the_sandbox_can_be_opened_again(profile: str) -> None:
    before = footprint()
    sandbox = Sandbox(profile).open()
    session = sandbox.session()
    session.run("x = 1").check()
    zygote = sandbox._core.children.zygote
    with pytest.raises((SessionClosed, SandboxClosed), match="zygote"):
        session.run("print(1)\nwhile True: pass", on_output=lambda _: os.kill(zygote.pid, signal.SIGKILL))
    until(lambda: not is_alive(sandbox))
    with pytest.raises((SessionClosed, SandboxClosed), match="zygote"):
        for _ in range(3):
            session.run("while True: pass", timeout=0.2)
    with pytest.raises(SandboxClosed, match="reopen"):
        sandbox.session()
    session.close()
    sandbox.close()
    assert not leaks(before)
    with Sandbox(profile) as again:
        assert again.run("1 + 1").value == 2
