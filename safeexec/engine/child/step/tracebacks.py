"""Writes a traceback as this CPython prints it, with the guest's frames only, read without running code of the guest.

Every fact about an exception is taken through the descriptors of the built-in types: a guest class may define
``__traceback__``, ``__class__`` or ``__cause__`` as properties, and those never run here. What does run is ``__str__``
of the exception and what that calls; one that does not return is ended by the step's deadline.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from itertools import islice
from traceback import FrameSummary, StackSummary, TracebackException
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, NamedTuple

from safeexec.common.identity import (
    cause_of,
    chained,
    context_of,
    entries_of,
    members_of,
    module_of,
    qualname_of,
    read_getset,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAX_MESSAGE = 8_000
MAX_LINE = 400
MAX_TRACEBACK = 24_000
"""Characters of a message, of a line of source, and of a whole traceback."""
MAX_CHAIN = 8
"""Exceptions that are chained to one another, and groups in each other, that are shown."""
MAX_GROUP = 15
"""Exceptions of one group, and notes of one exception."""
MAX_FRAMES = 40
MAX_EXCEPTIONS = 60
"""Frames of one exception, and exceptions of a whole traceback."""
MAX_WALKED = 4_000
"""Entries of one traceback that are looked at."""
_FOLD_AFTER = 3
"""How often the same line is shown in a row, as by CPython."""

_suppress_of = BaseException.__dict__["__suppress_context__"].__get__
_instance_dict = partial(read_getset, BaseException.__dict__["__dict__"])


class Position(NamedTuple):
    """The place of an expression in its source: lines and columns count from 1, in characters; the end is exclusive."""

    line: int
    column: int | None
    end_line: int | None
    end_column: int | None


class GuestFrame(NamedTuple):
    """One frame of guest code in a traceback. `frame` is alive only while the report is made: never keep one."""

    frame: FrameType
    code: CodeType
    filename: str
    line: int
    lasti: int

    def position(self) -> Position:
        """Return the expression that was running."""
        found = next(islice(self.code.co_positions(), self.lasti // 2, None), None) if self.lasti >= 0 else None
        line, end_line, column, end_column = found or (None, None, None, None)
        if line is None:
            return Position(self.line, None, None, None)
        return Position(line, column, end_line, end_column)


def only_member(exc: BaseException) -> BaseException | None:
    """Return the one exception that a group was made of, or None if it is no group or holds several."""
    found: BaseException | None = None
    while issubclass(type(exc), BaseExceptionGroup) and len(members := members_of(exc)) == 1:
        found = exc = members[0]
    return found


def without_middle(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, its head and its tail, with a note of what was left out."""
    length = str.__len__(text)
    if length <= limit:
        return str.__getitem__(text, slice(None))
    head = limit * 2 // 3
    tail = limit - head
    start = str.__getitem__(text, slice(head))
    return f"{start}[... {length - limit} characters left out ...]{str.__getitem__(text, slice(length - tail, None))}"


def message_of(exc: BaseException) -> str:
    """Return ``str(exc)`` within `MAX_MESSAGE`, whatever it raises."""
    try:
        return without_middle(str(exc), MAX_MESSAGE)
    except BaseException:  # KeyboardInterrupt and SystemExit of the guest's __str__ included
        return "<exception str() failed>"


