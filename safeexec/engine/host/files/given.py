"""The files of the host that are given for sessions to begin with: whether they can be."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING

from safeexec.engine.host.files.names import new_name
from safeexec.errors import PolicyError, WorkspaceError

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy


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
        new_name(name)
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
