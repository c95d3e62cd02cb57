"""The layout of a printed file: which pieces lie where, whatever the marks say."""

from __future__ import annotations

import pytest

from safeexec.protocol.printed import MARKED_BYTES, PYTHON_AT, PYTHON_BYTES, extents, mark

AT = PYTHON_AT


@pytest.mark.parametrize(
    ("python", "raw", "expected"),
    [
        (b"", 0, []),
        (b"abc", 0, [(AT, 3)]),
        (b"", 5, [(0, 5)]),
        (b"abc", 5, [(AT, 3), (0, 5)]),
        (b"ab" + mark(3) + b"c", 5, [(AT, 2), (0, 3), (AT + 13, 1), (3, 2)]),
        (mark(5) + b"c", 5, [(0, 5), (AT + 11, 1)]),
        (b"a\0b", 0, [(AT, 3)]),
    ],
)
def test_pieces_in_their_order(python: bytes, raw: int, expected: list[tuple[int, int]]) -> None:
    assert extents(python, raw) == expected


@pytest.mark.parametrize("forged", [mark(99), mark(4) + mark(1), b"\0\1zzzzzzzz\2", mark(0xFFFFFFFF) * 3, b"\0\1"])
def test_forged_marks_give_every_byte_of_the_second_area_once(forged: bytes) -> None:
    pieces = extents(b"a" + forged + b"b", 5)
    raw = [byte for offset, size in pieces if offset < AT for byte in range(offset, offset + size)]
    assert raw == list(range(5))
    assert all(size > 0 and offset + size <= AT + len(forged) + 2 for offset, size in pieces if offset >= AT)


def test_marks_cost_no_more_than_those_of_the_first_part() -> None:
    """A step may print 8 MiB of nothing else, and each is a piece in the host."""
    forged = mark(0) * (PYTHON_BYTES // len(mark(0)))
    kept = len(extents(b"x".join([forged[:11]] * 600_000), 5))
    assert kept <= 2 * MARKED_BYTES // len(mark(0)) and len(extents(forged, 5)) == 2


@pytest.mark.parametrize("shift", range(-12, 13))
def test_a_mark_at_the_end_is_none_of_the_text_wherever_that_is(shift: int) -> None:
    text = b"x" * (MARKED_BYTES + len(mark(0)) + shift)
    assert extents(text + mark(2), 5) == [(AT, len(text)), (0, 2), (2, 3)]
    assert extents(text[:-7] + mark(2), 5, 7) == [(AT, len(text) - 7), (0, 2), (2, 3)]
