"""Many branches of one session: 100 of them with their first step, beside 100 bare forks with a step; and templates.

    python -m benchmarks.fanout [--quick]

The bare forks are of this process, which has a state of the same size; their steps come back over a pipe.
"""

from __future__ import annotations

import os
import time
from functools import partial

from benchmarks.common import Table, in_turn, options, timed
from safeexec import Policy, Sandbox, Session

SOURCE = "x = x + 1\nx"
STATES = {"nothing": "x = 0", "10 MB of objects": "x = 0\ndata = [[i] for i in range(100_000)]"}


def bare(count: int) -> None:
    """So many forks, each with a step, side by side: all begin, then all are heard."""
    pids, ends = [], []
    for _ in range(count):
        mine, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            namespace = {"x": 1}
            exec(compile(SOURCE, "<step>", "exec"), namespace)
            os.write(theirs, str(namespace["x"]).encode())
            os._exit(0)
        os.close(theirs)
        pids.append(pid)
        ends.append(mine)
    for pid, end in zip(pids, ends, strict=True):
        assert os.read(end, 10) == b"2"
        os.close(end)
        os.waitpid(pid, 0)


def branches(session: Session, count: int) -> None:
    """So many branches with their first step, and their end."""
    made = session.branch(count, checkpoints="before-step")
    for branch in made:
        branch.run(SOURCE).check()
    for branch in made:
        branch.close()


def fan_out(quick: bool) -> None:
    rounds = 3 if quick else 9
    for profile in ("calculator", "confined-python"):
        table = Table(f"branches with their first step, under {profile}")
        with Sandbox(Policy.load(profile).replace(branches=100), spare=0) as sandbox:
            for what, state in STATES.items():
                with sandbox.session() as session:
                    session.run(state).check()
                    held = [[i] for i in range(100_000)] if "objects" in what else []
                    for count in (1, 10, 100):
                        ours, theirs = in_turn(
                            partial(branches, session, count), partial(bare, count), rounds=rounds * 10 // count + 2
                        )
                        table.row(f"{count} of a state with {what}", ours, theirs, f"{count} bare forks with a step")
                    held.clear()


def templates(quick: bool) -> None:
    """A session that begins in a prepared state, against one that prepares it."""
    rounds = 5 if quick else 20
    table = Table("a session with its first step, from a template")
    prepare = "import json\nrows = json.loads('[' + ', '.join(str(i) for i in range({})) + ']')\nx = 0"
    with Sandbox("calculator", spare=1) as sandbox:
        for items in (1_000, 100_000):
            source = prepare.format(items)
            sandbox.template("data", prepare=source)

            def from_template() -> None:
                with sandbox.session(template="data") as session:
                    session.run(SOURCE).check()

            def from_the_start(source: str = source) -> None:
                with sandbox.session() as session:
                    session.run(source).check()
                    session.run(SOURCE).check()

            table.row(
                f"{items:,} numbers", *in_turn(from_template, from_the_start, rounds=rounds), "prepared each time"
            )


def waves(quick: bool) -> None:
    """Opened and closed in waves of 64: a wave does not cost more than the one before."""
    table = Table("branches in waves of 64, without a step")
    with Sandbox(Policy.load("calculator").replace(branches=64), spare=0) as sandbox, sandbox.session() as session:

        def wave() -> None:
            for branch in session.branch(64):
                branch.close()

        first = timed(wave, 3)
        began = time.perf_counter()
        for _ in range(4 if quick else 12):
            wave()
        table.row("a later wave", (time.perf_counter() - began) / (4 if quick else 12), first, "one of the first")


if __name__ == "__main__":
    quick = options(__doc__).quick
    fan_out(quick)
    templates(quick)
    waves(quick)
