"""New files for what guests show: where they may go, and what they may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from safeexec.untrusted.saving import NewFiles, is_picture
from tests.untrusted.hostile import FILES, NAMES

PNG = b"\x89PNG\r\n\x1a\n..."


@pytest.mark.parametrize("kind", FILES)
def test_no_name_that_is_taken_is_written(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "shown"
    place.mkdir()
    FILES[kind](place / "picture-1.png")
    before = sorted(path.name for path in tmp_path.iterdir())
    files = NewFiles(place)
    with pytest.raises(FileExistsError):
        files.write("picture-1.png", PNG)
    assert files.next_number("picture") == 2
    assert Path(files.write("picture-2.png", PNG)).read_bytes() == PNG
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "directory"])
def test_a_relative_directory_is_below_the_current_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    FILES[kind](tmp_path / "here/pictures")
    for name in ("pictures", "pictures/inner"):
        with pytest.raises(OSError):
            NewFiles(name).write("picture-1.png", PNG)


def test_a_link_is_followed_where_the_user_names_it_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "pictures").symlink_to("mine")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotADirectoryError, match="a link or a file stands in the place of a directory"):
        NewFiles("pictures").write("x.png", PNG)
    assert list((tmp_path / "mine").iterdir()) == []
    NewFiles(tmp_path / "pictures").write("x.png", PNG)
    assert (tmp_path / "mine/x.png").read_bytes() == PNG
    assert NewFiles("new/inner").write("x.png", PNG) == "new/inner/x.png"
    assert (tmp_path / "new/inner/x.png").read_bytes() == PNG


@pytest.mark.parametrize("name", NAMES)
def test_no_name_leads_out(name: str, tmp_path: Path) -> None:
    place = tmp_path / "shown"
    try:
        NewFiles(place).write(name, PNG)
    except OSError:
        pass
    outside = [path for path in tmp_path.iterdir() if path != place]
    assert not outside


def test_numbers_go_on_behind_those_that_are_taken(tmp_path: Path) -> None:
    files = NewFiles(tmp_path)
    for name in ("report.md", "report-7.html", "report-x.md", "reports.md", f"report-{'9' * 200}.md"):
        (tmp_path / name).write_text("")
    assert (files.free_name("report"), files.free_name("other"), files.next_number("display")) == (
        "report-8",
        "other",
        1,
    )
    os.symlink("nothing", tmp_path / "display-41.svg.html")
    assert files.next_number("display") == 42


@pytest.mark.parametrize(
    ("mime", "data", "verdict"),
    [
        ("image/png", PNG, True),
        ("image/png", b"\n#!/bin/sh\n", False),
        ("image/png", b"\x89PNG", False),
        ("image/png", "\x89PNG\r\n\x1a\n", False),
        ("image/jpeg", b"\xff\xd8\xff\xe0", True),
        ("image/jpeg", PNG, False),
        ("text/html", PNG, False),
    ],
)
def test_a_picture_begins_as_one(mime: str, data: object, verdict: bool) -> None:
    assert is_picture(mime, data) is verdict
