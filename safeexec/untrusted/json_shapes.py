"""Reads JSON of strangers that has a known shape: calls of clients."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from safeexec.common.text import shorten

T = TypeVar("T")
TOLD = 500
"""Characters of what is wrong."""


def shaped(data: bytes | bytearray | msgspec.Raw, kind: type[T]) -> T:
    """Return the value of a JSON text, which is a `kind`: nothing is built that the shape does not name, and no long
    number is read. ValueError for whatever does not fit. The caller bounds the length.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except msgspec.ValidationError as error:
        raise ValueError(shorten(str(error), TOLD)) from None  # it names a field, however long the client made that
    except msgspec.DecodeError as error:
        text = bytes(data) if isinstance(data, msgspec.Raw) else data
        half = " (half of a character, as \\ud800, is no text)" if b"\\ud" in text or b"\\uD" in text else ""
        raise ValueError(f"{error}{half}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
