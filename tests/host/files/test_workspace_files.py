"""Files of a workspace whose owner is hostile: read and written without leaving it, blocking, or filling the memory."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from safeexec.errors import WorkspaceError
from safeexec.host.files.workspace import Workspace, WorkspaceRoot
from safeexec.host.files.workspace_files import changed_since, list_files, read_file, write_file


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
    workspace = root.lineage(1 << 20, 100)
    yield workspace
    workspace.close()
    root.close()


def test_written_files_are_read_and_listed(top: str) -> None:
    write_file(top, "a.csv", b"x,y\n")
    write_file(top, "deep/er/b.bin", bytes(1000))
    write_file(top, "a.csv", b"new")
    assert read_file(top, "a.csv") == b"new"
    assert read_file(top, "./deep//er/b.bin") == bytes(1000)
    assert [(info.name, info.size) for info in list_files(top)] == [("a.csv", 3), ("deep/er/b.bin", 1000)]


def test_a_descriptor_of_the_directory_stays_open(top: str) -> None:
    fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        write_file(fd, "d/a", b"1")
        assert read_file(fd, "d/a") == b"1"
        assert [info.name for info in list_files(fd)] == [info.name for info in list_files(fd)] == ["d/a"]
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    "name", ["", ".", "/", "..", "../secret", "a/../../secret", "/etc/passwd", "a\0b", "x" * 300, "d/" * 40 + "x"]
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
    assert [info.name for info in list_files(top)] == ["link"]


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
        assert list_files(top) == []
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
    names = [info.name for info in list_files(top)]
    assert [read_file(top, name) for name in names] == [b"x", b"y"]
    with pytest.raises(WorkspaceError, match="control characters") as caught:
        write_file(top, "a\x1b[2Jb\n", b"")
    assert "\x1b" not in str(caught.value)


def test_depth_and_number_are_bounded(top: str) -> None:
    here = top
    for _ in range(60):
        here += "/d"
        os.mkdir(here)
        Path(here, "f").write_bytes(b"")
    assert len(list_files(top)) == 32
    assert len(list_files(top, max_files=5)) == 5


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
