"""Resource limits and capabilities of a process that gives them up."""

from __future__ import annotations

import os
import resource

import pytest

from safeexec.engine.linux import capabilities, rlimits
from safeexec.engine.linux.libc import make
from tests.engine.linux.forked import in_a_fork


def test_soft_and_hard_limits_are_set_together_and_a_lower_hard_one_is_left_alone() -> None:
    """An ordinary user may not raise it, and need not."""

    def act() -> list[int]:
        if os.geteuid() == 0:
            os.setresuid(61234, 61234, 61234)
        make([rlimits.setting_limit(resource.RLIMIT_NOFILE, 50)])
        make([rlimits.setting_limit(resource.RLIMIT_NOFILE, 100)])
        return list(resource.getrlimit(resource.RLIMIT_NOFILE))

    assert in_a_fork(act) == [50, 50]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to drop")
def test_capabilities_are_gone_for_good() -> None:
    def act() -> list[int | bool]:
        before = capabilities.effective()
        capabilities.forbid_gains()
        make([capabilities.dropping_all()])
        try:
            os.setresuid(1, 1, 1)
            changed = True
        except PermissionError:
            changed = False
        return [before != 0, capabilities.effective(), changed]

    assert in_a_fork(act) == [True, 0, False]
