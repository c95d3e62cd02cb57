"""Values in JSON that are themselves again at the other end: ``{"type": ..., "base64": ...}``, and large ints. Pure.

`jsonable` writes bytes and ints beyond 2**53 like this; `exact` writes any value, in the format of `protocol.values`.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from safeexec.protocol.values import MAX_DEPTH, Clock, decode, encode
from safeexec.results.jsonable import to_base64

_KEYS = {"type", "base64"}
_INT_KEYS = {"type", "repr"}
_DIGITS = re.compile(r"-?[0-9]{1,4300}").fullmatch
"""An int beyond 2**53, as `jsonable` writes it: as many digits as Python reads."""
_DEPTH = 100
_KINDS = ("bytes", "bytearray", "encoded")


def marked(data: bytes, kind: str = "bytes") -> dict[str, str]:
    """Return bytes of that kind as JSON."""
    return {"type": kind, "base64": to_base64(data)}


def exact(value: Any, max_bytes: int) -> dict[str, str]:
    """Any value, without a loss. What is larger arrives as `Opaque`."""
    return marked(encode(value, max_bytes=max_bytes, max_depth=MAX_DEPTH, arrays=True).data, "encoded")


def unmarked(value: Any, depth: int = _DEPTH, clock: Clock | None = None) -> Any:
    """Return a value of JSON, with what is marked in it as itself. All of that has one `clock`.

    Raises ValueError for invalid base64, and `ProtocolError` for a value that cannot be read.
    """
    if not depth:
        return value
    clock = clock or Clock()
    if type(value) is list:
        return [unmarked(item, depth - 1, clock) for item in value]
    if type(value) is not dict:
        return value
    if value.keys() == _KEYS and type(value["base64"]) is type(value["type"]) is str and value["type"] in _KINDS:
        data = base64.b64decode(value["base64"], validate=True)
        if value["type"] == "encoded":
            return decode(data, arrays=True, clock=clock)
        return bytearray(data) if value["type"] == "bytearray" else data
    if value.keys() == _INT_KEYS and value["type"] == "int" and type(value["repr"]) is str and _DIGITS(value["repr"]):
        return int(value["repr"])
    return {key: unmarked(item, depth - 1, clock) for key, item in value.items()}
