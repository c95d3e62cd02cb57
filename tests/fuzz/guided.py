"""``python -m tests.fuzz.guided TARGET --minutes 10``: inputs that reach new lines of safeexec lead to further inputs.

Needs atheris (``pip install atheris``, which has wheels for Linux). One target a process: what it instruments it
instruments at the import. Modules that are imported later, and what runs in a child, do not guide it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings

try:
    import atheris
except ImportError:
    raise SystemExit("this needs atheris: pip install atheris") from None

with atheris.instrument_imports(include=["safeexec"]):
    from tests.fuzz.table import TARGETS
    from tests.fuzz.target import Finding, prepared, shortest, told


def main() -> None:
    """Does not return: exit status 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("target", metavar="TARGET", choices=[*TARGETS], help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M", help="(default: 10)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    target = TARGETS[options.target]
    if missing := target.missing():
        raise SystemExit(f"{target.name}: left out, without {', '.join(missing)}")
    with target.opened() as holds:
        test, last = prepared(target, holds, 1)

        def one(data: bytes) -> None:
            try:
                test.hypothesis.fuzz_one_input(data)
            except BaseException as error:
                told(target, shortest(Finding(last[0], error), holds))
                os._exit(1)

        seconds = max(1, round(options.minutes * 60))
        place = tempfile.gettempdir() + os.sep
        atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", f"-artifact_prefix={place}"], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
