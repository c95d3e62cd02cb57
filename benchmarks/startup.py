"""How long until the first result: in a new process, and in a new session of a warm sandbox.

    python -m benchmarks.startup [--quick]
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys

from benchmarks.common import BareChild, Table, in_new_process, interleaved, one_core, options
from safeexec import Sandbox

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
    python = [sys.executable, "-I", "-c", "pass"]
    (bare,) = interleaved(lambda: subprocess.run(python, check=True), rounds=rounds)
    for policy in ("calculator", "standard", "data-analysis"):
        if policy == "data-analysis" and importlib.util.find_spec("pandas") is None:
            table.skip(policy, "numpy and pandas are not installed")
            continue
        table.row(policy, in_new_process(COLD.format(policy=policy), rounds=rounds), bare, "python -I -c pass")


def warm(rounds: int) -> None:
    table = Table("a new session of an open sandbox, one step, closed")

    def bare() -> None:
        child = BareChild()
        child.run("1 + 1")
        child.close()

    for policy in ("calculator", "standard"):
        with Sandbox(policy) as sandbox:

            def session(sandbox: Sandbox = sandbox) -> None:
                with sandbox.session() as session:
                    session.run("1 + 1")

            session()
            table.row(f"{policy}, back to back", *interleaved(session, bare, rounds=rounds), "bare fork, step, kill")
            table.row(f"{policy}, 10 ms apart", *interleaved(session, bare, rounds=rounds // 2, pause=0.01), "the same")


if __name__ == "__main__":
    quick = options(__doc__).quick
    cold(3 if quick else 11)
    with one_core():
        warm(40 if quick else 200)
