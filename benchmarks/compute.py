"""How fast guest code computes, against the same code in plain CPython.

python -m benchmarks.compute [--quick]
"""

from __future__ import annotations

import importlib.util
import math
from typing import Any

from benchmarks.common import Table, options
from benchmarks.kernels import BEST, KERNELS, NUMPY
from safeexec import Sandbox, Session


def compare(session: Session, source: str, turns: int) -> tuple[float, float]:
    """Best times in the session and in this process, in turn."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(source + BEST, namespace)
    session.run(source + BEST).check()
    assert session.run("k()").check().value == namespace["k"]()
    ours, plain = [], []
    for _ in range(turns):
        plain.append(namespace["best"](5))
        ours.append(session.run("best(5)").check().value)
    return min(ours), min(plain)


def main(quick: bool) -> None:
    turns = 4 if quick else 15
    table = Table("computing")
    ratios = []
    with Sandbox("standard") as sandbox, sandbox.session(checkpoints="off") as session:
        for name, source in KERNELS.items():
            ours, plain = compare(session, source, turns)
            ratios.append(ours / plain)
            table.row(name, ours, plain, "plain CPython")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    table.row("geometric mean", mean, 1.0, "plain CPython", unit="x")
    if importlib.util.find_spec("numpy") is None:
        table.skip("numpy", "it is not installed")
        return
    with Sandbox("data-analysis") as sandbox, sandbox.session(checkpoints="off") as session:
        table.row("numpy", *compare(session, NUMPY, turns), "plain CPython")


if __name__ == "__main__":
    main(options(__doc__).quick)
