"""Only regular files are read, in full and within a limit; no link below the root, no name that leads out of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from safeexec.errors import InputError
from safeexec.untrusted.files import MAX_DEPTH, Root, open_named, read_named, text_of
from tests.untrusted.hostile import FILES, NAMES, SECRET, growing, names

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
    with Root(top) as root, pytest.raises(InputError) as refused:
        root.read("x", LIMIT)
    assert str(refused.value).startswith("x ")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("kind", FILES)
def test_what_a_user_names_may_be_a_link_to_a_regular_file_and_nothing_else(kind: str, top: Path) -> None:
    FILES[kind](top / "x")
    if kind == "link to a file":
        assert SECRET.encode() in read_named(top / "x", LIMIT)
        return
    with pytest.raises(InputError):
        read_named(top / "x", LIMIT)


@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/self/environ", "/dev/zero", "/dev/null", "/dev/tty", "/"])
def test_files_of_the_kernel_are_refused(path: str) -> None:
    with pytest.raises(InputError):
        read_named(path, LIMIT)


def test_a_link_on_the_way_is_not_followed(top: Path) -> None:
    (top / "link").symlink_to(top / "a")
    with Root(top) as root:
        assert root.read("a/./b.txt", LIMIT) == b"inside"
        with pytest.raises(InputError, match="leads through a link"):
            root.read("link/b.txt", LIMIT)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names())
def test_no_name_leads_out(top: Path, name: str) -> None:
    with Root(top) as root, pytest.raises(InputError) as refused:
        root.read(name, LIMIT)
    assert len(str(refused.value)) < 4000
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_refused_as_a_path_as_well(name: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(top)
    if name in ("/etc/passwd",):
        assert read_named(name, LIMIT)
        return
    with pytest.raises(InputError):
        read_named(name, LIMIT)


def test_a_growing_file_is_read_to_its_limit_and_refused(top: Path) -> None:
    with growing(top / "x"), Root(top) as root:
        while (top / "x").stat().st_size < LIMIT:
            pass
        with pytest.raises(InputError, match="bytes"):
            root.read("x", LIMIT)


def test_a_file_that_grows_after_its_size_was_looked_at_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / "x").write_bytes(b"1234")
    read = os.read

    def grow(fd: int, size: int) -> bytes:
        with (top / "x").open("ab") as file:
            file.write(b"5678")
        return read(fd, size)

    monkeypatch.setattr(os, "read", grow)
    with Root(top) as root, pytest.raises(InputError, match="x grew beyond the 6 bytes"):
        root.read("x", 6)


def test_the_limit_itself_is_allowed(top: Path) -> None:
    with Root(top) as root:
        assert root.read("a/b.txt", 6) == b"inside"
        with pytest.raises(InputError, match=r"a/b.txt has 6 bytes, and at most 5 are read"):
            root.read("a/b.txt", 5)
    os.close(open_named(top / "a" / "b.txt", 6))


def test_a_listing_tells_what_there_is_and_enters_no_link(top: Path) -> None:
    (top / "link").symlink_to(top / "a")
    os.mkfifo(top / "fifo")
    with Root(top) as root:
        found = list(root.list())
    assert [(one.name, one.size, bool(one.problem)) for one in found] == [
        ("a/b.txt", 6, False),
        ("fifo", 0, True),
        ("link", len(str(top / "a")), True),
    ]


def test_a_listing_is_bounded(top: Path) -> None:
    for number in range(9):
        (top / str(number)).touch()
    with Root(top) as root:
        assert len(list(root.list(max_entries=11))) == 10
        with pytest.raises(InputError, match="too many"):
            list(root.list(max_entries=10))
    (top / "/".join("d" * (MAX_DEPTH + 1))).mkdir(parents=True)
    with Root(top) as root, pytest.raises(InputError, match="directories deep"):
        list(root.list())


def test_nothing_stays_open(top: Path) -> None:
    os.mkfifo(top / "fifo")
    before = os.listdir("/proc/self/fd")
    with Root(top) as root:
        list(root.list())
        for name in ("a/b.txt", "a/none", "fifo", "../x"):
            try:
                root.read(name, LIMIT)
            except InputError:
                pass
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_text_that_is_not_utf_8_is_told_with_its_line() -> None:
    with pytest.raises(InputError, match="x is not UTF-8 text: byte 3, in line 2, is 0xff"):
        text_of(b"ab\n\xff", "x")
