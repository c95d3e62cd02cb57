"""A model's reply, a log and a transcript may hold numbers that `int` refuses, and may be no file at all: no exception
of Python's own gets out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from safeexec.agent.errors import TranscriptError
from safeexec.agent.models.offline import read_replies
from safeexec.agent.repair import verification
from safeexec.agent.transcript import Transcript
from tests.untrusted.hostile import DIGITS, FILES

LONG = "1" * DIGITS


def test_a_count_in_a_log_is_a_short_number() -> None:
    assert all(len(number) < 10 for number, _ in verification._COUNTS.findall(f"{LONG} passed, 3 failed"))
    assert verification._COUNTS.findall("12 passed, 3 failed") == [("12", "passed"), ("3", "failed")]


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "link to a file"])
def test_a_transcript_is_a_regular_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "below" / "run.jsonl"
    path.parent.mkdir()
    FILES[kind](path)
    with pytest.raises(TranscriptError):
        Transcript.load(path)
    with pytest.raises(TranscriptError):
        list(read_replies(path))
