"""Each example runs as it stands, offline, and prints what its docstring shows."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import safeexec
from tests.alone import importing, ran
from tests.conftest import Called

FOLDER = Path(safeexec.__file__).parent / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
KEYS = ("MISTRAL_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def source_of(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def docstring(name: str) -> str:
    return ast.get_docstring(ast.parse(source_of(name))) or ""


def needs(name: str) -> list[str]:
    found = re.search(r"^Needs: (.*)$", docstring(name), re.MULTILINE)
    return found[1].split(", ") if found else []


def shown(name: str) -> str:
    """What the docstring says that it prints: the indented block behind `Prints:`."""
    found = re.search(r"^Prints:\n\n((?:    .*\n|\n)+)", docstring(name) + "\n", re.MULTILINE)
    return dedent(found[1]).strip() if found else ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_says(name: str, tmp_path: Path, called: Called) -> None:
    for library in needs(name):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    copy = tmp_path / "my.py"
    copy.write_text(called("example", name).out, encoding="utf-8")
    environment = {key: value for key, value in importing().items() if key not in KEYS}
    done = ran([sys.executable, copy], cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(re.escape(shown(name)).replace("…", ".*"), done.stdout.strip()), done.stdout
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["my.py"], "left files"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_says_what_it_shows(name: str) -> None:
    summary, *_ = docstring(name).splitlines()
    assert summary.endswith(".") and len(summary) <= 115
    assert shown(name)
    assert len(source_of(name).removeprefix(f'"""{docstring(name)}').splitlines()) <= 115


@pytest.mark.parametrize("name", EXAMPLES)
def test_to_import_an_example_runs_nothing(name: str) -> None:
    """Tools that build a reference import every module."""
    allowed = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    *others, guard = ast.parse(source_of(name)).body
    assert isinstance(guard, ast.If) and ast.unparse(guard.test) == "__name__ == '__main__'"
    assert not [ast.unparse(node) for node in others[1:] if not isinstance(node, (*allowed, ast.Assign, ast.AnnAssign))]


def test_the_list_names_each_example_with_what_it_needs(called: Called) -> None:
    status, out, _ = called("example")
    lines = out.splitlines()
    assert status == 0 and [line.split()[0] for line in lines] == EXAMPLES
    (row,) = [line for line in lines if line.startswith("csv_analyst ")]
    assert row.endswith("(needs: pandas, matplotlib)")


@pytest.mark.parametrize(("name", "told"), [("ten-line", "mean ten_lines?"), ("../x", "there are buggy_discount")])
def test_an_unknown_name_is_answered_with_the_nearest(name: str, told: str, called: Called) -> None:
    unknown = called("example", name)
    assert unknown.status == 2 and told in unknown.err
