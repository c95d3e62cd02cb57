"""What a person should look at in a patch: signs that it serves the tests instead of mending the code. Files are parsed
in a confined child; what it says is checked against the table of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safeexec.common.text import printable

if TYPE_CHECKING:
    from safeexec import Session

_PROGRAM = Path(__file__).with_name("surface_program.py")
SURFACE_RULES = {
    "special-case": "compares with a value that stands in the tests",
    "hard-coded": "answers with a value that the tests expect",
    "ignores-arguments": "reads an argument no more, and answers all the same",
    "table-of-cases": "holds a table of what the tests give and expect",
    "counts-calls": "counts how often it is called",
    "swallowed-exception": "catches errors of every kind, or says nothing of one",
    "assertion-removed": "an assertion is gone here",
    "assertion-changed": "an assertion is another one now, and may check less",
    "doctest-changed": "an example of a docstring is gone, or expects something else",
    "skipped-test": "skips a test, or ends it early",
    "test-removed": "a test that was here is gone, or has another name",
    "mock": "puts something else in the place of what is tested or imported",
    "sleep": "waits for a time instead of for what it needs",
    "test-framework": "imports a test framework",
    "names-tests": "names tests",
    "loads-code": "loads code, or changes what is built in",
    "ends-program": "ends the program",
    "looks-at-caller": "looks at who calls it",
    "defines-equality": "defines what counts as equal or true",
    "unreadable": "cannot be read as Python, so that nothing is known of it",
}
"""What a person reads of each sign that `surface_program` finds."""
_MAX_BYTES = 16 << 20
"""Of all files that are compared, and of those of the tests."""
_SNIPPET = 100
MAX_FINDINGS = 200
"""Signs that are told: what compares the files stops there, too."""


@dataclass(frozen=True, slots=True)
class RepairWarning:
    """One thing to look at before a patch is applied. `rule` is a stable word; `line` counts from 1 in the file as it
    is after the patch, and is None for what concerns the whole file.
    """

    path: str
    line: int | None
    rule: str
    message: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Changed:
    """A Python file before and after a patch."""

    path: str
    before: bytes
    after: bytes
    is_test: bool = False


def surface_warnings(
    session: Session, changes: Sequence[Changed], tests: Iterable[bytes], data: Iterable[bytes]
) -> list[RepairWarning]:
    """The signs in the changes, in the order of files and lines. The session runs nothing else; what cannot be judged
    there, whatever the reason, is a warning.
    """
    files = {change.path: (change.before, change.after, change.is_test) for change in changes}
    if sum(len(before) + len(after) for before, after, _ in files.values()) > _MAX_BYTES:
        return [_unread(path) for path in sorted(files)]
    given = {"files": files, "tests": _up_to(_MAX_BYTES, tests), "data": _up_to(_MAX_BYTES, data)}
    result = session.run(f"{_program()}\nfind(files, tests, data)", namespace=given)
    if not result.ok or not isinstance(result.value, list):
        return [_unread(path) for path in sorted(files)]
    lines = {path: after.splitlines() for path, (_, after, _) in files.items()}
    return [_warning(entry, lines) for entry in result.value[:MAX_FINDINGS]]


@cache
def _program() -> str:
    return _PROGRAM.read_text("utf-8")


def _up_to(limit: int, texts: Iterable[bytes]) -> list[bytes]:
    taken: list[bytes] = []
    for text in texts:
        limit -= len(text)
        if limit < 0:
            break
        taken.append(text)
    return taken


def _unread(path: str) -> RepairWarning:
    return RepairWarning(printable(path), None, "unreadable", SURFACE_RULES["unreadable"])


def _warning(entry: Any, files: Mapping[str, list[bytes]]) -> RepairWarning:
    """Return what the child found, in our words: the child has read what a stranger wrote. `files`: their lines."""
    match entry:
        # An empty file has a first line, too.
        case [str() as path, int() as line, str() as rule] if (
            path in files and rule in SURFACE_RULES and 0 < line <= max(1, len(files[path]))
        ):
            text = b"".join(files[path][line - 1 : line])[:1000].decode("utf-8", "replace").strip()
            said = SURFACE_RULES[rule] + (f": {text[:_SNIPPET]}" if text else "")
            return RepairWarning(printable(path), line, rule, printable(said))
    return RepairWarning("", None, "unreadable", "what compares the files has answered something else")
