"""What judges the code: tests, and what decides how they run. A patch that changes it needs a person, and one that
serves it instead of mending the code is reported. Nothing is imported to find out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import all_suffixes
from pathlib import PurePosixPath

from safeexec.text import printable

_MAX_LINE = 1000
_CONFIGURATION = frozenset(
    {
        "conftest.py",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "tox.ini",
        "noxfile.py",
        "pytest.ini",
        "pytest.toml",
        "sitecustomize.py",
        "usercustomize.py",
        "makefile",
    }
)
_TEST_NAME = re.compile(r"(?:test_.*|.*_test|tests?|conftest)\.py")
_TEST_DIRECTORIES = frozenset({"test", "tests", "testing"})

_ADDED = (
    (re.compile(r"\b_?pytest\b|\bunittest\b|\bPYTEST_|\bdoctest\b"), "names the test framework"),
    (re.compile(r"\btests?/|\btest_\w+"), "names tests"),
    (re.compile(r"\bbuiltins\b|\b__import__\b|\bimportlib\b|\bctypes\b|\b(?:exec|eval)\("), "loads or changes code"),
    (re.compile(r"\bsys\.exit\b|\bos\._exit\b|\bSystemExit\b|\bos\.abort\b|\batexit\b"), "ends the program"),
    (re.compile(r"\bsys\.(?:modules|argv|settrace|setprofile|_getframe)\b|\binspect\.|\bgc\."), "looks at its caller"),
    (re.compile(r"\bdef __(?:eq|ne|bool|instancecheck)__\b"), "defines what counts as equal or true"),
)
_REMOVED = (
    (re.compile(r"(?:^|[\r\f])[ \t]*+(?:assert\b|self\.assert|def test_)"), "removes an assertion"),
    (re.compile(r"(?:^|[\r\f])[ \t]*+>>> "), "changes a doctest"),
)


def is_test(path: str) -> bool:
    """Whether a path looks like a test: its name, or a directory of tests."""
    *directories, name = PurePosixPath(path.lower()).parts or ("",)
    return _TEST_NAME.fullmatch(name) is not None or not _TEST_DIRECTORIES.isdisjoint(directories)


def is_configuration(path: str) -> bool:
    """Whether a file decides, by its name, what a verification runs; or, hidden, what hooks, editors and CI run."""
    parts = PurePosixPath(path.lower()).parts or ("",)
    return parts[-1] in _CONFIGURATION or any(part.startswith(".") for part in parts)


def is_named(path: str, argv: Sequence[str]) -> bool:
    """Whether the command of the verification names a file, or its module."""
    named = {str(PurePosixPath(word.partition("::")[0])) for word in argv}
    named |= {f"{word.replace('.', '/')}{end}" for word in argv for end in (".py", "/__main__.py")}
    return path in named or path.removeprefix("src/") in named


def stands_in(path: str, exists: Callable[[str], bool]) -> str:
    """The installed module that a new file would be imported instead of; empty where there is none."""
    place = PurePosixPath(path)
    if place.suffix != ".py":
        return ""
    if place.name == "__init__.py":
        place = place.parent
    in_package = str(place.parent) not in (".", "src") and exists(f"{place.parent}/__init__.py")
    return place.stem if not in_package and _installed(place.stem) else ""


def _installed(module: str) -> bool:
    """Whether a top-level module of this name lies on the path. Only names of files are looked at: asking the import
    system would import the parents of a dotted name, and run what hooks there are.
    """
    if not module.isidentifier():
        return False  # no import statement finds it
    if module in sys.stdlib_module_names:
        return True
    names = (module, *(module + suffix for suffix in all_suffixes()))
    directories = (directory for directory in sys.path if os.path.isabs(directory))
    return any(os.path.lexists(os.path.join(directory, name)) for directory in directories for name in names)


def suspicions(path: str, diff: str) -> Iterator[str]:
    """What a person should look at in the diff of a file that is no test."""
    asked, lines = "", iter(diff.split("\n"))  # other line ends are part of a line of a diff
    for line in lines:
        if line.startswith("@@ "):
            break  # what stands before is its header
    for line in lines:
        mark, text = line[:1], line[1:]
        signs = _ADDED if mark == "+" else _REMOVED if mark == "-" else ()
        if what := next((what for pattern, what in signs if pattern.search(text)), ""):
            yield f"{path}: {what}: {printable(line[:_MAX_LINE]).strip()[:100]}"
        if mark == "-" and asked and text.strip() and not text.lstrip().startswith(">>>"):
            yield f"{path}: changes what a doctest expects: {printable(line[:_MAX_LINE]).strip()[:100]}"
        if mark in " -":
            asked = text if text.lstrip().startswith((">>> ", "... ")) else ""
