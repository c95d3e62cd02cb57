"""The layout of a printed file: which pieces lie where, whatever the marks say."""

from __future__ import annotations

import pytest

from safeexec.protocol.printed import PYTHON_BYTES, extents, mark

RAW = PYTHON_BYTES


@pytest.mark.parametrize(
    ("python", "raw", "expected"),
    [
        (b"", 0, []),
        (b"abc", 0, [(0, 3)]),
        (b"", 5, [(RAW, 5)]),
        (b"abc", 5, [(0, 3), (RAW, 5)]),
        (b"ab" + mark(3) + b"c", 5, [(0, 2), (RAW, 3), (13, 1), (RAW + 3, 2)]),
        (mark(5) + b"c", 5, [(RAW, 5), (11, 1)]),
        (b"a\0b", 0, [(0, 3)]),
    ],
)
def test_pieces_in_their_order(python: bytes, raw: int, expected: list[tuple[int, int]]) -> None:
    assert extents(python, raw) == expected


@pytest.mark.parametrize("forged", [mark(99), mark(4) + mark(1), b"\0\1zzzzzzzz\2", mark(0xFFFFFFFF) * 3, b"\0\1"])
def test_forged_marks_give_every_byte_of_the_second_area_once(forged: bytes) -> None:
    pieces = extents(b"a" + forged + b"b", 5)
    raw = [byte for offset, size in pieces if offset >= RAW for byte in range(offset, offset + size)]
    assert raw == list(range(RAW, RAW + 5))
    assert all(size > 0 and offset + size <= len(forged) + 2 for offset, size in pieces if offset < RAW)
