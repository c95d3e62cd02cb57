"""Replace a passage of a text for a model. Pure; errors say what stands there."""

from __future__ import annotations

from difflib import SequenceMatcher

from safeexec.agent.errors import RepairError

_COMPARED, _COMPARISONS = 100, 100  # of lines with the one that is searched for: 2 ms each at worst


def replace_passage(text: str, search: str, replacement: str, path: str) -> str:
    """Return the text with the one occurrence of `search` replaced. Raises RepairError where there is not just one."""
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
    """Return the lines of `text` that are most like the wanted ones, numbered, and what differs where that can
    be said.
    """
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
    """Return lines `first` to `last` (from 0, without the last) with the numbers a reader counts from 1."""
    last = min(last, len(lines))
    width = len(str(last))
    return "\n".join(f"{number + 1:>{width}} | {lines[number]}" for number in range(first, last))
