"""`safeexec bench`: what a sandbox costs on this machine, beside what a bare Python and a bare fork cost here."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from safeexec import Policy, Sandbox, SandboxError
from safeexec.cli.common import add_policy_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Call = Callable[[], object]
    Reference = tuple[str, Call]

THINK_SECONDS = 0.01
LIMIT_SECONDS = 0.1
_COLD = """
from safeexec import Sandbox
with Sandbox({policy!r}) as sandbox:
    sandbox.run("1 + 1").check()
"""
_LOOP = "total = 0\nfor i in range(100_000):\n    total += i * i % 7"


class Row(NamedTuple):
    """One figure: seconds here, and seconds of what it stands beside."""

    what: str
    ours: float
    reference: float
    against: str


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Medians, each beside a reference of the same run: read the ratios. Takes about ten seconds."
    add_policy_option(parser)
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="rounds per figure (default: 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per figure")


def main(options: argparse.Namespace) -> int:
    """Print the table as it comes. 0 when everything could be measured."""
    if options.rounds < 1:
        print("safeexec bench: --rounds must be at least 1", file=sys.stderr)
        return 2
    if sys.platform == "win32":
        raise SandboxError("safeexec bench measures beside a fork, which Windows has not: run it in Linux")
    Policy.load(options.policy)  # a mistake in it ends here
    if not options.json:
        print(f"{'':44} {'safeexec':>10} {'reference':>10} {'ratio':>7}  reference is")
    for row in measure(options.policy, options.rounds):
        if options.json:
            print(json.dumps(row._asdict()), flush=True)
        else:
            ratio = row.ours / row.reference
            print(
                f"{row.what:44} {_shown(row.ours):>10} {_shown(row.reference):>10} {ratio:>7.3g}  {row.against}",
                flush=True,
            )
    return 0


def measure(policy: str, rounds: int) -> Iterator[Row]:
    """Yield all figures for one policy, one after the other."""
    few = max(3, rounds // 20)
    fork: Reference = "bare fork and wait", _fork_and_wait
    python: Reference = "python -c pass", partial(_new_process, "pass")
    plain: Reference = "plain CPython", lambda: exec(_LOOP, {})
    limit: Reference = "its limit", partial(time.sleep, LIMIT_SECONDS)
    start = partial(_new_process, _COLD.format(policy=policy))
    yield _in_turn("import, open a sandbox, first result", start, python, few)
    with Sandbox(policy) as sandbox:

        def one_session() -> None:
            with sandbox.session() as session:
                session.run("1 + 1")

        yield _in_turn("a new session, one step, closed", one_session, fork, rounds)
        with sandbox.session(checkpoints="off") as session:
            session.run("x = 0").check()
            step = partial(session.run, "x = x + 1")
            yield _in_turn("a step, x = x + 1, checkpoints off", step, fork, rounds)
            yield _in_turn("a loop of 100 000 rounds", partial(session.run, _LOOP), plain, few)
        with sandbox.session() as undoable:
            undoable.run("x = 0").check()
            step = partial(undoable.run, "x = x + 1")
            yield _in_turn("a step, undoable, 10 ms of think time", step, fork, rounds, THINK_SECONDS)
            yield _in_turn("a named checkpoint", partial(undoable.checkpoint, "here"), fork, few)

            def roll_back() -> None:
                undoable.rollback("here")
                undoable.run("x")

            yield _in_turn("roll back to it, and a step", roll_back, fork, few)
            endless = partial(undoable.run, "while True: pass", timeout=LIMIT_SECONDS)
            yield _in_turn("a step that is stopped after 0.1 s, restored", endless, limit, few)


def _in_turn(what: str, ours: Call, reference: Reference, rounds: int, pause: float = 0.0) -> Row:
    """Return the medians of both, call by call in turn, so that a busy machine disturbs both alike."""
    against, other = reference
    times: dict[Call, list[float]] = {ours: [], other: []}
    for _ in range(rounds):
        for call, taken in times.items():
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return Row(what, statistics.median(times[ours]), statistics.median(times[other]), against)


def _fork_and_wait() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _new_process(source: str) -> None:
    subprocess.run([sys.executable, "-c", source], check=True)


def _shown(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"
