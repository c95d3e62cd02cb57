"""What one contender can run, and what it lets through: the programs of `compat` and the attempts of `tests/escapes`.

python -m benchmarks.compare.trials CONTENDER [--skip N] [--quick] < WHAT_CPYTHON_MAKES_OF_THE_PROGRAMS

Runs in the bed (`bed.py`). Each trial has a process of its own, with a time limit: that of its session, or, where guest
code runs in the host's process, a fork of this one. One JSON object per trial of `listed`; whoever reads them starts
this again behind one that ended it, or hung it. Attempts that only use up something are not among them: the rows about
endless loops are about those.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from subprocess import SubprocessError

from benchmarks.compare.contenders import BY_NAME, Contender
from benchmarks.compat.__main__ import Outcome, Program, comparable, programs
from tests.attempts import STEP, Case, World, read, suits

STOP_SECONDS = 3.0
"""The limit of a step, where a contender has one."""
PATIENCE = 8.0
"""Seconds for a fork: a program, or an attempt with all its steps."""
OUTPUT_BYTES = 16 << 20


def attempts() -> list[Case]:
    """Those that this Python and its libraries can make, that want out and are not merely expensive."""
    able = []
    for case in read():
        if "consumes" in case.headers:
            continue
        if not suits(case.headers.get("version", "")):
            continue
        if case.layer == "both" and case.profile == "confined-python":
            continue
        if all(importlib.util.find_spec(name) for name in case.needs):
            able.append(case)
    return able


def in_fork(work: Callable[[], int], seconds: float) -> tuple[str, int | None]:
    """What a fork that does `work` wrote to standard output, and its status: None where it had to be ended."""
    output = os.memfd_create("output")
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        status = 255
        try:
            status = work()
            sys.stdout.flush()
        finally:
            os._exit(status)
    deadline, status = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        found, how = os.waitpid(pid, os.WNOHANG)
        if found:
            status = os.waitstatus_to_exitcode(how)
            break
        time.sleep(0.002)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
    text = os.pread(output, OUTPUT_BYTES, 0).decode("utf-8", "replace")
    os.close(output)
    return text, status


class Host:
    """Where a contender is opened: here, for one that gives guest code a process of its own, else in a fork."""

    def __init__(self, kind: type[Contender]) -> None:
        self.kind = kind
        self._stack = ExitStack()
        self._open: dict[str, Callable[..., Contender]] = {}

    def _opened(self, profile: str) -> Callable[..., Contender]:
        if profile not in self._open:
            kind = type(self.kind.__name__, (self.kind,), {"profile": profile})
            self._open[profile] = self._stack.enter_context(kind.service())
        return self._open[profile]

    def do(self, work: Callable[[Contender], Iterator[str | int]], profile: str) -> tuple[str, int | None]:
        """What a session wrote, and the last number of `work`; None where it took too long, or ended the host."""
        if self.kind.apart:
            opened, text, status = self._opened(profile), "", None
            with suppress(OSError, SubprocessError), closing(opened(STOP_SECONDS)) as session:
                for said in work(session):
                    text, status = (text + said, status) if isinstance(said, str) else (text, said)
            return text, status

        def alone() -> int:
            status = 0
            with self.kind.service() as opened:
                for said in work(opened(STOP_SECONDS)):
                    if isinstance(said, str):
                        sys.stdout.write(said)
                    else:
                        status = said
            return status

        return in_fork(alone, PATIENCE)

    def close(self) -> None:
        self._stack.close()


def exact(host: Host, program: Program, wanted: Outcome) -> bool:
    """Whether a program prints what CPython prints and ends as it does. How errors are worded is not compared."""

    def work(session: Contender) -> Iterator[str | int]:
        status = session.program(program.source, program.stdin, [str(program.path), *program.argv])
        yield session.printed
        yield status & 127

    text, status = host.do(work, "standard")
    if status is None:
        return False
    return comparable(Outcome(text, "", status), program) == comparable(wanted._replace(stderr=""), program)


ENDED = 77
"""The status of a host that is well after an attempt."""


def attempt(host: Host, case: Case, world: World) -> str:
    """What an attempt achieved: `reached` the host or the machine, `ended` or hung the host, `language`, or nothing."""

    def work(session: Contender) -> Iterator[str | int]:
        for step in world.source(case, str(world.base)).split(STEP):
            with suppress(Exception):
                yield f"value: {session.run(step)!r:.10000}\n"
            yield session.printed
        yield ENDED

    world.clean()
    text, status = host.do(work, case.profile)
    if case.oracle.startswith("late"):
        time.sleep(3)
    if world.token in text or os.path.lexists(world.drop) or world.beacon.exists() or "ESCAPED hostpid" in text:
        return "reached"
    if world.bystander_suffers():
        return "reached"
    marked = "ESCAPED" in re.sub(r"ESCAPED-[A-Z]+", "", text)
    if marked and case.oracle == "marker":
        return "reached" if case.layer == "kernel" else "language"
    return "" if status == ENDED else "ended"


PROGRAM = "program "
"""How the names of those trials begin."""


def listed(kind: type[Contender], quick: bool) -> dict[str, Program | Case]:
    """All trials of a contender by name, in an order that stays the same."""
    every = 10 if quick else 1
    whole = programs()[::every] if not kind.why_not else []
    ways_out = attempts()[::every] if kind.boundary else []
    return {
        **{PROGRAM + one.path.stem: one for one in whole},
        **{f"{one.headers['id']}, {one.profile}": one for one in ways_out},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="What a contender runs and lets through, as lines of JSON.")
    parser.add_argument("contender", choices=BY_NAME)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    kind = BY_NAME[options.contender]
    answers = os.fdopen(os.dup(1), "w")
    for name in ("numpy", "pandas", kind.needs, "RestrictedPython" if kind.needs else ""):
        if name and importlib.util.find_spec(name):
            __import__(name)  # once, for all the forks
    wanted = json.load(sys.stdin)
    host, world = Host(kind), World()
    for trial in [*listed(kind, options.quick).values()][options.skip :]:
        if isinstance(trial, Program):
            got = "exact" if exact(host, trial, Outcome(*wanted[trial.path.stem])) else "differs"
        else:
            if world.bystander_suffers():
                world.close()
                world = World()
            got = attempt(host, trial, world)
        print(json.dumps({"got": got}), file=answers, flush=True)
    host.close()
    world.close()


if __name__ == "__main__":
    main()
