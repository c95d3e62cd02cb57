"""The page on the pipe: every program on it runs and prints what is shown, and its table is the table of methods."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

import safeexec
from safeexec import Result
from safeexec.remote.methods import METHODS, TIGHTENED
from tests.alone import ran, with_command

PAGE = (Path(safeexec.__file__).parent / "servers" / "README.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A pipe: for any language\n")[2].partition("\n## ")[0]


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return with_command(tmp_path)


def printed(argv: list[str], environment: dict[str, str]) -> str:
    done = ran(argv, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_line_of_a_shell(environment: dict[str, str]) -> None:
    line, shown = block("console").splitlines()
    beginning, _, end = shown.partition("…")
    answer = printed(["sh", "-c", line.removeprefix("$ ")], environment).rstrip()
    assert answer.startswith(beginning) and answer.endswith(end)


def test_the_client_in_javascript(environment: dict[str, str]) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    assert printed([node, "-e", block("js")], environment) == "set\n21\n"


def test_the_client_in_python(environment: dict[str, str]) -> None:
    assert printed([sys.executable, "-c", block("python")], environment) == "21\n"


def test_the_table_of_the_page_is_the_table() -> None:
    for method in METHODS.values():
        fields = msgspec.structs.fields(method.parameters)
        hidden = TIGHTENED if method.name != "session.branch" else ()
        names = [field.name + "?" * (not field.required) for field in fields if field.name not in hidden]
        names += ["checkpoints?", "any limit?"] if method.name == "sandbox.session" else []
        answer = "result" if method.answer is Result else ", ".join(method.answer.__struct_fields__) or "nothing"
        assert f"| `{method.name}` | {', '.join(names)} | {answer} |\n" in SECTION
    assert SECTION.count("\n| `") == len(METHODS)
