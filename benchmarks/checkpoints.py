"""What a checkpoint costs by the size of the state, 1 MB to 1 GB, of objects and of arrays.

    python -m benchmarks.checkpoints [--quick]

Beside it: a bare fork and wait of a process that holds the same state, a pickle round trip of it, and, where
pydantic-monty is installed, its `dump` and `load_session` of the same objects.
"""

from __future__ import annotations

import importlib.util

import psutil

from benchmarks.common import Table, in_new_process, options, timed
from safeexec import Policy, Sandbox, SandboxError

BYTES_PER_OBJECT = 104
"""`[i]` in a list: the list object, its item, the integer, and the slot that holds it (CPython 3.11 to 3.13)."""
BUILD = {
    "objects": "state = [[i] for i in range({megabytes} * 1_000_000 // 104)]",
    "array": "import numpy\nstate = numpy.ones({megabytes} * 125_000)",
}
LIBRARIES = "import numpy, pandas, scipy.stats, scipy.optimize, sklearn.linear_model, matplotlib.pyplot\n"
"""What a child of `data-analysis` has loaded: the process that is forked for comparison holds the same."""
FORK = """
import gc, os, statistics, time
gc.collect(); gc.freeze()
def fork():
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return time.perf_counter() - start
print(statistics.median(fork() for _ in range({rounds})))
"""
PICKLE = """
import pickle, time
start = time.perf_counter()
pickle.loads(pickle.dumps(state, 5))
print(time.perf_counter() - start)
"""
MONTY = """
import time
from pydantic_monty import Monty
with Monty() as pool, pool.checkout() as session:
    session.feed_run({source!r})
    start = time.perf_counter()
    data = session.dump()
    with pool.checkout() as other:
        other.load_session(data)
        print(time.perf_counter() - start)
"""


def measure(kind: str, megabytes: int, rounds: int) -> None:
    array = kind == "array"
    policy = Policy.load("data-analysis" if array else "standard")
    needed = int(megabytes * 1.5) + 512
    policy = policy.replace(memory_mb=max(needed, policy.limits.memory_mb), checkpoint_memory_mb=4 * needed)
    build = BUILD[kind].format(megabytes=megabytes)
    table = Table(f"{megabytes} MB, {'one numpy array' if array else 'small objects'}")
    bare = in_new_process((LIBRARIES if array else "") + build + FORK.format(rounds=max(5, rounds)))
    pickled = in_new_process(build + PICKLE)
    with Sandbox(policy, spare=0) as sandbox, sandbox.session(checkpoints="off") as session:
        session.run(build, timeout=60).check()
        session.checkpoint("here")

        def back() -> None:
            session.rollback("here")
            session.run("1").check()

        frozen = timed(lambda: session.checkpoint("again"), rounds)
        resumed = timed(back, rounds)
        table.row("checkpoint", frozen, bare, "bare fork and wait")
        table.row("roll back, and a step", resumed, bare, "bare fork and wait")
        table.row("checkpoint and roll back", frozen + resumed, pickled, "pickle.dumps and loads")
    if array or megabytes > 100:
        return
    if importlib.util.find_spec("pydantic_monty") is None:
        table.skip("both, against Monty", "pydantic-monty is not installed")
        return
    table.row(
        "checkpoint and roll back", frozen + resumed, in_new_process(MONTY.format(source=build)), "Monty: dump and load"
    )


def main(quick: bool) -> None:
    free = psutil.virtual_memory().available >> 20
    for kind in BUILD:
        if kind == "array" and not all(map(importlib.util.find_spec, ("numpy", "pandas", "sklearn", "matplotlib"))):
            Table.skip("arrays", "numpy, pandas, scikit-learn and matplotlib are not installed")
            continue
        for megabytes in (1, 10, 100) if quick else (1, 10, 100, 1000):
            if free < 4 * megabytes:
                Table.skip(f"{megabytes} MB, {kind}", f"only {free} MB of memory are free")
                continue
            try:
                measure(kind, megabytes, 5 if quick or megabytes > 100 else 15)
            except SandboxError as error:
                Table.skip(f"{megabytes} MB, {kind}", str(error))


if __name__ == "__main__":
    main(options(__doc__).quick)
