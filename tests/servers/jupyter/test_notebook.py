"""A session behind cells: what they show, their magics, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from safeexec.servers.jupyter import introspection
from safeexec.servers.jupyter.notebook import MAX_BARS, Notebook, Page, _StepOutput, split


class Recorded(Page):
    """A page that remembers what is shown on it."""

    def __init__(self) -> None:
        self.streams: dict[str, str] = {"stdout": "", "stderr": ""}
        self.shown: list[tuple[str, str | None, bool]] = []
        self.values: list[str] = []
        self.order: list[str] = []

    def stream(self, name: str, text: str) -> None:
        self.streams[name] += text
        self.order.append(text)

    def show(self, data: Mapping[str, Any], display_id: str | None = None, update: bool = False) -> None:
        self.shown.append((data["text/plain"], display_id, update))
        self.order.append(data["text/plain"])

    def clear(self, wait: bool) -> None:
        self.order.append("clear at the next" if wait else "clear")

    def value(self, data: Mapping[str, Any]) -> None:
        self.values.append(data["text/plain"])


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    made = Notebook("calculator")
    yield made
    made.close()


def run(notebook: Notebook, cell: str) -> tuple[Recorded, list[str]]:
    """What the cell showed, and why it failed in lines."""
    page = Recorded()
    failure = notebook.run(cell, page)
    return page, failure.lines if failure else []


def test_streams_values_and_displays_are_shown_once_and_too_many_are_told(notebook: Notebook) -> None:
    page, failed = run(notebook, "import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(1)\n6 * 7")
    assert not failed
    assert page.streams == {"stdout": "a\n", "stderr": "b\n"}
    assert (page.shown, page.values) == ([("1", None, False)], ["42"])
    assert run(notebook, "None")[0].values == []
    page, _ = run(notebook, "class Rich:\n    def _repr_html_(self): return '<b>'\ndisplay(Rich())\nRich()")
    assert len(page.shown) == len(page.values) == 1
    page, _ = run(notebook, "handle = display(1, display_id=True)\nhandle.update(2)")
    (first, name, _), (second, again, update) = page.shown
    assert (first, second, name == again, update) == ("1", "2", True, True)
    page, _ = run(notebook, "for n in range(1000): display(n)")
    assert len(page.shown) == 51
    assert "950 more displays were left out" in page.shown[-1][0]


def test_checkpoints_rollbacks_and_variables(notebook: Notebook) -> None:
    run(notebook, "x = 1")
    assert "checkpoint one" in run(notebook, "%checkpoint one")[0].streams["stdout"]
    run(notebook, "x = 2")
    run(notebook, "x = 3")
    run(notebook, "%rollback")
    assert run(notebook, "x")[0].values == ["2"]
    run(notebook, "%rollback one")
    assert run(notebook, "x")[0].values == ["1"]
    assert "one" in run(notebook, "%checkpoints")[0].shown[0][0]
    assert run(notebook, "%vars")[0].shown[0][0].splitlines()[1].split()[:2] == ["x", "int"]
    assert "CheckpointError" in run(notebook, "%rollback nowhere")[1][0]


def test_what_the_policy_says(notebook: Notebook) -> None:
    _, failed = run(notebook, "import socket")
    assert [line for line in failed if line.startswith("rule: calculator.yaml:")]
    assert "calculator.yaml" in run(notebook, "%policy")[0].shown[0][0]
    assert "refused by" in run(notebook, "%why socket")[0].streams["stdout"]
    assert "input(prompt" in run(notebook, "%card")[0].streams["stdout"]
    assert "WorkspaceError" in run(notebook, "%files")[1][0]
    assert "WorkspaceError" in run(notebook, "%%writefile a.py\nx = 1")[1][0]


NO_PYTHON = [
        ("!pip install x", "Nothing can be installed"), ("%%html\n<b>", "IPython.display"), ("%run x.py", "import it"),
        ("%nothing", "%checkpoint"), ("%%bash\nls", "no shell"), ("x = 1\n%time x", "Magics begin a cell"),
        ("%%capture kept\n1", "redirect_stdout"), ("x = 1\n!ls", "no shell"),
]  # fmt: skip


def test_what_is_no_python_and_strange_cells_have_defined_answers(notebook: Notebook) -> None:
    for cell, hint in NO_PYTHON:
        _, failed = run(notebook, cell)
        assert hint in failed[-1], cell
    for cell in ("a\0b", "'\ud800'", "%checkpoint \ud800", "%why \ud800\0", "(" * 5000):
        page, failed = run(notebook, cell)
        for text in (*page.values, *page.streams.values(), *failed):
            text.encode()
    assert run(notebook, "6 * 7")[0].values == ["42"]


def test_the_value_of_the_last_cell_has_a_name(notebook: Notebook) -> None:
    assert "is not defined" in " ".join(run(notebook, "_")[1])
    run(notebook, "6 * 7")
    assert run(notebook, "None\n_ + 1")[0].values == ["43"]
    run(notebook, "x = _")
    assert (run(notebook, "x, _")[0].values, run(notebook, "%rollback")[1]) == (["(43, 43)"], [])
    assert run(notebook, "_")[0].values == ["43"]
    assert "`_`" in run(notebook, "Out[1]")[1][-1]


def test_a_name_with_a_question_mark_is_explained() -> None:
    with closing(Notebook("standard")) as notebook:  # whose programs may ask for a signature
        run(notebook, "def area(side: float) -> float:\n    'Of a square.'\n    return side * side")
        for cell in ("area?", "?area", " area?? "):
            told = run(notebook, cell)[0].streams["stdout"]
            assert "area(side: float) -> float" in told and "Of a square." in told
        assert run(notebook, "nothing_here?")[1][0] == "Refused: nothing is known of nothing_here"
        assert run(notebook, "%whos")[0].shown[0][0].splitlines()[1].split()[0] == "area"


def test_code_after_magics_runs_with_its_own_line_numbers_and_is_timed(notebook: Notebook) -> None:
    run(notebook, "numbers = [3, 1, 2]")
    said = r"\S+ [mun]?s ± \S+ [mun]?s per loop \(mean ± std. dev. of %s runs, %s loops each\)\n"
    for cell, runs, loops in (
        ("%timeit -n 10 -r2 sorted(numbers)", "2", "10"),
        ("%%timeit -r 1\nimport time\nif numbers:\n    time.sleep(0.03)", "1", "10?"),  # measured for 0.2 s or more
    ):
        page, failed = run(notebook, cell)
        assert not failed and re.fullmatch(said % (runs, loops), page.streams["stdout"])
    assert "ZeroDivisionError" in " ".join(run(notebook, "%timeit 1 / 0")[1])
    (rows,) = run(notebook, "%vars")[0].shown
    assert [line.split()[0] for line in rows[0].splitlines()] == ["name", "numbers"]
    _, failed = run(notebook, "%matplotlib inline\n\n1 / 0")
    assert any("line 3" in line for line in failed)
    assert split("%vars\n# and\nx = 1\n%vars") == (["%vars"], "\n# and\nx = 1\n%vars")
    assert split("# first\nx") == ([], "# first\nx")
    assert split("# only\n%vars\n") == (["%vars"], "")
    assert split("x = 1\n%matplotlib inline\n%config A.b = 1\nx") == ([], "x = 1\n\n\nx")
    assert split("%%time\nx = 1") == (["%%time"], "\nx = 1")
    assert split("%vars\n%time x = 1\ny") == (["%vars", "%time x = 1"], "\nx = 1\ny")
    page, failed = run(notebook, "%%time\n'timed'")
    assert (failed, page.values) == ([], ["'timed'"])
    assert re.fullmatch(r"CPU time: \S+ ms\nWall time: \S+ ms\n", page.streams["stdout"])


def test_a_cell_that_shows_nothing_and_what_is_taken_away_in_its_order(notebook: Notebook) -> None:
    page, failed = run(notebook, "%%capture\nimport sys\nprint('a')\ndisplay(1)\nprint('b', file=sys.stderr)\nx = 5\nx")
    assert (failed, page.streams, page.shown, page.values) == ([], {"stdout": "", "stderr": ""}, [], [])
    assert run(notebook, "x")[0].values == ["5"]
    assert any("line 3" in line for line in run(notebook, "%%capture\n\n1 / 0")[1])
    page, _ = run(notebook, "for i in range(60):\n    print('text', i)\n    display(i, clear=True)\nprint('end')\n7")
    steps = [part for i in range(60) for part in (f"text {i}\n", "clear", str(i))]
    assert (page.order, page.values) == ([*steps, "end\n"], ["7"])


def test_a_file_grows() -> None:
    with closing(Notebook("data-analysis")) as files:
        run(files, "%%writefile a.txt\none")
        run(files, "%%writefile -a a.txt\ntwo\n")
        assert run(files, "open('a.txt').read()")[0].values == [r"'one\ntwo\n'"]


@pytest.mark.modules("tqdm")
def test_a_bar_goes_with_what_is_cleared() -> None:
    waiting = "from tqdm import tqdm\nfor _ in tqdm(range(1)): display(clear='wait')"
    with closing(Notebook("data-analysis")) as other:
        page, _ = run(other, waiting)
        assert page.order == ["  0%|                    | 0/1", "clear at the next", "100%|████████████████████| 1/1"]


def test_bars_move_and_are_bounded() -> None:
    page = Recorded()
    output = _StepOutput(page)
    for description, done, total in (
        ("outer", 0.0, 2.0), ("inner", 0.0, 2.0), ("inner", 2.0, 2.0), ("outer", 1.0, 2.0), ("loss 0.1", 2.0, 2.0),
        ("", 1.0, None), ("", 2.0, None), ("", float("nan"), 3.0), ("inner", 0.0, 2.0),
    ):  # fmt: skip
        output.progress(description, done, total)
    assert [update for *_, update in page.shown] == [False, False, True, True, True, False, True, False, False]
    assert page.shown[0][1] == page.shown[3][1] == page.shown[4][1]
    for _ in range(1000):
        output.progress("again", 0.0, 1.0)
        output.progress("again", 1.0, 1.0)
    assert len({name for _, name, _ in page.shown}) == MAX_BARS


def test_a_sandbox_that_is_gone_begins_anew(notebook: Notebook) -> None:
    run(notebook, "x = 1")
    sandbox = notebook._sandbox
    assert sandbox is not None
    sandbox.close()
    _, failed = run(notebook, "x")
    assert "state: lost" in failed[-1]
    assert run(notebook, "6 * 7")[0].values == ["42"]
    notebook.close()
    assert "is closed" in run(notebook, "1")[1][0]


def test_a_policy_that_is_none_is_told_by_each_cell() -> None:
    notebook = Notebook("no-such-policy")
    assert "no-such-policy" in run(notebook, "1")[1][0]
    assert "no-such-policy" in run(notebook, "%vars")[1][0]
    notebook.close()


def test_the_history_has_the_cells_of_all_branches_and_no_look_ups(notebook: Notebook) -> None:
    run(notebook, "value_of_mine = 1")
    assert introspection.inspect(notebook.session, "value_of_mine")
    run(notebook, "%branch other\nvalue_of_mine = 2")
    told = run(notebook, "%history")[0].streams["stdout"]
    assert "value_of_mine = 1" in told and "value_of_mine = 2" in told
    assert "__doc__" not in told and "repr(" not in told
