"""Search-and-replace edits and unified diffs: what applies, and what the error says when it does not."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.agent import RepairError
from safeexec.agent.repair.edits import Comparisons, apply_hunks, parse_diff, replace_passage

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


def apply(text: str, diff: str) -> str:
    (file,) = parse_diff(diff)
    return apply_hunks(text, file.hunks, file.path, Comparisons())


def test_wrong_counts_and_line_numbers_do_not_matter() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -90,7 +1,9 @@\n def volume(r):\n-    return 4 * r\n+    return 5 * r\n"
    assert apply(TEXT, diff) == TEXT.replace("4 * r", "5 * r")


def test_a_fence_around_the_diff_and_git_headers_are_passed_over() -> None:
    headers = "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py"
    diff = f"```diff\n{headers}\n@@ -2 +2 @@\n-    return 3 * r\n+    return 9 * r\n```"
    assert apply(TEXT, diff) == TEXT.replace("3 * r", "9 * r")


def test_a_hunk_that_does_not_match_names_what_stands_there() -> None:
    with pytest.raises(RepairError, match=r"hunk 1 does not match[\s\S]*6 \|     return 4 \* r"):
        apply(TEXT, "--- a/a.py\n+++ b/a.py\n@@ -5,2 +5,2 @@\n def volume(r):\n-    return 4*r\n+    return 5 * r\n")


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("", "has no hunk"),
        ("@@ -1 +1 @@\n-a\n+b", "before any file"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n*b", "line 5 of the diff begins with"),
        ("rename from a\nrename to b", "cannot be applied"),
    ],
)
def test_a_diff_that_is_none_is_explained(diff: str, message: str) -> None:
    with pytest.raises(RepairError, match=message):
        parse_diff(diff)


def test_new_and_deleted_files_are_told_by_dev_null() -> None:
    files = parse_diff(
        "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-y = 1\n"
    )
    assert [(file.old, file.new) for file in files] == [(None, "new.py"), ("old.py", None)]


@pytest.mark.parametrize(
    ("before", "after", "hunk"),
    [
        ("a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"),
        ("a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"),
        ("a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n"),
        ("a\n", "a\nb\n", "@@ -90,0 +91 @@\n+b\n"),
        ("a\n\nb\n", "c\n\nb\n", "@@ -1,3 +1,3 @@\n-a\n+c\n\n b\n\n"),
        ("", "x", "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"),
        ("", "x\n", "@@ -1 +1 @@\n+x\n"),
    ],
)
def test_ends_of_files_are_as_the_diff_says(before: str, after: str, hunk: str) -> None:
    assert apply(before, f"--- a/f\n+++ b/f\n{hunk}") == after


def test_empty_lines_between_the_parts_of_a_diff_are_none_of_its_lines() -> None:
    part = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-a\n+b\n\n"
    assert [
        apply_hunks("a\n", file.hunks, "f", Comparisons()) for file in parse_diff(part.format("f") + part.format("g"))
    ] == ["b\n"] * 2


def test_a_hunk_that_fits_at_several_places_goes_where_the_diff_says_or_nowhere() -> None:
    text = "def one():\n    return 1\n\n\ndef two():\n    return 1\n"
    change = "--- a/f\n+++ b/f\n@@ -{} +1 @@\n-    return 1\n+    return 2\n"
    assert apply(text, change.format(6)) == text[:-2] + "2\n"
    with pytest.raises(RepairError, match=r"2 times \(lines 2, 6\), and not at line 4"):
        apply(text, change.format(4))


@pytest.mark.parametrize("header", ["@@", "@@ ... @@", "@@ def two(): @@"])
def test_a_hunk_without_a_line_number_goes_where_its_lines_stand_once(header: str) -> None:
    text = "def one():\n    return 1\n\n\ndef two():\n    return 1\n"
    diff = f"--- a/f\n+++ b/f\n{header}\n def two():\n-    return 1\n+    return 2\n"
    assert apply(text, diff) == text[:-2] + "2\n"
    with pytest.raises(RepairError, match=r"2 times \(lines 2, 6\); correct"):
        apply(text, diff.replace(" def two():\n", ""))
    with pytest.raises(RepairError, match="no line number, and it has no lines"):
        apply(text, f"--- a/f\n+++ b/f\n{header}\n+x\n")


def hunks(count: int, lines: int) -> str:
    """A diff that changes nothing."""
    return "--- a/f\n+++ b/f\n" + ("@@ -1 +1 @@\n" + " a\n" * lines) * count


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        ("a\n" + "x\n" * 30_000, hunks(1000, 1)),
        ("a\n" * 30_000, hunks(1, 1000)),
        ("a\n" * 10_000, hunks(60, 1990)),
        ("a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n" + "+x\n" * 100_000 + hunks(1000, 1).split("\n", 2)[2]),
    ],
    ids=["many hunks", "a long hunk", "many long hunks", "a hunk that adds many lines"],
)
def test_a_diff_for_which_too_many_lines_would_be_compared_is_refused(text: str, diff: str) -> None:
    with pytest.raises(RepairError, match=r"f: hunk \d+: too many lines would have to be compared; send the diff in"):
        apply(text, diff)


def test_the_lines_that_are_compared_are_counted_for_all_files_of_a_diff() -> None:
    left, (file,) = Comparisons(), parse_diff(hunks(1, 400))
    assert apply_hunks("a\n" * 10_000, file.hunks, "f", left) == "a\n" * 10_000
    with pytest.raises(RepairError, match="g: hunk 1: too many lines"):
        apply_hunks("a\n" * 10_000, file.hunks, "g", left)


LINES = st.lists(st.sampled_from(["a", "b", "c", "  d", ""]), max_size=30)


@given(LINES, LINES)
def test_a_diff_of_two_texts_makes_the_one_from_the_other(before: list[str], after: list[str]) -> None:
    """Unique line contents, so that a hunk can be at one place only."""
    old = [f"{n}{line}" for n, line in enumerate(before)]
    new = [old[n] if n < len(old) and line == before[n] else f"{line}new{n}" for n, line in enumerate(after)]
    diff = "\n".join(difflib.unified_diff(old, new, "a/f", "b/f", lineterm=""))
    if diff and old and new:
        assert apply("\n".join(old), diff) == "\n".join(new)
