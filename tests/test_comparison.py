"""The comparison with other systems: its engine measures, says why it cannot, and its report puts losses first."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.compare import __main__ as compare
from benchmarks.compare import report
from benchmarks.compare.__main__ import answers
from benchmarks.compare.bed import missing
from benchmarks.compare.contenders import BY_NAME, BareExec
from benchmarks.compare.rows import ROWS, Row, measured
from benchmarks.compare.trials import Host, attempt, attempts, exact
from benchmarks.compat.__main__ import by_cpython, programs
from tests.alone import alone
from tests.attempts import World
from tests.footprint import gone


def few(row: str, name: str) -> dict[str, Any]:
    """A row with one round."""
    with BY_NAME[name].service() as opened:
        return measured(ROWS[row]._replace(rounds=1), opened, name)


@pytest.mark.parametrize("row", ["session", "tool"])
def test_a_row_has_a_figure_for_each_that_can(row: str) -> None:
    for name in ("safeexec", "bare exec"):
        said = few(row, name)
        assert said["figure"] > 0, said


def test_who_cannot_or_fails_says_why() -> None:
    def samples(opened: Any) -> Iterator[float]:
        raise RuntimeError("no such thing")
        yield 0.0

    assert measured(Row("any", samples), BareExec, "any") == {"reason": "it fails: no such thing"}
    assert "nothing stops it" in few("stubborn", "bare exec")["reason"]
    assert "function of the host" in few("tool", "bare forked child")["reason"]


ONE = "import json, sys, os, time, subprocess; print(json.dumps({'figure': 1.0}), flush=True); "


@pytest.mark.parametrize(
    ("then", "reasons"),
    [
        ("", []),
        ("os._exit(3)", ["its host ended"]),
        # What holds its own output open, beyond its end and outside its group, is ended as well.
        (
            "print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, flush=True); time.sleep(600)",
            ["no answer"],
        ),
    ],
)
def test_an_answer_is_there_at_once_and_nothing_is_left(then: str, reasons: list[str], tmp_path: Path) -> None:
    said = list(answers([sys.executable, "-c", ONE + then], tmp_path / "errors.txt", patience=0.5))
    assert said[0] == {"figure": 1.0}
    with suppress(psutil.NoSuchProcess):
        gone([psutil.Process(one) for one in said if isinstance(one, int)])
    told = [one["reason"] for one in said[1:] if isinstance(one, dict)]
    assert len(told) == len(reasons) and all(one.startswith(reason) for one, reason in zip(told, reasons, strict=True))


def test_a_run_goes_on_with_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer is in the file at once; what was measured is not measured again."""
    monkeypatch.setattr(compare, "ROWS", {"step": ROWS["step"], "numbers": ROWS["numbers"]})
    monkeypatch.setattr(compare, "BY_NAME", {"bare exec": BareExec, "broken": Broken})
    first = compare.Run(tmp_path, quick=True)
    first.rows()
    kept = json.loads((tmp_path / "report.json").read_text())
    figures = kept["rows"]["step"]["figures"]
    assert figures["bare exec"]["figure"] > 0 and "invalid choice" in (tmp_path / "errors.txt").read_text()
    assert figures["broken"] == {"reason": "its host ended"}
    del kept["rows"]["numbers"]["figures"]["bare exec"]
    (tmp_path / "report.json").write_text(json.dumps(kept))
    second = compare.Run(tmp_path, quick=True)
    second.rows()
    assert second.known["rows"]["step"]["figures"] == figures
    assert second.known["rows"]["numbers"]["figures"]["bare exec"]["figure"] > 0
    with pytest.raises(SystemExit, match="another run"):
        compare.Run(tmp_path, quick=False)


class Broken(BareExec):
    """No process knows it."""

    name = "broken"


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
        (kernel,) = [one for one in attempts() if one.headers["id"] == "ag-asyncio-run-subprocess"]
        assert attempt(ours, kernel, world) == ""
    finally:
        ours.close()
        host.close()
        world.close()


def data() -> report.Report:
    names = ("safeexec", "safeexec, no undo", "bare exec", "Monty", "absent")
    row = {"what": "a step", "unit": "s", "more": False}
    figures = {
        "safeexec": {"figure": 2.0, "note": ""},
        "safeexec, no undo": {"figure": 1.9, "note": ""},
        "bare exec": {"figure": 0.5, "note": ""},
        "Monty": {"reason": "it fails"},
    }
    small = {name: {"figure": 1.0, "note": "once"} for name in names[:-1]}
    return {
        "date": "2026-01-01", "python": "3.12.0", "machine": "here", "quick": False,
        "contenders": {
            name: {
                "holds": "nothing", "apart": name != "bare exec", "boundary": "language", "version": "",
                "untried": "" if name == "safeexec" else "as safeexec",
                "missing": "not installed: pip install absent" if name == "absent" else "",
            }
            for name in names
        },
        "rows": {key: {**row, "figures": figures if key == "step" else small} for key in ROWS},
        "trials": {"safeexec": {"program a": "exact", "program b": "differs", "walk, standard": "", "run": "reached"}},
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
    done = alone(WRITE, str(tmp_path), input=json.dumps(data()), cwd=report.PROJECT)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "outdated" not in text
    assert (
        text.index("| a step | 2 s | bare exec 4 |")
        < text.index("a process of its own\n")
        < text.index("| safeexec | 1 of 2 | 2 | 1 | 0 | 0 |")
    )
    assert "- Monty: it fails (a step)." in text and "- absent: not installed: pip install absent.\n" in text
    assert "beside.svg" in readme.read_text() and "<svg" in (tmp_path / "beside.svg").read_text()
    assert (tmp_path / "times.png").stat().st_size > 10_000
