"""Text for terminals and for readers with little room."""

from __future__ import annotations

import pytest

from safeexec.text import blank, columns, head_and_tail, printable, short_repr


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;Zm9v\x1b\\clipboard", "clipboard"),
        ("\x1b]0;never ended\nnext", "0;never ended\nnext"),
        ("\x1bP1;2|device\x1b\\x", "x"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bcreset", "reset"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("bell\x07 back\x08space\x00", "bell\u2407 back\u2408space\u2400"),
        ("right\u202eleft", "right\\u202eleft"),
        ("lone \ud800", "lone \\ud800"),
        ("\x85next", "\\x85next"),
        ("caf\u00e9 漢字 \U0001f600", "caf\u00e9 漢字 \U0001f600"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_away(raw: str, shown: str) -> None:
    assert printable(raw) == shown


def test_printable_is_linear() -> None:
    for part in ("\x1b[", "\x1b]0;", "\x1b", "\r", "a\r", "\x1b[1;"):
        assert printable(part * 200_000) is not None


def test_head_and_tail_count_what_is_missing() -> None:
    lines = "".join(f"{number:04}\n" for number in range(1000))
    cut, missing = head_and_tail(lines, 100)
    head, _, tail = cut.partition(f"... {missing} characters left out ...\n")
    assert lines.startswith(head) and lines.endswith(tail)
    assert len(head) + missing + len(tail) == len(lines)
    assert head_and_tail("short", 100) == ("short", 0)


def test_short_repr_is_short_and_never_raises() -> None:
    class Loop:
        def __repr__(self) -> str:
            return repr(self)

    cycle: list[object] = []
    cycle.append(cycle)
    nested = {"a": [(1,), {2}, frozenset({3}), None, "x" * 100]}
    assert short_repr(nested) == repr(nested)
    for value in (Loop(), cycle, list(range(10**6)), "x" * 10**6, 10**5000, {i: i for i in range(10**5)}):
        assert len(short_repr(value, 200)) <= 200


def test_columns_of_a_terminal() -> None:
    assert [columns(text) for text in ("", "abc", "日本", "e\u0301", "ｆ", "ä")] == [0, 3, 4, 1, 2, 1]
    assert blank("\ta日\te\u0301") == "\t   \t "
