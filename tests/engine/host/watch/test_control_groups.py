"""Sessions in control groups of their own, where this machine gives any; and what is said where it does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec import Policy, Sandbox, machine_protection
from safeexec.engine.host.watch import control_groups
from tests.engine.host.inside import pids_of, runner_of
from tests.profiles import FORKING


def opened(tier: int, **limits: int) -> Iterator[Sandbox]:
    """Guests that may fork, so that each session has a group of either tier."""
    if not (row := control_groups.mechanisms()[tier]).active:
        pytest.skip(f"control groups are {row.detail}")
    with Sandbox(Policy.load(FORKING).replace(**limits)) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    yield from opened(0)


@pytest.fixture
def core_sandbox() -> Iterator[Sandbox]:
    yield from opened(1, cpu_seconds=1)


def test_the_report_has_a_row_per_tier_with_the_reason() -> None:
    expected = control_groups.mechanisms()
    assert all(row.detail for row in expected)
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        for rows in (machine_protection(), sandbox.protection):
            assert [row for row in rows if row.name.startswith("cgroup") and row.name != "cgroup-namespace"] == expected
        assert [row.active for row in session.protection if row.name == "cgroup"] == [expected[0].active]


CHAIN = """
import os, time
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork() == 0:
        spent = time.process_time()
        while time.process_time() - spent < 0.01: pass
        os._exit(0)
    time.sleep(0.002)
"""


def test_cpu_of_what_lives_between_two_looks_counts(core_sandbox: Sandbox) -> None:
    with core_sandbox.session() as session:
        session.run("x = 1").check()
        result = session.run(CHAIN, timeout=60)
        assert result.outcome == "cpu" and result.state == "restored"
        assert session.run("x").value == 1


def test_a_session_and_its_checkpoints_share_one(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("x = 1").check()
        session.checkpoint("here")
        group = session._core.processes.group
        assert set(pids_of(session)) <= set(group.pids())
        session.run("import os; os._exit(1)")
        assert session.run("x").value == 1
        assert set(pids_of(session)) <= set(group.pids())
        (branch,) = session.branch(1)
        assert branch._core.processes.group is not None and branch._core.processes.group.path != group.path
        assert runner_of(branch) in branch._core.processes.group.pids()
        session.close()
        assert branch.run("x").value == 1
        paths = (group, branch._core.processes.group)
        branch.close()
    sandbox.close()
    assert not any(os.path.exists(one.path) for one in paths)


def test_what_grows_between_two_looks_is_told_as_memory(sandbox: Sandbox) -> None:
    """Many forks of a broken-out guest, each within its own limit."""
    hold = "held = bytearray(400 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\ntime.sleep(3600)"
    with sandbox.session() as session:
        result = session.run(f"import os, time\nfor _ in range(6):\n    if os.fork() == 0: break\n{hold}", timeout=60)
        assert result.outcome == "memory"
        assert session.run("1 + 1").value == 2


def test_the_kernels_kill_is_told_as_memory(sandbox: Sandbox) -> None:
    """Before the watch has looked: here the group's bound lies below the watch's."""
    with sandbox.session() as session:
        session.run("x = 1").check()
        group = session._core.processes.group
        held = int(Path(group.path, "memory.current").read_text())
        group.limit(memory_bytes=held + (16 << 20), processes=100)
        result = session.run("held = bytearray(64 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1")
        assert result.outcome == "memory"
        assert result.error is not None and "limits.memory_mb" in result.error.message
        assert session.run("x").value == 1
