"""Imports run one way: a folder is a trust level, and what crosses between host and child is in `protocol` alone."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import safeexec
from tests.alone import ran

ROOT = Path(safeexec.__file__).parent
ENGINE = "engine/"
PACKAGES = ("safeexec", "safeexec.engine", "safeexec.engine.host")
"""From which modules are imported by name."""


def read_table() -> tuple[dict[str, set[str]], dict[str, set[str]], dict[str, set[str]]]:
    """The table of the map: a folder, or a file, with what it may import, and with what its own row spells of that; and
    the groups that have a name there.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows: dict[str, set[str]] = {}
    spelled: dict[str, set[str]] = {}
    groups: dict[str, set[str]] = {"nothing": set()}
    for line in text.partition("<!-- who may import whom -->")[2].partition("<!-- end -->")[0].splitlines()[3:]:
        names, listed = (cell.strip().split(": ")[0].split(", ") for cell in line.strip("|").split("|"))
        allowed = set().union(*({path_of(one)} if one.startswith("`") else groups[one] for one in listed))
        for name in names:
            (rows if name.startswith("`") else groups)[path_of(name)] = allowed
            if name.startswith("`"):
                spelled[path_of(name)] = {path_of(one) for one in listed if one.startswith("`")}
    return rows, spelled, groups


def path_of(name: str) -> str:
    return name.strip("`*").removesuffix("/").removesuffix(".py")


def key_of(path: Path) -> str:
    """A file as the table names it."""
    return str(path.relative_to(ROOT).with_suffix(""))


MAY_IMPORT, SPELLED, GROUPS = read_table()
FOLDERS = [name for name in MAY_IMPORT if (ROOT / name).is_dir()]


def modules(package: str) -> Iterator[Path]:
    yield from sorted((ROOT / package).rglob("*.py"))


class Class(NamedTuple):
    name: str
    bases: tuple[str, ...]
    private: frozenset[str]
    """The methods that begin with one underscore."""


class Module(NamedTuple):
    """What these tests look at of a file. All of its tree, of all files, would slow down every later test."""

    imports: list[ast.Import | ast.ImportFrom]
    classes: list[Class]
    type_checking: set[int]
    """Lines that only a type checker reads."""


@cache
def read(path: Path) -> Module:
    module = Module([], [], set())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module.imports.append(node)
        elif isinstance(node, ast.ClassDef):
            methods = [one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            private = frozenset(name for name in methods if name[0] == "_" and name[:2] != "__")
            bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
            module.classes.append(Class(node.name, bases, private))
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.body:
                module.type_checking.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return module


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every module of this package, but for the package itself, that a file imports."""
    package = ["safeexec", *path.relative_to(ROOT).with_suffix("").parts][:-1]
    for node in read(path).imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names] if module in PACKAGES else [module]
        for name in names:
            if name.startswith("safeexec."):
                yield node.lineno, name


def part(name: str) -> str:
    """The folder, or the module at the top, that a dotted name belongs to; public names belong to none: ``""``."""
    parts = name.split(".")[1:]
    if parts[:1] == ["engine"] and len(parts) > 1:
        return ENGINE + parts[1]
    known = parts and ((ROOT / parts[0]).is_dir() or (ROOT / f"{parts[0]}.py").exists())
    return parts[0] if known else ""


def run_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and path, as the table has paths, of what a file imports for others than type checkers."""
    for line, name in imports(path):
        if line not in read(path).type_checking:
            yield line, name.removeprefix("safeexec.").replace(".", "/") if part(name) else "safeexec"


def lies_in(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


@pytest.mark.parametrize("package", FOLDERS)
def test_a_folder_imports_only_what_it_may(package: str) -> None:
    found = []
    for path in modules(package):
        allowed = {package} | MAY_IMPORT[package] | MAY_IMPORT.get(key_of(path), set())
        for line, name in run_imports(path):
            if not any(lies_in(name, one) for one in allowed):
                found.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_an_entry_of_the_table_is_needed(package: str) -> None:
    paths = list(modules(package)) or [(ROOT / package).with_suffix(".py")]
    used = {name for path in paths for _, name in run_imports(path)}
    assert not {one for one in SPELLED[package] if not any(lies_in(name, one) for name in used)}


def graph() -> dict[str, set[str]]:
    """Module → the modules that it imports, wherever in its file, for type checkers too."""
    paths = {".".join(["safeexec", *path.relative_to(ROOT).with_suffix("").parts]): path for path in ROOT.rglob("*.py")}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: set(imported(path, paths.keys())) - {name} for name, path in paths.items()}


def imported(path: Path, known: Collection[str]) -> Iterator[str]:
    for node in read(path).imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif node.module in known:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module or "" for name in names)


