"""Compares two results of one step and returns the first difference. Pure.

It does not compare times, memory, notes, hints, addresses of objects, the depth that a recursion reached before it
failed, and how this CPython draws a traceback: none of them is promised.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from safeexec.common.text import short_repr, shorten
from safeexec.recordings.format import Ended, Value
from safeexec.recordings.forms import value_of

CHANCE = re.compile(r"0x[0-9a-f]{6,16}|(?<=Previous line repeated )\d+")
SHOWN = 300


class Deviation(Struct, frozen=True, kw_only=True):
    """The first thing in which a step, or an operation between steps, ended otherwise than it was recorded."""

    session: int
    step: int
    what: str
    """A field of the result, ``outcome``; ``operation`` for what is no step; ``tool call``."""
    recorded: str
    now: str
    cause: str = ""

    def __str__(self) -> str:
        of = "" if self.session == 1 else f" of session {self.session}"
        message = f"step {self.step}{of}: {self.what} was {self.recorded}, and is {self.now}"
        return f"{message}; {self.cause}" if self.cause else message


def differing(recorded: Ended, now: Ended) -> tuple[str, str, str] | None:
    """Return the first field that differs, as it was and as it is."""
    for name in FIELDS:
        before, after = (_part(one, name) for one in (recorded, now))
        if before != after and not (name == "value" and _same_value(recorded.value, now.value)):
            return name, _shown(name, before), _shown(name, after)
    return None


def _shown(name: str, part: Any) -> str:
    """Return a part in a few words."""
    if name != "changes":
        return short_repr(part, SHOWN)
    *verbs, described = part
    words = [
        f"{verb} {', '.join(names)}"
        for verb, names in zip(("created", "changed", "deleted"), verbs, strict=True)
        if names
    ]
    words += [f"{key}: {text}" for key, text in described.items()]
    return shorten("; ".join(words) or "none", SHOWN)


FIELDS = (
    *("outcome", "error.type", "error.message", "error.rule", "state", "tool_calls", "stdout", "stderr", "text"),
    *("value", "displays", "changes", "files", "refusals", "exit_status", "error.line"),
    *("remaining", "truncated"),
)
"""In the order in which a difference says most."""


def _part(ended: Ended, name: str) -> Any:
    of, _, field = name.partition(".")
    found = getattr(ended, of)
    if field:
        found = None if found is None else getattr(found, field)
    if of == "tool_calls":
        return [(call.tool, call.outcome) for call in found]
    if of == "displays":
        return [{mime: _without_chance(item) for mime, item in display.data.items()} for display in found]
    if of == "changes":
        described = {key: _without_chance(text) for key, text in found.descriptions.items()}
        return found.created, found.changed, found.deleted, described
    if of == "refusals":
        return [(one.type, one.message, one.rule) for one in found]
    if of == "value":
        return None if found is None else (found.data, found.sha256, found.left_out)
    return _without_chance(found) if isinstance(found, str) else found


def _without_chance(text: str) -> str:
    return CHANCE.sub("…", text)


def _same_value(before: Value | None, after: Value | None) -> bool:
    """Return whether two values that are written differently are one: sets have no order of their own. What was left
    out because of its size is compared by its text."""
    if before is None or after is None:
        return False
    if before.left_out or after.left_out:
        return before.left_out == after.left_out
    try:
        return same(value_of(before), value_of(after))
    except (ValueError, RecursionError):
        return False


def same(one: Any, other: Any) -> bool:
    """Return whether plain values are equal: a NaN is itself, and objects of the guest are what they print."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is float:
        return bool(one == other or (one != one and other != other))
    if kind in (list, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if kind is dict:
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if kind.__name__ in ("Opaque", "Formula"):
        return one.type == other.type and _without_chance(one.repr) == _without_chance(other.repr)
    try:
        return bool(one == other)
    except Exception:  # an array has no one truth
        return False
