"""Fingerprints of states: two are equal if their variables have the same plain values and their files are the same.

A variable of another kind (a frame, an object, a large value) cannot be compared. It counts as unchanged
since the search began, unless a program has mentioned it: then the state equals no other. So states that differ never
count as equal, and some equal states are not found.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from safeexec.results import Result, Variable

PLAIN = frozenset({"int", "float", "complex", "bool", "str", "bytes", "NoneType"})
CONTAINERS = frozenset({"list", "tuple", "dict", "set", "frozenset"})
EXACT = frozenset({"Decimal", "Fraction", "date", "datetime", "time", "timedelta"})
PLAIN_BYTES = 64 << 10
"""Up to which size a value is fetched to be compared."""
FILE_BYTES = 1 << 20
"""Up to which size a file is read to be compared."""
PARTS = 10_000
"""Values in a value at most."""
UNCHANGED = "as it was"
"""The fingerprint of a variable that cannot be compared and was there when the search began."""
_WORD = re.compile(r"\w+")

Fingerprints = Mapping[str, Hashable]
"""Of one state: name of a variable, or of a file after a slash → what is equal for equal contents alone."""


def may_fetch(row: Variable) -> bool:
    """Return whether a variable is of a kind that is compared by what it holds."""
    return row.type in PLAIN | CONTAINERS | EXACT and (row.size is None or row.size <= PLAIN_BYTES)


def fingerprints_of(
    before: Fingerprints,
    source: str,
    result: Result | None,
    rows: Iterable[Variable],
    values: Mapping[str, Any],
    files: Mapping[str, bytes | None],
) -> Fingerprints:
    """The fingerprints of the state after `source`. `before`: those of the state in which it ran; empty for the first
    state. `values`: the plain variables. `files`: those that the step changed, None for what is gone or too large to
    compare.
    """
    mentioned = set(_WORD.findall(source))
    changed = set() if result is None else {*result.changes.created, *result.changes.changed}
    found: dict[str, Hashable] = {}
    for row in rows:
        own: Hashable = digest(values[row.name]) if row.name in values else None
        if own is None:
            own = _of_incomparable(row, before.get(row.name, UNCHANGED), row.name in changed, row.name in mentioned)
        found[row.name] = own
    found |= {name: known for name, known in before.items() if name.startswith("/")}
    for name, content in files.items():
        found[f"/{name}"] = object() if content is None else hashlib.blake2b(content).digest()
    return found


def _of_incomparable(row: Variable, before: Hashable, changed: bool, mentioned: bool) -> Hashable:
    """The fingerprint of a variable that cannot be compared: one of its own where it may be another now."""
    if row.type == "module":
        return ("module", row.text)
    if row.type in ("function", "type") and not changed:
        return before
    return object() if changed or mentioned else before


def key_of(state: Fingerprints) -> Hashable:
    """All fingerprints of a state in one: equal for equal states."""
    return frozenset(state.items())


def digest(value: Any) -> bytes | None:
    """Equal for values of equal types and contents. None for one that is, or holds, what is no plain value."""
    hashed = hashlib.blake2b()
    waiting, parts = [value], 0
    while waiting:
        item = waiting.pop()
        parts += 1
        kind = type(item).__name__
        if parts > PARTS or kind not in PLAIN | CONTAINERS | EXACT:
            return None
        if kind not in CONTAINERS:
            # Of an int in hexadecimal: in decimal it takes quadratic time, and Python refuses 4,300 digits.
            text = (hex(item) if kind == "int" else repr(item)).encode()
        elif isinstance(item, dict):
            text = str(len(item)).encode()
            waiting += [part for pair in item.items() for part in pair]
        else:
            text = str(len(item)).encode()
            if isinstance(item, set | frozenset):
                parts += len(item)
                digests = [digest(part) for part in item] if parts <= PARTS else [None]
                if None in digests:
                    return None
                hashed.update(b"".join(sorted(part for part in digests if part is not None)))
            else:
                waiting += item
        hashed.update(b"%s %d:%s" % (kind.encode(), len(text), text))
    return hashed.digest()
