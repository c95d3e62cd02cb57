"""Write unified diffs as git does, so that `git apply` and `patch` take them: headers for new, deleted and empty files,
quoted names, lines that end at line feeds alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_CONTEXT = 3
_COMPARED = 4000
"""Lines that difflib compares: 0.2 s for those that repeat."""
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
        # git needs the hashes of a file without hunks; these are the abbreviated ones of nothing and of no bytes.
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
    """Return the equal and the replaced lines, as difflib says it. Where more lines lie between the first and the last
    that differ than it compares soon, all of these are replaced.
    """
    shorter = min(len(old), len(new))
    first = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    last = next((place for place in range(shorter - first) if old[-1 - place] != new[-1 - place]), shorter - first)
    here, there = old[first : len(old) - last], new[first : len(new) - last]
    codes: list[_Opcode] = [("replace", 0, len(here), 0, len(there))]
    if max(len(here), len(there)) <= _COMPARED:
        codes = [*SequenceMatcher(None, here, there).get_opcodes()]
    moved: list[_Opcode] = [(kind, first + i, first + j, first + k, first + m) for kind, i, j, k, m in codes]
    whole: list[_Opcode] = [
        ("equal", 0, first, 0, first),
        *moved,
        ("equal", len(old) - last, len(old), len(new) - last, len(new)),
    ]
    return [code for code in whole if code[1] < code[2] or code[3] < code[4]]


def _span(first: int, last: int) -> str:
    length = last - first
    return str(first + 1) if length == 1 else f"{first + (length > 0)},{length}"


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [
        f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n" for line in lines
    ]
