"""Resource limits of a process that gives them up."""

from __future__ import annotations

import os
import resource

from safeexec.engine.linux import rlimits
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
