"""How long until the first result: in a new process, and in a new session of a warm sandbox.

python -m benchmarks.startup [--quick]
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import partial

from benchmarks.common import BareChild, Table, in_turn, one_core, options
from safeexec import Sandbox

REFERENCE = {
    "calculator": (),
    "standard": (),
    "data-analysis": ("numpy", "pandas", "scipy.stats", "scipy.optimize", "sklearn.linear_model", "matplotlib.pyplot"),
}
"""What a bare Python imports for comparison: the libraries that a sandbox of the policy has at hand."""
COLD = """
from safeexec import Sandbox
with Sandbox({policy!r}) as sandbox:
    sandbox.run("1 + 1").check()
"""


def cold(rounds: int) -> None:
    table = Table("a new Python process: start, import safeexec, open a sandbox, first result, end")
    for policy, imports in REFERENCE.items():
        if not all(importlib.util.find_spec(name.partition(".")[0]) for name in imports):
            table.skip(policy, f"it is measured where {', '.join(imports)} are installed")
            continue
        bare = f"import {', '.join(imports)}" if imports else "pass"
        ours, reference = (
            partial(subprocess.run, [sys.executable, "-c", source], check=True)
            for source in (COLD.format(policy=policy), bare)
        )
        times = in_turn(ours, reference, rounds=rounds)
        table.row(policy, *times, f"python -c '{bare[:24]}{' …' if imports else ''}'")


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
