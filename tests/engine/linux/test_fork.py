"""A fork without CPython's hooks fails as any fork does."""

from __future__ import annotations

import os
import resource

import pytest

from safeexec.engine.linux.fork import fork
from tests.engine.linux.forked import exit_status


def test_a_fork_that_the_kernel_refuses() -> None:
    if os.geteuid() == 0:
        pytest.skip("RLIMIT_NPROC does not hold root")

    def check() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        with pytest.raises(BlockingIOError):
            fork()

    assert exit_status(check) == 0
