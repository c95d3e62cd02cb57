"""The map in `safeexec/README.md`, and the pages of rooms, are true: all that they name is there, and named."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import safeexec
from tests.alone import alone

HOUSE = Path(safeexec.__file__).parent
PROJECT = Path(__file__).resolve().parents[1]
PAGE = "".join((HOUSE / room / "README.md").read_text(encoding="utf-8") for room in ("", "engine", "language"))
TEXT = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)
OUTSIDE = ("tests/", "policies/", "benchmarks/")
PATH = re.compile(r"([\w./-]+(?:\.(?:py|yaml|jsonl?|md)|/))(?::(\w+))?")


def quoted(text: str) -> list[str]:
    """What stands in code quotes and is one word."""
    return re.findall(r"`([^`\s]+)`", text)


def paths(text: str) -> list[tuple[str, str]]:
    """The paths that a text names, each with the name behind its colon."""
    return [(found[1], found[2] or "") for word in quoted(text) if (found := PATH.fullmatch(word))]


def section(title: str) -> str:
    """The text below a heading, to the next one of its rank or a higher one."""
    _, _, rest = TEXT.partition(f"{title}\n")
    return re.split(rf"^#{{1,{title.count('#')}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(table: str) -> list[str]:
    cells = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    return [cell for cell in cells if cell not in ("---", "folder", "module", "word")]


def place(path: str) -> Path:
    return PROJECT / path if path.startswith(OUTSIDE) else HOUSE / path


@cache
def defined(path: Path) -> frozenset[str]:
    """The functions, classes and constants of a module, and of its classes. A local variable is none of these."""
    names = set()
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)
    return frozenset(names)


def test_every_folder_and_every_module_at_the_root_is_on_the_map_in_one_line() -> None:
    folders = {
        f"`{path.relative_to(HOUSE).as_posix()}/`"
        for path in HOUSE.rglob("*")
        if path.is_dir() and "__pycache__" not in path.parts and any(file.is_file() for file in path.iterdir())
    }
    assert sorted(first_cells(section("### Folders"))) == sorted(folders - {"`policies/`"})
    modules = sorted(f"`{path.name}`" for path in HOUSE.glob("*.py"))
    assert sorted(first_cells(section("### Modules at the root"))) == modules


def rows(title: str) -> dict[str, str]:
    """Folder or module → the cell that says where its tests are."""
    lines = [line.split("|") for line in section(title).splitlines() if line.startswith("| `")]
    return {cells[1].strip().strip("`").rstrip("/"): cells[5] for cells in lines}


def test_a_module_has_a_test_file_of_its_name_or_the_map_names_one() -> None:
    cells = rows("### Folders") | rows("### Modules at the root")
    homeless = []
    for path in HOUSE.rglob("*.py"):
        module = path.relative_to(HOUSE)
        own = PROJECT / "tests" / module.parent / f"test_{module.stem.strip('_')}.py"
        cell = cells.get(module.as_posix()) or cells.get(module.parent.as_posix(), "")
        if not own.is_file() and not any(tests.endswith(".py") for tests, _ in paths(cell)):
            homeless.append(module.as_posix())
    assert not homeless


def test_every_path_on_the_page_exists_is_spelt_as_one_and_defines_the_name_behind_its_colon() -> None:
    assert len(paths(PAGE)) > 150
    assert not [path for path, _ in paths(PAGE) if not place(path).exists()]
    assert not [word for word in quoted(TEXT) if ("/" in word or ".py" in word) and not PATH.fullmatch(word)]
    named = [(path, name) for path, name in paths(PAGE) if name]
    assert named
    assert not [f"{path}:{name}" for path, name in named if name not in defined(place(path))]


ROOMS = {path.name for path in HOUSE.iterdir() if path.is_dir()} | {"host", "child", "zygote", "linux", "syscalls"}
"""By one of these begins the name of a module in a docstring."""
SPELLED = re.compile(rf"(?<!`)`(?:safeexec\.)?((?:{'|'.join(sorted(ROOMS))})(?:\.\w+)+)`(?!`)")


@cache
def exported(path: Path) -> frozenset[str]:
    """What a module defines, and what a package has of its modules."""
    aliases = [node.names for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    return defined(path) | {alias.name for names in aliases for alias in names}


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    files = {path: ".".join(path.relative_to(HOUSE).with_suffix("").parts) for path in HOUSE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for path, name in files.items()}


def is_there(name: str) -> bool:
    """Whether a dotted name is that of a module here, or of what one defines."""
    words = name.split(".")
    for count in range(len(words), 0, -1):
        module = ".".join(words[:count])
        for path in (path for known, path in modules().items() if f".{known}".endswith(f".{module}")):
            if exported(path).issuperset(words[count:]):
                return True
    return False


def test_a_docstring_names_modules_that_are_there() -> None:
    texts = [(path, path.read_text(encoding="utf-8")) for path in HOUSE.rglob("*.py")]
    found = [
        (f"{path.relative_to(HOUSE)}:{node.lineno}", name)
        for path, text in texts
        if SPELLED.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for name in SPELLED.findall(node.value.value)
    ]
    assert len(found) > 50
    assert not [where for where in found if not is_there(where[1])]


def test_the_calls_of_a_step_are_functions_of_host_and_child() -> None:
    fence = PAGE.partition("## A step\n")[2].split("```\n")[1]
    host = [*(HOUSE / "api").glob("*.py"), *(HOUSE / "engine/host").rglob("*.py")]
    child = [*(HOUSE / "engine/child").rglob("*.py")]
    for line, room in zip(fence.splitlines(), (host, child, host), strict=True):
        known = frozenset[str]().union(*map(defined, room))
        assert not [name for name in re.findall(r"\w+", line) if name not in known]


def test_a_recipe_names_files_and_tests_and_a_life_has_ten_lines() -> None:
    recipes = [part for part in section("## Recipes").split("\n\n") if part.startswith("**") and "\nTests: " in part]
    assert len(recipes) >= 10
    for recipe in recipes:
        files, _, tests = recipe.partition("\nTests: ")
        assert [path for path, _ in paths(files) if not path.startswith("tests/")], recipe
        assert [path for path, _ in paths(tests) if path.startswith("tests/")], recipe
    for life in ("## A step", "## A checkpoint", "## A policy"):
        assert re.findall(r"^(\d+)\. ", section(life), re.MULTILINE) == [str(number) for number in range(1, 11)]


def test_a_word_has_one_meaning_and_is_in_use() -> None:
    words = first_cells(section("## Words"))
    assert len(words) == len(set(words)) <= 35
    source = " ".join(path.read_text(encoding="utf-8") for path in HOUSE.rglob("*.py")).lower()
    source = " ".join(source.split())
    assert not [word for word in words if word not in source]


IMPORTS = """
import json, sys
import safeexec
def ours(): return sorted(name for name in sys.modules if name.partition(".")[0] == "safeexec")
first = ours()
from safeexec import Sandbox
second = ours()
with Sandbox("calculator") as sandbox:
    sandbox.run("import math; math.sqrt(2)").check()
print(json.dumps([first, second, sorted(sys.modules)]))
"""


MOST_MODULES = 113
"""Of ours, that a plain first run imports in the host: each is in the start of every program."""


def test_start_up_imports_what_the_page_says() -> None:
    done = alone(IMPORTS, cwd=PROJECT, check=True)
    package, sandbox, run = json.loads(done.stdout)
    assert package == ["safeexec"]
    packages = ["safeexec", "safeexec.common", "safeexec.engine", "safeexec.engine.host"]
    packages += ["safeexec.api", "safeexec.engine.host.startup"]
    (row,) = [line for line in TEXT.splitlines() if line.startswith("| `from safeexec import Sandbox`")]
    modules = ["safeexec." + path.removesuffix(".py").replace("/", ".") for path, _ in paths(row)]
    assert sandbox == sorted(packages + modules)
    assert not {"yaml", "psutil", "RestrictedPython", "asttokens", "asyncio", "numpy", "typing_extensions"} & set(run)
    assert len([name for name in run if name.partition(".")[0] == "safeexec"]) <= MOST_MODULES
