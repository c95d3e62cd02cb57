"""Ordinary programs, as models write them, run unmodified: they print and raise exactly what they do in CPython.

The `.expected` files hold what CPython 3.11 gave. Where this machine's CPython or library versions say something else
(a message of 3.12, a table of another pandas), the oracle is this machine's own CPython.
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
        yield program(path.stem, header["domain"], header.get("needs", ""), [text], is_plugin=False)
    for path in sorted(DIRECTORY.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["kind"] == "plugin":
            steps = [data["code"], *(call["code"] for call in data["calls"])]
        else:
            steps = [step if isinstance(step, str) else step["code"] for step in data["steps"]]
        yield program(data["id"], data["domain"], data["needs"], steps, is_plugin=data["kind"] == "plugin")


def program(name: str, domain: str, needs: str, steps: list[str], *, is_plugin: bool) -> Program:
    libraries = tuple(
        IMPORTS.get(one.strip(), one.strip()) for one in needs.split(",") if one.strip() not in ("", "stdlib")
    )
    profile = (
        "data-analysis"
        if libraries
        else "calculator"
        if domain.startswith("calc")
        else "plugin"
        if is_plugin
        else "standard"
    )
    return Program(name, profile, libraries, tuple(steps))


def parameters() -> Iterator[Any]:
    for one in programs():
        yield pytest.param(one, id=one.name, marks=[pytest.mark.modules(*one.needs)] if one.needs else [])


@pytest.mark.parametrize("program", [*parameters()])
def test_a_program_does_what_cpython_does(program: Program, sandbox_for: Callable[[str], Sandbox]) -> None:
    with sandbox_for(program.profile).session() as session:
        got = [told(session.run(step, timeout=60)) for step in program.steps]
    stored = json.loads((DIRECTORY / f"{program.name}.expected").read_text(encoding="utf-8"))["steps"]
    wanted = [{key: step[key] for key in ("stdout", "error", "message")} for step in stored]
    if got != wanted:
        wanted = by_cpython(program.steps)
    assert got == wanted


def told(result: Result) -> dict[str, Any]:
    error = result.error
    return {"stdout": result.stdout, "error": error.type if error else None, "message": error.message if error else ""}


def by_cpython(steps: tuple[str, ...]) -> list[dict[str, Any]]:
    """What a plain interpreter of this machine makes of the same steps."""
    done = subprocess.run(
        [sys.executable, str(ORACLE)], input=json.dumps(steps), capture_output=True, text=True, check=True, timeout=100
    )
    answer: list[dict[str, Any]] = json.loads(done.stdout)
    return answer
