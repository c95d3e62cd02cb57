"""What the host does in a directory of guests reaches nothing outside of it, however deep or shut the tree is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from safeexec import WorkspaceError
from safeexec.engine.host.files import tree
from tests.ordinary import ordinary_user


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    return tmp_path / "outside"


@pytest.fixture
def top(tmp_path: Path, outside: Path) -> Iterator[int]:
    inside = tmp_path / "inside"
    (inside / "a" / "b").mkdir(parents=True)
    (inside / "a" / "b" / "file").write_bytes(b"12345")
    (inside / "link").symlink_to(outside)
    fd = os.open(inside, tree.LISTABLE)
    yield fd
    os.close(fd)


def deep(path: Path, levels: int) -> None:
    here = os.open(path, tree.LISTABLE)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", tree.LISTABLE, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def test_links_are_seen_and_not_followed(top: int, outside: Path) -> None:
    assert {path for path, _ in tree.walk(top)} == {"a", "a/b", "a/b/file", "link"}
    for path in ("link/secret", "link"):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
            os.close(tree.open_beneath(top, path, os.O_RDONLY))
    for path in ("../outside/secret", "a/../../outside/secret", "", "/"):
        with pytest.raises(WorkspaceError, match="not a path inside"):
            tree.open_beneath(top, path, os.O_RDONLY)
    fd = tree.open_beneath(top, "/a/b/file", os.O_RDONLY)
    assert os.read(fd, 9) == b"12345"
    os.close(fd)


def test_what_is_too_much_is_said(top: int) -> None:
    counted = tree.counted([tree.walk(top)], 1 << 20, 4)
    # Not more of it: to list a directory may set the time of its last use.
    assert [(path, info.st_ino) for path, info in counted] == [(path, info.st_ino) for path, info in tree.walk(top)]
    with pytest.raises(WorkspaceError, match="3 files") as files:
        tree.counted([tree.walk(top)], 1 << 20, 3)
    with pytest.raises(WorkspaceError) as size:
        tree.counted([tree.walk(top)], 4, 9)
    assert (files.value.rule, size.value.rule) == ("limits.workspace_files", "limits.workspace_mb")


def test_a_tree_that_is_too_deep_is_neither_walked_to_its_end_nor_left(tmp_path: Path, outside: Path) -> None:
    """Deeper than Python recurses, and than a path can name."""
    guests = tmp_path / "guests"
    guests.mkdir()
    deep(guests, 2100)
    (guests / "d" / "link").symlink_to(outside)
    fd = os.open(guests, tree.LISTABLE)
    try:
        assert len(list(tree.walk(fd))) <= tree.MAX_DEPTH + 2
        with pytest.raises(WorkspaceError, match="nest"):
            tree.counted([tree.walk(fd)], 1 << 30, 1 << 20)
    finally:
        os.close(fd)
    tree.remove_tree(str(guests))
    assert not guests.exists() and (outside / "secret").read_text() == "s"


@pytest.mark.parametrize("place", [None, "/dev/shm"], ids=["this file system", "another one"])
def test_no_more_is_copied_than_was_counted(place: str | None, tmp_path: Path) -> None:
    with NamedTemporaryFile(dir=place or tmp_path) as source, open(tmp_path / "target", "w+b") as target:
        source.write(b"x" * 5000)
        source.flush()
        source.seek(0)
        tree.copy_contents(source.fileno(), target.fileno(), 4000)
    assert (tmp_path / "target").read_bytes() == b"x" * 4000


def test_a_directory_that_became_a_link_is_not_entered(top: int, outside: Path, tmp_path: Path) -> None:
    """Between the look at it and the step into it."""
    (tmp_path / "inside" / "z").mkdir()
    (tmp_path / "inside" / "z" / "own").touch()
    found = []
    for path, _ in tree.walk(top):
        found.append(path)
        if path == "a":
            (tmp_path / "inside" / "a").rename(tmp_path / "away")
            (tmp_path / "inside" / "a").symlink_to(outside)
    assert sorted(found) == ["a", "link", "z", "z/own"]


def test_an_ordinary_users_host_counts_and_removes_what_a_guest_has_shut() -> None:
    with ordinary_user() as home:
        region = home / f"{tree.PREFIX}1" / "region"
        (region / tree.WORKSPACE / "d").mkdir(parents=True)
        (region / tree.WORKSPACE / "d" / "f").write_text("1")
        for path in (region / tree.WORKSPACE / "d", region / tree.WORKSPACE, region, region.parent):
            path.chmod(0)
        with pytest.raises(PermissionError):
            os.statvfs(region)
        assert tree.free_bytes(str(region / tree.WORKSPACE)) > 0
        fd = os.open(region / tree.WORKSPACE, tree.LISTABLE)
        try:
            assert [path for path, _ in tree.walk(fd, regains=False)] == ["d"], "what is shut stays so"
            assert [path for path, _ in tree.walk(fd)] == ["d", "d/f"]
        finally:
            os.close(fd)
        region.chmod(0)
        tree.remove_tree(str(region / tree.WORKSPACE))
        assert not region.stat().st_mode & 0o400, "a region is not made listable"
        region.chmod(0o700)
        region.parent.chmod(0o700)
        assert not [*region.iterdir()]


def test_what_cannot_be_reached_stays_without_an_error(tmp_path: Path) -> None:
    tree.remove_tree(str(tmp_path / "none" / "d"))
    (tmp_path / "others" / "d").mkdir(parents=True)
    (tmp_path / "others").chmod(0o700)
    with ordinary_user():
        if os.geteuid() == 0:
            tree.remove_tree(str(tmp_path / "others" / "d"))
    assert (tmp_path / "others" / "d").is_dir()
