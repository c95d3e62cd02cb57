"""The programs of the benchmark of compatibility: each does what CPython does, on both streams and in its status."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.compat.__main__ import Program, by_cpython, comparable, here, programs
from safeexec import Sandbox

SAMPLE = frozenset({
    "argparse_subcommands", "doctest_linked_list", "scripts_annotations", "scripts_pickles", "stdin_open_zero",
    "stdin_exit_message", "unittest_mocks", "unittest_subtests",
})  # fmt: skip
"""Run with every run of the tests; the others where slow tests are asked for."""


DIFFERENT = {"scripts_kinds_of_functions": "print and getattr are functions written in Python here, and say so"}


def _marked(program: Program) -> object:
    marks = [] if program.path.stem in SAMPLE else [pytest.mark.slow]
    if reason := DIFFERENT.get(program.path.stem):
        marks.append(pytest.mark.xfail(reason=reason, strict=True))
    return pytest.param(program, id=program.path.stem, marks=marks)


@pytest.mark.parametrize("program", [_marked(program) for program in programs()])
def test_a_program_is_exact(program: Program, sandbox_for: Callable[[str], Sandbox]) -> None:
    wanted = comparable(by_cpython(program), program)
    assert comparable(here(program, sandbox_for("standard")), program) == wanted
