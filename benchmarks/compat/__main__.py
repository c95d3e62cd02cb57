"""Runs each program here and in plain CPython, and compares them: ``python -m benchmarks.compat [KIND]``.

A program is a file of `programs/`: ``KIND_name.py``, its standard input beside it (``.in``), its arguments in a first
line ``# argv: ...``. It is *exact* if both its streams and its exit status are those of CPython. What cannot be the
same is made the same: the program's own path, seconds, addresses of objects.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from safeexec import Result, Sandbox

PROGRAMS = Path(__file__).with_name("programs")
SECONDS = 30


class Outcome(NamedTuple):
    """What became of a program."""

    stdout: str
    stderr: str
    status: int


class Program(NamedTuple):
    """One program, what it reads and what it is called with."""

    path: Path
    source: str
    stdin: str
    argv: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.path.stem.partition("_")[0]


def programs(kind: str = "") -> list[Program]:
    """All programs of a kind, or all."""
    found = []
    for path in sorted(PROGRAMS.glob(f"{kind}*.py")):
        source = path.read_text(encoding="utf-8")
        first = re.match(r"# argv: (.*)\n", source)
        text = path.with_suffix(".in")
        stdin = text.read_text(encoding="utf-8") if text.exists() else ""
        found.append(Program(path, source, stdin, tuple(first[1].split()) if first else ()))
    return found


def by_cpython(program: Program) -> Outcome:
    """What a plain interpreter makes of it."""
    done = subprocess.run(
        [sys.executable, "-I", str(program.path), *program.argv],
        input=program.stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Outcome(done.stdout, done.stderr, done.returncode)


def here(program: Program, sandbox: Sandbox) -> Outcome:
    """What a session makes of it."""
    with sandbox.session() as session:
        result = session.run(program.source, stdin=program.stdin, argv=[str(program.path), *program.argv])
    return Outcome(result.stdout, result.stderr + uncaught(result), status_of(result))


def uncaught(result: Result) -> str:
    """The traceback that an interpreter would print."""
    error = result.error
    return "" if error is None or error.type == "SystemExit" else error.traceback or ""


def status_of(result: Result) -> int:
    """The exit status: that of the program, or 1 for an exception."""
    return result.exit_status if result.exit_status is not None else int(not result.ok)


def comparable(outcome: Outcome, program: Program) -> Outcome:
    """Without what differs from run to run."""

    def clean(text: str) -> str:
        for name in (str(program.path), program.path.name, "<step 1>"):  # a session is told no folder of the host
            text = text.replace(name, "<program>")
        return re.sub(r"0x[0-9a-f]{6,}", "0x...", re.sub(r"in \d+\.\d+s", "in 0.000s", text))

    return Outcome(clean(outcome.stdout), clean(outcome.stderr), outcome.status)


def main() -> int:
    """0 when every program did what CPython does."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compat", description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", default="", help="stdin, doctest, unittest, argparse or scripts")
    parser.add_argument("--profile", default="standard")
    options = parser.parse_args()
    exact: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    with Sandbox(options.profile) as sandbox:
        for program in programs(options.kind):
            tried[program.kind] += 1
            wanted, got = (comparable(o, program) for o in (by_cpython(program), here(program, sandbox)))
            if got == wanted:
                exact[program.kind] += 1
            else:
                differs = [field for field in Outcome._fields if getattr(got, field) != getattr(wanted, field)]
                print(f"{program.path.name}: {', '.join(differs)} differ")
    print("\n| programs | exact |\n| --- | --- |")
    for kind in tried:
        print(f"| {kind} ({tried[kind]}) | {100 * exact[kind] / tried[kind]:.1f} % ({exact[kind]}/{tried[kind]}) |")
    print(f"| all ({tried.total()}) | {100 * exact.total() / tried.total():.1f} % ({exact.total()}/{tried.total()}) |")
    return int(exact.total() != tried.total())


if __name__ == "__main__":
    sys.exit(main())
