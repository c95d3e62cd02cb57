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
    """Return the source in ``{"code": ...}``, given as JSON text or as a dict. None for anything else.

    msgspec reads in linear time, bounds the depth of what it skips, and builds nothing but the text.
    """
    if type(arguments) is dict:
        code = arguments.get("code")
        return code if len(arguments) == 1 and type(code) is str else None
    if type(arguments) not in (str, bytes) or len(arguments) > MAX_CHARACTERS:
        return None
    try:
        return _decode(arguments).code
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def why_no_call(arguments: Any) -> str:
    """Return what is wrong with arguments of which `code_of` makes None, for the model that wrote them."""
    if type(arguments) in (str, bytes) and len(arguments) > MAX_CHARACTERS:
        return f"longer than {MAX_CHARACTERS} characters"
    try:
        if type(arguments) in (str, bytes):
            _decode(arguments)
        else:
            msgspec.convert(arguments, _Call)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return printable(str(error))[:200]
    return "not a JSON object"
