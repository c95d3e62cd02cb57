"""Runs the benchmarks, each in a process of its own: `python -m benchmarks [NAME ...] [--quick]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HELPERS = {"common", "kernels", "peers"}


def questions() -> list[str]:
    """Every script here that answers a question."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS and not path.stem.startswith("_"))


def main() -> int:
    """0 when every script ran; each skips, and says, what this machine does not have."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What safeexec costs, beside a reference."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(questions())}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(questions()))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(questions())}")
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    failed = []
    for name in options.names or questions():
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if options.quick else [])]
        if subprocess.run(command, cwd=HERE.parent, env={**os.environ, "PYTHONPATH": path}, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
