"""safeexec beside other ways to run Python that somebody else wrote. What is not installed is skipped, and said.

    pip install RestrictedPython smolagents pydantic-monty asteval
    python -m benchmarks.compare [--quick]

Speed only. What the others hold back differs: bare exec, RestrictedPython, smolagents and asteval run in the host's
own process, where no deadline stops a C call; Monty is not CPython and has no libraries; a bare child is not confined.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.common import PROGRAM, Table, in_turn, one_core, options, timed
from benchmarks.kernels import KERNELS
from benchmarks.peers import IN_PROCESS, Monty, Ours, Peer
from safeexec import Sandbox

Opener = Callable[[], Peer]
SLOW = 0.5
"""Seconds beyond which a peer is run once more, not many times."""


@contextmanager
def everybody() -> Iterator[dict[str, Opener]]:
    """Name → what opens a session, of everything that is installed."""
    with ExitStack() as stack:
        found: dict[str, Opener] = {}
        for name, (module, opener) in IN_PROCESS.items():
            if module and importlib.util.find_spec(module) is None:
                Table.skip(name, f"{module} is not installed")
                continue
            found[name] = opener
        if importlib.util.find_spec("pydantic_monty") is None:
            Table.skip("Monty", "pydantic-monty is not installed")
        else:
            import pydantic_monty

            pool = stack.enter_context(pydantic_monty.Monty())
            found["Monty"] = lambda: Monty(pool)
        yield found


def new_sessions(sandbox: Sandbox, peers: dict[str, Opener], rounds: int) -> None:
    table = Table("a new session, one step, closed")

    def use(opener: Opener) -> None:
        session = opener()
        session.run("1 + 1")
        session.close()

    for name, opener in peers.items():
        ours, theirs = in_turn(partial(use, partial(Ours, sandbox)), partial(use, opener), rounds=rounds)
        table.row(name, ours, theirs, name)


def beside(
    table: Table, sandbox: Sandbox, peers: dict[str, Opener], prepare: str, source: str, rounds: int, pause: float = 0.0
) -> None:
    """One row per peer: `source` in a session here and there. Undoable where a pause leaves time for checkpoints."""
    for name, opener in peers.items():
        ours, peer = Ours(sandbox, checkpoints="idle" if pause else "off"), opener()
        try:
            ours.run(prepare)
            peer.run(prepare)
            once = timed(partial(peer.run, source), 1)
            few = rounds if once < SLOW else 1
            table.row(
                name, *in_turn(partial(ours.run, source), partial(peer.run, source), rounds=few, pause=pause), name
            )
        except Exception as error:  # each system has exceptions of its own
            table.skip(name, f"it cannot: {str(error).strip().splitlines()[0][:80]}")
        finally:
            ours.close()
            peer.close()


def main(quick: bool) -> None:
    warnings.simplefilter("ignore")  # RestrictedPython warns about each annotation
    rounds = 20 if quick else 200
    step = "x = x + 1"
    with one_core(), Sandbox("calculator") as sandbox, everybody() as peers:
        new_sessions(sandbox, peers, rounds)
        beside(Table(f"{step}, checkpoints off"), sandbox, peers, "x = 0", step, 2 * rounds)
        beside(Table(f"{step}, undoable, 10 ms of think time"), sandbox, peers, "x = 0", step, rounds, 0.01)
        beside(Table("a program of 30 lines, compiled and run"), sandbox, peers, "x = 0", PROGRAM, rounds)
        for kind in ("calls", "objects", "strings"):
            loop = "for _ in range(20):\n    result = k()"
            beside(Table(f"computing: {kind}, 20 rounds"), sandbox, peers, KERNELS[kind], loop, rounds // 10)


if __name__ == "__main__":
    main(options(__doc__).quick)