def cut(exc: BaseException) -> dict[int, int]:
    """Take the middle out of the tracebacks of an exception and of what it is chained to, where they have more than
    `MAX_WALKED` entries: else a recursion limit of 600,000 costs 3 s of the step's time. Returns how many entries were
    taken out, by the `id` of the last frame before them.
    """
    left_out: dict[int, int] = {}
    for one in chained(exc, MAX_CHAIN):
        head, length, last = None, 0, deque[TracebackType](maxlen=MAX_WALKED // 2)
        for length, entry in enumerate(entries_of(one), 1):
            last.append(entry)
            if length == MAX_WALKED // 2:
                head = entry
        if head is not None and length > MAX_WALKED:
            head.tb_next = last[0]
            left_out[id(head.tb_frame)] = length - MAX_WALKED
    return left_out


def guest_frames(exc: BaseException, sources: Mapping[str, str]) -> list[GuestFrame]:
    """Return the frames of guest code in the traceback of `exc`, outermost first."""
    frames = []
    for entry in entries_of(exc):
        code = entry.tb_frame.f_code
        if (filename := code.co_filename) in sources:
            line = entry.tb_lineno or code.co_firstlineno
            frames.append(GuestFrame(entry.tb_frame, code, filename, line, entry.tb_lasti))
    return frames


def library_frames(exc: BaseException, sources: Mapping[str, str]) -> list[FrameType]:
    """Return the frames that the innermost guest frame called, outermost first; none if the guest itself raised."""
    frames: list[FrameType] = []
    for entry in entries_of(exc):
        if entry.tb_frame.f_code.co_filename in sources:
            frames.clear()
        else:
            frames.append(entry.tb_frame)
    return frames


class SourceLines:
    """The lines of the steps' sources, split once per report."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._lines: dict[str, list[str]] = {}

    def line(self, filename: str, number: int | None) -> str:
        """Return line `number` (from 1) without its line end; empty if there is none."""
        lines = self._lines.get(filename)
        if lines is None:
            text = self._sources.get(filename, "")
            lines = self._lines[filename] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return lines[number - 1] if number is not None and 0 < number <= len(lines) else ""

    def position(self, frame: GuestFrame) -> Position:
        """Return the position of `frame` with columns in characters, counted from 1."""
        line, column, end_line, end_column = frame.position()
        return Position(
            line,
            None if column is None else _characters(self.line(frame.filename, line), column) + 1,
            end_line,
            None if end_column is None else _characters(self.line(frame.filename, end_line), end_column) + 1,
        )

    def expression(self, frame: GuestFrame) -> tuple[str, str]:
        """Return the source text of the expression that was running, and what follows it in its last line."""
        line, column, end_line, end_column = self.position(frame)
        if column is None or end_line is None or end_column is None:
            return "", ""
        lines = [self.line(frame.filename, number) for number in range(line, end_line + 1)]
        rest = lines[-1][end_column - 1 :].strip()
        lines[-1] = lines[-1][: end_column - 1]
        lines[0] = lines[0][column - 1 :]
        return "\n".join(lines), rest


def _characters(line: str, offset: int) -> int:
    """Return a byte offset of the compiler as a character offset."""
    return offset if line.isascii() else len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


class _Frames(StackSummary):
    """The lines of a traceback that show its frames."""

    def format(self, **options: object) -> list[str]:
        """Return the lines as they are, whatever `options` ask for (colours, from CPython 3.13 on)."""
        return self  # type: ignore[return-value]


class TracebackFormatter:
    """Writes one exception and what it is chained to, as `traceback.print_exception` would, within `MAX_TRACEBACK`.

    `traceback` does write it, of exceptions of plain classes that stand for those of the guest.
    """

    def __init__(self, sources: Mapping[str, str], left_out: Mapping[int, int]) -> None:
        """`left_out`: as `cut` returns it."""
        self._sources = sources
        self._left_out = left_out
        self._lines = SourceLines(sources)
        self._seen: set[int] = set()
        self._budget = MAX_EXCEPTIONS

    def format(self, exc: BaseException) -> str:
        """Return the whole text; exceptions of a group are indented below it."""
        return without_middle("".join(self._exception(exc).format()), MAX_TRACEBACK)

    def _exception(self, exc: BaseException, links: int = 1, depth: int = 0) -> TracebackException:
        """Return an exception, with what it is chained to and made of, as `traceback` has them. It is the end of so
        many `links` of a chain, in groups so deep.
        """
        self._budget -= 1
        if self._budget < 0 or depth > MAX_CHAIN:
            return _written(f"[{'further exceptions' if self._budget < 0 else 'deeper groups'} left out]")
        self._seen.add(id(exc))
        shown = self._alone(exc)
        frames = guest_frames(exc, self._sources)
        shown.stack = _Frames(self._frames(frames)) if frames else None  # type: ignore[arg-type, assignment]
        cause = cause_of(exc)
        link = cause if cause is not None or _suppress_of(exc) else context_of(exc)
        if link is not None and id(link) not in self._seen and links < MAX_CHAIN:
            setattr(shown, "__context__" if cause is None else "__cause__", self._exception(link, links + 1, depth))
        if issubclass(type(exc), BaseExceptionGroup):
            members = members_of(exc)
            inside = [self._exception(member, depth=depth + 1) for member in members[:MAX_GROUP]]
            shown.exceptions = inside + inside[:1] * (len(members) - MAX_GROUP)  # of those their number is written
        return shown

    def _alone(self, exc: BaseException) -> TracebackException:
        """Return the last lines of an exception: class, message, notes; its place, if it is a SyntaxError here."""
        if (where := syntax_position(exc, self._sources)) is None:
            notes = _instance_dict(exc).get("__notes__")
            kept = [note for note in notes[:MAX_GROUP] if type(note) is str] if type(notes) is list else []
            module = module_of(type(exc))
            return _written(qualname_of(type(exc)), module if type(module) is str else "", message_of(exc), kept)
        assert isinstance(exc, SyntaxError)
        if exc.text is None:
            exc.text = self._lines.line(where[0], where[1].line)
        shown = TracebackException(type(exc), exc, None)
        shown.__cause__ = shown.__context__ = None
        return shown

    def _frames(self, frames: list[GuestFrame]) -> Iterator[str]:
        folded = list(_fold(frames, self._left_out))
        if len(folded) > MAX_FRAMES:
            tail = MAX_FRAMES * 2 // 3
            folded[MAX_FRAMES - tail : -tail] = [(None, len(folded) - MAX_FRAMES)]
        for frame, repeats in folded:
            if frame is None:
                yield f"  [... {repeats} frames left out ...]\n"
                continue
            text = self._frame(frame)
            for _ in range(min(repeats, _FOLD_AFTER)):
                yield text
            if repeats > _FOLD_AFTER:
                rest = repeats - _FOLD_AFTER
                yield f"  [Previous line repeated {rest} more time{'' if rest == 1 else 's'}]\n"

    def _frame(self, frame: GuestFrame) -> str:
        line, column, end_line, end_column = frame.position()
        last = end_line if end_line is not None and sys.version_info >= (3, 13) else line  # from 3.13 on all are shown
        text = "".join(self._lines.line(frame.filename, number) + "\n" for number in range(line, last + 1))
        if len(text) > MAX_LINE:
            text, column = without_middle(text.strip(), MAX_LINE), None
        summary = FrameSummary(
            frame.filename,
            line,
            frame.code.co_name,
            lookup_line=False,
            line=text,
            end_lineno=end_line,
            colno=column,
            end_colno=end_column,
        )
        try:
            return _FORMAT.format_frame_summary(summary)
        except (
            Exception
        ):  # it reads the line by `ast` and `textwrap`, of which the program may have replaced a function
            return f'  File "{frame.filename}", line {line}, in {frame.code.co_name}\n    {text.strip()}\n'


_FORMAT = StackSummary()


def _written(name: str, module: str = "", message: str = "", notes: Sequence[str] = ()) -> TracebackException:
    """Return an exception of which this is to be written: an instance of a class that stands for its own."""
    kind = type("Shown", (Exception,), {"__qualname__": name, "__module__": module or "builtins"})
    stand_in = kind(message)
    stand_in.__notes__ = [without_middle(note, MAX_LINE) for note in notes]
    return TracebackException(kind, stand_in, None, max_group_width=MAX_GROUP, max_group_depth=2 * MAX_CHAIN)


def syntax_position(exc: BaseException, sources: Mapping[str, str]) -> tuple[str, Position] | None:
    """Return file and position that a SyntaxError names; None for other kinds, and for a text that the guest read."""
    if not issubclass(type(exc), SyntaxError):
        return None
    filename, line, column, end_line, end_column = (
        SyntaxError.__dict__[name].__get__(exc) for name in ("filename", "lineno", "offset", "end_lineno", "end_offset")
    )
    if type(filename) is not str or filename not in sources or type(line) is not int:
        return None

    def positive(number: object) -> int | None:
        return number if type(number) is int and number > 0 else None

    return filename, Position(line, positive(column), positive(end_line), positive(end_column))


def _fold(frames: list[GuestFrame], left_out: Mapping[int, int]) -> Iterator[tuple[GuestFrame | None, int]]:
    """Yield runs of the same line, each with its length: what recursion leaves. Entries that were taken out count as
    part of the run that they were taken from, if it goes on after them, and else as None.
    """
    previous, length = None, 0
    for frame in frames:
        if previous is not None and (frame.code, frame.line) != (previous.code, previous.line):
            yield previous, length
            previous, length = None, 0
        previous, length = previous or frame, length + 1
        if left_out and id(frame.frame) in left_out:
            yield previous, length
            yield None, left_out[id(frame.frame)]
            previous, length = None, 0
    if previous is not None:
        yield previous, length
