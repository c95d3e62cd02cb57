"""Reads the parts of a multipart form: files that a client sends. Linear; the caller bounds the length."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_PARTS = 1000
MAX_HEAD = 8 << 10
_PARAMETER = re.compile(r';\s*+([^=;\s"]++)=("(?>(?:[^"\\]|\\.)*)"|[^;]*+)')


class Part(NamedTuple):
    """One file of a form. `name` is what the client calls it; nothing says that it is a safe one."""

    name: str
    data: bytes


def files_of(body: bytes, content_type: str) -> list[Part]:
    """Return the files of a form. Raises ValueError for an invalid form."""
    mark = b"--" + _parameter(content_type, "boundary").encode("latin-1", "replace")
    if len(mark) < 3:
        raise ValueError("the form has no boundary")
    _, *pieces = (b"\r\n" + body).split(b"\r\n" + mark, MAX_PARTS + 1)
    if not pieces or not pieces[-1].startswith(b"--"):
        raise ValueError(f"the form has no end, or more than {MAX_PARTS} parts")
    return [_part(piece) for piece in pieces[:-1]]


def _part(piece: bytes) -> Part:
    head, blank, data = piece.partition(b"\r\n\r\n")
    if not blank or len(head) > MAX_HEAD:
        raise ValueError("a part of the form has no head, or too long a one")
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition":
            return Part(_parameter(value, "filename"), data)
    raise ValueError("a part of the form does not say what it is")


def _parameter(value: str, wanted: str) -> str:
    """Return a parameter of a header: ``form-data; name="file"; filename="a.csv"``."""
    for name, text in _PARAMETER.findall(value):
        if name.lower() == wanted:
            return str(text).strip().removeprefix('"').removesuffix('"').replace('\\"', '"').replace("%22", '"')
    return ""
