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
ENGINE = "engine/"
LEAVES = {"common", "errors"}
BELOW = {*LEAVES, "untrusted", "protocol", "results"}
"""What every folder may import, the engine too: leaves, readers of strangers' texts, messages, results."""

MAY_IMPORT: dict[str, set[str]] = {
    "common": set(),
    "untrusted": LEAVES,
    "protocol": LEAVES,
    "results": {*LEAVES, "untrusted", "protocol"},
    "engine/syscalls": set(),
    "engine/linux": {"engine/syscalls"},
    "engine/policy": {*LEAVES, "untrusted", "protocol", "engine/syscalls"},
    "engine/advice": set(),
    "engine/child": {*LEAVES, "protocol", "engine/advice", "engine/linux", "engine/syscalls", "engine/policy"},
    "engine/zygote": {*LEAVES, "protocol", "engine/advice", "engine/linux", "engine/child"},
    "engine/host": {*BELOW, "engine/linux", "engine/policy", "engine/advice", "engine/approvals"},
    "language": {*LEAVES, "protocol", "engine/child", "engine/policy"},
    "hints": {*LEAVES, "protocol", "engine/policy", "language"},
    "reports": {*BELOW, "recordings", "engine/child", "engine/policy", "engine/syscalls", "hints", "language"},
    "inline": {*BELOW, "engine/policy"},
    "recordings": {*BELOW, "engine/approvals", "engine/host", "engine/policy"},
    "toolkit": {*BELOW, "engine/approvals", "engine/host", "engine/policy", "recordings"},
    "api": {*BELOW, "engine/approvals", "engine/host", "engine/linux", "engine/policy", "recordings"},
    "playback": {*BELOW, "api", "engine/host", "engine/policy", "recordings"},
    "remote": {
        *BELOW,
        "api",
        "engine/approvals",
        "engine/host",
        "engine/policy",
        "recordings",
        "servers",
    },
}

PACKAGES = ("safeexec", "safeexec.engine")
"""From which modules are imported by name."""

FACES = {"adapters", "agent", "cli", "cluster", "docs", "examples", "servers"}
"""Folders that use what the package offers, and one another."""

PUBLIC = {*BELOW, "engine/approvals", "recordings", "playback", "remote", "toolkit"}

ON_TOP = {
    "cluster/__init__.py": {"api"},
    "engine/policy/model.py": {"reports", "results"},
    "servers/methods.py": {"engine/policy"},
}
"""The modules that are not where their folder is. `Policy` offers what the reports tell of it, and nobody below imports
it. A cluster takes the programs that `Sandbox.map` takes. The table of methods is data that both ends of a connection
read, and one of them is offered by the package itself.
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
            names = [f"{module}.{alias.name}" for alias in node.names] if module in PACKAGES else [module]
        else:
            continue
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
        if part(name) not in {package} | MAY_IMPORT[package] | ON_TOP.get(str(path.relative_to(ROOT)), set())
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


@pytest.mark.parametrize("package", ["engine/policy", "reports"])
def test_what_lies_below_the_public_policy_does_not_import_it(package: str) -> None:
    below = [path for path in modules(package) if str(path.relative_to(ROOT)) not in ON_TOP]
    assert not [path for path in below for _, name in imports(path) if name == "safeexec.engine.policy.model"]


def test_the_engine_names_nothing_that_stands_on_it() -> None:
    """Not even for type checkers: what is built on it can go, and it still says what it says."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules("engine")
        for line, name in imports(path)
        if not part(name).startswith(ENGINE)
        and part(name) not in {"", "engine", *BELOW, *ON_TOP.get(str(path.relative_to(ROOT)), set())}
    ]
    assert not wrong


def test_every_folder_has_its_place() -> None:
    found = [
        path.parent.relative_to(ROOT) for pattern in ("*", "engine/*") for path in ROOT.glob(f"{pattern}/__init__.py")
    ]
    assert {str(folder) for folder in found} - {"policies", "engine"} == set(MAY_IMPORT) - {"engine/advice"} | FACES


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
        if part(name) not in {"", package, *PUBLIC, *FACES} | ON_TOP.get(str(path.relative_to(ROOT)), set())
        and line not in type_checking_lines(path)
    ]
    assert not wrong


@pytest.mark.parametrize("package", ["engine/child", "engine/zygote", "engine/linux", "protocol", "language", "hints"])
def test_yaml_never_reaches_the_child(package: str) -> None:
    for path in modules(package):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {"yaml", "psutil"} & {name.partition(".")[0] for name in names}, path


@pytest.mark.parametrize("package", ["engine/host", "engine/policy", "engine/linux", "recordings", "protocol"])
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
