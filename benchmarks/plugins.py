"""What a call of a plugin costs: kept and fresh, back to back and with time to think, and after a call was killed.

python -m benchmarks.plugins [--quick]

The reference is fork, exit and wait of a plain Python process that has imported what the policy allows, in batches
between the batches of calls.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks.common import BareChild, Table, in_turn, options
from safeexec import Plugin, Policy, Sandbox

SOURCE = """\
def price(amount, quantity=1):
    return amount * quantity

def hang():
    while True:
        pass
"""
BATCH = 20
THINK_SECONDS = 0.01
LIMIT_SECONDS = 0.02
FORKS = """
import gc, importlib, os, sys, time
for name in {modules!r}:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
gc.freeze()
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line)):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    print(time.perf_counter() - start, flush=True)
"""


class BareForks:
    """A process of its own with the modules of a policy, which forks, exits and waits on request."""

    def __init__(self, policy: Policy) -> None:
        modules = [name for name in policy.imports if name.partition(".")[0] in sys.stdlib_module_names]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", FORKS.format(modules=modules)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, count: int) -> float:
        """One fork, exit and wait, the mean of `count` in a row."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline()) / count

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def beside_forks(call: Callable[[], object], forks: BareForks, rounds: int, pause: float = 0.0) -> tuple[float, float]:
    """Seconds of a call and of a bare fork: medians over batches that take turns."""
    ours, theirs = [], []
    for _ in range(rounds):
        spent = 0.0
        for _ in range(BATCH):
            if pause:
                time.sleep(pause)
            start = time.perf_counter()
            call()
            spent += time.perf_counter() - start
        ours.append(spent / BATCH)
        theirs.append(forks.seconds(BATCH))
    return statistics.median(ours), statistics.median(theirs)


def killed(plugin: Plugin) -> None:
    """A call that is stopped, and the first one after it, less the limit that the first one had."""
    plugin.invoke("hang", timeout=LIMIT_SECONDS)
    plugin.call("price", 2)


def main(quick: bool) -> None:
    policy = Policy.load("plugin")
    forks, floor = BareForks(policy), BareChild()
    rounds = 10 if quick else 50
    fork = "bare fork, exit and wait"
    try:
        with Sandbox(policy) as sandbox:
            table = Table("one call of a plugin")
            with sandbox.plugin(SOURCE, state="keep", checkpoints="off") as kept:
                floor.run(SOURCE)
                call, bare = partial(kept.call, "price", 2, quantity=3), partial(floor.run, "price(2, quantity=3)")
                table.row("kept, nothing undone", *in_turn(call, bare, rounds=10 * rounds), "bare forked child: a step")
            with sandbox.plugin(SOURCE, state="keep") as kept:
                call = partial(kept.call, "price", 2, quantity=3)
                table.row("kept, each call undoable, back to back", *beside_forks(call, forks, rounds), fork)
                times = beside_forks(call, forks, rounds // 5, THINK_SECONDS)
                table.row("kept, each call undoable, 10 ms of think time", *times, fork)
            with sandbox.plugin(SOURCE, state="fresh") as fresh:
                call = partial(fresh.call, "price", 2, quantity=3)
                table.row("fresh, back to back", *beside_forks(call, forks, rounds), fork)
                table.row("fresh, 10 ms of think time", *beside_forks(call, forks, rounds // 5, THINK_SECONDS), fork)
            table = Table("a call that is killed at its limit, and the next one")
            for what, state, checkpoints in (
                ("kept, the state before it is restored", "keep", "idle"),
                ("kept, no checkpoint: the plugin is loaded again", "keep", "off"),
                ("fresh", "fresh", "off"),
            ):
                with sandbox.plugin(SOURCE, state=state, checkpoints=checkpoints) as plugin:  # type: ignore[arg-type]
                    plugin.call("price", 2)
                    ours, theirs = beside_forks(partial(killed, plugin), forks, max(1, rounds // 10))
                    table.row(what, ours - LIMIT_SECONDS, theirs, fork)
    finally:
        forks.close()
        floor.close()


if __name__ == "__main__":
    main(options(__doc__).quick)
