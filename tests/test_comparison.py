"""The comparison with other systems: its engine measures, says why it cannot, and its report puts losses first."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compare import report
from benchmarks.compare.bed import missing
from benchmarks.compare.contenders import BY_NAME, Process
from benchmarks.compare.rows import ROWS, Row, measure
from benchmarks.compare.trials import Host, attempt, attempts, exact
from benchmarks.compat.__main__ import by_cpython, programs
from tests.attempts import World


def few(row: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """A row with one round."""
    chosen = ROWS[row]._replace(rounds=1)
    found: dict[str, dict[str, Any]] = {}
    services = {name: BY_NAME[name].service() for name in names}
    opened = {name: service.__enter__() for name, service in services.items()}
    for answer in measure(chosen, opened):
        found[str(answer["contender"])] = answer
    for service in services.values():
        service.__exit__(None, None, None)
    return found


@pytest.mark.parametrize("row", ["step", "session", "numbers", "tool"])
def test_a_row_has_a_figure_for_each_that_can(row: str) -> None:
    found = few(row, ["safeexec", "bare exec"])
    assert all(said["figure"] > 0 for said in found.values()), found


def test_who_cannot_says_why() -> None:
    found = few("stubborn", ["bare exec"])
    assert "nothing stops it" in found["bare exec"]["reason"]
    assert "function of the host" in few("tool", ["bare forked child"])["bare forked child"]["reason"]


def test_a_failing_contender_has_a_reason_and_hinders_nobody() -> None:
    def samples(opened: Any) -> Iterator[float]:
        if opened == "broken":
            raise RuntimeError("no such thing")
        yield from itertools.repeat(2.0)

    found = list(measure(Row("any", samples), {"broken": "broken", "well": "well"}))  # type: ignore[dict-item]
    assert found == [
        {"contender": "broken", "reason": "it fails: no such thing"},
        {"contender": "well", "figure": 2.0, "note": ""},
    ]


def test_a_process_per_step_keeps_variables_and_functions() -> None:
    session = Process()
    session.run("import math\nx = [1]\ndef double(n): return 2 * n")
    session.run("x.append(double(4))\nprint(math.pi)")
    session.save()
    session.run("x = 0")
    session.back()
    assert session.get("x") == [1, 8]
    session.close()


def test_programs_and_attempts_are_judged() -> None:
    """By one that holds nothing back, in a fork: it runs the program, and the attempt gets what it wants."""
    if reason := missing():
        pytest.skip(reason)
    host, ours, world = Host(BY_NAME["bare exec"]), Host(BY_NAME["safeexec"]), World()
    try:
        (program,) = [one for one in programs() if one.path.stem == "stdin_exit_message"]
        assert exact(host, program, by_cpython(program))
        (walk,) = [one for one in attempts() if one.headers["id"] == "aw-type-dict-descriptor"]
        assert attempt(host, walk, world) == "language"
        assert attempt(ours, walk, world) == ""
    finally:
        ours.close()
        host.close()
        world.close()


def data() -> report.Report:
    names = ("safeexec", "safeexec, no undo", "bare exec", "Monty")
    row = {"what": "a step", "unit": "s", "more": False}
    figures = {
        "safeexec": {"figure": 2.0, "note": ""},
        "safeexec, no undo": {"figure": 1.9, "note": ""},
        "bare exec": {"figure": 0.5, "note": ""},
        "Monty": {"reason": "it fails"},
    }
    small = {name: {"figure": 1.0, "note": "once"} for name in names}
    trials: dict[str, Any] = {name: {"reason": "as the other"} for name in names}
    trials["safeexec"] = {"programs": 100, "exact": 99, "attempts": 7, "reached": 0, "ended": 0, "language": 0}
    return {
        "date": "2026-01-01", "python": "3.12.0", "machine": "here", "quick": False,
        "contenders": {
            name: {"holds": "nothing", "apart": name != "bare exec", "boundary": "language", "version": ""}
            for name in names
        },
        "rows": {key: {**row, "figures": figures if key == "step" else small} for key in ROWS},
        "trials": trials,
    }  # fmt: skip


WRITE = """\
import json, sys
from pathlib import Path
from benchmarks.compare import report
place = report.PROJECT = Path(sys.argv[1])
report.PAGE, report.README, report.PICTURE = place / "page.md", place / "readme.md", place / "beside.svg"
report.write(json.load(sys.stdin), place, pages=True)
"""


def test_the_report(tmp_path: Path) -> None:
    """Written by another process: matplotlib keeps its fonts open."""
    pytest.importorskip("matplotlib")
    page, readme = tmp_path / "page.md", tmp_path / "readme.md"
    for path in (page, readme):
        path.write_text(f"before\n{report.BEGIN}outdated\n{report.END}after\n")
    command = [sys.executable, "-c", WRITE, str(tmp_path)]
    done = subprocess.run(
        command, input=json.dumps(data()), cwd=report.PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "outdated" not in text
    assert text.index("| a step | 2 s | bare exec 4 |") < text.index("a process of its own\n") < text.index("99 of 100")
    assert "- Monty: it fails (a step)." in text
    assert "beside.svg" in readme.read_text() and "<svg" in (tmp_path / "beside.svg").read_text()
    assert (tmp_path / "times.png").stat().st_size > 10_000


def test_the_pages_have_a_place_for_it() -> None:
    for path in (report.PAGE, report.README):
        text = path.read_text(encoding="utf-8")
        assert text.count(report.BEGIN) == text.count(report.END) == 1
