"""The README and the pages of `safeexec/docs/` are true: Python blocks run and print what they show; so do commands."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.alone import ran, with_command

PROJECT = Path(__file__).parent.parent
TEXT = (PROJECT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(PROJECT).as_posix(): path.read_text(encoding="utf-8")
    for path in (PROJECT / "README.md", *sorted((PROJECT / "safeexec/docs").glob("*.md")))
}
MOST_WORDS = 1_800
"""Of the README: whoever reads more than a page of it looks for something that has a page of its own."""
_FENCE = re.compile(
    r"(?:^<!-- needs: (?P<needs>.*?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r"^\$ (?P<line>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)


class Example(NamedTuple):
    """One Python block. `output` is the text block right behind it, or None. `place` is its page and line."""

    place: str
    source: str
    output: str | None
    needs: tuple[str, ...]


def place_in(page: str, offset: int) -> str:
    return f"{page}:{PAGES[page][:offset].count(chr(10)) + 1}"


def examples() -> Iterator[Example]:
    for page, text in PAGES.items():
        blocks = list(_FENCE.finditer(text))
        for block, after in zip_longest(blocks, blocks[1:]):
            if block["kind"] != "python":
                continue
            follows = after is not None and after["kind"] == "text" and not text[block.end() : after.start()].strip()
            needs = tuple(name.strip() for name in (block["needs"] or "").split(",") if name)
            output = after["body"] if follows and after is not None else None
            yield Example(place_in(page, block.start()), block["body"], output, needs)


def commands() -> Iterator[tuple[str, str, str]]:
    for page, text in PAGES.items():
        for block in _FENCE.finditer(text):
            if block["kind"] == "console":
                for found in _COMMAND.finditer(block["body"]):
                    yield place_in(page, block.start()), found["line"], found["output"]


EXAMPLES = list(examples())
COMMANDS = list(commands())


def matches(shown: str, printed: str) -> bool:
    """Whether it is what is shown. `…` is any rest of a line."""
    return re.fullmatch(re.escape(shown).replace("…", ".*"), printed) is not None


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return with_command(tmp_path)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.place for example in EXAMPLES])
def test_python_block_runs_and_prints_what_is_shown(example: Example, tmp_path: Path, home: dict[str, str]) -> None:
    for name in example.needs:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    script = tmp_path / "example.py"
    script.write_text(example.source, encoding="utf-8")
    done = ran([sys.executable, script], cwd=tmp_path, env=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if example.output is not None:
        assert matches(example.output, done.stdout), done.stdout


@pytest.mark.parametrize(("place", "line", "output"), COMMANDS, ids=[line for _, line, _ in COMMANDS])
def test_command_prints_what_is_shown(place: str, line: str, output: str, tmp_path: Path, home: dict[str, str]) -> None:
    done = ran(["sh", "-c", f"{line} 2>&1"], cwd=tmp_path, env=home)
    printed = done.stdout + (f"[exit status {done.returncode}]\n" if done.returncode else "")
    assert matches(output, printed), (place, printed)


def test_there_is_something_to_test() -> None:
    assert len([example for example in EXAMPLES if example.output is not None]) >= 8
    assert len(COMMANDS) >= 3


def test_the_readme_is_a_page_and_has_the_two_commands_for_newcomers() -> None:
    """What continuous integration runs is what a newcomer reads: one indented line that installs and runs the tests."""
    indented = [line.strip() for line in TEXT.splitlines() if line.startswith("    pip install")]
    assert len(indented) == 2
    assert "safeexec run" in indented[0]
    assert "pytest" in indented[1]
    assert len(TEXT.split()) <= MOST_WORDS


def test_the_first_command_of_the_readme_prints_the_root_of_two(tmp_path: Path, home: dict[str, str]) -> None:
    (command,) = re.findall(r"^    pip install \. && (.*)$", TEXT, re.MULTILINE)
    assert ran(["sh", "-c", command], cwd=tmp_path, env=home, check=True).stdout == "1.4142135623730951\n"
