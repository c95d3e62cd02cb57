"""Checks what a file of a workspace is called, and files of the host that are given for sessions to begin with.
Also where there is no Linux.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

from safeexec.common.text import printable
from safeexec.errors import PolicyError, WorkspaceError

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy

MAX_DEPTH = 32
"""Directories in each other, in a name that the host gives."""
MAX_NAME = 255
"""Bytes of one component of a path, as Linux has it."""


def path_of(name: str, *, new: bool = False) -> str:
    """Return the name of the file that the host calls `name`; that of a `new` one must be printable. Raises
    `WorkspaceError` for a name outside, TypeError.
    """
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
    if new and not name.isprintable():
        raise WorkspaceError(f"{name[:300]!r} holds control characters: give the file another name")
    return "/".join(parts)


def shown(name: str) -> str:
    """Return a name for an error message."""
    return printable(name)[:300].replace("\n", "\\n").replace("\t", "\\t")


def check_given(files: object, policy: Policy) -> None:
    """Check that the policy has a place for files, and each has a name that `write_file` takes and is there to be
    copied. Raises `PolicyError`, FileNotFoundError, `WorkspaceError`, TypeError.
    """
    if not isinstance(files, Mapping):
        paths = list(files) if isinstance(files, (list, tuple, set)) else [files]
        shown = ", ".join(f"{os.path.basename(path)!r}: {path!r}" for path in map(str, paths[:3]))
        raise TypeError(
            f"files= maps the names that guest code sees to files of the host, files={{{shown}}}; "
            f"found {type(files).__name__}"
        )
    if policy.filesystem.workspace == "none":
        raise PolicyError(
            f"files= needs a workspace, and the policy {policy.name!r} has none "
            f"(filesystem.workspace, {policy.origin('filesystem.workspace')}); data-analysis, for one, has it"
        )
    for name, content in files.items():
        path_of(name, new=True)
        if isinstance(content, bytes):
            continue
        try:
            mode = os.stat(content).st_mode
        except (OSError, ValueError) as error:
            text = f"the file for {name!r}"
            if isinstance(content, str) and ("\n" in content or not os.path.dirname(content)):
                text += " (a str is a path of the host; content is given as bytes)"
            if isinstance(error, OSError):
                raise type(error)(error.errno, f"{error.strerror}: {text}", os.fspath(content)) from None
            raise WorkspaceError(f"{text}: {error}") from None
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise WorkspaceError(f"files[{name!r}]: {os.fsdecode(content)} is neither a regular file nor a directory")
