"""The helper that other tests trust: what it plants is what it says, and its texts are as long as asked for."""

from __future__ import annotations

import stat

from tests.untrusted.hostile import FILES, SPARSE_BYTES, TEXTS, growing


def test_a_text_has_about_the_length_that_is_asked_for():
    lengths = {kind: len(make(10_000)) for kind, make in TEXTS.items()}
    assert not {kind: length for kind, length in lengths.items() if not 5_000 <= length <= 12_000}


def test_what_is_planted_is_what_it_says(tmp_path):
    for number, (kind, plant) in enumerate(FILES.items()):
        path = tmp_path / "below" / str(number)
        path.parent.mkdir(exist_ok=True)
        plant(path)
        mode = path.lstat().st_mode
        assert stat.S_ISLNK(mode) == kind.startswith("link")
        assert stat.S_ISFIFO(mode) == (kind == "FIFO")
        assert stat.S_ISSOCK(mode) == (kind == "socket")
        if kind.startswith("sparse"):
            assert path.stat().st_size == SPARSE_BYTES
            assert path.stat().st_blocks * 512 < 1 << 20


def test_a_growing_file_grows(tmp_path):
    path = tmp_path / "grows"
    with growing(path):
        first = path.stat().st_size
        while path.stat().st_size == first:
            pass
