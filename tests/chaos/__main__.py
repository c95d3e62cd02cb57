"""``python -m tests.chaos --minutes 30 [--seed N]``: rounds of acts and faults, each with a seed of its own."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from time import monotonic

from tests.chaos.faults import temporary_place
from tests.chaos.run import Act, acts, play, shortest


def main() -> int:
    """1 if an answer was wrong, something hung or something was left behind."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, metavar="M")
    parser.add_argument("--seed", type=int, default=None, metavar="N", help="of the first round")
    parser.add_argument("--acts", type=int, default=150, metavar="N", help="of each round (default: 150)")
    options = parser.parse_args()
    seed = random.randrange(1 << 20) if options.seed is None else options.seed
    deadline, done, lost = monotonic() + options.minutes * 60, Counter[str](), 0
    with temporary_place() as is_disk:
        if not is_disk:
            print("left out: a full disk (that takes root, and a mount namespace)", flush=True)
        while True:
            print(f"seed {seed}", flush=True)
            given = acts(seed, options.acts)
            outcome = play(given)
            done += outcome.done
            lost += outcome.lost
            if outcome.wrong:
                _tell(f"WRONG with seed {seed}, act {outcome.at}: {outcome.wrong}", given[: outcome.at + 1])
                return 1
            seed += 1
            if monotonic() > deadline:
                break
    print(f"{done.total()} acts, {lost} losses that were told: {dict(done.most_common())}")
    return 0


def _tell(what: str, given: list[Act]) -> None:
    print(what, flush=True)
    print("the shortest sequence that was found:", flush=True)
    short = shortest(given, 120.0)
    for act in short:
        print(f"    {act},")
    print(play(short).wrong or "(not again)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
