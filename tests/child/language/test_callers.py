"""Who asks is known by the names of functions alone: those names are the functions'."""

from __future__ import annotations

from pathlib import Path
from types import CodeType

from safeexec.child.language import callers, guards
from safeexec.child.language.libraries import reads


def functions(file: str | None) -> dict[str, tuple[str, ...]]:
    """The functions in a file, by their qualified names → their variables."""
    assert file is not None
    found: dict[str, tuple[str, ...]] = {}
    waiting: list[CodeType] = [compile(Path(file).read_text(encoding="utf-8"), file, "exec")]
    while waiting:
        code = waiting.pop()
        found[code.co_qualname] = (*code.co_varnames, *code.co_cellvars)
        waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
    return found


def test_guards_that_judge_what_they_read_are_where_they_are_looked_for() -> None:
    there = functions(guards.__file__)
    assert all(variable in there[name] for name, variable in callers._GUARDS.items())


def test_reads_and_stores_of_libraries_are_where_they_are_looked_for() -> None:
    assert reads.__name__ == callers._LIBRARY_READS
    assert functions(reads.__file__).keys() >= callers._FOR_LIBRARIES
