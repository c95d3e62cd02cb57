"""A file's text as a model edits it, and its bytes again: encoding, byte order mark and line ends are kept. Errors say
what stands there. Pure.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from difflib import SequenceMatcher

from safeexec.agent.errors import RepairError
from safeexec.untrusted.source_text import encoding_of

_COMPARED, _COMPARISONS = 100, 100  # of lines with the one that is searched for: 2 ms each at worst


@dataclass(frozen=True, slots=True)
class TextForm:
    """Encoding, byte order mark and line ends of a file."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def decode(self, data: bytes) -> str:
        text = data[len(self.mark) :].decode(self.encoding)
        return text.replace("\r\n", "\n") if self.newline == "\r\n" else text

    def encode(self, text: str) -> bytes:
        """Return the bytes. Raises UnicodeEncodeError for a character that the encoding has not."""
        if self.newline == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return self.mark + text.encode(self.encoding)


def form_of(data: bytes) -> TextForm | None:
    """Return the form of a file's bytes; None for what is no text. Where line ends are mixed they stay as they are."""
    if b"\0" in data:
        return None
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    ends = data.count(b"\r\n")
    newline = "\r\n" if ends and ends == data.count(b"\n") == data.count(b"\r") else "\n"
    return TextForm(_encoding(data), mark, newline)


def _encoding(data: bytes) -> str:
    """Return UTF-8, or what the source declares, or Latin-1, in which each byte is a character."""
    for encoding in ("utf-8", encoding_of(data) or "latin-1"):
        try:
            if data.decode(encoding).encode(encoding) == data:
                return encoding
        except UnicodeError:
            continue
    return "latin-1"


def replace_passage(text: str, search: str, replacement: str, path: str) -> str:
    """Return the text with the one occurrence of `search` replaced. Raises RepairError where there is not just one."""
    if not search:
        raise RepairError(f"{path}: the text to search for is empty")
    count = text.count(search)
    if count == 1:
        return text.replace(search, replacement)
    if count > 1:
        lines: list[str] = []
        position = -1
        while len(lines) < 10 and (position := text.find(search, position + 1)) >= 0:
            lines.append(str(text.count("\n", 0, position) + 1))
        raise RepairError(
            f"{path}: the text to search for stands there {count} times (lines {', '.join(lines)}); "
            "take more lines around it"
        )
    raise RepairError(f"{path}: the text to search for does not stand there exactly.{_nearest(text, search)}")


def _nearest(text: str, search: str) -> str:
    """Return the lines of `text` that are most like the searched ones, numbered, and what differs if it can be said."""
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
