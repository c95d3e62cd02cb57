"""Attempts to get out. Each is judged from outside, by what it would have brought about, not by what it says.

`escapes/README.md` explains headers and oracles. A case of the language layer runs under the profile that its needs
ask for; one of the kernel layer takes that for broken and runs under `confined-python`; `both` runs twice. After each
case the host is alive, the same session answers, and so does a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from safeexec import Result, Sandbox
from tests.attempts import STEP, Case, World, read, suits
from tests.footprint import pause

TIMEOUT = 3.0
LATE_SECONDS = 4.0
"""By then the evidence of a case with a late oracle would be there."""
PROBE = "import json, math\nprint(json.dumps([len([1, 2]), math.floor(1.5)]))"
SLOW = {"memory", "disk", "inodes", "output", "parse", "procs", "cpu", "wall", "stack"}

# How a case that consumes something may end. Doing nothing about it is among them only where it ends by itself.
ENDS = {
    "cpu": {"timeout", "cpu", "memory", "error", "rejected", "ok"},
    "wall": {"timeout", "error", "rejected", "violation"},
    "memory": {"memory", "error", "timeout", "cpu", "rejected"},
    "output": {"output", "ok", "timeout", "memory", "cpu"},
    "stack": {"error", "crashed", "timeout", "memory", "cpu"},
    "parse": {"error", "rejected", "memory", "timeout", "crashed", "cpu", "ok"},
    "fds": {"error", "violation", "rejected"},
    "procs": {"error", "violation", "rejected", "timeout", "memory", "cpu", "ok"},
    "disk": {"error", "violation", "rejected", "timeout", "output"},
    "inodes": {"error", "violation", "rejected", "timeout", "output"},
    "crash": {"crashed", "rejected", "violation", "error"},
    "exit": {"ok", "error", "crashed", "rejected", "violation"},
}


def cases() -> Iterator[Any]:
    for case in read():
        marks = [pytest.mark.modules(*case.needs)] if case.needs else []
        if case.headers.get("consumes") in SLOW or case.oracle.startswith("late"):
            marks.append(pytest.mark.slow)
        if not suits(case.headers.get("version", "")):
            marks.append(pytest.mark.skip(reason=f"is about Python {case.headers['version']}"))
        yield pytest.param(case, id=f"{case.headers['id']}-{case.profile}", marks=marks)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.mark.parametrize("case", [*cases()])
def test_nothing_gets_out(case: Case, world: World, sandbox_for: Callable[[str], Sandbox]) -> None:
    world.clean()
    sandbox = sandbox_for(case.profile)
    before = host_peak(reset=True)
    with sandbox.session() as session:
        source = world.source(case, session.workspace or str(world.base))
        started = monotonic()
        results = [session.run(step, timeout=TIMEOUT) for step in source.split(STEP)]
        wall = monotonic() - started
        answer = session.run("1 + 1", timeout=10)
    if case.oracle.startswith("late"):
        until = monotonic() + LATE_SECONDS
        while monotonic() < until and not (world.drop.exists() or world.beacon.exists()):
            pause()
    problems = [*evidence(case, world, source, results)]
    if answer.value != 2:
        problems.append(f"the session no longer answers: {answer.outcome}")
    if sandbox.run(PROBE).stdout != "[2, 1]\n":
        problems.append("the next session is broken")
    if (kind := case.headers.get("consumes")) and results[-1].outcome not in ENDS[kind]:
        problems.append(f"it ended as {results[-1].outcome}")
    if (grown := host_peak() - before) > 400 + 8 * (len(source) >> 20):
        problems.append(f"the host grew by {grown} MiB")
    if wall > TIMEOUT * len(results) + 60:
        problems.append(f"it took {wall:.1f} s")
    assert not problems, [(result.outcome, result.error and result.error.message[:200]) for result in results]


def evidence(case: Case, world: World, source: str, results: list[Result]) -> Iterator[str]:
    """What shows that something got out."""
    printed = "".join(result.stdout + result.stderr for result in results)
    everything = printed + "".join(json.dumps(result.to_dict()) for result in results)
    if world.token in everything and world.token not in source:
        yield "the secret came out"
    if counts_as_marker(case) and "ESCAPED" in re.sub(r"ESCAPED-[A-Z]+", "", printed):
        yield "it printed ESCAPED"
    if case.oracle in ("drop", "latedrop") and os.path.lexists(world.drop):
        yield "a file was dropped outside the workspace"
    if case.oracle == "hostdrop" and world.drop.exists() and world.drop.read_text() == str(os.getpid()):
        yield "code ran in the host"
    if case.oracle == "hostpid" and f"ESCAPED hostpid {os.getpid()}" in everything:
        yield "code ran in the host"
    if case.oracle == "latebeacon" and world.beacon.exists():
        yield "something outlived its session and spoke"
    if case.oracle == "forged" and "ESCAPED-FORGED" in everything and results[-1].ok and "print" not in case.text:
        yield "a forged result was believed"
    if world.bystander_suffers():
        yield "a bystander process died or was stopped"


def counts_as_marker(case: Case) -> bool:
    """Whether the word ESCAPED in the output is evidence: of a case that only the language refuses it is none, for what
    such a program reaches is its own process.
    """
    return (
        case.oracle in ("marker", "pollution")
        and case.headers.get("layer") == "kernel"
        and case.headers.get("expect") != "harmless"
        and case.headers.get("severity") != "primitive"
    )


def host_peak(*, reset: bool = False) -> int:
    """This process's peak of resident memory in MiB."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) >> 10
