"""A stream of bytes is cut into lines, and of one that is too long nothing is kept."""

from __future__ import annotations

import sys
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted.lines import Lines


@given(st.lists(st.binary(max_size=12).map(lambda part: part.replace(b"\n", b""))), st.data())
def test_lines_are_cut_the_same_however_they_arrive(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    cutter = Lines(limit=8)
    found = [line for piece in pieces for line in cutter.feed(piece)]
    assert found == [line if len(line) <= 8 else None for line in lines]
    assert cutter.rest() == b""


def test_of_a_line_without_an_end_nothing_is_kept() -> None:
    cutter = Lines(limit=1 << 20)
    for _ in range(1000):
        assert list(cutter.feed(bytes(1 << 16))) == []
    assert sys.getsizeof(cutter._line) < 2 << 20
    assert list(cutter.feed(b"\n[]\n")) == [None, b"[]"]


def test_a_line_that_comes_in_small_pieces_takes_no_more_than_its_size() -> None:
    lines, pieces = Lines(1 << 20), [bytes((65 + number % 8, 66)) for number in range(50_000)]
    tracemalloc.start()
    for number in range(len(pieces)):
        assert not [*lines.feed(bytes((65 + number % 8, 66)))]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lines.rest() == b"".join(pieces)
    assert held < 4 * 2 * len(pieces)
