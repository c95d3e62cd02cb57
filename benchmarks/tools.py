"""What one call of a host tool costs, by how the tool is made, against a bare message round trip of the same run.

python -m benchmarks.tools [--quick]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.common import BareChild, Table, in_turn, one_core, options
from safeexec import Sandbox
from safeexec.toolkit.ready_made import limited

CALLS = 200


def typed(a: int, b: int) -> int:
    return a + b


async def awaited(a: int, b: int) -> int:
    return a + b


TOOLS: dict[str, Callable[..., Any]] = {
    "plain": lambda a, b: a + b,
    "typed": typed,
    "awaited": awaited,
    "timed": limited(typed, timeout=60.0),
}
WHAT = {
    "plain": "without type hints",
    "typed": "with type hints, which are checked",
    "awaited": "asynchronous, from a blocking host",
    "timed": "with a deadline of its own: in a thread",
}


def main(quick: bool) -> None:
    table = Table("one call of a host tool from guest code")
    floor = BareChild()
    try:
        with Sandbox("calculator", tools=TOOLS) as sandbox, sandbox.session(checkpoints="off") as session:
            for name, what in WHAT.items():
                session.run(f"def many():\n    for i in range({CALLS}):\n        {name}(i, 1)\nmany()").check()
                call, bare = partial(session.run, "many()"), partial(floor.round_trips, CALLS)
                ours, theirs = in_turn(call, bare, rounds=5 if quick else 25)
                table.row(what, ours / CALLS, theirs / CALLS, "a bare message round trip")
    finally:
        floor.close()


if __name__ == "__main__":
    # A wake-up across cores costs ten times one on the same core, at random.
    with one_core():
        main(options(__doc__).quick)
