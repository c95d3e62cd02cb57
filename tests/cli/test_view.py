"""`safeexec view`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Called

DATA = Path(__file__).parent.parent / "recordings" / "data"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "errand.jsonl", tmp_path / "run.jsonl"))


def test_a_page_is_for_those_who_may_read_its_recording(recording: Path, tmp_path: Path, called: Called) -> None:
    recording.chmod(0o600)
    assert called("view", recording).status == called("view", recording, "-o", tmp_path / "other.html").status == 0
    for page in ("run.html", "other.html"):
        assert (tmp_path / page).stat().st_mode & 0o777 == 0o600
    told = called("view", recording)
    assert told.status == 0 and "run.html: " in told.out
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert called("view", recording, "-o", recording).status == 2
    assert recording.read_bytes() == (DATA / "errand.jsonl").read_bytes()


def test_what_is_no_recording_is_said(tmp_path: Path, called: Called) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("hello\n")
    told = called("view", path)
    assert told.status == 2 and "not JSON" in told.err
    assert not path.with_suffix(".html").exists()
    for name in ("/", ""):
        told = called("view", name)
        assert told.status == 2 and "is a directory" in told.err


def test_a_link_beside_a_recording_is_not_written_through(recording: Path, tmp_path: Path, called: Called) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "run.html").symlink_to(mine)
    assert called("view", recording).status == 0
    assert mine.read_text() == "mine"
    assert not (tmp_path / "run.html").is_symlink()
