"""``python -m tests.fuzz [TARGET …] --minutes 10 [--seed N]``: each target for so long, one after the other."""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import warnings
from time import monotonic

from tests.fuzz.table import TARGETS
from tests.fuzz.target import run_for, told


def main() -> int:
    """1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M", help="for each target (default: 10)")
    parser.add_argument("--seed", type=int, default=None, metavar="N", help="(default: another one each time)")
    options = parser.parse_args()
    if unknown := set(options.targets) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    seed = random.randrange(1 << 20) if options.seed is None else options.seed
    warnings.simplefilter("ignore")
    faulthandler.enable()
    found = 0
    for name in options.targets or TARGETS:
        target = TARGETS[name]
        if missing := target.missing():
            print(f"{name}: left out, without {', '.join(missing)}", flush=True)
            continue
        started = monotonic()
        with target.opened() as holds:
            tried, finding = run_for(target, holds, options.minutes * 60, seed)
        print(f"{name}: {tried} inputs in {monotonic() - started:.0f} s, seed {seed}", flush=True)
        if finding is not None:
            found += 1
            told(target, finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
