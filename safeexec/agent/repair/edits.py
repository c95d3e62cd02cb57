"""Edit text as a model asks for it: replace an exact passage, or apply a unified diff. Pure; errors say what stands
there instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from safeexec.agent.errors import RepairError

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_GIT_NOISE = ("diff --git", "index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index")
_NEVER = ("rename from", "rename to", "copy from", "copy to", "Binary files", "GIT binary patch")


def replace_passage(text: str, search: str, replacement: str, path: str) -> str:
    """`text` with the one occurrence of `search` replaced. Raises RepairError where there is none, or more than one."""
    if not search:
        raise RepairError(f"{path}: the text to search for is empty")
    count = text.count(search)
    if count == 1:
        return text.replace(search, replacement)
    if count > 1:
        raise RepairError(
            f"{path}: the text to search for stands there {count} times (lines {_occurrences(text, search)}); "
            "take more lines around it"
        )
    raise RepairError(f"{path}: the text to search for does not stand there exactly.{_nearest(text, search)}")


def _occurrences(text: str, search: str) -> str:
    lines: list[str] = []
    position = text.find(search)
    while position >= 0 and len(lines) < 10:
        lines.append(str(text.count("\n", 0, position) + 1))
        position = text.find(search, position + 1)
    return ", ".join(lines)


def _nearest(text: str, search: str) -> str:
    """The lines of `text` that are most like the wanted ones, numbered, and what differs where that can be said."""
    from difflib import SequenceMatcher

    wanted, lines = search.strip("\n").split("\n"), text.split("\n")
    anchor = max(wanted, key=lambda line: len(line.strip()))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(anchor.strip())
    best, place = 0.0, 0
    for number, line in enumerate(lines[:20_000]):
        matcher.set_seq1(line.strip()[:400])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (ratio := matcher.ratio()) > best:
            best, place = ratio, number
    if best < 0.5:
        return " Nothing in the file is like it; read the file again."
    first = max(0, place - wanted.index(anchor))
    shown = numbered(lines, first, first + len(wanted))
    found = "\n".join(lines[first : first + len(wanted)])
    only_blanks = " Only white space differs." if found.split() == search.split() else ""
    return f"{only_blanks} The nearest lines are:\n{shown}"


def numbered(lines: list[str], first: int, last: int) -> str:
    """Lines `first` to `last` (from 0, without the last) with the numbers a reader counts from 1."""
    last = min(last, len(lines))
    width = len(str(last))
    return "\n".join(f"{number + 1:>{width}} | {lines[number]}" for number in range(first, last))


# Unified diffs


@dataclass(slots=True)
class Hunk:
    """One hunk: the lines that must stand there and those that replace them; `line` is where the diff says it is,
    from 1.
    """

    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FileDiff:
    """The hunks for one file. `old` None: the file is new; `new` None: it is deleted."""

    old: str | None
    new: str | None
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.new or self.old or ""


def parse_diff(diff: str) -> list[FileDiff]:
    """The files of a unified diff. Line counts in the headers are not believed: models count badly. Raises
    RepairError that names the line.
    """
    files: list[FileDiff] = []
    hunk: Hunk | None = None
    lines = list(_numbered_lines(diff))
    position = 0
    while position < len(lines):
        number, line = lines[position]
        following = lines[position + 1][1] if position + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            files.append(FileDiff(_path_of(line), _path_of(following)))
            hunk = None
            position += 2
            continue
        if match := _HUNK.match(line):
            if not files:
                raise RepairError(
                    f"line {number} of the diff: a hunk before any file; begin with '--- a/path' and '+++ b/path'"
                )
            hunk = Hunk(int(match[1]))
            files[-1].hunks.append(hunk)
        elif line.startswith(_NEVER):
            raise RepairError(
                f"line {number} of the diff: {line.split(' ')[0]!r} cannot be applied; write the change as lines"
            )
        elif hunk is not None and not line.startswith(_GIT_NOISE):
            _add_line(hunk, line, number)
        position += 1
    if not any(file.hunks for file in files):
        raise RepairError(
            "the diff has no hunk; expected '--- a/path', '+++ b/path', '@@ -1,3 +1,3 @@' "
            "and lines that begin with ' ', '-' or '+'"
        )
    return files


def _numbered_lines(diff: str) -> Iterator[tuple[int, str]]:
    text = diff.replace("\r\n", "\n").strip("\n")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith(("```", "*** ")):
            yield number, line


def _path_of(header: str) -> str | None:
    path = header[4:].split("\t")[0].strip()
    if path == "/dev/null":
        return None
    return path[2:] if path[:2] in ("a/", "b/") else path


def _add_line(hunk: Hunk, line: str, number: int) -> None:
    mark, content = line[:1] or " ", line[1:]
    if mark == "\\":
        return  # "\ No newline at end of file"
    if mark not in " -+":
        raise RepairError(
            f"line {number} of the diff begins with {mark!r}; inside a hunk each line begins with ' ', '-' or '+'"
        )
    if mark in " -":
        hunk.old.append(content)
    if mark in " +":
        hunk.new.append(content)


def apply_hunks(text: str, hunks: list[Hunk], path: str) -> str:
    """`text` with all hunks applied. Each is looked for from where the diff says outwards; its lines must match
    exactly.
    """
    lines = text.split("\n")
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        place = _place_of(lines, hunk, hunk.line - 1 + shift)
        if place is None:
            wanted = "\n".join(hunk.old)
            raise RepairError(
                f"{path}: hunk {number} does not match: its lines do not stand there in this order."
                f"{_nearest(text, wanted)}"
            )
        lines[place : place + len(hunk.old)] = hunk.new
        shift = place - (hunk.line - 1) + len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def _place_of(lines: list[str], hunk: Hunk, expected: int) -> int | None:
    """Where the old lines of a hunk stand, nearest to where the diff says (lines from 0); None where they do not."""
    if not hunk.old:  # "@@ -N,0": behind line N
        return min(max(expected + 1, 0), len(lines))
    places = [
        place
        for place, line in enumerate(lines)
        if line == hunk.old[0] and lines[place : place + len(hunk.old)] == hunk.old
    ]
    return min(places, key=lambda place: abs(place - expected), default=None)
