"""Reads JSON of strangers that may have any shape: transcripts, recorded runs, arguments of calls."""

from __future__ import annotations

import json
import math
from typing import Any

_MAX_DIGITS = 20
_MAX_FLOAT = 400
_MAX_PARTS = 4_000_000
"""Lists, dicts and their items: `[],[],…` takes 21 times its size in memory."""


def _int(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        form = '{"type": "int", "repr": "…"}'
        raise ValueError(f"a number has {len(digits)} digits, and {_MAX_DIGITS} are read; a longer int is {form}")
    return int(digits)


def _float(digits: str) -> float:
    if len(digits) > _MAX_FLOAT:
        raise ValueError(f"a number has {len(digits)} digits, and {_MAX_FLOAT} are read")
    if math.isinf(number := float(digits)):
        raise ValueError(f"{digits[:40]} is larger than any number that is read")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


_STRICT = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=_constant)
_LENIENT = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=_constant, strict=False)


def loads(text: str, *, strict: bool = True) -> Any:
    """Return the value of a JSON text. ValueError for whatever cannot be read: long numbers, deep nesting and millions
    of tiny parts too.

    `strict=False` takes line ends inside of texts, which models write. The caller bounds the length.
    """
    if text.count(",") + text.count("[") + text.count("{") > _MAX_PARTS:
        raise ValueError(f"it has more than {_MAX_PARTS} parts")
    try:
        return (_STRICT if strict else _LENIENT).decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
