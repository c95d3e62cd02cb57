"""Every message that crosses between host, zygote and child: a closed set of msgspec structs.

Text that guest code produced crosses as `bytes` in UTF-8 with ``surrogatepass``: Python strings may hold lone surrogates,
msgpack strings may not. Values cross as the payload of `protocol.values`.
"""

from __future__ import annotations

import msgspec


class ErrorReport(msgspec.Struct, array_like=True, kw_only=True):
    """Why a step failed, as the child tells it. Mirrors `results.ErrorInfo`; lines and columns count from 1."""

    type: str
    message: bytes = b""
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    source_line: bytes = b""
    traceback: bytes = b""
    rule: str | None = None
    hint: bytes | None = None
    diagnostics: list[ErrorReport] = []


class Display(msgspec.Struct, array_like=True):
    """One rich result: MIME type → data (text as UTF-8)."""

    data: dict[str, bytes]
    truncated: bool = False


class ChangesReport(msgspec.Struct, array_like=True):
    """Names that a step created, changed and deleted, and a short description (``DataFrame 891x12``) per living name."""

    created: list[str] = []
    changed: list[str] = []
    deleted: list[str] = []
    descriptions: dict[str, str] = {}


class Variable(msgspec.Struct, array_like=True):
    """One name of a session's namespace, described without its value. `size` is in bytes, as far as it is cheaply known."""

    name: str
    type: str
    shape: str = ""
    size: int | None = None
    text: bytes = b""
