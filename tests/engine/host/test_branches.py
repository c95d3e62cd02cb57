"""Branches: sessions that go on from one state and know nothing of each other."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from safeexec import CheckpointError, Sandbox, Session
from tests.alone import together
from tests.conftest import OpenSession
from tests.engine.host.inside import rests


def test_a_branch_may_branch_checkpoint_and_roll_back(session: Session) -> None:
    session.run("x = 1").check()
    (child,) = session.branch()
    child.run("x = 2").check()
    child.checkpoint("two")
    (grandchild,) = child.branch()
    child.run("x = 3").check()
    assert grandchild.run("x").value == 2
    assert grandchild.run("x = 4\nwhile True: pass", timeout=0.1).state == "restored"
    assert grandchild.run("x").value == 2
    child.rollback("two")
    assert child.run("x").value == 2
    with pytest.raises(CheckpointError):
        session.rollback("two")
    for branch in (child, grandchild):
        branch.close()
    assert session.run("x").value == 1


def test_what_a_branch_kept_of_files_goes_when_it_is_closed() -> None:
    """And not when the garbage collector comes by: the files may be large, and closed sessions are few objects."""
    with Sandbox("confined-python", spare=0) as sandbox, sandbox.session() as session:
        session.run("open('a.txt', 'w').write('x')").check()
        stored = Path(session.workspace or "").parent.parent

        def kept() -> list[Path]:
            return sorted(stored.glob("*.store/*"))

        before = kept()
        gc.disable()
        try:
            branches = session.branch(3)
            for branch in branches:
                branch.run("open('b.txt', 'w').write('y')").check()
                assert len(kept()) > len(before)
                branch.close()
            assert kept() == before
        finally:
            gc.enable()


@pytest.mark.profile("confined-python")
@pytest.mark.parametrize("killed", [False, True])
def test_a_branch_that_goes_back_to_where_it_began_stays_in_its_own_place(session: Session, killed: bool) -> None:
    session.run("import os\nx = 1").check()
    (branch,) = session.branch()
    with branch:
        if killed:
            assert branch.run("while True: pass", timeout=0.1).state == "restored"
        else:
            branch.run("x = 2").check()
            branch.rollback()
        result = branch.run("open('mine', 'w').close()\nprint('mine')\nos.getcwd(), os.environ['HOME'], x").check()
        assert result.value == (branch.workspace, branch.workspace, 1) and not result.notes
        assert result.stdout == "mine\n" and session.run("print('its')").stdout == "its\n"
        assert branch.list_files() == ["mine"] and session.list_files() == []
        killed_again = branch.run("def busy():\n    while True: pass\nbusy()", timeout=0.1)
        assert killed_again.error is not None and killed_again.error.line == 2


def test_a_branch_lists_the_tool_calls_that_it_made_itself(profile: str) -> None:
    def note(text: str) -> None:
        """Note a text."""

    with Sandbox(profile, tools=[note]) as sandbox, sandbox.session() as session:
        for text in "abc":
            session.run(f"note({text!r})").check()
        (branch,) = session.branch()
        with branch:
            branch.run("note('d')\nnote('e')").check()
            assert [record.step for record in branch.rollback()] == [4, 4]


def test_branches_run_at_the_same_time(session: Session) -> None:
    """Each waits for the other's start before it ends: both make it only if they really run side by side."""
    started = [threading.Event(), threading.Event()]
    branches = session.branch(2)
    outcomes: dict[int, str] = {}

    def work(number: int) -> None:
        def started_both(_: str) -> None:
            started[number].set()
            started[1 - number].wait(60)
            branches[number].cancel()

        source = "print('on')\nwhile True: pass"
        outcomes[number] = branches[number].run(source, timeout=60, on_output=started_both).outcome

    together([threading.Thread(target=work, args=(number,)) for number in (0, 1)])
    for branch in branches:
        branch.close()
    assert outcomes == {0: "cancelled", 1: "cancelled"}


