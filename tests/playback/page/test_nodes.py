"""The lines of the tree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from safeexec.playback.page.nodes import chains_of, title_of


def test_an_earlier_child_is_a_side_line_and_a_title_the_first_line_that_says_something() -> None:
    assert chains_of([-1, 0, 1, 2]) == [(0, 0, 0, 3)]
    assert chains_of([-1, 0, 1, 0, 3]) == [(0, 0, 0, 4), (1, 0, 1, 2)]
    assert title_of("\n# why\n\nx = 1\ny = 2") == "x = 1"
    assert title_of("import re\nfrom x import y\nz = 1") == "z = 1"
    assert title_of("import re\n# and no more") == "import re"
    assert title_of("import re\ndef f(n):\n    return n\nf(1)") == "def f(n): return n"
    assert title_of("# nothing else") == "# nothing else"
    assert title_of("") == ""


@given(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=60))
def test_no_two_lines_share_a_place(draws: list[float]) -> None:
    parents = [int(draw * (row + 1)) - 1 for row, draw in enumerate(draws)]
    chains = chains_of(parents)
    taken = [(track, row) for track, _, first, end in chains for row in range(first, end + 1)]
    assert len(taken) == len(set(taken))
    starts = {first: start for _, start, first, _ in chains}
    for row, parent in enumerate(parents):
        last = parent >= 0 and parents.index(parent, row) == row and parent not in parents[row + 1 :]
        assert (row not in starts) == last
        if row in starts:
            assert starts[row] == (parent if parent >= 0 else row)
