"""Many programs over workers of Ray on this machine, beside `Sandbox.map` with as many workers: one core, then all.

    python -m benchmarks.cluster [--quick]

Starting the workers is not in it: the first programs are run before the clock starts.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.common import Table, options
from safeexec import Result, Sandbox

FIRST = 200
"""Programs before the clock starts: after them, each worker gets as many at once as it will go on getting."""


def seconds(run: Callable[[list[str]], Iterator[Result]], count: int) -> float:
    """What `count` programs take, seconds each."""
    programs = [f"sum(i * i for i in range(2000)) + {number}" for number in range(FIRST + count)]
    results = run(programs)
    for _ in range(FIRST):
        next(results)
    began = time.perf_counter()
    assert sum(result.outcome == "ok" for result in results) == count
    return (time.perf_counter() - began) / count


def main(count: int, rounds: int) -> None:
    """Print the table: ours is Ray's, the reference is `Sandbox.map`."""
    table = Table("programs over the workers of a cluster")
    if importlib.util.find_spec("ray") is None:
        table.skip("map", "Ray is not installed (pip install 'safeexec[cluster]')")
        return
    from safeexec import cluster

    ray: Any = cluster.ray
    cores = len(os.sched_getaffinity(0))
    ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False)
    with Sandbox("standard") as sandbox:
        for workers in sorted({1, cores}):

            def over_cluster(programs: list[str], workers: int = workers) -> Iterator[Result]:
                return cluster.map(programs, "standard", workers=workers)

            def here(programs: list[str], workers: int = workers) -> Iterator[Result]:
                return iter(sandbox.map(programs, workers=workers))

            taken = [(seconds(over_cluster, count), seconds(here, count)) for _ in range(rounds)]
            ours, theirs = (min(column) for column in zip(*taken, strict=True))
            table.row(f"one program, {workers} worker{'s' * (workers > 1)}", ours, theirs, "Sandbox.map")
    ray.shutdown()


if __name__ == "__main__":
    quick = options(__doc__).quick
    main(400 if quick else 2000, 1 if quick else 5)
