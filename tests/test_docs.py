"""The pages agree with the code and with each other: links, anchors, tables, claims of SECURITY.md, the reference."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

import safeexec
from safeexec import Policy
from safeexec.api.options import RunOptions
from safeexec.api.plugins.source import Manifest
from safeexec.cli import COMMANDS
from safeexec.results import Result
from tests.alone import ran

PROJECT = Path(__file__).resolve().parents[1]
PLACES = ("*.md", ".github/*.md", "policies/*.md", "benchmarks/*.md", "safeexec/**/*.md", "tests/**/*.md")
PAGES = sorted(path for place in PLACES for path in PROJECT.glob(place))
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def anchors(path: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.*)$", FENCE.sub("", text_of(path)), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{slug.removesuffix(f'-{number - 1}')}-{number}"
        found.add(slug)
    return frozenset(found)


def links(path: Path) -> Iterator[tuple[Path, str]]:
    """Where a page's own links lead: a file, and an anchor or an empty text."""
    for target in LINK.findall(FENCE.sub("", text_of(path))):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield ((path.parent / file).resolve() if file else path), anchor


def section(path: Path, title: str) -> str:
    """The text below a heading, to the next one of its rank or a higher one."""
    _, found, rest = text_of(path).partition(f"\n{title}\n")
    assert found, f"{path.name} has no section {title!r}"
    return re.split(rf"^#{{1,{title.count('#')}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text: str) -> list[str]:
    """The words in code quotes of the first column of the tables."""
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("page", PAGES, ids=[path.relative_to(PROJECT).as_posix() for path in PAGES])
def test_links_lead_somewhere_and_no_half_of_a_merge_is_left(page: Path) -> None:
    wrong = []
    for file, anchor in links(page):
        if not file.exists():
            wrong.append(f"{file} does not exist")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            wrong.append(f"{file.name} has no heading #{anchor}")
    assert not wrong
    assert not re.findall(r"^(?:<{7}|={7}|>{7})(?: .*)?$", text_of(page), re.MULTILINE)


def test_the_readme_names_examples_that_there_are_and_the_page_of_uses_names_each() -> None:
    table = section(PROJECT / "README.md", "## I am building …")
    cells = [line.split(" | ")[1] for line in table.splitlines() if line.startswith("| ") and "](" in line]
    words = {word.removeprefix("safeexec example ") for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
    there = {path.stem for path in (PROJECT / "safeexec/examples").glob("*.py")}
    assert len(words & there) >= 10
    assert not {word for word in words - there if "_" in word}
    page = text_of(PROJECT / "safeexec/examples/README.md")
    assert not {name for name in there - {"__init__"} if f"({name}.py)" not in page}


def test_the_guide_has_every_command_field_of_a_result_keyword_of_a_step_and_key_of_a_manifest() -> None:
    named = first_cells(section(PROJECT / "safeexec/docs/guide.md", "## Command line"))
    assert sorted({words.split()[1] for words in named if words.startswith("safeexec ")}) == sorted(COMMANDS)
    told = FENCE.sub("", section(PROJECT / "safeexec/docs/guide.md", "## Steps and results"))
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", told))))
    assert not set(Result.__struct_fields__) - words
    assert not set(RunOptions.__annotations__) - words
    told = first_cells(section(PROJECT / "safeexec/docs/guide.md", "## Plugins"))
    assert sorted(told) == sorted(field.name for field in msgspec.structs.fields(Manifest))


def test_every_variable_of_the_environment_is_told() -> None:
    sources = " ".join(text_of(path) for path in (PROJECT / "safeexec").rglob("*.py"))
    read = set(re.findall(r"\bSAFEEXEC_[A-Z_]+\b", sources))
    assert read
    read -= {"SAFEEXEC_FLAG"}  # written, by `safeexec challenge`
    assert not read - set(first_cells(section(PROJECT / "safeexec/docs/operations.md", "## Environment variables")))


def test_recipes_of_policies_can_be_loaded(tmp_path: Path) -> None:
    rows = [line for line in section(PROJECT / "policies/README.md", "### Recipes").splitlines() if "`" in line]
    recipes = [re.findall(r"`([^`]+)`", row.split(" | ")[1]) for row in rows if row.startswith("| ")]
    assert len(recipes) > 8
    for parts in recipes:
        lines = [part for part in parts if re.match(r"\w+: ", part)]
        file = tmp_path / "mine.yaml"
        file.write_text("\n".join(lines if lines[0].startswith("extends") else ["extends: calculator", *lines]))
        Policy.load(file)


# Security


def claims() -> list[tuple[str, list[str]]]:
    """Number of each claim, and the tests that it names."""
    page = text_of(PROJECT / ".github/SECURITY.md")
    text = page.partition("<!-- claims -->")[2].partition("<!-- end of claims -->")[0]
    parts = re.split(r"^(\d+)\. ", text, flags=re.MULTILINE)[1:]
    return [
        (number, re.findall(r"`(tests/[^`]+)`", claim)) for number, claim in zip(parts[::2], parts[1::2], strict=True)
    ]


@pytest.mark.parametrize(("number", "tests"), claims(), ids=[number for number, _ in claims()])
def test_a_claim_names_tests_that_there_are(number: str, tests: list[str]) -> None:
    assert tests
    for test in tests:
        file, _, name = test.partition(":")
        tree = ast.parse(text_of(PROJECT / file))
        assert name in {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }


def test_claims_are_numbered_in_order() -> None:
    assert [int(number) for number, _ in claims()] == list(range(1, len(claims()) + 1))
    assert len(claims()) >= 20


# The reference


def test_one_command_builds_the_reference_and_its_links_hold(tmp_path: Path) -> None:
    if find_spec("pdoc") is None:
        pytest.skip("pdoc is not installed: pip install '.[docs]'")
    ran([sys.executable, "-m", "safeexec.docs", tmp_path], cwd=PROJECT, check=True)
    pages = {path.resolve(): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    main = (tmp_path / "safeexec.html").resolve()
    assert not set(safeexec.__all__) - ids[main]
    wrong = []
    for path, text in pages.items():
        for target in re.findall(r'<a [^>]*href="([^"]+)"', text):
            if not re.match(r"[a-z]+:|\$", target):
                file, _, anchor = target.partition("#")
                there = (path.parent / file).resolve() if file else path
                if there not in pages or (anchor and anchor not in ids[there]):
                    wrong.append(f"{path.name}: {target}")
    assert not wrong
