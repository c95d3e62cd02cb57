"""Open files across a fork: a copy of a process shares the offset of every open file with the original.

At a freeze path, flags and offset of each regular file of the guest are noted; a thawed runner opens each again at its
own offset, so that neither reads or writes what the other moved.
"""

from __future__ import annotations

import fcntl
import io
import os
import stat
import weakref
from typing import Any, NamedTuple

_opened: weakref.WeakSet[io.FileIO] = weakref.WeakSet()
"""Every raw file that guest code opened through `open` and still holds."""


class OpenFile(NamedTuple):
    fd: int
    path: str
    flags: int
    offset: int


def track(file: Any) -> Any:
    """Remember a file that `open` returned, and give it back."""
    raw = file
    for attribute in ("buffer", "raw"):
        raw = getattr(raw, attribute, raw)
    if isinstance(raw, io.FileIO):
        _opened.add(raw)
    return file


class OpenFiles:
    """The regular files that are open now."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files = [found for raw in list(_opened) if (found := _describe(raw)) is not None] if _opened else []

    def restore(self) -> list[str]:
        """Open each file again at its offset, on the same descriptor. Returns a note for each that could not be."""
        notes = []
        for file in self._files:
            try:
                fd = os.open(file.path, file.flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC) | os.O_CLOEXEC)
            except OSError as error:
                notes.append(f"the open file {file.path!r} could not be carried over: {error.strerror}")
                continue
            os.lseek(fd, file.offset, os.SEEK_SET)
            os.dup2(fd, file.fd, inheritable=False)
            os.close(fd)
        return notes


def _describe(raw: io.FileIO) -> OpenFile | None:
    try:
        if raw.closed or not isinstance(raw.name, str):
            return None
        fd = raw.fileno()
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return OpenFile(fd, raw.name, fcntl.fcntl(fd, fcntl.F_GETFL), os.lseek(fd, 0, os.SEEK_CUR))
    except (OSError, ValueError):
        return None
