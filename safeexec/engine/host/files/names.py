"""What a file of a workspace may be called."""

from __future__ import annotations

import os

from safeexec.common.text import printable
from safeexec.errors import WorkspaceError

MAX_DEPTH = 32
"""Directories in each other, in a name that the host asks for."""
MAX_NAME = 255
"""Bytes of one component of a path, as Linux has it."""


def path_of(name: str) -> str:
    """Return what a file is called that is asked for as `name`. Raises `WorkspaceError` for a name outside,
    TypeError.
    """
    return "/".join(components(name))


def new_name(name: str) -> str:
    """The same of a file that the host puts there: one that can be printed. Raises `WorkspaceError`, TypeError."""
    path = path_of(name)
    if not name.isprintable():
        raise WorkspaceError(f"{shown(name)!r} holds control characters")
    return path


def components(name: str) -> list[str]:
    if not isinstance(name, str):
        raise TypeError(f"the name of a file in the workspace is str, not {type(name).__name__}")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or ".." in parts or "\0" in name or len(parts) - 1 > MAX_DEPTH:
        raise WorkspaceError(f"{shown(name)!r} is not the name of a file inside the workspace")
    try:
        too_long = any(len(os.fsencode(part)) > MAX_NAME for part in parts)
    except UnicodeEncodeError:  # a lone surrogate that no bytes of a name stand behind
        raise WorkspaceError(f"{shown(name)!r} cannot be the name of a file") from None
    if too_long:
        raise WorkspaceError(f"{shown(name)!r} is too long for a file name")
    return parts


def shown(name: str) -> str:
    """A name for an error message."""
    return printable(name)[:300].replace("\n", "\\n").replace("\t", "\\t")
