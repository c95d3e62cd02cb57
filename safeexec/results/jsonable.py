"""Any value or result as what `json.dumps` takes. Pure."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from safeexec.common.text import int_repr, short_repr, type_name
from safeexec.protocol.values.format import Formula, Opaque

if TYPE_CHECKING:
    from safeexec.results.outcomes import Display, ErrorInfo, StepData, WaitingCall

_EXACT = 1 << 53
"""Up to here every reader of JSON has an int as it was: most of them, JavaScript's first, keep numbers as doubles."""
_DIGITS = 4300
"""The most digits of an int that Python writes as text."""
_DEPTH = 100


def jsonable(value: Any, depth: int = _DEPTH) -> Any:
    """Return None, bool, str, finite float, int up to 2**53, list and dict as themselves, tuples and sets as lists.

    Everything else becomes ``{"type": ..., "repr": ...}``, larger ints too, with their digits; bytes have ``base64``
    instead, and a dict with other keys than str is ``{"type": "dict", "items": [[key, value], ...]}``.
    """
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -_EXACT <= value <= _EXACT else {"type": "int", "repr": int_repr(value, _DIGITS)}
    if kind is float and math.isfinite(value):
        return value
    if kind is Formula:
        return {"type": value.type, "repr": value.repr, "latex": value.latex}
    if kind is Opaque:
        return {"type": value.type, "repr": value.repr} | ({"reason": value.reason} if value.reason else {})
    if depth and kind in (list, tuple, set, frozenset):
        return [jsonable(item, depth - 1) for item in value]
    if depth and kind is dict:
        if all(type(key) is str for key in value):
            return {key: jsonable(item, depth - 1) for key, item in value.items()}
        return {
            "type": "dict",
            "items": [[jsonable(key, depth - 1), jsonable(item, depth - 1)] for key, item in value.items()],
        }
    if kind in (bytes, bytearray):
        return {"type": kind.__name__, "base64": to_base64(value)}
    return {"type": type_name(kind), "repr": short_repr(value, 2000)}


PART = 5000
"""Items that are written by one call of C, which holds the GIL: 1 ms."""
BASE64_PIECE = 3 << 18
"""Bytes that base64 writes without padding."""
TEXT_PART = 1 << 16
"""Characters of a text that one call of C writes, which no other thread interrupts."""


def size_of(value: Any, most: int) -> int:
    """Return about how large a value is, in items and in characters of its texts and numbers; of a large one `most` and
    more, for it looks at no more than that.
    """
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return len(value)
    size = 1
    if kind in (list, tuple, set, frozenset, dict):
        if len(value) > most:
            return len(value)
        for item in [*value, *value.values()] if kind is dict else value:
            size += size_of(item, most - size)
            if size > most:
                break
    elif kind is int:
        size += value.bit_length() // 3
    return size


def pieces_of(value: Any) -> Iterator[str]:
    """Yield the JSON of what `jsonable` gives, in pieces of some `PART` items. ValueError for what is no JSON."""
    kind = type(value)
    if kind is str and len(value) > TEXT_PART:
        yield from _text_pieces(value)
    elif kind is list and size_of(value, PART) > PART:
        yield from _pieces("[", (item for item in value), "]")
    elif kind is dict and size_of(value, PART) > PART:
        yield from _pieces("{", value.items(), "}")
    else:
        yield _dumps(value)


def to_base64(data: bytes | bytearray) -> str:
    """Piece by piece: no other thread interrupts a call of C, and 40 MB in one take 44 ms."""
    if len(data) <= BASE64_PIECE:
        return base64.b64encode(data).decode("ascii")
    pieces = (data[start : start + BASE64_PIECE] for start in range(0, len(data), BASE64_PIECE))
    return "".join(base64.b64encode(piece).decode("ascii") for piece in pieces)


def _text_pieces(text: str) -> Iterator[str]:
    """Yield a long text as JSON. Two halves of one character stay together."""
    start, quote = 0, '"'
    while start < len(text):
        end = start + TEXT_PART
        if "\ud800" <= text[end - 1 : end] < "\udc00" <= text[end : end + 1] < "\ue000":
            end += 1
        yield quote + _dumps(text[start:end])[1:-1]
        start, quote = end, ""
    yield '"'


def _pieces(begin: str, items: Iterable[Any], end: str) -> Iterator[str]:
    comma, size = begin, 0
    held: list[Any] = []
    for item in items:
        value = item[1] if end == "}" else item
        more = size_of(value, PART)
        if held and size + more > PART:
            yield comma + _dumps(dict(held) if end == "}" else held)[1:-1]
            comma, held, size = ",", [], 0
        if more > PART:
            yield comma + (f"{_dumps(item[0])}:" if end == "}" else "")
            yield from pieces_of(value)
            comma = ","
        else:
            held.append(item)
            size += more
    if held:
        yield comma + _dumps(dict(held) if end == "}" else held)[1:-1]
        comma = ","
    yield end if comma == "," else begin + end


_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def result_to_dict(result: StepData) -> dict[str, Any]:
    """Return a result with all its parts, pictures as base64."""
    usage, error, changes = result.usage, result.error, result.changes
    return {
        "ok": result.ok,
        "outcome": result.outcome,
        "step": result.step,
        "value": jsonable(result.value),
        "text": result.text,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "displays": [display_to_dict(display) for display in result.displays],
        "error": None if error is None else _error(error),
        "changes": {
            "created": list(changes.created),
            "changed": list(changes.changed),
            "deleted": list(changes.deleted),
            "descriptions": dict(changes.descriptions),
        },
        "usage": asdict(usage),
        "truncated": result.truncated,
        "state": result.state,
        "tool_calls": [asdict(call) for call in result.tool_calls],
        "files": [asdict(entry) for entry in result.files],
        "refusals": [_error(entry) for entry in result.refusals],
        "notes": list(result.notes),
        "remaining": list(result.remaining),
        "exit_status": result.exit_status,
        "waiting_for": None if result.waiting_for is None else waiting_to_dict(result.waiting_for),
    }


def waiting_to_dict(call: WaitingCall) -> dict[str, Any]:
    """Return a call that was put off; its times are ISO 8601."""
    times = {"since": call.since.isoformat(), "until": call.until.isoformat()}
    return asdict(call) | times | {"arguments": jsonable(dict(call.arguments))}


def display_to_dict(display: Display) -> dict[str, Any]:
    """Return a display by its MIME types, pictures as base64."""
    items = {mime: to_base64(data) if isinstance(data, bytes) else data for mime, data in display.items()}
    named = {} if display.display_id is None else {"display_id": display.display_id, "update": display.update}
    return {"data": items, "truncated": display.truncated, **named}


def _error(error: ErrorInfo) -> dict[str, Any]:
    """Return an error with all its parts, those of its diagnostics included."""
    return asdict(error) | {"diagnostics": [_error(entry) for entry in error.diagnostics]}
