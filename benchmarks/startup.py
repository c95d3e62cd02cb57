"""How long until the first result: in a new process, and in a new session of a warm sandbox.

python -m benchmarks.startup [--quick]
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import partial

from benchmarks.common import BareChild, Table, in_new_process, in_turn, one_core, options, timed
from safeexec import Sandbox

REFERENCE = {
    "calculator": (),
    "standard": (),
    "data-analysis": ("numpy", "pandas", "scipy.stats", "scipy.optimize", "sklearn.linear_model", "matplotlib.pyplot"),
}
"""What a bare Python imports for comparison: the libraries that a sandbox of the policy has at hand."""
COLD = """
import time
start = time.perf_counter()
from safeexec import Sandbox
with Sandbox({policy!r}) as sandbox:
    sandbox.run("1 + 1").check()
    print(time.perf_counter() - start)
"""


def cold(rounds: int) -> None:
    table = Table("a new host process: import safeexec, open a sandbox, first result")
    for policy, imports in REFERENCE.items():
        if not all(importlib.util.find_spec(name.partition(".")[0]) for name in imports):
            table.skip(policy, f"it is measured where {', '.join(imports)} are installed")
            continue
        source = f"import {', '.join(imports)}" if imports else "pass"
        python = timed(partial(subprocess.run, [sys.executable, "-I", "-c", source], check=True), rounds)
        table.row(
            policy, in_new_process(COLD.format(policy=policy), rounds=rounds), python, f"python -I -c '{source[:24]}'"
        )


def fresh(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.run("1 + 1")


def bare() -> None:
    child = BareChild()
    child.run("1 + 1")
    child.close()


def warm(rounds: int) -> None:
    table = Table("a new session of an open sandbox, one step, closed")
    for policy in ("calculator", "standard"):
        with Sandbox(policy) as sandbox:
            use = partial(fresh, sandbox)
            use()
            table.row(f"{policy}, back to back", *in_turn(use, bare, rounds=rounds), "bare fork, step, kill")
            table.row(f"{policy}, 10 ms apart", *in_turn(use, bare, rounds=rounds // 2, pause=0.01), "the same")


if __name__ == "__main__":
    quick = options(__doc__).quick
    cold(3 if quick else 11)
    with one_core():
        warm(40 if quick else 200)
