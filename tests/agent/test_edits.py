"""Search-and-replace edits: what applies, and what the error says when it does not."""

from __future__ import annotations

import pytest

from safeexec.agent import RepairError
from safeexec.agent.repair.edits import replace_passage

TEXT = "def area(r):\n    return 3 * r\n\n\ndef volume(r):\n    return 4 * r\n"


def test_one_passage_is_replaced() -> None:
    assert "return 5 * r" in replace_passage(TEXT, "return 4 * r", "return 5 * r", "a.py")


REFUSED = {
    "def volume(r):\n  return 4*r": r"exactly\. The nearest lines are:\n5 \| def volume\(r\):\n6 \|     return 4 \* r$",
    "def area(r):\n\treturn 3 * r": "Only white space differs",
    "    return ": r"2 times \(lines 2, 6\)",
    "0123456789 @@@@": "Nothing in the file is like it",
    "": "the text to search for is empty",
}


@pytest.mark.parametrize(("search", "said"), REFUSED.items())
def test_a_passage_that_does_not_stand_there_once_is_told_from_those_that_do(search: str, said: str) -> None:
    with pytest.raises(RepairError, match=f"^a.py: .*{said}"):
        replace_passage(TEXT, search, "x", "a.py")
