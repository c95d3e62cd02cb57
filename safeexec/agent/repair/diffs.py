"""Write unified diffs as git does, so that `git apply` and `patch` take them: headers for new, deleted and empty files,
quoted names, lines that end at line feeds alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_CONTEXT = 3
_STEPS_PER_LINE, _STEPS = 16, 500_000
_MAX_EDITS = 1000
"""Bounds of the comparison. Past them what differs is one hunk, so that the work is linear whatever the lines are."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_PLAIN_NAME = re.compile(r'[^\x00-\x1f"\\\x7f-\uffff]+')
_ESCAPES = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\"}
_Opcode = tuple[str, int, int, int, int]


def file_diff(path: str, before: bytes | None, after: bytes | None, *, executable: bool = False) -> str:
    """The diff of one file; None is a file that is not there. Bytes that are not UTF-8 are surrogate escapes:
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
    """A name as git quotes it."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = "".join(
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in name.encode("utf-8", "surrogateescape")
    )
    return f'"{quoted}"'


def _end(name: str) -> str:
    """A tab ends a name with a blank: `patch` would take it for the beginning of a date."""
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
    """Return what is equal and what is not, as difflib says it. Equal ends are left out of the comparison."""
    first = _equal(old, new)
    tail = _equal(old[first:][::-1], new[first:][::-1])
    i, j = len(old) - tail, len(new) - tail
    codes: list[_Opcode] = [("equal", 0, first, 0, first)] if first else []
    a, b = first, first
    for x, y, length in [*_common(old[first:i], new[first:j]), (i - first, j - first, 0)]:
        x, y = x + first, y + first
        if a < x or b < y:
            codes.append(("replace", a, x, b, y))
        if length:
            codes.append(("equal", x, x + length, y, y + length))
        a, b = x + length, y + length
    return [*codes, ("equal", i, len(old), j, len(new))] if tail else codes


def _common(old: list[str], new: list[str]) -> list[tuple[int, int, int]]:
    """Runs of lines that both sides have, in order: (in old, in new, how many). None of them where that takes too many
    steps. E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the forward search.
    """
    if not old or not new:
        return []  # a new file of 1,000 lines takes all the steps otherwise, and a diff may have 1,000 of them
    left = _STEPS_PER_LINE * (len(old) + len(new)) + _STEPS
    furthest, trail = {1: 0}, []
    for edits in range(min(_MAX_EDITS, len(old) + len(new)) + 1):
        trail.append(dict(furthest))
        left -= 2 * len(furthest)
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = start = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            furthest[k] = x
            left -= x - start + 1
            if x >= len(old) and x - k >= len(new):
                return _runs(trail, len(old), len(new))
            if left < 0:
                return []
    return []


def _runs(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, int]]:
    """The runs of equal lines on the way back from the end."""
    runs = []
    for edits in range(len(trail) - 1, -1, -1):
        furthest, k = trail[edits], x - y
        down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        at = furthest[before] if edits else 0
        start = at if down else at + 1
        if not edits:
            start = 0
        if x > start:
            runs.append((start, start - k, x - start))
        x, y = at, at - before
    return runs[::-1]


def _equal(old: list[str], new: list[str]) -> int:
    """Return how many lines are equal from the beginning."""
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _span(first: int, last: int) -> str:
    length = last - first
    return str(first + 1) if length == 1 else f"{first + (length > 0)},{length}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [
        f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n" for line in lines
    ]
