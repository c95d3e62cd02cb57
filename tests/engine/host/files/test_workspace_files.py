"""Files of a workspace whose owner is hostile: read and written without leaving it, blocking, or filling the memory."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from safeexec.engine.host.files import tree, workspace_files
from safeexec.engine.host.files.workspace import Workspace
from safeexec.engine.host.files.workspace_files import changed_since
from safeexec.engine.host.files.workspace_root import WorkspaceRoot
from safeexec.errors import WorkspaceError


def of_path(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function for the path of a directory, whose descriptor it gets and leaves open."""

    def called(path: str, *arguments: Any, **options: Any) -> Any:
        top = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            result = function(top, *arguments, **options)
            os.fstat(top)
        finally:
            os.close(top)
        return result

    return called


list_files, read_file, write_file = map(
    of_path, (workspace_files.list_files, workspace_files.read_file, workspace_files.write_file)
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file of the host, beside the workspace."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    return secret


@pytest.fixture
def top(tmp_path: Path) -> str:
    (tmp_path / "workspace").mkdir()
    return str(tmp_path / "workspace")


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    root = WorkspaceRoot()
    workspace = root.new_workspace(1 << 20, 100)
    yield workspace
    workspace.close()
    root.close()


def test_what_is_listed_can_be_read(top: str) -> None:
    for depth in (32, 33):
        directory = os.path.join(top, *["d"] * depth)
        os.makedirs(directory)
        Path(directory, "x").write_text("1")
    (listed,) = list_files(top, 2)
    assert listed == "d/" * 32 + "x" and read_file(top, listed) == b"1"
    write_file(top, listed, b"2")
    write_file(top, "other", b"")
    assert list_files(top, 2) == [listed, "other"] and len(list_files(top, 1)) == 1
    with pytest.raises(WorkspaceError, match="is not the name of a file"):
        read_file(top, f"d/{listed}")


def test_all_that_a_workspace_may_hold_is_listed() -> None:
    root = WorkspaceRoot()
    workspace = root.new_workspace(1 << 30, 12_000)
    for number in range(10_001):
        Path(workspace.path, str(number)).touch()
    assert len(workspace.names()) == 10_001
    workspace.close()
    root.close()


def test_the_workspace_answers_by_name_and_gets_back_the_rights_that_a_guest_took_away(workspace: Workspace) -> None:
    workspace.write("d/a", b"1", None)
    os.chmod(workspace.path, 0)
    assert workspace.names() == ["d/a"]
    assert workspace.read("d/a", 10) == b"1"
    with pytest.raises(WorkspaceError, match="1 bytes, and 0"):
        workspace.read("d/a", 0)
    os.rename(workspace.path, f"{workspace.path}.away")
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        workspace.names()


def test_a_file_that_is_written_is_part_of_the_state_and_no_other_is_looked_at_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, files = workspace.write("first", b"1", None)
    older = files
    walks: list[int] = []
    walk = tree.walk
    monkeypatch.setattr(tree, "walk", lambda top, *rest, **options: walks.append(top) or walk(top, *rest, **options))
    for number in range(40):
        path, files = workspace.write(f"./d//e/{number}", b"%d" % number, files)
        assert path == f"d/e/{number}"
    path, files = workspace.write("d/e/7", b"seven", files)
    assert not walks
    assert set(files) == {"first", "d", "d/e", *(f"d/e/{number}" for number in range(40))} and set(older) == {"first"}
    assert workspace.snapshot() == files, "as a look at all of them would have it"
    workspace.restore(older)
    assert workspace.names() == ["first"]
    workspace.restore(files)
    assert workspace.read("d/e/7", 10) == b"seven"
    _, files = workspace.write("first", b"2", files)
    assert files["d/e/8"].stored is not None, "the last look was not at these files: this one is at all"


def test_a_file_that_would_be_too_much_is_not_written(workspace: Workspace) -> None:
    _, files = workspace.write("half", bytes(600_000), None)
    for _ in range(3):  # in place of itself there is room, however often
        _, files = workspace.write("half", os.urandom(600_000), files)
    with pytest.raises(WorkspaceError, match=r"more than there is room for.*1 MiB \(limits.workspace_mb\)"):
        workspace.write("other", bytes(600_000), files)
    for number in range(99):
        _, files = workspace.write(f"small{number}", b"", files)
    for name in ("one", "d/one"):
        with pytest.raises(WorkspaceError, match=r"100 files \(limits.workspace_files\)"):
            workspace.write(name, b"", files)
    assert len(workspace.names()) == 100 and workspace.count(1 << 20, 100) <= 1 << 20
    with pytest.raises(WorkspaceError, match="more than there is room for"):
        workspace.write("/".join(["d" * 200] * 12), b"", files)


def test_what_a_guest_changes_meanwhile_is_no_trap(workspace: Workspace, outside: Path) -> None:
    """Something that a step has left running may do so at any time."""
    _, files = workspace.write("d/a", b"1", None)
    os.unlink(f"{workspace.path}/d/a")
    os.rmdir(f"{workspace.path}/d")
    _, files = workspace.write("d", b"a file now", files)
    assert set(files) == {"d"}
    os.unlink(f"{workspace.path}/d")
    os.symlink(outside.parent, f"{workspace.path}/d")
    with pytest.raises(WorkspaceError, match="leads through a file or a link"):
        workspace.write("d/secret", b"", files)
    os.unlink(f"{workspace.path}/d")
    path, files = workspace.write("d/deep/a", b"2", files)
    assert set(files) == {"d", "d/deep", path}


@pytest.mark.parametrize(
    "name",
    ["", ".", "/", "..", "../secret", "a/../../secret", "/etc/passwd", "a\0b", "\ud800", "x" * 300, "d/" * 40 + "x"],
)
def test_names_outside_the_workspace(top: str, outside: Path, name: str) -> None:
    with pytest.raises(WorkspaceError):
        read_file(top, name)
    with pytest.raises(WorkspaceError):
        write_file(top, name, b"")
    assert outside.read_bytes() == b"secret"


def test_links_are_not_followed(top: str, outside: Path) -> None:
    os.symlink(outside, f"{top}/link")
    os.symlink(outside.parent, f"{top}/directory")
    os.symlink("link", f"{top}/chain")
    os.symlink("loop", f"{top}/loop")
    for name in ("link", "directory/secret", "chain", "loop"):
        with pytest.raises(WorkspaceError, match=r"link"):
            read_file(top, name)
    with pytest.raises(WorkspaceError):
        write_file(top, "directory/secret", b"overwritten")
    write_file(top, "link", b"a file now")
    assert outside.read_bytes() == b"secret"
    assert not os.path.islink(f"{top}/link")
    assert list_files(top, 9) == ["link"]


def test_hard_links_are_neither_read_nor_written_through(top: str, outside: Path) -> None:
    os.link(outside, f"{top}/hard")
    with pytest.raises(WorkspaceError, match="2 names"):
        read_file(top, "hard")
    write_file(top, "hard", b"mine")
    assert outside.read_bytes() == b"secret"


def test_what_is_no_file(top: str) -> None:
    os.mkfifo(f"{top}/fifo")
    os.mkdir(f"{top}/directory")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(top)  # the path of a socket has at most 107 bytes
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        for name in ("fifo", "directory", "socket", "missing", "fifo/x"):
            with pytest.raises(WorkspaceError):
                read_file(top, name)
        assert list_files(top, 9) == []
        write_file(top, "fifo", b"replaced")
        with pytest.raises(WorkspaceError, match="directory"):
            write_file(top, "directory", b"")
    assert read_file(top, "fifo") == b"replaced"
    assert not [name for name in os.listdir(top) if name.endswith(".tmp")]


def test_large_and_sparse_files(top: str) -> None:
    with open(f"{top}/sparse", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceError, match="1099511627776 bytes"):
        read_file(top, "sparse")
    with pytest.raises(WorkspaceError, match="100 are allowed"):
        write_file(top, "big", bytes(101), max_bytes=100)
    write_file(top, "fits", bytes(100), max_bytes=100)
    assert len(read_file(top, "fits", max_bytes=100)) == 100


def test_names_with_control_characters(top: str) -> None:
    Path(f"{top}/a\x1b[31m\nb").write_bytes(b"x")
    Path(os.fsdecode(os.fsencode(top) + b"/\xff")).write_bytes(b"y")
    names = list_files(top, 9)
    assert [read_file(top, name) for name in names] == [b"x", b"y"]
    with pytest.raises(WorkspaceError, match="control characters") as caught:
        write_file(top, "a\x1b[2Jb\n", b"")
    assert "\x1b" not in str(caught.value)


def test_changes_between_two_looks(workspace: Workspace) -> None:
    top = workspace.path
    for name in ("same.txt", "grown.csv", "replaced.png", "touched", "gone"):
        write_file(top, name, b"1")
    before = workspace.marks_now()
    with open(f"{top}/grown.csv", "ab") as file:
        file.write(b"2")
    write_file(top, "replaced.png", b"1")
    stamp = os.stat(f"{top}/touched")
    Path(f"{top}/touched").write_bytes(b"2")
    os.utime(f"{top}/touched", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    os.unlink(f"{top}/gone")
    write_file(top, "new/table.parquet", b"123")
    told = [(change.name, change.change, change.size) for change in changed_since(before, workspace.marks_now())]
    assert told == [
        ("gone", "deleted", 0),
        ("grown.csv", "changed", 2),
        ("new/table.parquet", "created", 3),
        ("replaced.png", "changed", 1),
        ("touched", "changed", 1),
    ]
    workspace.snapshot()
    assert workspace.marks == workspace.marks_now()
    assert {change.type for change in changed_since(before, workspace.marks)} >= {"image/png", "text/csv"}
