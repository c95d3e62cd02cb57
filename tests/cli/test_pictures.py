"""Pictures at a terminal: the files, and that nothing of a guest reaches the terminal raw."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from safeexec import Display
from safeexec.cli.pictures import Pictures

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def test_every_form_that_is_worth_a_file_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [Display({"image/png": PNG, "text/plain": "x"}), Display({"text/html": "<b>"}), Display({"text/plain": "y"})]
    Pictures(str(tmp_path / "new")).show(made)
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert sorted(written) == ["display-1.png", "display-2.html"]
    assert written["display-1.png"] == PNG
    assert b'&gt;&lt;b&gt;"></iframe>' in written["display-2.html"]
    told = capsys.readouterr()
    assert (told.out, told.err.count("display-")) == ("", 2)


def test_a_page_of_a_guest_has_no_scripts_and_no_origin(tmp_path: Path) -> None:
    hostile = '"></iframe><script>alert(1)</script>'
    Pictures(str(tmp_path)).show([Display({"text/html": hostile}), Display({"image/svg+xml": f"<svg>{hostile}</svg>"})])
    for name in ("display-1.html", "display-2.svg.html"):
        page = (tmp_path / name).read_text()
        assert "<script" not in page and page.count("<iframe") + page.count("<img") == 1
        assert "default-src 'none'" in page
    assert '<iframe sandbox=""' in (tmp_path / "display-1.html").read_text()


def test_displays_are_new_files_of_their_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("mine")
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "display-3.png").symlink_to(tmp_path / "mine")
    Pictures(str(shown)).show([Display({"image/png": PNG}), Display({"image/png": b"#!/bin/sh\n"})])
    assert sorted(path.name for path in shown.iterdir()) == ["display-3.png", "display-4.png"]
    assert (tmp_path / "mine").read_text() == "mine"
    assert "its bytes are not of its kind" in capsys.readouterr().err


def test_a_terminal_gets_no_control_sequence_of_the_guest() -> None:
    """Printed, as a value, in an error's message and in a display: on a real pseudo-terminal."""
    hostile = "\\x1b]0;title\\x07\\x1b[2J\\x9b31m"
    source = f"print('{hostile}')\ndisplay('{hostile}')\nraise ValueError('{hostile}')"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-kitty"}
    command = [sys.executable, "-m", "safeexec", "run", "--policy", "calculator", "-c", source]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # EIO: the other side is closed
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    assert process.returncode == 1
    assert b"ValueError" in written
    assert not set(written.decode()) & {"\x1b", "\x07", "\x9b"}
