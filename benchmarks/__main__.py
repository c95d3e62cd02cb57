"""Runs the benchmarks, each in a process of its own: `python -m benchmarks [NAME ...] [--quick]`.

`compare` and `compat` are folders, run alone, with options of their own: `python -m benchmarks compare --help`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HELPERS = {"common", "kernels"}
FOLDERS = ("compare", "compat")


def questions() -> list[str]:
    """Every script here that answers a question."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in HELPERS and not path.stem.startswith("_"))


def run(name: str, arguments: list[str]) -> int:
    """Run one; its exit status."""
    path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


def main() -> int:
    """0 when every script ran; each skips, and says, what this machine does not have."""
    if sys.argv[1:2] and sys.argv[1] in FOLDERS:
        return run(sys.argv[1], sys.argv[2:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="What safeexec costs, beside a reference.",
        epilog="Two are folders, run alone, with options of their own: `compare` (beside Docker, E2B, Pyodide …) and "
        "`compat` (which programs run): python -m benchmarks compare --help",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(questions())}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(questions()))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(questions())}")
    failed = []
    for name in options.names or questions():
        print(f"\n== {name}", flush=True)
        if run(name, ["--quick"] if options.quick else []):
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
