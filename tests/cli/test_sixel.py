"""Sixels: for terminals that say that they show them, made in a sandbox, and printed only if they are some."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import sys
import termios
import threading
from collections.abc import Iterator

import pytest

from safeexec.cli import sixel


@pytest.mark.parametrize(
    ("answer", "shows"),
    [
        (b"\x1b[?62;4;22c", True),
        (b"typed\x1b[?4c", True),
        (b"\x1b[?62;22c", False),
        (b"\x1b[?64;44c", False),
        (b"", False),
    ],
)
def test_what_a_terminal_says_of_itself(answer: bytes, shows: bool) -> None:
    assert sixel.says_sixel(answer) is shows


@contextlib.contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The far side of a terminal that is standard input and output."""
    ours, theirs = pty.openpty()
    with open(theirs, closefd=False) as source, open(theirs, "w", closefd=False) as target:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", target)
        sixel.understood.cache_clear()
        yield ours
        sixel.understood.cache_clear()
        monkeypatch.undo()
    os.close(ours)
    os.close(theirs)


def test_a_terminal_is_asked_and_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as far:
        before = termios.tcgetattr(sys.stdin.fileno())
        answers = threading.Thread(target=lambda: os.write(far, b"\x1b[?62;4c") if os.read(far, 100) else None)
        answers.start()
        monkeypatch.setattr(sixel, "ANSWER_SECONDS", 30.0)
        assert sixel.understood()
        assert termios.tcgetattr(sys.stdin.fileno()) == before
        answers.join()


def test_a_terminal_that_does_not_answer_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch):
        assert not sixel.understood()


@pytest.mark.parametrize(
    "made",
    [
        "\x1b]0;title\x07",
        "\x1bPq#1\x1b]0;x\x07\x1b\\",
        "\x1bPq#1\x9c\x1b\\",
        "\x1bPq#1\x1b\\\x1b[2J",
        "text",
        "\x1bPq\x07\x1b\\",
    ],
)
def test_what_is_not_sixels_alone_is_not_printed(made: str) -> None:
    assert sixel._SIXELS.fullmatch(made) is None
    assert sixel._SIXELS.fullmatch("\x1bPq#1;2;0;0;0~~-\x1b\\")


@pytest.mark.slow
def test_a_picture_becomes_sixels_of_its_size() -> None:
    pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    data = io.BytesIO()
    image.new("RGB", (1600, 20), "red").save(data, "PNG")
    sixels = sixel.Sixels()
    try:
        made = sixels.of(data.getvalue())
        assert re.match('\x1bPq"1;1;800;10#0;2;100;0;0#0!800~', made)
        assert sixels.of(b"\x89PNG\r\n\x1a\n" + bytes(100)) == ""
    finally:
        sixels.close()
