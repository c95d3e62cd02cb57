"""What one step costs: with and without checkpoints, in its parts, by what it prints and returns, and with host tools.

python -m benchmarks.step [--quick]
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

from benchmarks.common import PROGRAM, BareChild, Table, fork_and_wait, in_turn, one_core, options, timed
from safeexec import Sandbox, Session
from safeexec.engine.linux.processes import cpu_seconds
from safeexec.protocol.conversation import Conversation

LINES = 10_000
MEGABYTE = 1_000_000
BATCH = 20
"""Steps in a row, without a pause in which a checkpoint could be made."""


def repeat(call: Callable[[], object]) -> None:
    for _ in range(BATCH):
        call()


def steps(session: Session, undoable: Session, before: Session, floor: BareChild, rounds: int) -> None:
    table = Table("one step")
    step = "x = x + 1"
    for child in (session, undoable, before, floor):
        child.run("x = 0")

    bare = partial(floor.run, step)
    times = in_turn(partial(session.run, step), bare, rounds=rounds)
    table.row(f"{step}, checkpoints off", *times, "bare forked child")
    times = in_turn(partial(undoable.run, step), bare, rounds=rounds // 2, pause=0.01)
    table.row(f"{step}, undoable, 10 ms of think time", *times, "bare forked child, same pause")
    without = partial(repeat, partial(session.run, step))
    ours, off = in_turn(partial(repeat, partial(undoable.run, step)), without, rounds=rounds // 10)
    table.row(f"{step}, undoable, back to back", ours / BATCH, off / BATCH, "the same step, checkpoints off")
    ours, fork = in_turn(
        partial(repeat, partial(before.run, step)), partial(repeat, fork_and_wait), rounds=rounds // 10
    )
    table.row(f"{step}, checkpoints: before-step", ours / BATCH, fork / BATCH, "bare fork and wait")
    times = in_turn(partial(session.run, PROGRAM), partial(floor.run, PROGRAM), rounds=rounds // 2)
    table.row("a program of 30 lines, compiled and run", *times, "bare forked child")
    lines = f"for i in range({LINES}): print(i)"
    times = in_turn(partial(session.run, lines), partial(floor.run, lines), rounds=max(5, rounds // 20))
    table.row(f"{LINES} printed lines", *times, "bare forked child")
    streamed = partial(session.run, lines, on_output=len)
    times = in_turn(streamed, partial(floor.run, lines), rounds=max(5, rounds // 20))
    table.row(f"{LINES} printed lines, streamed to the caller", *times, "bare forked child, not streamed")


PARTS = ("host, until the request is sent", "wake-ups and switches", "child, its CPU time", "host, from the answer on")


def parts(session: Session, rounds: int) -> None:
    """Where the time goes: stamps where the host sends and receives, the CPU clock of the child, and what is left."""
    table = Table("the parts of x = x + 1, checkpoints off")
    session.run("x = 0")
    (child,) = session._core.processes.pids()
    stamps: list[float] = []
    send, receive = Conversation.send, Conversation.receive

    def stamped_send(*arguments: Any) -> bytes:
        data = send(*arguments)
        stamps.append(time.perf_counter())
        return data

    def stamped_receive(*arguments: Any) -> Any:
        stamps.append(time.perf_counter())
        return receive(*arguments)

    found = []
    with patch.object(Conversation, "send", stamped_send), patch.object(Conversation, "receive", stamped_receive):
        for _ in range(rounds):
            stamps.clear()
            used = cpu_seconds(child) or 0.0
            begin = time.perf_counter()
            session.run("x = x + 1")
            end = time.perf_counter()
            sent, came = stamps
            used = (cpu_seconds(child) or 0.0) - used
            found.append((sent - begin, came - sent - used, used, end - came))
    whole = statistics.median(map(sum, found))
    for what, part in zip(PARTS, zip(*found, strict=True), strict=True):
        table.row(what, statistics.median(part), whole, "the whole step")


def large_value(session: Session, rounds: int) -> None:
    table = Table("a result of 1 MB")
    session.run(f"big = 'x' * {MEGABYTE}").check()
    data = b"x" * MEGABYTE
    fd = os.memfd_create("reference")

    def copy() -> None:
        os.pwrite(fd, data, 0)
        os.pread(fd, MEGABYTE, 0)

    table.row("session.get", *in_turn(partial(session.get, "big"), copy, rounds=rounds), "write and read of a memfd")
    os.close(fd)


def tool_calls(floor: BareChild, rounds: int) -> None:
    table = Table("one call of a host tool from guest code")

    def add(a: int, b: int) -> int:
        return a + b

    with Sandbox("calculator", tools=[add]) as sandbox, sandbox.session(checkpoints="off") as session:
        session.run("def many(n):\n    for i in range(n):\n        add(i, 1)").check()
        ours = timed(partial(session.run, "many(200)"), rounds) / 200
        table.row("add(i, 1)", ours, floor.round_trips(200 * rounds), "a bare message round trip")


def timeouts(rounds: int) -> None:
    table = Table("how late a step returns that is stopped after 0.1 s")
    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        session.run("import re").check()
        for source in ("while True: pass", "sum(range(10 ** 12))", "re.match('(a+)+$', 'a' * 60 + 'b')"):
            late = timed(partial(session.run, source, timeout=0.1), rounds) - 0.1
            table.row(source, late, 0.1, "the time limit")


if __name__ == "__main__":
    quick = options(__doc__).quick
    with one_core(), Sandbox("calculator") as sandbox:
        floor = BareChild()
        try:
            with (
                sandbox.session(checkpoints="off") as session,
                sandbox.session() as undoable,
                sandbox.session(checkpoints="before-step") as before,
            ):
                steps(session, undoable, before, floor, 100 if quick else 400)
                parts(session, 200 if quick else 1000)
                large_value(session, 50 if quick else 200)
            tool_calls(floor, 5 if quick else 20)
        finally:
            floor.close()
    timeouts(3 if quick else 9)
