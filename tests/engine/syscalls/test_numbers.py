"""The number tables, against well-known entries and against the running kernel."""

from __future__ import annotations

import os

import pytest

from safeexec.engine.linux.libc import syscall
from safeexec.engine.syscalls.numbers import MACHINES, machine, numbers

KNOWN = {
    "x86_64": {"read": 0, "mmap": 9, "clone": 56, "execve": 59, "openat": 257, "seccomp": 317, "pidfd_open": 434},
    "aarch64": {"openat": 56, "read": 63, "clone": 220, "execve": 221, "mmap": 222, "seccomp": 277, "pidfd_open": 434},
}


@pytest.mark.parametrize("name", MACHINES)
def test_well_known_numbers(name: str) -> None:
    table = numbers(name)
    assert {key: table[key] for key in KNOWN[name]} == KNOWN[name]
    assert len({*table.values()}) == len(table) and ("open" in table) is (name == "x86_64")
    assert table["clone3"] == 435 and table["landlock_restrict_self"] == 446 and table["mseal"] == 462


@pytest.mark.skipif(machine() not in MACHINES, reason="no table for this machine")
def test_the_running_kernel_agrees() -> None:
    assert syscall("getpid") == os.getpid()
    assert syscall("getuid") == os.getuid()
