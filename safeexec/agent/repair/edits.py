"""Edits text for a model: replaces a passage, or applies a unified diff. Pure; errors say what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from safeexec.agent.errors import RepairError

_HUNK = re.compile(r"@@(?: -(\d{1,9})(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@)?")
_GIT_NOISE = ("diff --git", "index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index")
_COMPARED, _COMPARISONS = 100, 100  # of lines with the one that is searched for: 2 ms each at worst
_MAX_WORK = 5_000_000
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
    matcher.set_seq2(anchor.strip()[:_COMPARED])
    best, place, compared = 0.0, 0, 0
    for number, line in enumerate(lines[:20_000]):
        matcher.set_seq1(line.strip()[:_COMPARED])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and compared < _COMPARISONS:
            compared += 1
            if (ratio := matcher.ratio()) > best:
                best, place = ratio, number
    if best < 0.5:
        return " Nothing in the file is like it; read the file again."
    first = max(0, place - wanted.index(anchor))
    wanted = wanted[:40]
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
    from 1, None where it does not say. `bare`: the sides whose last line has no line feed, of " ", "-", "+".
    """

    line: int | None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    bare: str = ""
    _last: str = ""
    _empty: int = 0

    def add(self, line: str) -> None:
        """Take a line of the diff; an empty one is an empty line of context."""
        mark, content = line[:1] or " ", line[1:]
        self._empty = 0 if line else self._empty + 1
        if mark == "\\":  # "\ No newline at end of file" is said of the line before
            self.bare += self._last
            return
        if mark in " -":
            self.old.append(content)
        if mark in " +":
            self.new.append(content)
        self._last = mark

    def close(self) -> None:
        """The end of the hunk. Empty lines at its end are those between two parts of the diff. Lines are what line
        feeds separate: a side that ends with one has one more line, an empty one.
        """
        if self._empty:
            del self.old[-self._empty :], self.new[-self._empty :]
        if self.bare == "-":
            self.new.append("")
        elif self.bare == "+":
            self.old.append("")


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
            if not files[-1].path:
                raise RepairError(f"line {number} of the diff names no file")
            hunk = None
            position += 1
        elif match := _HUNK.match(line):
            if not files:
                raise RepairError(
                    f"line {number} of the diff: a hunk before any file; begin with '--- a/path' and '+++ b/path'"
                )
            hunk = Hunk(int(match[1]) if match[1] else None)
            files[-1].hunks.append(hunk)
        elif line.startswith(_NEVER):
            raise RepairError(
                f"line {number} of the diff: {line.split(' ')[0]!r} cannot be applied; write the change as lines"
            )
        elif hunk is not None and not line.startswith(_GIT_NOISE):
            _add_line(hunk, line, number)
        position += 1
    for part in (part for file in files for part in file.hunks):
        part.close()
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
    if line[:1] not in " -+\\":
        raise RepairError(
            f"line {number} of the diff begins with {line[:1]!r}; inside a hunk each line begins with ' ', '-' or '+'"
        )
    hunk.add(line)


class Comparisons:
    """The budget of compared lines of one diff, whatever files and hunks it has: 0.25 s at worst. Counted for
    each hunk, sixty of them took 12 s.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MAX_WORK

    def take(self, lines: int, name: str) -> None:
        """Count lines before they are compared. Raises RepairError where they are too many."""
        self._left -= lines
        if self._left < 0:
            raise RepairError(
                f"{name}: too many lines would have to be compared; send the diff in parts, and begin its hunks with "
                "lines that are rare in the file"
            )


def apply_hunks(text: str, hunks: list[Hunk], path: str, left: Comparisons) -> str:
    """`text` with all hunks applied. The lines of each must stand there exactly: where the diff says, moved as the
    hunk before was, or else at one place alone. `left` is one for all files of a diff.
    """
    lines = text.split("\n")
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        name = f"{path}: hunk {number}"
        left.take(len(lines), name)
        said = None if hunk.line is None else hunk.line - 1
        place = _place_of(lines, hunk, None if said is None else said + shift, name, left)
        if place is None:
            wanted = "\n".join(hunk.old)
            raise RepairError(
                f"{path}: hunk {number} does not match: its lines do not stand there in this order."
                f"{_nearest(text, wanted)}"
            )
        lines[place : place + len(hunk.old)] = hunk.new
        shift = (shift if said is None else place - said) + len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def _place_of(lines: list[str], hunk: Hunk, expected: int | None, name: str, left: Comparisons) -> int | None:
    """Return where the old lines of a hunk stand (lines from 0); None where they do not. Raises RepairError where they
    stand at several places, none of them the expected one.
    """
    if not hunk.old and expected is None:
        if lines == [""]:
            return 0
        raise RepairError(f"{name}: its header has no line number, and it has no lines that stand there already")
    if not hunk.old:  # "@@ -N,0": behind line N, and before the end of the last line
        return min(max((expected or 0) + 1, 0), len(lines) - (lines[-1] == ""))
    left.take(lines.count(hunk.old[0]) * len(hunk.old), name)
    places = [
        place
        for place, line in enumerate(lines)
        if line == hunk.old[0] and lines[place : place + len(hunk.old)] == hunk.old
    ]
    if expected in places:
        return expected
    if len(places) < 2:
        return places[0] if places else None
    shown = ", ".join(str(place + 1) for place in places[:10])
    said = "" if expected is None else f", and not at line {expected + 1}, where the diff says"
    raise RepairError(
        f"{name}: its lines stand there {len(places)} times (lines {shown}){said}; correct the line number, or take "
        "more lines around it"
    )
