"""Runs the tests of the files that were changed.

    python -m tests.changed [FILE ...] [-- OPTIONS OF PYTEST ...]

Without files: those that differ from the last commit. A module's tests are the file of its name, and else those that
the map in `safeexec/README.md` names for its folder; those of a helper or of data are the tests that name it. The whole
suite decides; this says soon what is wrong.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.test_map import HOUSE, PROJECT, paths, rows

TESTS = PROJECT / "tests"


def changed() -> list[Path]:
    """Return the files that differ from the last commit, new ones too."""
    command = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
    told = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    return [PROJECT / line[3:] for line in told.stdout.splitlines()]


def users(file: Path) -> set[str]:
    """Return the tests that a file of `tests/` is, or that use it: by an import, or as data of their folder."""
    if file.name == "conftest.py":
        return {str(file.parent.relative_to(PROJECT))}
    found, todo, seen = set[str](), [file], set[Path]()
    while todo:
        one = todo.pop()
        if one.name.startswith("test_") and one.suffix == ".py":
            found |= {str(one.relative_to(PROJECT))} if one.exists() else set()
        elif one not in seen:
            seen.add(one)
            beside = [path for path, _ in texts() if path.parent == one.parent and path.name.startswith("test_")]
            module = one.relative_to(TESTS).with_suffix("")
            names = [
                rf"tests\.{'.'.join(module.parts)}\b",
                rf"from {'.'.join(('tests', *module.parent.parts))} import .*\b{module.name}\b",
            ]
            if not beside:
                names += [f'"{re.escape(name)}"' for name in (one.name, *module.parent.parts[:2])]  # a folder of data
            uses = re.compile("|".join(names))
            todo += [path for path, text in texts() if uses.search(text)] or beside
    return found


@cache
def texts() -> list[tuple[Path, str]]:
    """Return every Python file of the tests that is no data, and its text."""
    paths = (path for path in TESTS.rglob("*.py") if not {"escapes", "broken", "data", "programs"} & {*path.parts})
    return [(path, path.read_text(encoding="utf-8")) for path in paths]


def tests_of(file: Path) -> set[str]:
    """Return the test files of one file of the project, relative to it. Empty: nothing is known to test it."""
    if file.is_relative_to(TESTS):
        return users(file)
    if file.suffix == ".md":
        return {"tests/test_docs.py", "tests/test_readme.py", "tests/test_map.py"}
    if file.is_relative_to(PROJECT / "policies"):
        return {"tests/engine/policy"}
    if not file.is_relative_to(HOUSE):
        return set()
    module = file.relative_to(HOUSE)
    own = PROJECT / "tests" / module.parent / f"test_{module.stem.strip('_')}.py"
    if own.is_file():
        return {str(own.relative_to(PROJECT))}
    cells = rows("### Folders") | rows("### Modules at the root")
    cell = cells.get(module.as_posix()) or cells.get(module.parent.as_posix(), "")
    return {name for name, _ in paths(cell)}


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    at = arguments.index("--") if "--" in arguments else len(arguments)
    files = [Path(name).resolve() for name in arguments[:at]] or changed()
    found = {"tests/test_layers.py", "tests/test_map.py"}.union(*(tests_of(file) for file in files))
    print("\n".join(sorted(found)))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *sorted(found), *arguments[at + 1 :]], cwd=PROJECT
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
