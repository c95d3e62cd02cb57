"""`safeexec view`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from safeexec.cli import main

DATA = Path(__file__).parent.parent / "recordings" / "data"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return Path(shutil.copy(DATA / "errand.jsonl", tmp_path / "run.jsonl"))


def test_a_page_is_written_beside_its_recording(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(recording)]) == 0
    assert (tmp_path / "run.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "run.html: " in capsys.readouterr().out
    assert main(["view", str(recording), "-o", str(recording)]) == 2
    assert recording.read_bytes() == (DATA / "errand.jsonl").read_bytes()


def test_who_may_not_read_a_recording_may_not_read_its_page(recording: Path, tmp_path: Path) -> None:
    recording.chmod(0o600)
    assert main(["view", str(recording)]) == main(["view", str(recording), "-o", str(tmp_path / "other.html")]) == 0
    for page in ("run.html", "other.html"):
        assert (tmp_path / page).stat().st_mode & 0o777 == 0o600


def test_what_is_no_recording_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("hello\n")
    assert main(["view", str(path)]) == 2
    assert "not JSON" in capsys.readouterr().err
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize("name", [".", "/", ""])
def test_what_has_no_name_is_no_recording(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", name]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_a_link_that_came_with_a_recording_is_not_written_through(recording: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "run.html").symlink_to(mine)
    assert main(["view", str(recording)]) == 0
    assert mine.read_text() == "mine"
    assert not (tmp_path / "run.html").is_symlink()