def test_there_is_a_limit_to_living_branches(open_session: OpenSession) -> None:
    session = open_session(branches=2)
    with pytest.raises(CheckpointError, match=r"^3 branches asked for, 2 allowed by \S+ \(limits\.branches\)"):
        session.branch(3)
    branches = session.branch(2)
    with pytest.raises(CheckpointError, match=r"^1 branch asked for beside the 2 that are open, 2 allowed"):
        branches[0].branch()
    branches.pop().close()
    branches += session.branch()
    for branch in branches:
        branch.close()


@pytest.mark.parametrize("mode", ["idle", "before-step", "off"])
def test_a_branch_makes_its_checkpoints_as_it_is_asked(session: Session, mode: Any) -> None:
    session.run("x = 1").check()
    (branch,) = session.branch(checkpoints=mode)
    with branch:
        assert (branch.policy.checkpoints, session.policy.checkpoints) == (mode, "idle")
        branch.run("x = 2").check()
        assert branch.run("while True: pass", timeout=0.1).state == "restored"
        assert branch.run("x").value == (1 if mode == "off" else 2)
        branch.run("x = 3").check()
        if mode != "off":
            branch.rollback()
            assert branch.run("x").value == 2
    with pytest.raises(ValueError, match="checkpoints='never'"):
        session.branch(checkpoints="never")  # type: ignore[arg-type]


def test_as_many_branches_as_there_may_be_can_all_undo_their_steps(session: Session) -> None:
    """The kernel's count of processes leaves room for the copies of each."""
    branches = session.branch(session.policy.limits.branches)
    for _ in range(3):
        assert not [note for branch in branches for note in branch.run("x = 1").check().notes]
    for branch in branches:
        branch.rollback()
        branch.close()


def test_a_chain_of_branches_ends_with_what_to_do(session: Session) -> None:
    """Also where its sessions rest in between: what was resumed and has run nothing is not compacted."""
    chain = [session]
    with pytest.raises(CheckpointError, match=r"branches deep.*close sessions"):
        for _ in range(20):
            chain[-1].run("x = 1")
            chain += chain[-1].branch()
            rests(chain[-1])
    assert len(chain) >= 8
    chain[4].close()
    chain += chain[-1].branch()
    for branch in chain[1:]:
        branch.close()


def test_a_fresh_plugin_is_heard_after_a_call_that_was_stopped(sandbox: Sandbox) -> None:
    source = "def f(x):\n    print('called with', x)\n    while x == 0: pass\n    return x"
    with sandbox.plugin(source, exports=["f"], state="fresh", timeout=0.2) as plugin:
        assert plugin.invoke("f", (0,)).outcome == "timeout"
        assert [plugin.invoke("f", (x,)).stdout for x in (1, 2)] == ["called with 1\n", "called with 2\n"]


TOUCHES = """
import os
for path in (here + '/d/f.txt', here + '/d', here):
    for act in (lambda: os.utime(path, (0, 0)), lambda: os.chmod(path, 0)):
        try: act()
        except OSError: pass
"""


def test_what_a_branch_does_to_a_path_of_its_parent_changes_nothing_for_the_parent() -> None:
    """Landlock refuses to read and write there, and does not govern rights and times."""
    with Sandbox("confined-python") as sandbox, sandbox.session() as parent:
        parent.run("import os\nos.mkdir('d')\nopen('d/f.txt', 'w').write('kept')\nhere = os.getcwd()").check()
        (branch,) = parent.branch(1)
        look = "open('d/f.txt').read(), os.stat('d/f.txt').st_mtime > 0, open('g.txt', 'w').write('x')"
        for _ in range(2):
            branch.run(TOUCHES)
            result = parent.run(look)
            assert result.check().value == ("kept", True, 1)
            assert [file.name for file in result.files] == ["g.txt"]
        branch.run(TOUCHES)
        branch.close()
        assert parent.run("open('d/f.txt').read()").value == "kept"
        assert parent.run("os.listdir('.') == os.listdir(here)").value is True
