"""What a store costs: of a small step, of coming back, of many sessions that are in it.

    python -m benchmarks.durable [--quick]

Steps come in blocks, of a stored session and of one that is not in turn: the thread that writes works in the block
whose lines it writes. The store is a directory, on the disk a second after a step at the latest (`durable="second"`).
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.common import Table, in_turn, options
from safeexec import Sandbox, Session

SMALL = "x = x + 1"
BLOCK = 200
STEPS = 100
SESSIONS = 10_000


def steps(quick: bool) -> None:
    table = Table(f"one step, in blocks of {BLOCK}")
    rounds = 5 if quick else 25
    with (
        tempfile.TemporaryDirectory() as directory,
        Sandbox("calculator", store=directory) as sandbox,
        sandbox.session_for("ada") as stored,
        sandbox.session() as plain,
    ):
        for session in (stored, plain):
            session.run("x = 0").check()
            block(session)
        times = in_turn(partial(block, stored), partial(block, plain), rounds=rounds)
        table.row(SMALL, *(seconds / BLOCK for seconds in times), "the same, not stored")
        least = (min(used(session) for _ in range(rounds)) / BLOCK for session in (stored, plain))
        table.row("the host's CPU time, least", *least, "the same, not stored")


def used(session: Session) -> float:
    """Seconds of CPU that the host takes for a block, with the thread that writes its lines."""
    began = time.process_time()
    block(session)
    time.sleep(0.02)
    return time.process_time() - began


def block(session: Session) -> None:
    for _ in range(BLOCK):
        session.run(SMALL)


def coming_back(quick: bool) -> None:
    table = Table(f"a session of {STEPS} small steps")
    with tempfile.TemporaryDirectory() as directory, Sandbox("calculator") as sandbox:
        with Sandbox("calculator", store=directory) as first, first.session_for("ada") as session:
            session.run("x = 0")
            for _ in range(STEPS):
                session.run(SMALL).check()
        with Sandbox("calculator", store=directory) as other:

            def back() -> None:
                with other.session_for("ada") as session:
                    assert session.run("x").value == STEPS

            def new() -> None:
                with sandbox.session() as session:
                    session.run("x = 0").check()

            times = in_turn(back, new, rounds=5 if quick else 40, pause=0.05)
            table.row("comes back, and a step", *times, "a new session, and a step")


def many(quick: bool) -> None:
    number = SESSIONS // 10 if quick else SESSIONS
    table = Table(f"a store with {number:,} sessions")
    with tempfile.TemporaryDirectory() as directory:
        full, empty = Path(directory, "full"), Path(directory, "empty")
        with Sandbox("calculator", store=full) as sandbox, sandbox.session_for("0") as session:
            session.run("x = 41").check()
        for label in range(1, number):
            shutil.copytree(full / "default/0", full / f"default/{label}")

        def opened(store: Path, use: Callable[[Sandbox], object]) -> None:
            with Sandbox("calculator", store=store) as sandbox:
                use(sandbox)

        for what, use in (
            ("opens, one session comes back, a step", lambda one: one.session_for("7").run("x = 1").check()),
            ("opens, tells which there are", Sandbox.stored),
            ("opens, tells what waits", Sandbox.waiting),
        ):
            times = in_turn(partial(opened, full, use), partial(opened, empty, use), rounds=2 if quick else 7)
            table.row(what, *times, "the same of an empty store")


if __name__ == "__main__":
    quick = options(__doc__).quick
    steps(quick)
    coming_back(quick)
    many(quick)
