"""Many sessions at once: what 16 threads get out of the cores, 200 sessions on one event loop, a child on its host's
core.

python -m benchmarks.sessions [--quick]

CPU time stands beside wall time: on a machine that others use too, wall time says who else was there.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import time
from functools import partial

from benchmarks.common import Table, in_turn, options, timed
from safeexec import AsyncSandbox, Sandbox, Session

SESSIONS = 16
COMPUTE = "total = 0\nfor i in range({rounds}):\n    total += i * i % 7\ntotal"
SIZES = {"2 ms": 30_000, "25 ms": 300_000}
"""How long one step computes, about, and its rounds."""
TURNS = 3
sched_getcpu = ctypes.CDLL(None).sched_getcpu


def bare(source: str, steps: int, processes: int) -> tuple[float, float]:
    """Wall and CPU seconds of forked processes that share `steps` between them."""
    code = compile(source, "<step>", "exec")
    start, cpu, pids = time.perf_counter(), 0.0, []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            # As each child of a sandbox: with autogroups the scheduler shares cores out among sessions, not processes.
            os.setsid()
            for _ in range(steps // processes):
                exec(code, {})
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        usage = os.wait4(pid, 0)[2]
        cpu += usage.ru_utime + usage.ru_stime
    return time.perf_counter() - start, cpu


def threaded(sessions: list[Session], source: str, steps: int) -> tuple[float, float]:
    """The same for sessions, each driven by a thread. CPU time is the host's and the guests' together."""
    guests: list[float] = []

    def work(session: Session) -> None:
        guests.extend(session.run(source).check().usage.cpu_ms / 1e3 for _ in range(steps // len(sessions)))

    threads = [threading.Thread(target=work, args=(session,)) for session in sessions]
    start, host = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, time.process_time() - host + sum(guests)


def all_cores(quick: bool) -> None:
    cores = len(os.sched_getaffinity(0))
    table = Table(f"{SESSIONS} sessions from {SESSIONS} threads on {cores} cores")
    for checkpoints in ("off", "idle"):
        with Sandbox("calculator") as sandbox:
            sessions = [sandbox.session(checkpoints=checkpoints) for _ in range(SESSIONS)]
            for what, rounds in SIZES.items():
                source = COMPUTE.format(rounds=rounds)
                steps = SESSIONS * max(2, (300_000 if quick else 1_200_000) // rounds)
                threaded(sessions, source, SESSIONS)
                ours, theirs = [], []
                for _ in range(TURNS):
                    theirs.append(bare(source, steps, cores))
                    ours.append(threaded(sessions, source, steps))
                for number, clock in enumerate(("wall time", "CPU time")):
                    best = (min(run[number] for run in runs) for runs in (ours, theirs))
                    table.row(f"steps of {what}, checkpoints {checkpoints}: {clock}", *best, f"{cores} bare processes")


def event_loop(quick: bool) -> None:
    count = 50 if quick else 200
    table = Table(f"{count} sessions on one event loop, each opened, used twice, closed")

    async def one(sandbox: AsyncSandbox, number: int) -> None:
        async with sandbox.session() as session:
            (await session.run(f"x = {number}")).check()
            (await session.run("x + 1")).check()

    async def main() -> tuple[float, float]:
        async with AsyncSandbox("calculator") as sandbox:
            await one(sandbox, 0)
            start = time.perf_counter()
            await asyncio.gather(*(one(sandbox, number) for number in range(count)))
            together = time.perf_counter() - start
            start = time.perf_counter()
            for number in range(count):
                await one(sandbox, number)
            return together, time.perf_counter() - start

    table.row("all at once", *asyncio.run(main()), "one after another")


def same_core(quick: bool) -> None:
    """The host pins the child to the core it runs on, before each step. Not done by the library: see the ratio."""
    rounds = 200 if quick else 1000
    table = Table("a child that follows its host's core, against one that the kernel places")
    with (
        Sandbox("calculator", tools={"add": lambda a, b: a + b}) as sandbox,
        sandbox.session(checkpoints="off") as placed,
        sandbox.session(checkpoints="off") as follows,
    ):
        for session in (placed, follows):
            session.run("x = 0\ndef many(n):\n    for i in range(n):\n        add(i, 1)").check()
        pid = follows._core.processes.runner_pid()
        assert pid is not None

        def followed(source: str) -> None:
            os.sched_setaffinity(pid, {sched_getcpu()})
            follows.run(source)

        for what, source, count, pause in (
            ("x = x + 1, back to back", "x = x + 1", rounds, 0.0),
            ("x = x + 1, 2 ms of think time", "x = x + 1", rounds // 4, 0.002),
            ("100 tool calls", "many(100)", rounds // 20, 0.0),
        ):
            times = in_turn(partial(followed, source), partial(placed.run, source), rounds=count, pause=pause)
            table.row(what, *times, "placed by the kernel")
        os.sched_setaffinity(pid, os.sched_getaffinity(0))
        table.row(
            "the call that pins it",
            timed(lambda: os.sched_setaffinity(pid, {sched_getcpu()}), rounds),
            timed(lambda: placed.run("x = x + 1"), rounds),
            "a step",
        )


if __name__ == "__main__":
    quick = options(__doc__).quick
    all_cores(quick)
    event_loop(quick)
    same_core(quick)
