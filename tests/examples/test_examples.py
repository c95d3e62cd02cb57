"""Each example runs as it stands, offline, and prints what its docstring shows."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import safeexec
from safeexec.cli import main
from tests.alone import ran

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
def test_an_example_prints_what_it_says(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for library in needs(name):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
    assert main(["example", name]) == 0
    copy = tmp_path / "my.py"
    copy.write_text(capsys.readouterr().out, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key not in KEYS}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(FOLDER.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = ran([sys.executable, copy], cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
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
    allowed = (
        ast.Import,
        ast.ImportFrom,
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Assign,
        ast.AnnAssign,
    )
    *others, guard = ast.parse(source_of(name)).body
    assert isinstance(guard, ast.If) and ast.unparse(guard.test) == "__name__ == '__main__'"
    assert not [ast.unparse(node) for node in others[1:] if not isinstance(node, allowed)]


def test_the_list_names_each_example_with_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == EXAMPLES
    (row,) = [line for line in lines if line.startswith("csv_analyst ")]
    assert row.endswith("(needs: pandas, matplotlib)")


def test_an_unknown_name_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["example", "ten-line"]) == 2
    assert "did you mean ten_lines?" in capsys.readouterr().err
    assert main(["example", "../cli/run"]) == 2
    assert "there are buggy_discount, calculator" in capsys.readouterr().err
