"""The copy of a runner, made and frozen in real processes."""

from __future__ import annotations

import os
import signal
import socket
from time import monotonic
from typing import NoReturn

import pytest

from safeexec.engine.child.link import Link
from safeexec.engine.child.process import checkpoints
from safeexec.engine.child.step.output import Streams


def test_a_copy_stays_frozen_though_its_runner_is_killed_before_it_hears_of_it() -> None:
    """The host needs the copy just then: it is what the session goes on from."""
    ours, theirs = socket.socketpair()
    runner = os.fork()
    if runner == 0:
        ours.close()
        _freeze_and_die(theirs)
    theirs.close()
    with ours:
        ours.settimeout(30)
        os.waitpid(runner, 0)
        assert ours.recv(1 << 16), "it is frozen"
        ours.settimeout(0.2)
        with pytest.raises(TimeoutError):  # otherwise its socket is closed: the copy has ended with the runner
            ours.recv(1)


def _freeze_and_die(control: socket.socket) -> NoReturn:
    signal.alarm(30)
    me, write = os.getpid(), os.write

    def late_write(fd: int, data: bytes) -> int:
        """The copy tells its runner when that has gone."""
        deadline = monotonic() + 20
        while data == checkpoints.FROZEN and os.getppid() == me and monotonic() < deadline:
            os.sched_yield()
        return write(fd, data)

    checkpoints.os.write = late_write  # type: ignore[attr-defined]
    checkpoints.select.select = lambda *_: os.kill(me, signal.SIGKILL)  # type: ignore[assignment]
    link = Link(socket.socketpair()[0].detach())
    checkpoints.Checkpoints(Streams(1 << 16)).freeze(control.detach(), 1, link)
    os._exit(1)
