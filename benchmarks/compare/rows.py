"""The table of rows, and what measures one: `python -m benchmarks.compare.rows ROW CONTENDER [--quick]`.

Prints one JSON object. A row is a generator: it sets up a session, then gives one sample whenever it is asked; the
figure is their median.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import NamedTuple

from benchmarks.common import PROGRAM
from benchmarks.compare.contenders import BY_NAME, Cannot, Contender, Ours
from benchmarks.kernels import KERNELS

Open = Callable[..., Contender]
LIMIT = 1.0
"""Seconds after which an endless loop is stopped."""
LOOP = "while True: pass"
STUBBORN = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
QUICK = "--quick" in sys.argv


class Sample(float):
    """A figure with what is to be said of it."""

    note = ""


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def steps(source: str, prepare: str, batch: int = 1, pause: float = 0.0) -> Callable[[Open], Iterator[float]]:
    """Seconds of one step."""

    def samples(opened: Open) -> Iterator[float]:
        session = opened()
        try:
            session.run(prepare)
            while True:
                if pause:
                    time.sleep(pause)
                began = time.perf_counter()
                for _ in range(batch):
                    session.run(source)
                yield (time.perf_counter() - began) / batch
        finally:
            session.close()

    return samples


def a_session(opened: Open) -> Iterator[float]:
    """Seconds of a session with one step, closed."""

    def use() -> None:
        session = opened()
        try:
            session.run("x = 1 + 1")
        finally:
            session.close()

    while True:
        yield timed(use)


def values(prepare: str, size: int) -> Callable[[Open], Iterator[float]]:
    """Seconds of one value that comes to the host."""

    def samples(opened: Open) -> Iterator[float]:
        session = opened()
        try:
            session.run(prepare)
            if len(session.get("value")) != size:
                raise Cannot("the value comes back changed")
            while True:
                yield timed(lambda: session.get("value"))
        finally:
            session.close()

    return samples


def prepared(megabytes: int) -> str:
    """104 bytes for each `[i]`: the list, its item, the integer, the slot that holds it."""
    return f"x = 0\nstate = [[i] for i in range({megabytes * 1_000_000 // 104})]"


MEGABYTES = 10 if QUICK else 100


def saved(opened: Open) -> Iterator[float]:
    """Seconds to keep a state, change it, and have it back."""
    session = opened()
    try:
        session.run(prepared(MEGABYTES))

        def there_and_back() -> None:
            session.save()
            session.run("x = 1")
            session.back()
            session.run("assert x == 0 and state[-1][0] > 9")

        while True:
            yield timed(there_and_back)
    finally:
        session.close()


def through_a_file(opened: Open) -> Iterator[float]:
    """Seconds to make bytes of a state, and a new session of them."""
    session = opened()
    try:
        session.run(prepared(MEGABYTES))

        def again() -> None:
            other = session.file()
            other.run("assert state[-1][0] > 9")
            other.close()

        while True:
            yield timed(again)
    finally:
        session.close()


CALLS = 100


def tool_calls(opened: Open) -> Iterator[float]:
    """Seconds of one call of a function of the host."""
    session = opened()
    try:
        session.tools()
        session.run(f"def many():\n    for i in range({CALLS}):\n        last = add(a=i, b=1)\n    return last")
        while True:
            yield timed(lambda: session.run("last = many()")) / CALLS
    finally:
        session.close()


def recovery(source: str) -> Callable[[Open], Iterator[float]]:
    """Seconds from the limit until the next step has answered."""

    def samples(opened: Open) -> Iterator[float]:
        session = opened(LIMIT)
        try:
            session.run("x = 1")
            while True:
                began = time.perf_counter()
                note = session.stop(source, LIMIT)
                session.run("y = 1 + 1")
                sample = Sample(max(0.0, time.perf_counter() - began - LIMIT))
                sample.note = note
                if not note:
                    session.run("assert x == 1")
                session.run("x = 1")
                yield sample
        finally:
            session.close()

    return samples


BRANCHES = 10


def fan_out(opened: Open) -> Iterator[float]:
    """Seconds of one branch of a state of 10 MB, with its first step."""
    session = opened()
    try:
        session.run(prepared(10))

        def spread() -> None:
            made = session.branch(BRANCHES)
            for branch in made:
                branch.run("x = x + 1")
            for branch in made:
                branch.close()

        while True:
            yield timed(spread) / BRANCHES
    finally:
        session.close()


GRADED = "total = 0\nfor i in range(20_000):\n    total = total + i * i % 7\nprint(total)"


PR_SET_CHILD_SUBREAPER = 36


def cpu_seconds() -> float:
    """Of this process and of all that has come of it, ended or not: what loses its parent comes to it."""
    import psutil

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


def graded(workers: int) -> Callable[[Open], Iterator[float]]:
    """Programs per CPU second, each in a session of its own, by so many threads."""

    def samples(opened: Open) -> Iterator[float]:
        def one(_: int) -> None:
            session = opened()
            try:
                session.run(GRADED)
            finally:
                session.close()

        one(0)
        first = timed(lambda: one(0))
        count = max(workers, min(100, int(SECONDS / first)))
        with ThreadPoolExecutor(workers) as pool:
            while True:
                before = cpu_seconds()
                list(pool.map(one, range(count)))
                # What a closed session leaves to be reaped is counted where it was reaped.
                time.sleep(0.2)
                yield count / (cpu_seconds() - before)

    return samples


def memory(opened: Open) -> Iterator[float]:
    """MB of private memory that a session adds, at rest: of this process and of all below it."""
    import psutil

    def private() -> float:
        own = psutil.Process()
        try:
            found = [process.memory_full_info().uss for process in (own, *own.children(recursive=True))]
        except psutil.AccessDenied:
            raise Cannot("the memory of its processes may be read by root alone") from None
        return sum(found) / 1e6

    def more() -> None:
        sessions.append(opened())
        sessions[-1].run("x = 1")

    sessions: list[Contender] = []
    more()
    count = 4 if timed(more) > 0.2 or QUICK else 20
    time.sleep(1.2)  # a session that rests gives memory back after half a second
    gc.collect()
    before = private()
    for _ in range(count):
        more()
    time.sleep(1.2)  # a session that rests gives memory back after half a second
    gc.collect()
    yield max(0.0, private() - before) / count
    for session in sessions:
        session.close()


def cold(name: str) -> Iterator[float]:
    """Seconds of a new Python that answers one step."""
    source = (
        "import sys\nfrom benchmarks.compare.contenders import BY_NAME\n"
        f"with BY_NAME[{name!r}].service() as opened:\n"
        "    session = opened()\n    session.run('x = 1 + 1')\n    session.close()\n"
    )
    command = [sys.executable, "-c", source]
    while True:
        yield timed(lambda: subprocess.run(command, check=True, capture_output=True))


class Row(NamedTuple):
    """One question. `cold` alone is asked by name, not by what opens sessions."""

    what: str
    samples: Callable[..., Iterator[float]]
    unit: str = "s"
    rounds: int = 30
    spread: bool = False
    """Whether all cores are used."""
    more: bool = False
    """Whether more is better."""


def computing(kind: str) -> Row:
    return Row(f"computing: {kind}", steps("for _ in range(10):\n    result = k()", KERNELS[kind]), rounds=10)


ROWS: dict[str, Row] = {
    "step": Row("step `x = x + 1`, back to back", steps("x = x + 1", "x = 0", batch=10), rounds=50),
    "pause": Row("the same after 10 ms of think time", steps("x = x + 1", "x = 0", pause=0.01)),
    "program": Row("program of 30 lines", steps(PROGRAM, "x = 0")),
    "session": Row("new session, one step, closed", a_session),
    "calls": computing("calls"),
    "objects": computing("objects"),
    "strings": computing("strings"),
    "numbers": Row("value: list of 10,000 numbers", values("value = list(range(10000))", 10_000)),
    "text": Row("value: 1 MB of text", values("value = 'x' * 1000000", 1_000_000)),
    "tool": Row("call of a host function", tool_calls, rounds=10),
    "saved": Row(f"{MEGABYTES} MB of objects kept, changed, brought back", saved, rounds=5),
    "file": Row(f"{MEGABYTES} MB of objects through a file to a new session", through_a_file, rounds=3),
    "fanout": Row("branch of 10 MB of objects, one step", fan_out, rounds=5, spread=True),
    "loop": Row("answers again after an endless loop", recovery(LOOP), rounds=3),
    "cold": Row("new Python to first result", cold, rounds=5),
    "memory": Row("private memory of a session at rest", memory, "MB", rounds=1),
    "stubborn": Row("answers again after a loop that catches everything", recovery(STUBBORN), rounds=3),
    **{
        f"graded{n}": Row(f"programs per CPU second, {n} workers", graded(n), "/s", 3, spread=True, more=True)
        for n in (1, 2, 4)
    },
}
SECONDS = 0.3 if QUICK else 0.6
"""What the samples of a row may take, beyond the first."""


def measured(row: Row, opened: Open, name: str) -> dict[str, object]:
    """The median of the samples and their note, or why there is none."""
    found: list[float] = []
    end = 0.0
    try:
        with closing(row.samples(name if row.samples is cold else opened)) as samples:  # type: ignore[type-var]
            for sample in samples:
                found.append(sample)
                end = end or time.perf_counter() + SECONDS
                if len(found) > row.rounds or time.perf_counter() > end:
                    break
    except Exception as error:  # each system has exceptions of its own
        told = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        return {"reason": told if isinstance(error, Cannot) else f"it fails: {told[:100]}"}
    # The first sample is a warm-up, where there are others.
    return {"figure": statistics.median(found[1:] or found), "note": getattr(found[0], "note", "")}


def main() -> None:
    parser = argparse.ArgumentParser(description="One row of the comparison, as a line of JSON.")
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("contender", choices=BY_NAME)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # RestrictedPython warns about each annotation
    Ours.large = True
    row = ROWS[options.row]
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what guests print is no answer
        with BY_NAME[options.contender].service() as opened:
            print(json.dumps(measured(row, opened, options.contender)), file=answers, flush=True)


if __name__ == "__main__":
    main()
