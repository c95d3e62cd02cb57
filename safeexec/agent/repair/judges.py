"""Recognise the files that judge the code: tests, and their configuration. A patch that changes them needs a person."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

_CONFIGURATION_TEXT = """\
conftest.py setup.py setup.cfg pyproject.toml tox.ini noxfile.py pytest.ini pytest.toml sitecustomize.py
usercustomize.py makefile"""
_CONFIGURATION = frozenset(_CONFIGURATION_TEXT.split())
_TEST_NAME = re.compile(r"(?:test_.*|.*_test|tests?|conftest)\.py")
_TEST_DIRECTORIES = frozenset({"test", "tests", "testing"})


def is_test(path: str) -> bool:
    """Return True for a path that looks like a test: its name, or a directory of tests."""
    *directories, name = PurePosixPath(path.lower()).parts or ("",)
    return _TEST_NAME.fullmatch(name) is not None or not _TEST_DIRECTORIES.isdisjoint(directories)


def is_configuration(path: str) -> bool:
    """Return True for a file whose name decides what a verification runs; or, hidden, what hooks or editors run."""
    parts = PurePosixPath(path.lower()).parts or ("",)
    return parts[-1] in _CONFIGURATION or any(part.startswith(".") for part in parts)


def is_named(path: str, argv: Sequence[str]) -> bool:
    """Return True if the command of the verification names a file, or its module."""
    named = {str(PurePosixPath(word.partition("::")[0])) for word in argv}
    named |= {f"{word.replace('.', '/')}{end}" for word in argv for end in (".py", "/__main__.py")}
    return path in named or path.removeprefix("src/") in named


def likely_code(paths: Iterable[str]) -> list[str]:
    """Return the paths of a repository that look like its code: `src`, its packages, its modules; no tests."""
    python = [PurePosixPath(path) for path in paths if path.endswith(".py")]
    tops = {path.parts[0] for path in python if path.name == "__init__.py" and len(path.parts) == 2}
    tops |= {path.parts[0] for path in python if len(path.parts) == 1} | {"src"}
    tops &= {path.parts[0] for path in python}
    return sorted(top for top in tops if not any(map(is_test, (top, f"{top}/x"))) and not is_configuration(top))


def held_out_paths(
    paths: Collection[str], editable: Sequence[str], held_out: Iterable[str], shown: Iterable[str]
) -> list[str]:
    """Return the files that the words of held-out commands name, those apart that the words of others name by
    themselves.

    A directory that may be edited is not what a command holds out.
    """
    named = {path for word in held_out for path in _spelt(word)}
    visible = {path for word in shown for path in _spelt(word)}
    whole = {"", "."}.union(*({path, *map(str, PurePosixPath(path).parents)} for path in editable))
    return [
        path
        for path in paths
        if path not in visible
        and (path in named or any(str(above) in named - whole for above in PurePosixPath(path).parents))
    ]


def _spelt(word: str) -> Iterator[str]:
    """Yield the paths that a word of a command may mean: itself, a test's file, a module; or each word of a shell's."""
    for part in (word, *word.split()):
        path = str(PurePosixPath(part.strip("\"';&|()").partition("::")[0].removeprefix("./")))
        yield path
        if "." in path and "/" not in path:
            module = path.replace(".", "/")
            yield from (module, f"{module}.py")
