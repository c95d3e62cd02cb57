"""Reads the arguments of a call that a model asked for: one JSON object with one text, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec

from safeexec.common.text import printable

MAX_CHARACTERS = 32 << 20
"""The most characters of the JSON text: twice what the longest step of any policy may have."""


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    code: str


_decode = msgspec.json.Decoder(_Call).decode


def code_of(arguments: Any) -> str | None:
    """Return the source in ``{"code": ...}``, given as JSON text or as a dict. None for anything else."""
    found = _read(arguments)
    return found.code if isinstance(found, _Call) else None


def why_no_call(arguments: Any) -> str:
    """Return what is wrong with arguments of which `code_of` makes None, for the model that wrote them."""
    found = _read(arguments)
    return "" if isinstance(found, _Call) else found


def _read(arguments: Any) -> _Call | str:
    """Return the call, or what is wrong with it. msgspec reads in linear time, bounds the depth of what it skips, and
    builds nothing but the text.
    """
    is_text = type(arguments) in (str, bytes)
    if is_text and len(arguments) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    try:
        call = _decode(arguments) if is_text else msgspec.convert(arguments, _Call)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return printable(str(error))[:200]
    return call if is_text or type(arguments) is dict else "not a JSON object"
