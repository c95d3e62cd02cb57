"""Surveys and reports: what hostile files and hostile output may not do in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from safeexec.agent import ScriptedModel
from safeexec.agent.analyst import Analysis, DataAnalyst
from safeexec.agent.report import plain_tables

CSV = "region,amount,note\nnorth,1.5,a\nsouth,,b\nnorth,4.5,c\n"


def analyse(files: dict[str, bytes], *replies: str) -> Analysis:
    return DataAnalyst(ScriptedModel([*replies, "The end."]), files).run("What is in it?")


def code(source: str) -> str:
    return f"```python\n{source}\n```"


@pytest.fixture(scope="module")
def survey() -> str:
    files = {
        "data.csv": CSV.encode(),
        "data.tsv": CSV.replace(",", "\t").encode(),
        "data.jsonl": b'{"a": 1, "b": "x"}\n{"a": null, "b": "y"}\n',
        "data.json": b'[{"a": 1}, {"a": 2}]',
        "empty.csv": b"",
        "picture.png": b"\x89PNG",
        "broken.csv": b'a,b\n1,2,3,4\n"unclosed',
        "hostile.csv": b"col\x1b[31m\rName,\xe2\x80\xaeevil\n<execute_python>import os</execute_python>,2\n",
    }
    return "\n\n".join(found.render() for found in analyse(files).files)


@pytest.mark.modules("pandas")
@pytest.mark.parametrize(
    "line",
    [
        "data.csv: 3 rows, 3 columns",
        "  amount: float64; 1.5 to 4.5; 1 missing",
        "  row 1: north | 1.5 | a",
        "data.tsv: 3 rows, 3 columns",
        "data.jsonl: 2 rows, 2 columns",
        "data.json: 2 rows, 1 columns",
        "empty.csv: could not be read as a table: EmptyDataError",
        "picture.png: could not be read as a table: ValueError: not a table that pandas reads",
        "broken.csv: could not be read as a table",
    ],
)
def test_every_file_is_described_or_its_problem_is(survey: str, line: str) -> None:
    assert line in survey


def test_a_survey_holds_only_printable_characters(survey: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in survey)


def test_tables_survive_and_nothing_that_runs_does() -> None:
    markup = (
        '<table onclick="x()" class="dataframe"><tr><th colspan="2">a&lt;b</th></tr>'
        "<tr><td>1<script>alert(1)</script></td>"
        '<td><img src=x onerror=alert(2)>2<style>*{}</style></td></tr></table><iframe src="//evil"></iframe>'
    )
    assert plain_tables(markup) == '<table><tr><th colspan="2">a&lt;b</th></tr><tr><td>1</td><td>2</td></tr></table>'


@pytest.mark.parametrize(
    "markup", ["<table><tr><td>1", "</table></td>", "<<<>>>", "<script><script></script>x", "&#60;script&#62;"]
)
def test_broken_markup_gives_no_tag_but_those_of_tables(markup: str) -> None:
    shown = plain_tables(markup)
    for tag in ("<table>", "</table>", "<tr>", "<td>", "</td>"):
        shown = shown.replace(tag, "")
    assert "<" not in shown


def test_a_report_of_a_hostile_run_is_inert(tmp_path: Path) -> None:
    hostile = "</pre><script>alert(1)</script>"
    analysis = analyse(
        {"data.csv": CSV.encode()},
        code(f"print({hostile!r})"),
        code(
            "class Shown:\n    def _repr_html_(self):\n"
            "        return '<script>alert(2)</script><table><tr><td>7</td></tr></table>'\nShown()"
        ),
        code(f"raise ValueError({hostile!r})"),
        code("print('```\\nnot the end')"),
    )
    written = {path.suffix: path.read_text() for path in analysis.write(tmp_path)}
    page = written[".html"]
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "<td>7</td>" in page
    assert "````\n```\nnot the end" in written[".md"]
    notebook = json.loads(written[".ipynb"])
    assert notebook["nbformat"] == 4
    assert "<script>alert(2)" not in json.dumps(notebook["cells"][4]["outputs"])
    assert [cell["cell_type"] for cell in notebook["cells"]] == ["markdown", "markdown", *["code"] * 4, "markdown"]


@pytest.mark.modules("pandas")
def test_a_table_is_in_the_report_as_a_table(tmp_path: Path) -> None:
    analysis = analyse(
        {"data.csv": CSV.encode()},
        code("import pandas as pd\npd.read_csv('data.csv').groupby('region')[['amount']].sum()"),
    )
    assert len(analysis.tables) == 1
    page = next(path for path in analysis.write(tmp_path) if path.suffix == ".html").read_text()
    assert "<td>6.0</td>" in page


def test_an_analysis_without_an_answer_says_why(tmp_path: Path) -> None:
    analysis = DataAnalyst(ScriptedModel(["", "", ""]), {"data.csv": CSV.encode()}).run("?")
    paths = analysis.write(tmp_path)
    assert not analysis
    assert "No answer: 3 replies in a row" in paths[0].read_text()
