"""Makes of what a child sent what the caller gets. Texts of the guest are decoded and cut here and nowhere else; a name
or a sentence becomes one line without anything that a terminal would obey. How many parts there may be is bounded by
the messages (`protocol.messages`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from safeexec.common.text import from_utf_8, one_line, printable
from safeexec.engine import advice
from safeexec.errors import ProtocolError
from safeexec.protocol import messages as m
from safeexec.protocol.values import decode
from safeexec.protocol.values import format as form
from safeexec.results import STARTS_EMPTY, Changes, Display, ErrorInfo, Result, State
from safeexec.results.outcomes import Frame, Variable

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Limits

KEPT_BYTES = 4 << 20
"""Larger values are read into memory of their own. Of the memory that is kept, what is not written to is not there."""
_IN_PLACE = frozenset({form.ARRAY, form.RECORDS, form.MASKED, form.FRAME, form.SERIES, form.INDEX})
MESSAGE_BYTES = 20_000
"""The most bytes of a message, a hint or a line of source; four times as much of the repr of a value."""
TRACEBACK_BYTES = 60_000
NAMES = 1000
"""The most items of a list that a child sends: names, errors, displays."""
LINE_CHARACTERS = 1000
"""The most characters of a rule of the policy, and of the source line of which a hint is made."""
NO_CHANGES = Changes()


def text(data: bytes, cap: int = MESSAGE_BYTES) -> str:
    """Return text of the guest: lone surrogates survive, a cut says so."""
    if len(data) > cap:
        data = data[: cap // 2] + b" [...] " + data[-cap // 2 :]
    return from_utf_8(data, replace=True)


def sentence(data: bytes) -> str:
    """Return a text of the guest as one line, however long."""
    found = text(data)
    return found if found.isprintable() else " ".join(printable(found).split())


def notes_of(notes: Iterable[str]) -> list[str]:
    """Return the notes of a child, each on its line."""
    return [one_line(note, m.NOTE_CHARACTERS) for note in notes]


def decode_payload(payload: bytes | bytearray | memoryview, depth: int, *, arrays: bool) -> Any:
    """Return one value of the child, nested `depth` deep at most (`limits.value_depth`). `arrays`: arrays and frames
    are made anew; otherwise they are plain data. Raises `ProtocolError`.
    """
    return decode(payload, max_depth=depth + 2, arrays=arrays)


def may_be_bound(name: object) -> bool:
    """Return whether a process can be asked for a variable or an attribute of this name: it lists no others."""
    return isinstance(name, str) and name.isprintable()


def decode_file(fd: int, size: int, depth: int, *, arrays: bool) -> Any:
    """Return a value, as `decode_payload`, from the first `size` bytes of a file that the child filled. Raises
    `ProtocolError`.

    Two buffers of 1 MB that come and go are 450 page faults, 0.7 ms: the memory that a value is read into becomes the
    memory of the array in it, or is kept for the next value.
    """
    own = size > KEPT_BYTES or os.pread(fd, 1, 0) in _IN_PLACE
    kept = bytearray(size) if own else _take()
    with memoryview(kept) as whole, whole[:size] as view, view.toreadonly() as read_only:
        if os.preadv(fd, [view], 0) != size:
            raise ProtocolError(f"a value of {size} bytes was announced, and fewer came")
        value = decode_payload(kept if own else read_only, depth, arrays=arrays)
    if not own:
        _kept.append(kept)
    return value


def _take() -> bytearray:
    try:
        return _kept.pop()
    except IndexError:
        return bytearray(KEPT_BYTES)


_kept: list[bytearray] = []
"""Buffers that nobody uses; as many as threads ever read a large value at once."""


def error_info(report: m.Refusal) -> ErrorInfo:
    """Return an error as the child reports it, or a refusal that its code has caught, each text cut."""
    diagnostics = report.diagnostics[:NAMES] if isinstance(report, m.ErrorReport) else ()
    return ErrorInfo(
        type=one_line(report.type, 200),
        message=text(report.message),
        line=report.line,
        column=report.column,
        end_line=report.end_line,
        end_column=report.end_column,
        source_line=text(report.source_line),
        traceback=text(report.traceback, TRACEBACK_BYTES),
        rule=None if report.rule is None else one_line(report.rule, LINE_CHARACTERS),
        hint=None if report.hint is None else sentence(report.hint),
        diagnostics=tuple(map(error_info, diagnostics)),
        file=one_line(report.file, 200),
    )


def error_of(report: m.ErrorReport, outcome: str, limits: Limits) -> ErrorInfo:
    """Return the error of a step with this outcome."""
    error = error_info(report)
    if outcome != "memory":
        return error
    message = f"the step needed more memory than it may have; limits.memory_mb is {limits.memory_mb}"
    return replace(error, message=error.message or message, hint=error.hint or advice.limit_hint("memory"))


def content_bytes(done: m.StepDone) -> int:
    """Return about how many bytes of text `contents_of` is to read."""
    reports = list[m.Refusal](done.refusals)
    if done.error is not None:
        reports += done.error, *done.error.diagnostics
    size = sum(len(one.message) + len(one.source_line) + len(one.traceback) + len(one.hint or b"") for one in reports)
    return size + sum(len(data) for one in done.displays for data in one.data.values())


def contents_of(done: m.StepDone, limits: Limits) -> dict[str, Any]:
    """Return fields of a result that few steps have and that may be large. Costs 0.4 us for half of a character."""
    return {
        "error": None if done.error is None else error_of(done.error, done.outcome, limits),
        "displays": displays(done.displays),
        "refusals": tuple(error_info(refusal) for refusal in done.refusals[:NAMES]),
    }


def changes_of(report: m.ChangesReport) -> Changes:
    """Return the names that a step touched, within the bounds of the message."""
    described = report.descriptions
    groups = report.created, report.changed, report.deleted
    if not "".join((*groups[0], *groups[1], *groups[2], *described, *described.values())).isprintable():
        groups = tuple([one_line(name) for name in group] for group in groups)  # type: ignore[assignment]
        described = {one_line(name): one_line(description) for name, description in described.items()}
    created, changed, deleted = map(tuple, groups)
    return Changes(created, changed, deleted, described)


def variables_of(rows: list[m.VariableData]) -> list[Variable]:
    """Return the variables as the child describes them."""
    return [
        Variable(one_line(row.name), one_line(row.type), one_line(row.shape), row.size, text(row.text)) for row in rows
    ]


def frames_of(frames: list[m.FrameData]) -> list[Frame]:
    """Return the functions that were running when a step raised."""
    return [
        Frame(
            one_line(frame.function, 200), one_line(frame.file, 200), frame.line, tuple(variables_of(frame.variables))
        )
        for frame in frames
    ]


def displays(reports: list[m.DisplayData]) -> tuple[Display, ...]:
    """Return the displays of a step, a thousand at most. The data are as the guest made them: hostile to a browser."""
    return tuple(
        Display(
            {one_line(mime, 200): data for mime, data in report.data.items()},
            report.truncated,
            None if report.display_id is None else one_line(report.display_id, 200),
            report.update,
        )
        for report in reports[:NAMES]
    )


def restored(result: Result, notes: list[str], remaining: tuple[str, ...], diverged: bool) -> Result:
    """Return the result of a step that was undone, with what is to be said of that. `notes`: of the restore.
    `diverged`: steps before it are lost, as they came out otherwise.
    """
    empty = notes and notes[-1].endswith(STARTS_EMPTY)
    state: State = "diverged" if diverged else "lost" if empty else "restored"
    return replace(result, state=state, notes=(*result.notes, *notes), remaining=remaining)
