"""Search-and-replace edits: what applies, and what the error says when it does not."""

from __future__ import annotations

import pytest

from safeexec.agent import RepairError
from safeexec.agent.repair.edits import replace_passage

TEXT = "def area(r):\n    return 3 * r\n\n\ndef volume(r):\n    return 4 * r\n"


def test_one_passage_is_replaced() -> None:
    assert "return 5 * r" in replace_passage(TEXT, "return 4 * r", "return 5 * r", "a.py")


def test_a_passage_that_differs_is_shown_with_its_line_number() -> None:
    with pytest.raises(RepairError) as caught:
        replace_passage(TEXT, "def volume(r):\n  return 4*r", "x", "a.py")
    assert str(caught.value) == (
        "a.py: the text to search for does not stand there exactly. The nearest lines are:\n"
        "5 | def volume(r):\n6 |     return 4 * r"
    )


def test_white_space_alone_is_named_as_the_difference() -> None:
    with pytest.raises(RepairError, match="Only white space differs"):
        replace_passage(TEXT, "def area(r):\n\treturn 3 * r", "x", "a.py")


def test_a_passage_that_stands_twice_names_its_lines() -> None:
    with pytest.raises(RepairError, match=r"2 times \(lines 2, 6\)"):
        replace_passage(TEXT, "    return ", "x", "a.py")


def test_nothing_alike_says_so() -> None:
    with pytest.raises(RepairError, match="Nothing in the file is like it"):
        replace_passage(TEXT, "0123456789 @@@@", "x", "a.py")
