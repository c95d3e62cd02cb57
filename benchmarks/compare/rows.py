"""The table of rows, and the engine that measures one: every contender in turn, or each in a process of its own.

python -m benchmarks.compare.rows ROW... [--contender NAME] [--quick]

Prints one JSON object per contender as it is known. A row is a generator: it sets up a session, then gives one sample
whenever it is asked. In turn means that the contenders are asked one after the other, round by round, so that a busy
machine disturbs all of them alike; the figure is the median of a contender's samples.
"""

from __future__ import annotations

import argparse
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
from contextlib import ExitStack
from typing import NamedTuple

from benchmarks.common import PROGRAM, one_core
from benchmarks.compare.contenders import BY_NAME, Cannot, Contender, alarm
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


def cpu_seconds() -> float:
    """Of this process and of all that has come of it, ended or not."""
    import psutil

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

        first = timed(lambda: one(0))
        count = max(4 * workers, min(100, int(1.5 / first)))
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

    first = opened()
    first.run("x = 1")
    sessions = []
    count = 4 if QUICK or timed(lambda: opened().close()) > 0.2 else 20
    time.sleep(1.2)  # a session that rests gives memory back after half a second
    gc.collect()
    before = private()
    for _ in range(count):
        session = opened()
        session.run("x = 1")
        sessions.append(session)
    time.sleep(1.2)  # a session that rests gives memory back after half a second
    gc.collect()
    yield max(0.0, private() - before) / count
    for session in (first, *sessions):
        session.close()


def cold(name: str) -> Iterator[float]:
    """Seconds of a new Python that answers one step."""
    source = (
        "import sys\nfrom benchmarks.compare.contenders import BY_NAME\n"
        f"with BY_NAME[{name!r}].service() as opened:\n"
        "    session = opened()\n    session.run('x = 1 + 1')\n    session.close()\n"
    )
    plain = {key: value for key, value in os.environ.items() if key != "LARGE"}  # a profile as it is shipped
    command = [sys.executable, "-c", source]
    while True:
        yield timed(lambda: subprocess.run(command, check=True, capture_output=True, env=plain))


class Row(NamedTuple):
    """One question. `cold` alone is asked by name, not by what opens sessions."""

    what: str
    samples: Callable[..., Iterator[float]]
    unit: str = "s"
    rounds: int = 30
    alone: bool = False
    """Whether each contender is measured in a process of its own."""
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
    "saved": Row(f"{MEGABYTES} MB of objects kept, changed, brought back", saved, rounds=5, alone=True),
    "file": Row(f"{MEGABYTES} MB of objects through a file to a new session", through_a_file, rounds=3, alone=True),
    "fanout": Row("branch of 10 MB of objects, one step", fan_out, rounds=5, spread=True),
    "loop": Row("answers again after an endless loop", recovery(LOOP), rounds=3, alone=True),
    "cold": Row("new Python to first result", cold, rounds=5, alone=True),
    "memory": Row("private memory of a session at rest", memory, "MB", rounds=1, alone=True),
    "stubborn": Row("answers again after a loop that catches everything", recovery(STUBBORN), rounds=3, alone=True),
    **{
        f"graded{n}": Row(
            f"programs per CPU second, {n} workers", graded(n), "/s", 3, alone=True, spread=True, more=True
        )
        for n in (1, 2, 4)
    },
}
SECONDS = 0.3 if QUICK else 1.0
"""What a contender may take for the samples of a row, beyond the first."""
FIRST_SECONDS = 20.0
"""What it may take to set up and for its first sample."""


def measure(row: Row, services: dict[str, Open]) -> Iterator[dict[str, object]]:
    """One object for each contender: its median and note, or why there is none."""
    with ExitStack() as stack:
        running: dict[str, Iterator[float]] = {}
        found: dict[str, list[float]] = {}
        left: dict[str, float] = {}
        for name, opened in services.items():
            try:
                with alarm(FIRST_SECONDS, "it"):
                    samples = row.samples(name if row.samples is cold else opened)
                    stack.callback(samples.close)  # type: ignore[attr-defined]
                    first = next(samples)
            except Exception as error:  # each system has exceptions of its own
                yield {"contender": name, "reason": reason(error)}
                continue
            running[name], found[name], left[name] = samples, [first], SECONDS
        for _ in range(row.rounds if not QUICK else min(row.rounds, 5)):
            for name, samples in running.items():
                if left[name] > 0:
                    began = time.perf_counter()
                    try:
                        found[name].append(next(samples))
                    except StopIteration:
                        left[name] = 0
                    left[name] -= time.perf_counter() - began
        for name, taken in found.items():
            # The first sample is a warm-up, where there are others.
            yield {
                "contender": name,
                "figure": statistics.median(taken[1:] or taken),
                "note": next((sample.note for sample in taken if isinstance(sample, Sample)), ""),
            }


def reason(error: Exception) -> str:
    """Why a contender has no figure, in one line."""
    told = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return told if isinstance(error, Cannot) else f"it fails: {told[:100]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Rows of the comparison, as lines of JSON.")
    parser.add_argument("rows", nargs="+", choices=ROWS)
    parser.add_argument("--contender", action="append", choices=BY_NAME)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # RestrictedPython warns about each annotation
    chosen = [BY_NAME[name] for name in options.contender or BY_NAME]
    with ExitStack() as stack:
        answers = stack.enter_context(os.fdopen(os.dup(1), "w"))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what guests print is no answer
        if not any(ROWS[row].spread for row in options.rows):
            stack.enter_context(one_core())
        services = {one.name: stack.enter_context(one.service()) for one in chosen if not one.missing()}
        for row in options.rows:
            for answer in measure(ROWS[row], services):
                print(json.dumps({"row": row, **answer}), file=answers, flush=True)


if __name__ == "__main__":
    main()
