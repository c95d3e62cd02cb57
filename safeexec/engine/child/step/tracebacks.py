"""Writes a traceback as this CPython prints it, with the guest's frames only, read without running code of the guest.

Every fact about an exception is taken through the descriptors of the built-in types: a guest class may define
``__traceback__``, ``__class__`` or ``__cause__`` as properties, and those never run here. What does run is ``__str__``
of the exception and what that calls; one that does not return is ended by the step's deadline.
"""

from __future__ import annotations

import sys
import traceback as standard
import warnings
from functools import partial
from itertools import groupby, islice
from types import CodeType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from safeexec.common.identity import module_of, qualname_of, read_getset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
_FOLD_AFTER = 3
"""How often the same line is shown in a row, as by CPython."""

_traceback_of = BaseException.__dict__["__traceback__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppress_of = BaseException.__dict__["__suppress_context__"].__get__
_args_of = BaseException.__dict__["args"].__get__
_members_of = BaseExceptionGroup.__dict__["exceptions"].__get__
_instance_dict = partial(read_getset, BaseException.__dict__["__dict__"])

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
_CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


class Position(NamedTuple):
    """Where an expression is in its source: lines and columns count from 1, in characters; the end is exclusive."""

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
        """The expression that was running."""
        found = next(islice(self.code.co_positions(), self.lasti // 2, None), None) if self.lasti >= 0 else None
        line, end_line, column, end_column = found or (None, None, None, None)
        if line is None:
            return Position(self.line, None, None, None)
        return Position(line, column, end_line, end_column)


def args_of(exc: BaseException) -> tuple[Any, ...]:
    """``args`` of an exception, whatever its class says."""
    args: tuple[Any, ...] = _args_of(exc)
    return args


def only_member(exc: BaseException) -> BaseException | None:
    """The one exception that a group was made of, or None if it is no group or holds several."""
    found: BaseException | None = None
    while issubclass(type(exc), BaseExceptionGroup) and len(members := _members_of(exc)) == 1:
        found = exc = members[0]
    return found


def qualified_name(kind: type) -> str:
    """The class as the last line of a traceback names it: ``json.decoder.JSONDecodeError``, ``ValueError``."""
    module = module_of(kind)
    name = qualname_of(kind)
    return name if type(module) is not str or module in ("builtins", "__main__") else f"{module}.{name}"


def without_middle(text: str, limit: int) -> str:
    """At most `limit` characters of `text`, its head and its tail, with a note of what was left out."""
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


def guest_frames(exc: BaseException, sources: Mapping[str, str]) -> list[GuestFrame]:
    """The frames of guest code in the traceback of `exc`, outermost first."""
    frames = []
    traceback: TracebackType | None = _traceback_of(exc)
    while traceback is not None:
        frame = traceback.tb_frame
        code = frame.f_code
        if (filename := code.co_filename) in sources:
            line = traceback.tb_lineno or code.co_firstlineno
            frames.append(GuestFrame(frame, code, filename, line, traceback.tb_lasti))
        traceback = traceback.tb_next
    return frames


def library_frames(exc: BaseException, sources: Mapping[str, str]) -> list[FrameType]:
    """The frames that the innermost guest frame called into, outermost first; empty if the guest itself raised."""
    frames: list[FrameType] = []
    traceback: TracebackType | None = _traceback_of(exc)
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_filename in sources:
            frames.clear()
        else:
            frames.append(frame)
        traceback = traceback.tb_next
    return frames


class SourceLines:
    """The lines of the steps' sources, split once per report."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._lines: dict[str, list[str]] = {}

    def line(self, filename: str, number: int | None) -> str:
        """Line `number` (from 1) without its line end; empty if there is none."""
        lines = self._lines.get(filename)
        if lines is None:
            text = self._sources.get(filename, "")
            lines = self._lines[filename] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return lines[number - 1] if number is not None and 0 < number <= len(lines) else ""

    def position(self, frame: GuestFrame) -> Position:
        """The position of `frame` with columns in characters, counted from 1."""
        line, column, end_line, end_column = frame.position()
        return Position(
            line,
            None if column is None else _characters(self.line(frame.filename, line), column) + 1,
            end_line,
            None if end_column is None else _characters(self.line(frame.filename, end_line), end_column) + 1,
        )

    def segment(self, frame: GuestFrame) -> str:
        """The source text of the expression that was running; empty if unknown."""
        where = self.position(frame)
        if where.column is None or where.end_line is None or where.end_column is None:
            return ""
        if where.end_line == where.line:
            return self.line(frame.filename, where.line)[where.column - 1 : where.end_column - 1]
        lines = [self.line(frame.filename, number) for number in range(where.line, where.end_line + 1)]
        lines[0], lines[-1] = lines[0][where.column - 1 :], lines[-1][: where.end_column - 1]
        return "\n".join(lines)

    def rest(self, frame: GuestFrame) -> str:
        """Return what follows that expression in its last line."""
        where = self.position(frame)
        if where.end_line is None or where.end_column is None:
            return ""
        return self.line(frame.filename, where.end_line)[where.end_column - 1 :].strip()


def _characters(line: str, offset: int) -> int:
    """A byte offset of the compiler as a character offset."""
    return offset if line.isascii() else len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))


class TracebackFormatter:
    """Writes one exception and what it is chained to, as `traceback.print_exception` would, within `MAX_TRACEBACK`."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._lines = SourceLines(sources)
        self._seen: set[int] = set()
        self._budget = MAX_EXCEPTIONS
        self._depth = 0
        self._must_close = False

    def format(self, exc: BaseException) -> str:
        """The whole text; exceptions of a group are indented below it."""
        return without_middle("".join(self._chain(exc)), MAX_TRACEBACK)

    def _chain(self, exc: BaseException) -> Iterator[str]:
        links: list[tuple[BaseException, str]] = []
        current: BaseException | None = exc
        connector = ""
        while current is not None and id(current) not in self._seen and len(links) < MAX_CHAIN:
            self._seen.add(id(current))
            links.append((current, connector))
            cause, context = _cause_of(current), _context_of(current)
            if cause is not None:
                current, connector = cause, _CAUSE
            elif context is not None and not _suppress_of(current):
                current, connector = context, _CONTEXT
            else:
                current = None
        for link, following in reversed(links):
            yield from self._one(link)
            yield from self._emit(following)

    def _one(self, exc: BaseException) -> Iterator[str]:
        self._budget -= 1
        if self._budget < 0:
            yield from self._emit("[further exceptions left out]\n")
            return
        frames = guest_frames(exc, self._sources)
        is_group = issubclass(type(exc), BaseExceptionGroup)
        is_outermost = is_group and self._depth == 0
        self._depth += is_outermost
        if frames:
            title = f"{'Exception Group ' if is_group else ''}Traceback (most recent call last):\n"
            yield from self._emit(title, "+" if is_outermost else "|")
        for text in (*self._frames(frames), *self._last_lines(exc)):
            yield from self._emit(text)
        if is_group:
            yield from self._members(_members_of(exc))
        self._depth -= is_outermost

    def _members(self, members: tuple[BaseException, ...]) -> Iterator[str]:
        shown: list[BaseException | None] = [*members[:MAX_GROUP], *([None] if len(members) > MAX_GROUP else [])]
        if self._depth > MAX_CHAIN:
            yield from self._emit("[deeper groups left out]\n")
            return
        self._must_close = False
        for number, member in enumerate(shown, 1):
            self._must_close = self._must_close or number == len(shown)
            branch = "+-" if number == 1 else "  "
            yield f"{'  ' * self._depth}{branch}+---------------- {number if member else '...'} ----------------\n"
            self._depth += 1
            if member is not None:
                yield from self._chain(member)
            else:
                rest = len(members) - MAX_GROUP
                yield from self._emit(f"and {rest} more exception{'s' if rest > 1 else ''}\n")
            if number == len(shown) and self._must_close:
                yield f"{'  ' * self._depth}+------------------------------------\n"
                self._must_close = False
            self._depth -= 1

    def _emit(self, text: str, margin: str = "|") -> Iterator[str]:
        if not self._depth:
            yield text
            return
        for line in text.splitlines(keepends=True):
            yield f"{'  ' * self._depth}{margin} {line}"

    def _frames(self, frames: list[GuestFrame]) -> Iterator[str]:
        folded: list[tuple[GuestFrame | None, int]] = [*_fold(frames)]
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
        return _FORMAT.format_frame_summary(
            standard.FrameSummary(
                frame.filename,
                line,
                frame.code.co_name,
                lookup_line=False,
                line=text,
                end_lineno=end_line,
                colno=column,
                end_colno=end_column,
            )
        )

    def _last_lines(self, exc: BaseException) -> Iterator[str]:
        """Class and message; of a SyntaxError about a source of the guest its place, too."""
        if (where := syntax_position(exc, self._sources)) is not None:
            assert isinstance(exc, SyntaxError)
            if exc.text is None:
                exc.text = self._lines.line(where[0], where[1].line)
            yield from standard.format_exception_only(exc)
            return
        name, message = qualified_name(type(exc)), message_of(exc)
        yield f"{name}: {message}\n" if message else f"{name}\n"
        notes = _instance_dict(exc).get("__notes__")
        if type(notes) is list:
            for note in notes[:MAX_GROUP]:
                if type(note) is str:
                    yield without_middle(note, MAX_LINE) + "\n"


_FORMAT = standard.StackSummary()


def syntax_position(exc: BaseException, sources: Mapping[str, str]) -> tuple[str, Position] | None:
    """File and position that a SyntaxError names, or None if it is of another kind or about a text the guest read."""
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


def _fold(frames: list[GuestFrame]) -> Iterator[tuple[GuestFrame, int]]:
    """Yield runs of the same line, each with its length: what recursion leaves."""
    for _, run in groupby(frames, lambda frame: (frame.code, frame.line)):
        same = list(run)
        yield same[0], len(same)


def release_frames(exc: BaseException) -> None:
    """Drop the local variables that the frames of `exc` and of what it is chained to hold, so that no state leaks.

    Generators and coroutines are left alone: one that caught the exception may still be waiting to go on. Warnings
    are off meanwhile: the coroutines that die here unawaited would be reported with a line of this file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _release_frames(exc)


def _release_frames(exc: BaseException) -> None:
    pending: list[BaseException] = [exc]
    seen: set[int] = set()
    while pending and len(seen) < 1000:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        traceback: TracebackType | None = _traceback_of(current)
        while traceback is not None:
            if not traceback.tb_frame.f_code.co_flags & _GENERATOR_FLAGS:
                try:
                    traceback.tb_frame.clear()
                except RuntimeError:  # still running: ours
                    pass
            traceback = traceback.tb_next
        pending.extend(link for link in (_cause_of(current), _context_of(current)) if link is not None)
        if issubclass(type(current), BaseExceptionGroup):
            pending.extend(_members_of(current)[:MAX_GROUP])


_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200  # CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
