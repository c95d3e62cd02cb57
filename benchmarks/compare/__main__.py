"""safeexec beside other systems: `python -m benchmarks compare --report DIR [--quick] [--write]`.

    pip install '.[bench]' && apt-get install bubblewrap && npm install --prefix ~/.cache/safeexec-bench pyodide

Each row of each contender is measured by a process of its own, which is ended if it does not answer. Each answer is
written to DIR/report.json at once: the same command again goes on with what is not there, and makes `report.md` and
plots of what is. `--write`: also the tables of `benchmarks/README.md` and the picture of the project's README. Under
eight minutes on two cores (`--quick`: five), which should have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

import psutil

from benchmarks.compare import bed, report
from benchmarks.compare.contenders import BY_NAME
from benchmarks.compare.rows import ROWS
from benchmarks.compare.trials import listed
from benchmarks.compat.__main__ import by_cpython, programs

AT_ONCE = 2
"""How many rows, or contenders with their trials, go on side by side, each row on a core of its own."""
PATIENCE = 15.0
"""Seconds that an answer may take where nothing else runs; on a busy machine so many times more."""
Answer = dict[str, Any]


def _answer(line: bytes) -> Answer | None:
    """A line that is an answer: programs that reach their host write what they like between ours."""
    with suppress(ValueError):
        if isinstance(found := json.loads(line), dict):
            return found
    return None


def answers(command: list[str], errors: Path, stdin: str = "", patience: float = PATIENCE) -> Iterator[Answer]:
    """The JSON lines that a command prints, each in time; at last a `reason` if it did not end well.

    At the end nothing of it is left.
    """
    seconds = patience * max(1.0, os.getloadavg()[0] / AT_ONCE)
    with tempfile.TemporaryFile("w+") as given, errors.open("a") as told:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=told, start_new_session=True)
    assert process.stdout is not None
    pending = b""
    try:
        while select.select([process.stdout], [], [], seconds)[0]:
            if not (data := os.read(process.stdout.fileno(), 1 << 16)):
                if process.wait(seconds):
                    yield {"reason": "its host ended"}
                return
            *whole, pending = (pending + data).split(b"\n")
            yield from (answer for line in whole if (answer := _answer(line)) is not None)
        yield {"reason": f"no answer within {seconds:g} s"}
    except subprocess.TimeoutExpired:
        yield {"reason": "it does not end"}
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill it and all below it, also what is in sessions of its own; reap it."""
    if process.poll() is None:
        for below in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                below.kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


class Run:
    """What is known by now, in a file."""

    def __init__(self, directory: Path, quick: bool) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / "report.json"
        self._errors = directory / "errors.txt"
        self._options = ["--quick"] if quick else []
        self._quick = quick
        self._lock = Lock()
        self._stopped = False
        kernel = ".".join(platform.release().split(".")[:2])
        self.known: report.Report = {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {kernel} {platform.machine()}, {os.cpu_count()} cores",
            "quick": quick,
            "rows": {
                key: {"what": row.what, "unit": row.unit, "more": row.more, "figures": {}} for key, row in ROWS.items()
            },
            "trials": {},
        }
        if self._path.exists():
            before = json.loads(self._path.read_text(encoding="utf-8"))
            same = ("python", "machine", "quick")
            if [before[key] for key in same] != [self.known[key] for key in same] or [*before["rows"]] != [*ROWS]:
                raise SystemExit(f"{self._path} is of another run ({', '.join(same)} or rows differ): name another DIR")
            self.known = before
        untried = bed.missing()
        self.known["contenders"] = {
            name: {
                "holds": one.holds, "apart": one.apart, "boundary": one.boundary, "missing": one.missing(),
                "untried": one.why_not or untried,
                "version": "" if one.missing() or not one.needs else metadata.version(one.needs),
            }
            for name, one in BY_NAME.items()
        }  # fmt: skip
        self._here = report.installed(self.known)

    def _keep(self) -> None:
        with self._lock:
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(self.known) + "\n", encoding="utf-8")
            new.replace(self._path)

    def rows(self) -> None:
        """Every row of every contender: two at a time with a core each, then one by one those that use all cores."""
        cores = [str(core) for core in sorted(os.sched_getaffinity(0))[:AT_ONCE]]
        for spread, places in ((False, cores), (True, [",".join(cores)])):
            self._side_by_side(
                lambda cell, cores: self._row(*cell, cores),
                [
                    (key, name)
                    for key, row in ROWS.items()
                    for name in self._here
                    if row.spread == spread and name not in self.known["rows"][key]["figures"]
                ],
                places,
            )

    def _row(self, key: str, name: str, cores: str) -> None:
        began = time.monotonic()
        command = ["taskset", "-c", cores, sys.executable, "-m", "benchmarks.compare.rows", key, name, *self._options]
        said, *_ = [*answers(command, self._errors), {"reason": "it says nothing"}]
        self.known["rows"][key]["figures"][name] = said
        self._keep()
        told = said.get("reason") or report.figure(said["figure"], ROWS[key].unit)
        print(f"  {ROWS[key].what}: {name}: {told} [{time.monotonic() - began:.1f} s]", flush=True)

    def trials(self) -> None:
        """All trials of all contenders."""
        wanted = json.dumps({one.path.stem: by_cpython(one) for one in programs()})
        able = [name for name in self._here if not self.known["contenders"][name]["untried"]]
        self._side_by_side(lambda name, _: self._tried(name, wanted), able, [""] * AT_ONCE)

    def _tried(self, name: str, wanted: str) -> None:
        """Those of one contender, from where an earlier run left off. What ends everything there counts as that."""
        began = time.monotonic()
        command = bed.command([sys.executable, "-m", "benchmarks.compare.trials", name, *self._options])
        found = self.known["trials"].setdefault(name, {})
        names = [*listed(BY_NAME[name], self._quick)]
        while (left := names[len(found) :]) and not self._stopped:
            told = answers([*command, "--skip", str(len(found))], self._errors, wanted)
            for trial, said in zip(left, chain(told, [{}]), strict=False):
                if self._stopped:
                    return
                found[trial] = said.get("got", "ended")
                self._keep()
                if "got" not in said:
                    break
        print(f"  {name}: {len(found)} trials [{time.monotonic() - began:.1f} s]", flush=True)

    def _side_by_side(self, work: Callable[[Any, str], None], items: list[Any], places: list[str]) -> None:
        """All the work, a thread for each place. When this is interrupted, each ends what it is at."""
        remaining = iter(items)

        def worker(place: str) -> None:
            for item in remaining:
                if self._stopped:
                    return
                work(item, place)

        with ThreadPoolExecutor(len(places)) as pool:
            try:
                list(pool.map(worker, places))
            except BaseException:
                self._stopped = True
                raise


def main() -> int:
    """0 once the report is written."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--report", type=Path, metavar="DIR", default=Path("report"), help="default: report")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes, every tenth trial")
    parser.add_argument("--write", action="store_true", help="also the tables and the picture of the project's pages")
    options = parser.parse_args()
    run = Run(options.report, options.quick)
    try:
        run.rows()
        run.trials()
    finally:
        report.write(run.known, options.report, pages=options.write)
        print(f"written: {options.report}/report.md, report.json and plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
