"""Run a function in a fork and take back what it returns: many of these facilities cannot be undone in a process."""

from __future__ import annotations

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


def in_a_fork(act: Callable[[], Any]) -> Any:
    """The JSON value that `act` returns in a fork; its failure, or the signal that ended it, fails the test."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write_end, json.dumps([act(), None]).encode())
        except BaseException:
            os.write(write_end, json.dumps([None, traceback.format_exc()]).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with open(read_end, "rb") as file:
        data = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0 and data, f"the fork ended with {status}"
    value, failure = json.loads(data)
    assert failure is None, failure
    return value


def exit_status(act: Callable[[], Any]) -> int:
    """How a fork ends that calls `act`: its exit code (0: `act` returned), or a signal as a negative number."""
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException:
            os._exit(70)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def sleeper(before: Callable[[], object] = lambda: None) -> int:
    """A fork that has run `before` and sleeps."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        before()
        os.write(write_end, b"x")
        time.sleep(3600)
        os._exit(0)
    os.close(write_end)
    assert os.read(read_end, 1) == b"x"
    os.close(read_end)
    return pid


@contextmanager
def sleeping(before: Callable[[], object] = lambda: None) -> Iterator[int]:
    """The same, until the block ends: then it is killed."""
    pid = sleeper(before)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
