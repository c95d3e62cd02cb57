"""`safeexec bench`: what a sandbox costs on this machine, beside what a bare Python and a bare fork cost here."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from safeexec.cli.common import add_policy_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

THINK_SECONDS = 0.01
LIMIT_SECONDS = 0.1
_COLD = """
import time
start = time.perf_counter()
from safeexec import Sandbox
with Sandbox({policy!r}) as sandbox:
    sandbox.run("1 + 1").check()
    print(time.perf_counter() - start)
"""
_SUM = "total = 0\nfor i in range(100_000):\n    total += i * i % 7"


class Row(NamedTuple):
    """One figure: seconds here, and seconds of what it stands beside."""

    what: str
    ours: float
    reference: float
    against: str


def add_parser(commands: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "bench",
        help="measure what a sandbox costs on this machine",
        description="Medians, each beside a reference of the same run: read the ratios. Takes about ten seconds.",
    )
    add_policy_option(parser)
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="rounds per figure (default: 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON object per figure")
    return parser


def main(options: argparse.Namespace) -> int:
    """Print the table as it comes. 0 when everything could be measured."""
    if options.rounds < 1:
        print("safeexec bench: --rounds must be at least 1", file=sys.stderr)
        return 2
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
    """All figures for one policy, one after the other."""
    from safeexec import Policy, Sandbox

    fork = _median(_fork_and_wait, rounds)
    few = max(3, rounds // 20)
    yield Row("import, open a sandbox, first result", _cold(policy, few), _bare_python(few), "python -I -c pass")
    with Sandbox(Policy.load(policy)) as sandbox:

        def new_session() -> None:
            with sandbox.session() as session:
                session.run("1 + 1")

        yield Row(
            "a new session, one step, closed", _median(new_session, rounds, THINK_SECONDS), fork, "bare fork and wait"
        )
        with sandbox.session(checkpoints="off") as session:
            session.run("x = 0").check()
            yield Row(
                "a step, x = x + 1, checkpoints off",
                _median(lambda: session.run("x = x + 1"), rounds),
                fork,
                "the same",
            )
            ours = _median(lambda: session.run(_SUM), few)
            yield Row("a loop of 100 000 rounds", ours, _median(lambda: exec(_SUM, {}), few), "plain CPython")
        with sandbox.session() as session:
            session.run("x = 0").check()
            ours = _median(lambda: session.run("x = x + 1"), rounds, THINK_SECONDS)
            yield Row("a step, undoable, 10 ms of think time", ours, fork, "bare fork and wait")
            yield Row("a named checkpoint", _median(lambda: session.checkpoint("here"), few), fork, "the same")

            def back() -> None:
                session.rollback("here")
                session.run("x")

            yield Row("roll back to it, and a step", _median(back, few), fork, "the same")

            def endless() -> None:
                session.run("while True: pass", timeout=LIMIT_SECONDS)

            yield Row("a step that is stopped after 0.1 s, restored", _median(endless, few), LIMIT_SECONDS, "its limit")


def _median(call: Callable[[], object], rounds: int, pause: float = 0.0) -> float:
    times = []
    for _ in range(rounds):
        if pause:
            time.sleep(pause)
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _fork_and_wait() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _bare_python(rounds: int) -> float:
    return _median(lambda: subprocess.run([sys.executable, "-I", "-c", "pass"], check=True), rounds)


def _cold(policy: str, rounds: int) -> float:
    command = [sys.executable, "-c", _COLD.format(policy=policy)]
    return statistics.median(
        float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(rounds)
    )


def _shown(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"
