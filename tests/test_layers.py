"""Imports run one way: a folder is a trust level, and what crosses between host and child is in `protocol` alone."""

from __future__ import annotations

import ast
import configparser
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import safeexec

ROOT = Path(safeexec.__file__).parent
TOP = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
FACES = {"adapters", "agent", "cli", "docs", "examples", "servers"}
PUBLIC_MODULES = {
    "approvals",
    "errors",
    "outcomes",
    "results",
    "observation",
    "jsonable",
    "mimebundle",
    "marked",
    "identity",
    "text",
    "signatures",
    "matching",
    "toolkit",
    "untrusted",
    "recordings",
    "page",
    "engines",
}
"""Modules at the top whose names are public, or plain text helpers that hold no state."""

MAY_IMPORT: dict[str, set[str]] = {
    "syscalls": {"syscalls"},
    "untrusted": {"untrusted", "errors", "text"},
    "linux": {"linux", "syscalls"},
    "protocol": {"protocol", "errors", "identity", "text"},
    "language": {"language", "own", "protocol", "errors", "identity", "text"},
    "hints": {"hints", "language", "protocol", "errors", "identity", "matching", "text"},
    "recordings": {"recordings", "untrusted", "protocol", "errors", "outcomes", "identity", "text"},
    "page": {"page", "recordings", "mimebundle", "untrusted", "errors", "outcomes", "text"},
    "policy": {
        "policy",
        "untrusted",
        "language",
        "protocol",
        "syscalls",
        "errors",
        "identity",
        "matching",
        "text",
    },
    "reports": {
        "reports",
        "recordings",
        "policy",
        "untrusted",
        "hints",
        "language",
        "protocol",
        "syscalls",
        "errors",
        "identity",
        "matching",
        "signatures",
        "text",
    },
    "inline": {
        "inline",
        "untrusted",
        "policy",
        "language",
        "protocol",
        "errors",
        "identity",
        "matching",
        "text",
        "results",
        "typed",
    },
    "child": {
        "child",
        "hints",
        "language",
        "own",
        "protocol",
        "linux",
        "syscalls",
        "errors",
        "identity",
        "matching",
        "text",
    },
    "zygote": {
        "zygote",
        "hints",
        "child",
        "language",
        "protocol",
        "linux",
        "errors",
        "identity",
        "text",
        "typed",
    },
    "host": {
        "host",
        "hints",
        "untrusted",
        "recordings",
        "policy",
        "language",
        "protocol",
        "linux",
        "approvals",
        "errors",
        "outcomes",
        "results",
        "identity",
        "matching",
        "signatures",
        "text",
        "toolkit",
        "typed",
    },
    "searching": {"searching", "errors", "results", "text"},
    "remote": {
        "remote",
        "approvals",
        "servers",
        "host",
        "untrusted",
        "policy",
        "protocol",
        "errors",
        "engines",
        "marked",
        "outcomes",
        "results",
        "text",
    },
}

ON_TOP = {"policy/model.py": {"reports", "recordings", "mimebundle"}, "servers/methods.py": {"policy"}}
"""The modules that are not where their folder is. `Policy` offers what the reports tell of it, and nobody below imports
it. The table of methods is data that both ends of a connection read, and one of them is offered by the package itself.
"""


def modules(package: str) -> Iterator[Path]:
    yield from sorted((ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every module of this package, but for the package itself, that a file imports."""
    package = ["safeexec", *path.relative_to(ROOT).with_suffix("").parts][:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "safeexec" else [module]
        else:
            continue
        for name in names:
            if name.startswith("safeexec."):
                yield node.lineno, name


def part(name: str) -> str:
    """The folder, or the module at the top, that a dotted name belongs to; public names belong to none: ``""``."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and ((ROOT / parts[1]).is_dir() or parts[1] in TOP) else ""


def type_checking_lines(path: Path) -> set[int]:
    """Lines that only a type checker reads."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.body:
                lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return lines


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_a_folder_imports_only_what_lies_below_it(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(package)
        for line, name in imports(path)
        if part(name) not in MAY_IMPORT[package] | ON_TOP.get(str(path.relative_to(ROOT)), set())
        and line not in type_checking_lines(path)
    ]
    assert not wrong


def graph() -> dict[str, set[str]]:
    """Module → the modules that it imports, wherever in its file, for type checkers too."""
    paths = {".".join(["safeexec", *path.relative_to(ROOT).with_suffix("").parts]): path for path in ROOT.rglob("*.py")}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: set(imported(path, paths.keys())) - {name} for name, path in paths.items()}


def imported(path: Path, known: Collection[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in known else node.module or "" for name in names)


def test_imports_run_in_no_circle() -> None:
    waits = graph()
    while outside := {name for name in waits if not waits[name]} | waits.keys() - set().union(*waits.values()):
        waits = {name: needed - outside for name, needed in waits.items() if name not in outside}
    assert not {name: sorted(needed) for name, needed in waits.items()}


def test_a_class_name_is_used_once() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.parametrize("package", ["policy", "reports"])
def test_what_lies_below_the_public_policy_does_not_import_it(package: str) -> None:
    below = [path for path in modules(package) if str(path.relative_to(ROOT)) not in ON_TOP]
    assert not [path for path in below for _, name in imports(path) if name == "safeexec.engine.policy.model"]


def test_every_folder_has_its_place() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"policies"}
    assert folders <= set(MAY_IMPORT) | FACES


def test_every_folder_is_installed() -> None:
    written = configparser.ConfigParser()
    written.read(ROOT.parent / "setup.cfg", encoding="utf-8")
    packages = set(written["options"]["packages"].split())
    assert {".".join(path.parent.relative_to(ROOT.parent).parts) for path in ROOT.rglob("__init__.py")} <= packages


@pytest.mark.parametrize("package", sorted(FACES))
def test_the_outermost_folders_use_public_names_only(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(package)
        for line, name in imports(path)
        if part(name)
        not in {"", "untrusted", package, *PUBLIC_MODULES, *FACES} | ON_TOP.get(str(path.relative_to(ROOT)), set())
        and line not in type_checking_lines(path)
    ]
    assert not wrong


@pytest.mark.parametrize("package", ["child", "zygote", "protocol", "language", "hints", "linux"])
def test_yaml_never_reaches_the_child(package: str) -> None:
    for path in modules(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"yaml", "psutil"} & {name.partition(".")[0] for name in names}, path


@pytest.mark.parametrize("package", ["host", "policy", "protocol", "linux", "recordings"])
def test_the_host_unpickles_nothing(package: str) -> None:
    for path in modules(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"pickle", "cloudpickle", "dill", "marshal", "shelve"} & set(names), path


def test_the_top_level_holds_what_belongs_there() -> None:
    """A test or an example that writes into the directory it is started in leaves files there, and they get tracked."""
    git = subprocess.run(["git", "ls-files"], cwd=ROOT.parent, capture_output=True, text=True, timeout=30, check=False)
    if git.returncode != 0:
        pytest.skip(f"this tree is not below git: {git.stderr.strip()}")
    top = {path.partition("/")[0] for path in git.stdout.splitlines()}
    named = {"setup.cfg", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert {name for name in top if not name.startswith(".")} == named | {"safeexec", "policies", "tests", "benchmarks"}
