"""What sessions and checkpoints hold in memory that nobody else shares.

    python -m benchmarks.memory [--quick]

Counted is private memory (USS of /proc/PID/smaps_rollup), which only the user who owns a process, or root, may read;
children that gave up their rights are not readable to an ordinary user, and this script says so.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack

import psutil

from benchmarks.common import Table, options
from safeexec import Sandbox


def private(processes: set[psutil.Process]) -> float:
    """MB that only these processes use. Raises psutil.AccessDenied."""
    return sum(process.memory_full_info().uss for process in processes) / 1e6


def below() -> set[psutil.Process]:
    return set(psutil.Process().children(recursive=True))


def settled(known: set[psutil.Process]) -> float:
    """Private memory of the processes that have come since, once it stands still: checkpoints come in think time."""
    last = -1.0
    for _ in range(100):
        time.sleep(0.1)
        now = private(below() - known)
        if abs(now - last) < 0.1:
            break
        last = now
    return now


def bare_child() -> int:
    """A fork of this process that does nothing until it is killed."""
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    return pid


def idle_sessions(policy: str, count: int) -> None:
    table = Table(f"{count} idle sessions of {policy}, each after one step")
    known = below()
    bare = [bare_child() for _ in range(count)]
    floor = settled(known) / count
    for pid in bare:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    for checkpoints, what in (("off", "without checkpoints"), ("idle", "every step undoable")):
        with ExitStack() as stack:
            sandbox = stack.enter_context(Sandbox(policy, spare=0))
            known = below()
            for _ in range(count):
                stack.enter_context(sandbox.session(checkpoints=checkpoints)).run("x = 1").check()
            table.row(f"private memory per session, {what}", settled(known) / count, floor, "a bare fork", unit="MB")


def parked(megabytes: int) -> None:
    table = Table(f"a parked checkpoint of {megabytes} MB of objects")
    with Sandbox("standard", spare=0) as sandbox, sandbox.session(checkpoints="off") as session:
        session.run(f"state = [[i] for i in range({megabytes} * 1_000_000 // 104)]", timeout=60).check()
        known = below()
        session.checkpoint("here")
        table.row("private memory of the copy", settled(known), megabytes, "the state", unit="MB")
        session.run("for item in state[::10]: item[0] += 1").check()
        table.row("after a step that touched every tenth object", settled(known), megabytes, "the state", unit="MB")


if __name__ == "__main__":
    quick = options(__doc__).quick
    try:
        for policy in ("calculator", "standard"):
            idle_sessions(policy, 20 if quick else 100)
        parked(100)
    except psutil.AccessDenied:
        Table.skip("private memory", "only root may read it of processes that gave up their rights")
