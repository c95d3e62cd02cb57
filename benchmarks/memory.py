"""What sessions and checkpoints hold in memory that nobody else shares.

    python -m benchmarks.memory [--quick]

Counted is private memory (USS of /proc/PID/smaps_rollup), which only the user who owns a process, or root, may read;
children that gave up their rights are not readable to an ordinary user, and this script says so. A session has two
processes, the one that runs and its checkpoint: what they share with each other and with nobody else is in neither's
USS, and a row of its own counts it.
"""

from __future__ import annotations

import os
import signal
import struct
import time
from collections import Counter
from contextlib import ExitStack, suppress

import psutil

from benchmarks.common import Table, options
from safeexec import Sandbox
from safeexec.engine.host.session.session import REST_SECONDS


def private(processes: set[psutil.Process]) -> float:
    """MB that only these processes use. Raises psutil.AccessDenied."""
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # a checkpoint that a newer one has replaced
            total += process.memory_full_info().uss
    return total / 1e6


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


_PAGE = os.sysconf("SC_PAGE_SIZE")
_PRESENT, _OF_A_FILE, _FRAME = 1 << 63, 1 << 61, (1 << 55) - 1
"""Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst)."""


def frames(pid: int) -> set[int]:
    """The page frames of a process that no file backs. Zeros to a reader without CAP_SYS_ADMIN."""
    found: set[int] = set()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for line in maps:
            first, last = (int(part, 16) // _PAGE for part in line.split(None, 1)[0].split("-"))
            pagemap.seek(first * 8)
            entries = pagemap.read((last - first) * 8)
            for (entry,) in struct.iter_unpack("=Q", entries):
                if entry & _PRESENT and not entry & _OF_A_FILE:
                    found.add(entry & _FRAME)
    return found


def own(sessions: list[list[psutil.Process]], others: set[psutil.Process]) -> float:
    """MB per session that its processes share with nobody, each frame counted once."""
    held = [Counter(frame for process in session for frame in frames(process.pid)) for session in sessions]
    everywhere = Counter(frame for process in others for frame in frames(process.pid))
    for session in held:
        everywhere.update(session)
    only = sum(1 for session in held for frame, count in session.items() if everywhere[frame] == count)
    return only * _PAGE / 1e6 / len(sessions)


def bare_child() -> int:
    """A fork of this process that does nothing until it is killed."""
    pid = os.fork()
    if pid == 0:
        while True:
            signal.pause()
    return pid


def idle_sessions(policy: str, count: int) -> None:
    table = Table(f"private memory of each of {count} sessions of {policy}, after one step")
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
            if checkpoints == "idle":
                table.row(f"{what}, at once", settled(known) / count, floor, "a bare fork", unit="MB")
                time.sleep(REST_SECONDS + 1.0)
            table.row(f"{what}, at rest", settled(known) / count, floor, "a bare fork", unit="MB")
            leaders: dict[int, list[psutil.Process]] = {}
            for process in below() - known:
                leaders.setdefault(os.getsid(process.pid), []).append(process)
            shared = own(list(leaders.values()), known | {psutil.Process()})
            table.row(f"{what}, and shared among its processes", shared, floor, "a bare fork", unit="MB")


def frozen(megabytes: int) -> None:
    table = Table(f"a frozen checkpoint of {megabytes} MB of objects")
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
        frozen(100)
    except psutil.AccessDenied:
        Table.skip("private memory", "only root may read it of processes that gave up their rights")
