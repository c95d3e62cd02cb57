"""Completion and explanation of code that is being written: what could come next, what is this name.

Names are looked up in a branch of the session, which is thrown away: whatever a guest's `__getattr__` or `__dir__` does
happens there, under the policy and its limits. Nothing here evaluates.
"""

from __future__ import annotations

import keyword
import re
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from safeexec import SandboxError
from safeexec.common.text import printable

if TYPE_CHECKING:
    from safeexec import Result, Session

LOOK_SECONDS = 2.0
"""How long what a guest's object says of itself may take."""
ALL_SECONDS = 4.0
"""How long all that one request asks may take: the cells after it wait."""
BEHIND = 2000
"""Characters before the cursor that are looked at."""
MAX_MATCHES = 1000
TEXT_CHARACTERS = 4000
_DOTTED = re.compile(r"[^\W\d]\w{0,100}(?:\.[^\W\d]\w{0,100}){0,10}\Z")
_PATH = re.compile(r"[\w.]*")
_IMPORT = re.compile(r"\s*(?:import|from)\s+([\w.]{0,200})\Z")
_FROM = re.compile(r"\s*from\s+([\w.]{1,200})\s+import\s+(?:[\w ,]{0,500},\s*)?(\w{0,100})\Z")
_FACTS = (
    ("Signature", "import inspect; {0}.__name__ + str(inspect.signature({0}))"),
    ("Type", "type({0}).__name__"),
    ("Text", "repr({0})[:2000]"),
    ("Docstring", "{0}.__doc__"),
)
"""The facts of a name, each with the code that finds it out; one that is refused or fails is left out."""


def line_before(code: str, cursor: int) -> str:
    """Return what stands before the cursor in its line, `BEHIND` characters at most."""
    return code[:cursor][-BEHIND:].rpartition("\n")[2]


def complete(session: Session, code: str, cursor: int, magics: Iterable[str]) -> tuple[list[str], int]:
    """Return what could stand at the cursor, and where that begins."""
    line = line_before(code, cursor)
    if line.startswith("%"):
        prefix = line[1:]
        matches: Iterable[str] = magics
    elif found := _FROM.match(line):
        prefix, matches = found[2], _look(session, f"import {found[1]}", f"dir({found[1]})")
    elif found := _IMPORT.match(line):
        prefix, matches = found[1], session.policy.imports or sorted(sys.stdlib_module_names)
    else:
        backwards = _PATH.match(line[::-1])
        owner, dot, prefix = (backwards[0][::-1] if backwards else "").rpartition(".")
        matches = _names(session) if not dot else _look(session, f"dir({owner})") if _DOTTED.match(owner) else ()
    fitting = (name for name in matches if name.startswith(prefix) and (prefix or not name.startswith("_")))
    return sorted({*fitting}, key=lambda name: (name.startswith("_"), name))[:MAX_MATCHES], cursor - len(prefix)


def _names(session: Session) -> Iterator[str]:
    yield from (variable.name for variable in session.variables())
    yield from session.policy.builtins
    yield from keyword.kwlist


def _look(session: Session, *steps: str) -> list[str]:
    """Return the names that the last of `steps` amounts to."""
    *_, answer = _results(session, steps)
    names = None if answer is None else answer.value
    return [name for name in names if type(name) is str and name.isidentifier()] if type(names) is list else []


def _results(session: Session, steps: Iterable[str]) -> Iterator[Result | None]:
    """Yield the result of each step in a branch of the session; None for one that is not ok."""
    try:
        (branch,) = session.branch()
    except SandboxError:  # a thread of the guest's lives, or there are as many branches as may be
        yield from (None for _ in steps)
        return
    with branch:
        end = time.monotonic() + ALL_SECONDS
        for step in steps:
            left = min(LOOK_SECONDS, end - time.monotonic())
            result = branch.run(step, timeout=left) if left > 0 else None
            yield result if result is not None and result.ok else None


def inspect(session: Session, name: str) -> str | None:
    """Return what there is to say of a dotted name; None where it is none."""
    if not _DOTTED.match(name):
        return None
    facts = _results(session, [step.format(name) for _, step in _FACTS])
    parts = [
        (title, printable(fact.value[:TEXT_CHARACTERS]))
        for (title, _), fact in zip(_FACTS, facts, strict=True)
        if fact is not None and type(fact.value) is str
    ]
    return "\n".join(f"{title}: {text}" if "\n" not in text else f"{title}:\n{text}" for title, text in parts) or None
