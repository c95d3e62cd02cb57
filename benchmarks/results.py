"""What results cost: printed lines, the machinery of values, changes and displays, and a value of 1 MB.

python -m benchmarks.results [--quick]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

from benchmarks.common import BareChild, Table, in_turn, one_core, options
from safeexec import Policy, Sandbox

LINES = "for i in range(10_000): print(i)"
MEGABYTE = 1_000_000
BATCH = 200
SIXTY_NAMES = """\
import numpy, pandas
for i in range(10):
    globals()[f"table{i}"] = pandas.DataFrame({"a": range(10_000), "b": 1.5})
    globals()[f"array{i}"] = numpy.zeros(100_000)
    globals()[f"rows{i}"] = [[j] for j in range(1000)]
    globals()[f"index{i}"] = {j: str(j) for j in range(200)}
    globals()[f"text{i}"] = "text" * 10
    globals()[f"number{i}"] = i
"""
VALUES = {
    "bytes": f"value = b'x' * {MEGABYTE}",
    "str, ASCII": f"value = 'x' * {MEGABYTE}",
    "str, other letters": f"value = 'é' * {MEGABYTE // 2}",
    "numpy array": f"import numpy\nvalue = numpy.arange({MEGABYTE // 8}) * 1.5",
    "DataFrame of four columns": "import numpy, pandas\n"
    f"value = pandas.DataFrame({{name: numpy.arange({MEGABYTE // 32}) * 1.5 for name in 'abcd'}})",
}


def printing(rounds: int) -> None:
    table = Table("10,000 printed lines")
    with Sandbox("calculator") as sandbox, sandbox.session(checkpoints="off") as session:
        floor = BareChild()
        try:
            for what, call in (
                ("collected", partial(session.run, LINES)),
                ("streamed to the caller", partial(session.run, LINES, on_output=len)),
            ):
                table.row(
                    what, *in_turn(call, partial(floor.run, LINES), rounds=rounds), "bare forked child, collected"
                )
        finally:
            floor.close()


def machinery(rounds: int) -> None:
    """In one process, without host and kernel: the step's code alone, and the step with all that is found out of it."""
    from safeexec.engine.child.step.displays import Displays
    from safeexec.engine.child.step.guest import Guest
    from safeexec.engine.child.step.output import Streams
    from safeexec.language.language import RestrictedLanguage

    table = Table("value, changes and displays of x = x + 1")
    policy = Policy.load("data-analysis")
    language = RestrictedLanguage(policy.language_plan())
    guest = Guest(language, policy.limits_plan(), Streams(1 << 20), Displays(), {})
    guest.namespace["x"] = 0
    code = compile("x = x + 1", "<step>", "exec")

    def repeated(call: Callable[[], Any]) -> Callable[[], None]:
        def repeat() -> None:
            for _ in range(BATCH):
                call()

        return repeat

    def row(what: str) -> None:
        ours, bare = in_turn(
            repeated(partial(guest._run, code, None)), repeated(partial(exec, code, guest.namespace)), rounds=rounds
        )
        table.row(what, ours / BATCH, bare / BATCH, "exec of the same code")

    row("in a namespace of one name")
    if find_spec("pandas") is None:
        table.skip("in a namespace of 60 names", "pandas is not installed")
        return
    exec(SIXTY_NAMES, guest.namespace)
    row("in a namespace of 60 names, arrays and DataFrames among them")


def values(rounds: int) -> None:
    table = Table("session.get of 1 MB")
    data = b"x" * MEGABYTE

    def copy() -> None:
        fd = os.memfd_create("reference")
        os.pwrite(fd, data, 0)
        os.pread(fd, MEGABYTE, 0)
        os.close(fd)

    with Sandbox("data-analysis") as sandbox, sandbox.session(checkpoints="off") as session:
        for what, source in VALUES.items():
            if "import" in source and find_spec("pandas") is None:
                table.skip(what, "pandas is not installed")
                continue
            session.run(source).check()
            times = in_turn(partial(session.get, "value"), copy, rounds=rounds)
            table.row(what, *times, "a memfd, written and read")
            if "numpy" not in source:
                times = in_turn(partial(session.run, "value"), copy, rounds=rounds)
                table.row(f"{what}, as the value of a step", *times, "a memfd, written and read")


if __name__ == "__main__":
    quick = options(__doc__).quick
    with one_core():
        printing(10 if quick else 40)
        machinery(20 if quick else 100)
        values(30 if quick else 200)
