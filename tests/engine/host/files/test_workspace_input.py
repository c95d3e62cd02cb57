"""Files that a caller hands to a sandbox are looked at before a byte is copied: regular ones, within the limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from safeexec import WorkspaceError
from safeexec.engine.host.files.workspace import Workspace, WorkspaceRoot
from tests.untrusted.hostile import FILES, growing

LIMIT = 1 << 20


@pytest.fixture
def workspace():
    root = WorkspaceRoot()
    workspace = root.lineage(LIMIT, 100)
    yield workspace
    workspace.close()
    root.close()


@pytest.mark.parametrize(
    "kind", [kind for kind in FILES if kind not in ("directory", "link to a file", "link to itself", "link to nothing")]
)
def test_what_is_no_regular_file_of_fitting_size_is_refused(kind: str, workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "below" / "data.csv"
    path.parent.mkdir()
    FILES[kind](path)
    # What the host may not read at all is the system's own error.
    error, message = PermissionError, "data.csv"
    if os.access(path, os.R_OK):
        error, message = WorkspaceError, "data.csv cannot be copied into the workspace: it .*limits.workspace_mb is 1"
    with pytest.raises(error, match=message):
        workspace.put("data.csv", path)
    taken = Path(workspace.path, "data.csv")
    assert not taken.exists() or taken.stat().st_size == 0


def test_a_file_that_is_not_there_is_the_systems_own_error(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none"):
        workspace.put("data.csv", tmp_path / "none")


def test_a_growing_file_is_copied_as_it_was(workspace: Workspace, tmp_path: Path) -> None:
    with growing(tmp_path / "log"):
        try:
            workspace.put("log", tmp_path / "log")
        except WorkspaceError:  # it had grown past the limit before it was looked at
            pass
    assert Path(workspace.path, "log").stat().st_size <= LIMIT
