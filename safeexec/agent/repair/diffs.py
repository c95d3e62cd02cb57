"""Write unified diffs as git does, so that `git apply` and `patch` take them: headers for new, deleted and empty files,
quoted names, lines that end at line feeds alone. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PLAIN_NAME = re.compile(r'[^\x00-\x1f"\\\x7f-\uffff]+')
_ESCAPES = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}
_Opcode = tuple[str, int, int, int, int]


def file_diff(path: str, before: bytes | None, after: bytes | None, *, executable: bool = False) -> str:
    """Return the diff of one file; None is a file that is not there. Bytes that are not UTF-8 are surrogate escapes:
    `os.fsencode` gives them back.
    """
    if before == after:
        return ""
    old, new = _name(f"a/{path}"), _name(f"b/{path}")
    header = f"diff --git {old} {new}\n"
    mode = "100755" if executable else "100644"
    if before is None:
        header += f"new file mode {mode}\n"
        old = "/dev/null"
    if after is None:
        header += f"deleted file mode {mode}\n"
        new = "/dev/null"
    if not before and not after:
        # git wants the hashes of a file without hunks; these are the abbreviated ones of nothing and of no bytes.
        nothing, empty = "0000000", "e69de29"
        return header + f"index {empty if after is None else nothing}..{nothing if after is None else empty}\n"
    return f"{header}--- {_end(old)}\n+++ {_end(new)}\n{_hunks(_lines(before), _lines(after))}"


def _name(name: str) -> str:
    """Return a name as git quotes it."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = "".join(
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in name.encode("utf-8", "surrogateescape")
    )
    return f'"{quoted}"'


def _end(name: str) -> str:
    """End a name with a blank by a tab: `patch` would take it for the beginning of a date."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _lines(data: bytes | None) -> list[str]:
    return _LINE.findall((data or b"").decode("utf-8", "surrogateescape"))


def _hunks(old: list[str], new: list[str]) -> str:
    matcher: SequenceMatcher[str] = SequenceMatcher(None, (), ())
    matcher.opcodes = _opcodes(old, new)  # type: ignore[attr-defined]  # what get_grouped_opcodes groups
    parts = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, old_first, _, new_first, _), (_, _, old_last, _, new_last) = group[0], group[-1]
        parts.append(f"@@ -{_span(old_first, old_last)} +{_span(new_first, new_last)} @@\n")
        for kind, i, j, k, m in group:
            if kind == "equal":
                parts += _marked(" ", old[i:j])
                continue
            parts += _marked("-", old[i:j])
            parts += _marked("+", new[k:m])
    return "".join(parts)


def _opcodes(old: list[str], new: list[str]) -> list[_Opcode]:
    """Return the equal and the replaced lines, as difflib says it."""
    codes: list[_Opcode] = []
    a = b = 0
    for x, y, length in _runs(old, new):
        if a < x or b < y:
            codes.append(("replace", a, x, b, y))
        if length:
            codes.append(("equal", x, x + length, y, y + length))
        a, b = x + length, y + length
    return codes


def _runs(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of lines that both sides have, in order: (in old, in new, how many). They begin with the lines
    that have one partner, and at both ends, and go on for as long as the lines are equal.
    """
    a = b = 0
    for x, y in [(0, 0), *_partners(old, new), (len(old), len(new))]:
        if x < a:
            continue  # a part of the run before it
        while x > a and y > b and old[x - 1] == new[y - 1]:
            x, y = x - 1, y - 1
        a, b = x, y
        while a < len(old) and b < len(new) and old[a] == new[b]:
            a, b = a + 1, b + 1
        yield x, y, a - x


def _partners(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the longest chain of lines that each side has once, as places in both (patience diff): n log n steps,
    whatever the lines are.
    """
    places = {line: place for place, line in enumerate(new)}
    here, there = Counter(old), Counter(new)
    ends: list[_Link] = []
    for place, line in enumerate(old):
        if here[line] == there[line] == 1:
            length = bisect_left(ends, places[line], key=lambda link: link.new)
            ends[length : length + 1] = [_Link(place, places[line], ends[length - 1] if length else None)]
    chain, link = [], ends[-1] if ends else None
    while link is not None:
        chain.append((link.old, link.new))
        link = link.before
    return chain[::-1]


class _Link(NamedTuple):
    """The end of a chain, and the chain before it."""

    old: int
    new: int
    before: _Link | None


def _span(first: int, last: int) -> str:
    length = last - first
    return str(first + 1) if length == 1 else f"{first + (length > 0)},{length}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [
        f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n" for line in lines
    ]
