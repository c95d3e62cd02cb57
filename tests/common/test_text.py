"""Text for terminals and for readers with little room."""

from __future__ import annotations

import itertools
import threading
import time
from unicodedata import bidirectional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.common.text import blank, columns, from_utf_8, head_and_tail, printable, short_repr
from tests.untrusted.doubling import SLACK, growth

_OVERRIDES = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
BIDI = [chr(code) for code in range(0x10000) if bidirectional(chr(code)) in _OVERRIDES] + [*"\u061c\u200e\u200f"]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;Zm9v\x1b\\clipboard", "clipboard"),
        ("\x1b]0;never ended\nnext", "0;never ended\nnext"),
        ("\x1bP1;2|device\x1b\\x", "x"),
        ("\x1bcreset", "reset"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("bell\x07 back\x08space\x00", "bell\u2407 back\u2408space\u2400"),
        ("right\u202eleft", "right\\u202eleft"),
        *((mark, f"\\u{ord(mark):04x}") for mark in BIDI),
        ("lone \ud800", "lone \\ud800"),
        ("\x85next", "\\x85next"),
        ("caf\u00e9 漢字 \U0001f600", "caf\u00e9 漢字 \U0001f600"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_away(raw: str, shown: str) -> None:
    assert printable(raw) == shown


HOSTILE = {
    "introducers of device strings": "\x90",
    "introducers of commands": "\x9b",
    "escapes": "\x1b",
    "titles": "\x1b]0;",
    "commands without an end": "\x1b[1;",
    "digits of a command": "\x1b[" + "0" * 50,
    "carriage returns": "a\r",
    "surrogates": "\ud800",
    "overrides": "\u202e",
    "NUL": "\0",
    "blanks after an escape": "\x1b" + " " * 50,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_printable_grows_no_faster_than_its_text(name: str) -> None:
    part = HOSTILE[name]
    assert growth(printable, lambda n: part * (n // len(part))) < SLACK


@pytest.mark.parametrize("first", ["\r", "\x90", "\x1b]", "\x1b[", "\x1b\x90\r"])
def test_one_introducer_before_a_long_line_is_read_once(first: str) -> None:
    assert growth(printable, lambda n: first + "0" * n) < SLACK
    assert growth(printable, lambda n: first + " " * n) < SLACK


@given(st.text(st.one_of(st.sampled_from("\x1b\x90\x9b\x9c\x9d[]0;m\\\x07\r\n\t \ud800\u202e\u2067"), st.characters())))
def test_nothing_that_a_terminal_obeys_is_left(raw: str) -> None:
    shown = printable(raw)
    assert not any((ord(sign) < 32 and sign not in "\n\t") or 0x7F <= ord(sign) < 0xA0 for sign in shown)
    shown.encode()  # no lone surrogate
    assert printable(shown) == shown


def test_texts_are_cut_shortened_and_measured() -> None:
    lines = "".join(f"{number:04}\n" for number in range(1000))
    cut, missing = head_and_tail(lines, 100)
    head, _, tail = cut.partition(f"... {missing} characters left out ...\n")
    assert lines.startswith(head) and lines.endswith(tail)
    assert len(head) + missing + len(tail) == len(lines)
    assert head_and_tail("short", 100) == ("short", 0)

    class Loop:
        def __repr__(self) -> str:
            return repr(self)

    cycle: list[object] = []
    cycle.append(cycle)
    nested = {"a": [(1,), {2}, frozenset({3}), None, "x" * 100]}
    assert short_repr(nested) == repr(nested)
    for value in (Loop(), cycle, list(range(10**6)), "x" * 10**6, 10**5000, {i: i for i in range(10**5)}):
        assert len(short_repr(value, 200)) <= 200
    assert [columns(text) for text in ("", "abc", "日本", "e\u0301", "ｆ", "ä")] == [0, 3, 4, 1, 2, 1]
    assert blank("\ta日\te\u0301") == "\t   \t "


def test_half_characters_are_read_wherever_they_stand_and_other_threads_run_meanwhile() -> None:
    for before in range(5):
        text = "x" * before + "\ud800\U0001f600é\udfff" * 9000
        assert from_utf_8(text.encode("utf-8", "surrogatepass")) == text
    for wrong in (b"\xed\xa0", b"\xff"):
        with pytest.raises(UnicodeDecodeError):
            from_utf_8(b"a" * 40_000 + wrong)
    turns, ended = itertools.count(), threading.Event()

    def other() -> None:
        while not ended.is_set():
            next(turns)
            time.sleep(0)

    data = b"\xed\xa0\x80" * 1_000_000
    thread = threading.Thread(target=other)
    thread.start()
    try:
        began = next(turns)
        from_utf_8(data)
        assert next(turns) - began > 3
    finally:
        ended.set()
        thread.join()
