"""Writes what goes to a server, and reads what comes back, in the forms that cross. Each answer is checked against its
shape."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from safeexec.engine.host.session.standard_input import Given, encoded, pieces_of
from safeexec.errors import ProtocolError, SandboxError
from safeexec.protocol.confinement import Mechanism
from safeexec.remote.methods import EVERY, MAX_FILE, Protection, StepDisplay
from safeexec.results import Display, Result
from safeexec.results.marked import marked, unmarked
from safeexec.results.outcomes import is_text

# What goes


def fitting(data: bytes) -> bytes:
    """Return the bytes if they fit into one message. Raises `SandboxError`."""
    if len(data) > MAX_FILE:
        raise SandboxError(f"{len(data)} bytes are more than the {MAX_FILE} that fit into one message")
    return data


def source_of(text: str) -> dict[str, str] | str:
    """Return a source as it crosses: as text, or where it holds half a character, which JSON cannot carry, as bytes."""
    if not isinstance(text, str):
        raise TypeError(f"source must be str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return marked(text.encode("utf-8", "surrogatepass"))
    return text


def input_of(given: Given | None) -> dict[str, str] | str | None:
    """Return standard input as a whole: over a connection it is sent before the step begins."""
    if given is None:
        return None
    if isinstance(given, str):
        encoded(given, "stdin")
        return given
    if isinstance(given, bytes | bytearray | memoryview):
        return marked(fitting(bytes(given)))
    pieces, size = [], 0
    for piece in pieces_of(given):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_FILE:
            break
    return marked(fitting(b"".join(pieces)))


def contents_of(files: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Return the bytes of what is given for sessions to begin with; of a directory, of each regular file in it."""
    found: list[tuple[str, bytes]] = []
    for name, content in files.items():
        if isinstance(content, bytes):
            found.append((name, content))
        elif os.path.isdir(content):
            top = Path(content)
            paths = sorted(path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
            found += [(f"{name}/{path.relative_to(top).as_posix()}", read_file(path)) for path in paths]
        else:
            found.append((name, read_file(content)))
    return found


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file of this machine. Raises OSError, and `SandboxError` for more than a message holds."""
    with open(path, "rb") as file:
        return fitting(file.read(MAX_FILE + 1))


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file of this machine that its owner alone may read. Raises OSError."""
    with open(path, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(data)


# What comes back


def shaped(method: str, answer: Any) -> Any:
    """Return the answer to a method as the table says; of a step as it came. Raises `ProtocolError`, as all below."""
    shape = EVERY[method].answer
    return answer if shape is Result else converted(answer, shape)


def converted(answer: Any, shape: Any) -> Any:
    """Return the answer as an object of `shape`."""
    try:
        return msgspec.convert(answer, shape, dec_hook=display_of)
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        raise ProtocolError(f"the server's answer has not the shape that was agreed: {error}") from None


def result_of(answer: Any) -> Result:
    """Return the result of a step."""
    value = answer.pop("value", None) if isinstance(answer, dict) else None
    result: Result = converted(answer, Result)
    return replace(result, value=value_of(value))


def value_of(value: Any) -> Any:
    """Return a value of guest code."""
    try:
        return unmarked(value)
    except ValueError as error:
        raise ProtocolError(f"a value cannot be read: {error}") from None


def display_of(_: type, given: Any) -> Display:
    """Return a display, the one type in a result that msgspec does not know."""
    shown = msgspec.convert(given, StepDisplay)
    data = {mime: item if is_text(mime) else base64.b64decode(item, validate=True) for mime, item in shown.data.items()}
    return Display(data, shown.truncated, shown.display_id, shown.update)


def mechanisms_of(rows: list[Protection]) -> list[Mechanism]:
    """Return what protects a session."""
    return [Mechanism(row.name, row.active, row.detail) for row in rows]


def field_of(answer: Struct) -> Any:
    """Return the one field of an answer, or None where it has none."""
    (field,) = astuple(answer) or (None,)  # a method whose answer has more of them is no `call_for_field`
    return field
