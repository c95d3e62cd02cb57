"""safeexec beside other systems: `python -m benchmarks compare --report DIR [--quick] [--write]`.

    pip install '.[bench]' && apt-get install bubblewrap && npm install --prefix ~/.cache/safeexec-bench pyodide

Writes `report.md`, `report.json` and plots into DIR; with `--write` also the tables of `benchmarks/README.md` and the
picture of the project's README. About five minutes; the machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.compare import bed, report
from benchmarks.compare.contenders import BY_NAME, CONTENDERS, Contender
from benchmarks.compare.rows import ROWS, Row
from benchmarks.compat.__main__ import by_cpython, programs

LANES = 2
"""How many contenders are tried, or measured on a core of their own, side by side."""
GROUP_SECONDS = 600.0
"""What the rows of one process may take together."""
DISTRIBUTIONS = {"pydantic_monty": "pydantic-monty"}
ALONE_SECONDS = 60.0
"""The same, of one contender: what never comes back must not keep the others waiting."""
Answers = Iterator[dict[str, Any]]


def lines_of(command: list[str], seconds: float, stdin: str = "", core: int | None = None) -> Answers:
    """The JSON lines that a command prints, those of a command that is ended or dies, too."""
    environment = {**os.environ, "LARGE": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    if core is not None:
        command = ["taskset", "-c", str(core), *command]
    with tempfile.TemporaryFile("w+") as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=environment,
        )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
    if process.returncode > 0:
        print(f"  {' '.join(command[-4:])}: {errors.strip().splitlines()[-1:]}", file=sys.stderr)
    for line in output.splitlines():
        if line.endswith("}"):
            yield json.loads(line)


def measured(quick: bool) -> dict[str, dict[str, dict[str, Any]]]:
    """Row → contender → its figure, or why there is none."""
    found: dict[str, dict[str, dict[str, Any]]] = {key: {} for key in ROWS}
    here = [one for one in CONTENDERS if not one.missing()]
    cores = sorted(os.sched_getaffinity(0))[:LANES]

    def rows(chosen: dict[str, Row], names: list[str], seconds: float, core: int | None = None) -> None:
        print(f"  {', '.join(chosen)}: {', '.join(names)}", flush=True)
        who = [part for name in names for part in ("--contender", name)]
        left = list(chosen)
        while left:
            command = [sys.executable, "-m", "benchmarks.compare.rows", *left, *who, *(["--quick"] if quick else [])]
            before = len(left)
            for answer in lines_of(command, seconds, core=core):
                left = [key for key in left if key != answer["row"]]
                found[answer.pop("row")][answer.pop("contender")] = answer
            if len(left) == before or seconds == ALONE_SECONDS:
                for key in left[:1]:
                    print(f"  {key}: no answer", flush=True)
                left = left[1:]

    def some(alone: bool, spread: bool) -> dict[str, Row]:
        return {key: row for key, row in ROWS.items() if (row.alone, row.spread) == (alone, spread)}

    everybody = [one.name for one in here]
    rows(some(alone=False, spread=False), everybody, GROUP_SECONDS)
    rows(some(alone=False, spread=True), everybody, GROUP_SECONDS)
    waiting = list(reversed(everybody))

    def lane(core: int) -> None:
        while waiting:
            rows(some(alone=True, spread=False), [waiting.pop()], ALONE_SECONDS, core)

    with ThreadPoolExecutor(len(cores)) as pool:
        list(pool.map(lane, cores))
    for name in everybody:
        rows(some(alone=True, spread=True), [name], ALONE_SECONDS)
    for figures in found.values():
        for one in CONTENDERS:
            figures.setdefault(one.name, {"reason": one.missing() or "it did not come back, or ended its host"})
    return found


def tried(kind: type[Contender], wanted: str, quick: bool) -> list[dict[str, Any]]:
    """All trials of a contender. One that ends everything there counts as such, and the next goes on behind it."""
    found: list[dict[str, Any]] = []
    while True:
        command = bed.command([sys.executable, "-m", "benchmarks.compare.trials", kind.name])
        command += [*(["--quick"] if quick else []), "--skip", str(len(found))]
        came = list(lines_of(command, GROUP_SECONDS, wanted))
        found += came
        if not came or came[-1].get("last"):
            return found[:-1] if came else found
        found.append({"attempt": "", "layer": "", "got": "ended"})


def all_trials(quick: bool) -> dict[str, dict[str, Any]]:
    """Contender → what it ran and let through, or why that is not known."""
    missing = bed.missing()
    wanted = json.dumps({one.path.stem: by_cpython(one) for one in programs()})
    found: dict[str, dict[str, Any]] = {}

    def one(kind: type[Contender]) -> None:
        if reason := kind.missing() or (missing if kind.runs else kind.why_not):
            found[kind.name] = {"reason": reason}
            return
        trials = tried(kind, wanted, quick)
        ran = [trial for trial in trials if "program" in trial]
        attempts = [trial for trial in trials if "attempt" in trial]
        found[kind.name] = {
            "programs": len(ran),
            "exact": sum(trial["exact"] for trial in ran),
            "attempts": len(attempts),
            **{kind: sum(trial["got"] == kind for trial in attempts) for kind in ("reached", "ended", "language")},
            "through": [trial["attempt"] for trial in attempts if trial["got"]],
        }
        print(f"  {kind.name}: {found[kind.name]['exact']} of {len(ran)} programs", flush=True)

    with ThreadPoolExecutor(LANES) as pool:
        list(pool.map(one, CONTENDERS))
    return found


def version(kind: type[Contender]) -> str:
    try:
        return metadata.version(DISTRIBUTIONS.get(kind.needs, kind.needs)) if kind.needs else ""
    except metadata.PackageNotFoundError:
        return ""


def main() -> int:
    """0 once the report is written."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks compare", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--report", type=Path, metavar="DIR", default=Path("report"), help="default: report")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller sizes, every tenth trial")
    parser.add_argument("--write", action="store_true", help="also the tables and the picture of the project's pages")
    parser.add_argument("--again", action="store_true", help="measure nothing: from DIR/report.json")
    options = parser.parse_args()
    options.report.mkdir(parents=True, exist_ok=True)
    kept = options.report / "report.json"
    if not options.again:
        print("rows", flush=True)
        figures = measured(options.quick)
        print("programs and attempts", flush=True)
        said = {
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores",
            "quick": options.quick,
            "contenders": {
                name: {"holds": one.holds, "apart": one.apart, "boundary": one.boundary, "version": version(one)}
                for name, one in BY_NAME.items()
            },
            "rows": {
                key: {"what": row.what, "unit": row.unit, "more": row.more, "figures": figures[key]}
                for key, row in ROWS.items()
            },
            "trials": all_trials(options.quick),
        }
        kept.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    report.write(json.loads(kept.read_text(encoding="utf-8")), options.report, pages=options.write)
    print(f"written: {options.report}/report.md, report.json and plots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
