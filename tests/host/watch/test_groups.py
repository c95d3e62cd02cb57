"""Sessions in control groups of their own, where this machine gives any; and what is said where it does not."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from safeexec import Policy, ProtectionError, Sandbox, machine_protection
from safeexec.host.watch import groups
from tests.profiles import FORKING


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    if not (row := groups.mechanism()).active:
        pytest.skip(f"control groups are {row.detail}")
    with Sandbox(FORKING) as opened:
        yield opened


def test_the_report_has_a_row_with_the_reason() -> None:
    """Of the machine, of a sandbox and of a session."""
    expected = groups.mechanism()
    assert expected.detail
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        for rows in (machine_protection(), sandbox.protection, session.protection):
            (row,) = [row for row in rows if row.name == "cgroup"]
            assert row == expected


def test_a_policy_may_require_it() -> None:
    policy = Policy.load("calculator").replace(require=["seccomp", "cgroup"])
    row = groups.mechanism()
    if row.active:
        with Sandbox(policy) as sandbox:
            assert sandbox.run("1 + 1").value == 2
        return
    with pytest.raises(ProtectionError, match="requires: cgroup") as caught, Sandbox(policy):
        pass
    assert row.detail in str(caught.value)


def test_a_session_and_its_checkpoints_share_one(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("x = 1").check()
        session.checkpoint("here")
        group = session._core.group
        assert group is not None
        assert set(session._core.pids()) <= set(group.pids())
        session.run("import os; os._exit(1)")
        assert session.run("x").value == 1
        assert set(session._core.pids()) <= set(group.pids())
        (branch,) = session.branch(1)
        assert branch._core.group is not None and branch._core.group.path != group.path
        assert branch._core.runner_pid() in branch._core.group.pids()
        session.close()
        assert branch.run("x").value == 1
        paths = (group, branch._core.group)
        branch.close()
    sandbox.close()
    assert not any(one.pids() for one in paths if _exists(one.path))
    assert not any(_exists(one.path) for one in paths)


def test_what_grows_between_two_looks_is_told_as_memory(sandbox: Sandbox) -> None:
    """Many forks of a broken-out guest, each within its own limit."""
    source = (
        "import os, time\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(400 << 20)\n"
        "        for i in range(0, len(held), 4096): held[i] = 1\n"
        "        time.sleep(3600)\n"
        "held = bytearray(400 << 20)\n"
        "for i in range(0, len(held), 4096): held[i] = 1\n"
        "time.sleep(3600)"
    )
    with sandbox.session() as session:
        result = session.run(source, timeout=60)
        assert result.outcome == "memory"
        assert session.run("1 + 1").value == 2


def test_the_kernels_kill_is_told_as_memory(sandbox: Sandbox) -> None:
    """Before the watch has looked: here the group's bound lies below the watch's."""
    with sandbox.session() as session:
        session.run("x = 1").check()
        group = session._core.group
        assert group is not None
        group.limit(memory_bytes=group.memory_bytes() + (16 << 20), processes=100)
        result = session.run("held = bytearray(64 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1")
        assert result.outcome == "memory"
        assert result.error is not None and "limits.memory_mb" in result.error.message
        assert session.run("x").value == 1


def _exists(path: str) -> bool:
    return os.path.exists(path)
