"""A fork without CPython's hooks: the copy goes on where the original was."""

from __future__ import annotations

import os
import random
import resource

import pytest

from safeexec.engine.linux.fork import fork
from tests.engine.linux.forked import exit_status


def test_the_copy_goes_on_where_the_original_was() -> None:
    """The next random number is the same in both; after `os.fork` it is not."""

    def check() -> None:
        hooked: list[int] = []
        os.register_at_fork(after_in_child=lambda: hooked.append(1))
        read_end, write_end = os.pipe()
        pid = fork()
        said = repr(random.random()).encode()
        if pid == 0:
            os.write(write_end, said)
            os._exit(len(hooked))
        assert os.waitpid(pid, 0) == (pid, 0)
        assert os.read(read_end, 100) == said

    assert exit_status(check) == 0


def test_a_fork_that_the_kernel_refuses() -> None:
    if os.geteuid() == 0:
        pytest.skip("RLIMIT_NPROC does not hold root")

    def check() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        with pytest.raises(BlockingIOError):
            fork()

    assert exit_status(check) == 0
