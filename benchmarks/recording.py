"""What a recording costs: of a small step, of one that computes for 25 ms; and how fast it is replayed.

    python -m benchmarks.recording [--quick]

The cost is the difference of the same step in two sessions of one sandbox, in turn. The machine's other work must not
matter: the thread that writes has the other cores, so this is not pinned to one. A replay stands beside the run that it
replays, whose tools answered at once, and whose tools took their time: a replay does not ask them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.common import Table, in_turn, options
from safeexec import Sandbox, replay

SMALL = "x = x + 1"
COMPUTES = "total = 0\nfor i in range(300_000):\n    total += i * i % 7"
STEPS = 50


def fewest(call: Callable[[], object], rounds: int) -> float:
    """The least CPU time that the calling thread took: what other work on the machine does not change."""
    taken = []
    for _ in range(rounds):
        began = time.thread_time()
        call()
        taken.append(time.thread_time() - began)
    return min(taken)


def steps(quick: bool) -> None:
    table = Table("one step, recorded to a file")
    with tempfile.TemporaryDirectory() as directory, Sandbox("calculator") as sandbox:
        path = Path(directory, "run.jsonl")
        for checkpoints, pause in (("off", 0.0), ("off", 0.02), ("idle", 0.02)):
            with (
                sandbox.session(checkpoints=checkpoints, record=path) as recorded,
                sandbox.session(checkpoints=checkpoints) as plain,
            ):
                recorded.run("x = 0")
                plain.run("x = 0")
                undo = "undoable" if checkpoints == "idle" else "checkpoints off"
                think = f"{pause * 1000:g} ms of think time" if pause else "back to back"
                for what, source, rounds in ((SMALL, SMALL, 400), ("25 ms of computing", COMPUTES, 30)):
                    times = in_turn(
                        partial(recorded.run, source),
                        partial(plain.run, source),
                        rounds=rounds // 4 if quick or pause else rounds,
                        pause=pause,
                    )
                    table.row(f"{what}, {undo}, {think}", *times, "the same, not recorded")
                    if not pause:
                        least = (fewest(partial(one.run, source), rounds) for one in (recorded, plain))
                        table.row("the caller's CPU time, least", *least, "the same, not recorded")
            path.unlink()


def replays(quick: bool) -> None:
    table = Table(f"replay of {STEPS} steps")
    seconds = 0.0

    def price(name: str) -> float:
        time.sleep(seconds)
        return len(name) * 1.5

    sources = {
        "small steps": ["x = x + 1"] * STEPS,
        "a call of a tool each": ["x = x + price('abc')"] * STEPS,
        "a tool call of 5 ms each": ["x = x + price('abc')"] * STEPS,
    }
    for what, programs in sources.items():
        seconds = 0.005 if "5 ms" in what else 0.0
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "run.jsonl")

            def run(record: Path | None = None, programs: list[str] = programs) -> None:
                with (
                    Sandbox("calculator", tools={"price": price}) as sandbox,
                    sandbox.session(record=record) as session,
                ):
                    session.run("x = 0").check()
                    for source in programs:
                        session.run(source).check()

            def again(path: Path = path) -> None:
                with replay(path) as found:
                    assert found.difference is None

            run(path)
            times = in_turn(again, run, rounds=2 if quick else 7)
            table.row(what, *times, "the run, with a sandbox of its own")


if __name__ == "__main__":
    quick = options(__doc__).quick
    steps(quick)
    replays(quick)