def test_imports_run_in_no_circle() -> None:
    waits = graph()
    while outside := {name for name in waits if not waits[name]} | waits.keys() - set().union(*waits.values()):
        waits = {name: needed - outside for name, needed in waits.items() if name not in outside}
    assert not {name: sorted(needed) for name, needed in waits.items()}


def test_a_class_name_is_used_once() -> None:
    names = Counter(known.name for path in ROOT.rglob("*.py") for known in read(path).classes)
    assert not [name for name, count in names.items() if count > 1]


def test_no_room_overrides_a_private_name_of_another() -> None:
    """So whoever renames one looks at its room alone, as the map says. `_new_core` is named there."""
    rooms = {known: path.parent for path in ROOT.rglob("*.py") for known in read(path).classes}
    by_name = {known.name: known for known in rooms}

    def above(known: Class) -> Iterator[Class]:
        for base in [by_name[name] for name in known.bases if name in by_name]:
            yield base
            yield from above(base)

    assert not [
        f"{known.name} overrides {base.name}.{name}"
        for known in rooms
        for base in above(known)
        for name in known.private & base.private - {"_new_core"}
        if rooms[known] != rooms[base]
    ]


def test_the_engine_names_nothing_that_stands_on_it() -> None:
    """Not even for type checkers: what is built on it can go, and it still says what it says."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules("engine")
        for line, name in imports(path)
        if not part(name).startswith(ENGINE)
        and part(name) not in {"", "engine", *GROUPS["below"], *MAY_IMPORT.get(key_of(path), ())}
    ]
    assert not wrong


def test_every_folder_has_its_place() -> None:
    found = [
        path.parent.relative_to(ROOT)
        for pattern in ("*", "engine/*", "engine/host/*", "engine/child/*")
        for path in ROOT.glob(f"{pattern}/__init__.py")
    ]
    assert {str(folder) for folder in found} - {"policies", "engine"} == set(FOLDERS)


def imported_by(package: str) -> Iterator[tuple[Path, set[str]]]:
    """Each module of a package, and what it imports from elsewhere."""
    for path in modules(package):
        nodes = read(path).imports
        named = [[one.name for one in node.names] if isinstance(node, ast.Import) else [node.module] for node in nodes]
        yield path, {name.partition(".")[0] for names in named for name in names if name}


@pytest.mark.parametrize("package", ["engine/child", "engine/zygote", "engine/linux", "protocol", "language", "hints"])
def test_yaml_never_reaches_the_child(package: str) -> None:
    assert not [path for path, names in imported_by(package) if {"yaml", "psutil"} & names]


@pytest.mark.parametrize("package", ["engine/host", "engine/policy", "engine/linux", "recordings", "protocol"])
def test_the_host_unpickles_nothing(package: str) -> None:
    pickles = {"pickle", "cloudpickle", "dill", "marshal", "shelve"}
    assert not [path for path, names in imported_by(package) if pickles & names]


def test_the_top_level_holds_what_belongs_there() -> None:
    """A test or an example that writes into the directory it is started in leaves files there, and they get tracked."""
    git = ran(["git", "ls-files"], cwd=ROOT.parent)
    if git.returncode != 0:
        pytest.skip(f"this tree is not below git: {git.stderr.strip()}")
    top = {path.partition("/")[0] for path in git.stdout.splitlines()}
    named = {"setup.cfg", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert {name for name in top if not name.startswith(".")} == named | {"safeexec", "policies", "tests", "benchmarks"}
