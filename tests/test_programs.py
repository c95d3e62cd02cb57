"""Ordinary programs, as models write them, run unmodified: they print and raise exactly what they do in CPython.

The oracle is this machine's own CPython, with its own libraries.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from safeexec import Result, Sandbox

DIRECTORY = Path(__file__).parent / "programs"
ORACLE = Path(__file__).with_name("oracle.py")
IMPORTS = {"scikit-learn": "sklearn", "pillow": "PIL", "Pillow": "PIL"}


class Program(NamedTuple):
    """One program: its sources in order, and the libraries that it needs."""

    name: str
    profile: str
    needs: tuple[str, ...]
    steps: tuple[str, ...]


def programs() -> Iterator[Program]:
    for path in sorted(DIRECTORY.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        header = dict(
            line[2:].split(": ", 1) for line in text.splitlines()[:6] if line.startswith("# ") and ": " in line
        )
        yield program(path.stem, header["domain"], header.get("needs", ""), [text])
    for path in sorted(DIRECTORY.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        yield program(path.stem, data["domain"], data.get("needs", ""), data["steps"])


def program(name: str, domain: str, needs: str, steps: list[str]) -> Program:
    libraries = tuple(IMPORTS.get(one, one) for one in needs.replace(",", " ").split())
    profile = "data-analysis" if libraries else domain if domain in ("calculator", "plugin") else "standard"
    return Program(name, profile, libraries, tuple(steps))


def parameters() -> Iterator[Any]:
    for one in programs():
        yield pytest.param(one, id=one.name, marks=[pytest.mark.modules(*one.needs)] if one.needs else [])


@pytest.fixture(scope="module")
def by_cpython() -> Iterator[Callable[[Program], list[dict[str, Any]]]]:
    """What a plain interpreter of this machine makes of the steps of a program."""
    with subprocess.Popen([sys.executable, ORACLE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as oracle:

        def ask(program: Program) -> list[dict[str, Any]]:
            print(json.dumps([program.needs, program.steps]), file=oracle.stdin, flush=True)
            answer: list[dict[str, Any]] = json.loads(oracle.stdout.readline())
            return answer

        yield ask


@pytest.mark.parametrize("program", [*parameters()])
def test_a_program_does_what_cpython_does(
    program: Program, sandbox_for: Callable[[str], Sandbox], by_cpython: Callable[[Program], list[dict[str, Any]]]
) -> None:
    with sandbox_for(program.profile).session() as session:
        assert [told(session.run(step, timeout=60)) for step in program.steps] == by_cpython(program)


def told(result: Result) -> dict[str, Any]:
    error = result.error
    return {"stdout": result.stdout, "error": error.type if error else None, "message": error.message if error else ""}
