"""Reads recordings and transcripts, which anybody may have written or changed: line by line, each within bounds, one
pass.

A line that is of neither kind is a `RecordingError` that names file and line. A last line without its end does not
count: the host died while it wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from safeexec.common.text import one_line
from safeexec.errors import RecordingError
from safeexec.recordings import format as form
from safeexec.untrusted.below import open_named
from safeexec.untrusted.json_text import loads
from safeexec.untrusted.lines import Lines

MAX_BYTES = 1 << 30
"""The most bytes of a recording."""
MAX_RECORDS = 2_000_000
MAX_SESSIONS = 100_000
"""Branches that a recording may name: whoever reads it keeps something of each."""
PIECE = 1 << 20
"""Bytes that are read at a time."""
MAX_TRANSCRIPT = 64 << 20
"""Bytes of a transcript."""
MAX_ENTRIES = 200_000
"""Lines of a transcript."""


class Recording:
    """A recording in a file. Iterate for its records, the heading first; each time the file is read anew.

    `pieces` reads it from elsewhere; `path` is then for messages. Raises `RecordingError` for what is no recording,
    OSError for what cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str], pieces: Callable[[], Iterator[bytes]] | None = None) -> None:
        self.path = Path(path)
        self._pieces = pieces or self._of_file
        self.lines = self.size = 0
        """The number of whole lines, and their bytes; known once all have been read."""
        self.torn = False
        """True if the last line has no end; known once all have been read."""
        self.heading: form.Heading = next(iter(self))

    def __iter__(self) -> Iterator[Any]:
        """Yield the records, the heading first. Raises `RecordingError` at a line that is none."""
        read = sessions = 0
        for number, line in enumerate(self._lines(), 1):
            record = parse(line, f"{self.path}:{number}")
            if record.n != number - 1:
                raise RecordingError(
                    f"{self.path}:{number}: line {record.n} of a recording came instead of line {number - 1}: "
                    "lines are missing, or were added"
                )
            if isinstance(record, form.Heading) != (number == 1):
                wrong = "a recording begins with its heading" if number == 1 else "a recording has one heading"
                raise RecordingError(f"{self.path}:{number}: {wrong}")
            read = number
            if isinstance(record, form.Branched) and (sessions := sessions + len(record.branches)) > MAX_SESSIONS:
                raise RecordingError(f"{self.path}:{number}: there are more than {MAX_SESSIONS} branches")
            yield record
        if not read:
            raise RecordingError(f"{self.path}: it has no line of a recording")

    def _lines(self) -> Iterator[bytes]:
        """Yield the whole lines."""
        lines, count, size = Lines(form.LINE_BYTES), 0, 0
        for piece in self._pieces():
            for line in lines.feed(piece):
                count += 1
                if line is None or count > MAX_RECORDS:
                    raise _too_much(self.path, count, line)
                size += len(line) + 1
                yield line
            if lines.too_long:
                raise _too_much(self.path, count + 1, None)
        self.lines, self.size, self.torn = count, size, bool(lines.rest())

    def _of_file(self) -> Iterator[bytes]:
        fd = open_named(self.path, max_bytes=MAX_BYTES)
        try:
            while piece := os.read(fd, PIECE):
                yield piece
        finally:
            os.close(fd)


def _too_much(path: Path, number: int, line: bytes | None) -> RecordingError:
    most = f"a line has more than {form.LINE_BYTES} bytes"
    return RecordingError(f"{path}:{number}: {most if line is None else f'there are more than {MAX_RECORDS} lines'}")


def entries_of(data: bytes, path: str | os.PathLike[str]) -> Iterator[form.Transcribed]:
    """Yield the entries of a transcript, each read when it is come to, but empty lines. Raises `RecordingError`."""
    if data.count(b"\n") > MAX_ENTRIES:
        raise RecordingError(f"{path}: has more than {MAX_ENTRIES} lines")
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield parse(line, f"{path}:{number}", form.TRANSCRIPT)


def whole_transcript(data: bytes, path: str | os.PathLike[str]) -> list[form.Transcribed]:
    """Return all entries of a transcript, its task first. Raises `RecordingError`."""
    entries = list(entries_of(data[: data.rfind(b"\n") + 1], path))
    if not entries or not isinstance(entries[0], form.Task):
        raise RecordingError(f"{path}: a transcript begins with its task")
    return entries


def parse(
    line: bytes, place: str, kinds: Mapping[str, type[form.Record] | type[form.TranscriptEntry]] = form.KINDS
) -> Any:
    """Return the record of a line. Raises `RecordingError`; `place` is for its message."""
    try:
        fields = loads(line.decode("utf-8"))
    except ValueError as error:
        raise RecordingError(f"{place}: not JSON: {one_line(str(error), 200)}") from None
    kind = fields.pop("kind", None) if isinstance(fields, dict) else None
    known = kinds.get(kind) if isinstance(kind, str) else None
    if kind == "recording" and isinstance(newer := fields.get("format"), int) and newer > form.FORMAT:
        raise RecordingError(
            f"{place}: the recording has format {newer}, and this version of safeexec reads {form.FORMAT} at most"
        )
    if known is None:
        raise RecordingError(f"{place}: `kind` must be one of {', '.join(sorted(kinds))}")
    try:
        return msgspec.convert(fields, known)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordingError(f"{place}: not a line of kind {kind!r}: {one_line(str(error), 200)}") from None
