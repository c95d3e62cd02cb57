"""A fork without CPython's hooks: the copy goes on where the original was."""

from __future__ import annotations

import os
import random
import resource

import pytest

from safeexec.engine.linux.fork import fork
from tests.engine.linux.forked import exit_status


def _said_by_a_copy() -> bytes:
    read_end, write_end = os.pipe()
    pid = fork()
    if pid == 0:
        os.write(write_end, repr(random.random()).encode())
        os._exit(0)
    os.close(write_end)
    said = os.read(read_end, 100)
    os.close(read_end)
    assert os.waitpid(pid, 0) == (pid, 0)
    return said


def test_the_copy_goes_on_where_the_original_was() -> None:
    """The next random number is the same in both; after `os.fork` it is not."""

    def check() -> None:
        hooked: list[int] = []
        os.register_at_fork(after_in_child=lambda: hooked.append(1))
        said = _said_by_a_copy()
        assert said == repr(random.random()).encode()
        assert not hooked

    assert exit_status(check) == 0


def test_a_fork_that_the_kernel_refuses() -> None:
    if os.geteuid() == 0:
        pytest.skip("RLIMIT_NPROC does not hold root")

    def check() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        with pytest.raises(BlockingIOError):
            fork()

    assert exit_status(check) == 0
