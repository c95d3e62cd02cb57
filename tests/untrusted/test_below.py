"""Only regular files are read, in full and within a limit; no link below the root, no name that leads out of it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from safeexec.untrusted.below import (
    MAX_DEPTH,
    new_file,
    open_named,
    opened,
    put_file,
    read_file,
    read_named,
    remove_file,
    walk,
)
from tests.limits import descriptors_left
from tests.untrusted.hostile import FILES, NAMES, SECRET, names

LIMIT = 1 << 20


@pytest.fixture
def top(tmp_path: Path) -> Path:
    path = tmp_path / "below"
    (path / "a").mkdir(parents=True)
    (path / "a" / "b.txt").write_bytes(b"inside")
    return path


@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_regular_file_is_refused_below_a_root(kind: str, top: Path) -> None:
    FILES[kind](top / "x")
    with opened(top) as root, pytest.raises(OSError) as refused:
        read_file(root, "x", max_bytes=LIMIT)
    assert refused.value.strerror
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("kind", FILES)
def test_what_a_user_names_may_be_a_link_to_a_regular_file_and_nothing_else(kind: str, top: Path) -> None:
    FILES[kind](top / "x")
    if kind == "link to a file":
        assert SECRET.encode() in read_named(top / "x", max_bytes=LIMIT)
        return
    with pytest.raises(OSError):
        read_named(top / "x", max_bytes=LIMIT)


@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/self/environ", "/dev/zero", "/dev/null", "/dev/tty", "/"])
def test_files_of_the_kernel_are_refused(path: str) -> None:
    with pytest.raises(OSError):
        read_named(path, max_bytes=LIMIT)


def test_a_link_on_the_way_is_not_followed_and_the_limit_itself_is_allowed(top: Path) -> None:
    (top / "link").symlink_to(top / "a")
    with opened(top) as root:
        assert read_file(root, "a/./b.txt", max_bytes=LIMIT) == b"inside"
        with pytest.raises(OSError, match="Not a directory"):
            read_file(root, "link/b.txt", max_bytes=LIMIT)
        assert read_file(root, "a/b.txt", max_bytes=6) == b"inside"
        with pytest.raises(OSError, match="it has 6 bytes, and 5 are allowed"):
            read_file(root, "a/b.txt", max_bytes=5)
    os.close(open_named(top / "a" / "b.txt", max_bytes=6))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names())
def test_no_name_leads_out(top: Path, name: str) -> None:
    with opened(top) as root, pytest.raises(OSError) as refused:
        read_file(root, name, max_bytes=LIMIT)
    assert refused.value.strerror


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_refused_as_a_path_as_well(name: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(top)
    if name in ("/etc/passwd",):
        assert read_named(name, max_bytes=LIMIT)
        return
    with pytest.raises(OSError):
        read_named(name, max_bytes=LIMIT)


def test_a_file_that_grows_after_its_size_was_looked_at_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / "x").write_bytes(b"1234")
    read = os.read

    def grow(fd: int, size: int) -> bytes:
        with (top / "x").open("ab") as file:
            file.write(b"5678")
        return read(fd, size)

    monkeypatch.setattr(os, "read", grow)
    with opened(top) as root, pytest.raises(OSError, match="grown past the 6 bytes"):
        read_file(root, "x", max_bytes=6)


def test_a_walk_tells_what_there_is_and_enters_no_link(top: Path) -> None:
    (top / "link").symlink_to(top / "a")
    os.mkfifo(top / "fifo")
    with opened(top) as root:
        found = [(one.path, stat.S_IFMT(one.mode)) for one in walk(root, max_entries=4)]
    assert found == [("a", stat.S_IFDIR), ("a/b.txt", stat.S_IFREG), ("fifo", stat.S_IFIFO), ("link", stat.S_IFLNK)]


def test_what_vanishes_during_a_walk_is_passed_over(top: Path) -> None:
    (top / "fleeting").touch()

    def remove_one(directory: int, name: str) -> bool:
        if name == "fleeting":
            os.unlink(name, dir_fd=directory)
        return False

    with opened(top) as root:
        assert [one.path for one in walk(root, max_entries=9, leave_out=remove_one)] == ["a", "a/b.txt"]


def test_a_walk_is_bounded(top: Path) -> None:
    for number in range(9):
        (top / str(number)).touch()
    with opened(top) as root:
        assert len(list(walk(root, max_entries=11))) == 11
        with pytest.raises(OSError, match="too many"):
            list(walk(root, max_entries=10))
    (top / "/".join("d" * (MAX_DEPTH + 2))).mkdir(parents=True)
    with opened(top) as root, pytest.raises(OSError, match="nested too deeply"):
        list(walk(root, max_entries=1000))


@pytest.mark.parametrize("kind", FILES)
def test_what_is_written_takes_a_name_and_leads_nowhere(kind: str, top: Path) -> None:
    FILES[kind](top / "x")
    with opened(top) as root:
        with pytest.raises(FileExistsError):
            new_file(root, "x", b"new")
        if kind == "directory":
            with pytest.raises(OSError):
                put_file(root, "x", b"new")
            return
        put_file(root, "x", b"new", mode=0o755)
        assert stat.S_IMODE((top / "x").stat().st_mode) == 0o755
        assert read_file(root, "x", max_bytes=LIMIT) == b"new"
        assert all(path.read_text() == f'KEY = "{SECRET}"\n' for path in top.parent.glob("*.secret"))
        remove_file(root, "x")
        remove_file(root, "x")
    assert sorted(os.listdir(top)) == ["a"]


def test_nothing_stays_open(top: Path) -> None:
    os.mkfifo(top / "fifo")
    before = os.listdir("/proc/self/fd")
    with opened(top) as root:
        list(walk(root, max_entries=LIMIT))
        for name in ("a/b.txt", "a/none", "fifo", "../x"):
            try:
                read_file(root, name, max_bytes=LIMIT)
            except OSError:
                pass
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_without_descriptors_a_file_that_has_the_name_stays(top: Path) -> None:
    with opened(top / "a") as root:
        with descriptors_left(1), pytest.raises(OSError) as refused:  # for the directory
            new_file(root, "b.txt", b"new")
        assert refused.value.errno == errno.EMFILE
    assert (top / "a" / "b.txt").read_bytes() == b"inside"


@pytest.mark.parametrize("write", [new_file, put_file])
def test_of_a_file_that_cannot_be_written_whole_nothing_is_left(
    write: Callable[[int, str, bytes], None], top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with opened(top) as root, monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            write(root, "c.txt", b"new")
    assert os.listdir(top) == ["a"]
