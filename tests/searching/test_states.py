"""Which states are told to be equal: plain variables by what they hold, anything else only if it was left alone."""

from __future__ import annotations

from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from safeexec import Changes, FileChange, Result, Variable
from safeexec.searching.states import PARTS, Fingerprints, digest, fingerprints_of, key_of, may_fetch


def after(
    before: Fingerprints,
    source: str,
    values: dict[str, Any],
    *others: Variable,
    files: dict[str, bytes | None] | None = None,
) -> Fingerprints:
    """The state after a program that leaves `values` and `others`."""
    rows = [Variable(name, type(value).__name__) for name, value in values.items()]
    changes = Changes(changed=tuple(row.name for row in others if row.text == "changed"))
    touched = tuple(FileChange(name, "changed") for name in files or ())
    result = Result(outcome="ok", changes=changes, files=touched)
    return fingerprints_of(before, source, result, [*rows, *others], values, files or {})


SAME = [0, -1, 2.5, True, None, "a", b"a", 1j, [1, [2]], (1, 2), {"a": 1}, {1, 2}, frozenset(["x"])]
SAME += [Decimal("1.5"), Fraction(1, 3)]
DIFFERENT: list[tuple[object, object]] = [(1, 1.0), (1, True), ("1", 1), ([1], (1,)), ([1, 2], [2, 1]), ("a", b"a")]
DIFFERENT += [([[1], 2], [[1, 2]]), (0.0, -0.0), ({1: 2}, {2: 1}), ([], [[]]), (["ab"], ["a", "b"])]
DIFFERENT += [({"a": [1]}, {"a": [], "b": 1})]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_equal_values_are_equal_and_no_others(value: object) -> None:
    assert digest(value) is not None and digest(value) == digest(deepcopy(value))
    assert [digest(other) for other in SAME].count(digest(value)) == 1


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_values_that_differ_differ(one: object, other: object) -> None:
    assert digest(one) != digest(other)


def test_sets_have_no_order_and_what_is_no_plain_value_has_no_digest() -> None:
    assert digest({"a", "b", "c"}) == digest({"c", "b", "a"})
    for value in (object(), [object()], {"a": len}, list(range(PARTS))):
        assert digest(value) is None
    assert not may_fetch(Variable("f", "DataFrame")) and not may_fetch(Variable("s", "str", size=1 << 20))
    assert may_fetch(Variable("n", "int")) and may_fetch(Variable("s", "str", size=10))


def test_plain_variables_tell() -> None:
    first = after({}, "", {"x": 1})
    assert key_of(after(first, "x = 2", {"x": 2})) == key_of(after(first, "x = 1 + 1", {"x": 2}))
    assert key_of(after(first, "x = 2", {"x": 2})) != key_of(after(first, "x = 3", {"x": 3}))
    assert key_of(after(first, "y = 1", {"x": 1, "y": 1})) != key_of(first)
    assert key_of(after(first, "pass", {"x": 1})) == key_of(first)


def test_a_frame_is_what_it_was_until_a_program_mentions_it() -> None:
    frame, changed = Variable("df", "DataFrame"), Variable("df", "DataFrame", text="changed")
    first = after({}, "", {"x": 1}, frame)
    one, two = (after(first, "x = 2", {"x": 2}, frame) for _ in range(2))
    assert key_of(one) == key_of(two)
    assert key_of(after(first, "df.loc[5, 'a'] = 0", {"x": 1}, frame)) != key_of(first)
    assert key_of(after(first, "clean()", {"x": 1}, changed)) != key_of(after(first, "clean()", {"x": 1}, changed))


def test_modules_are_told_by_name_and_functions_may_be_called() -> None:
    math, f = Variable("math", "module", text="<module 'math'>"), Variable("f", "function")
    first = after({}, "", {"x": 1}, f)
    assert key_of(after(first, "import math", {"x": 1}, f, math)) == key_of(
        after(first, "import math as math", {"x": 1}, f, math)
    )
    assert key_of(after(first, "x = f(1)", {"x": 2}, f)) == key_of(after(first, "x = 2", {"x": 2}, f))
    new = Variable("f", "function", text="changed")
    assert key_of(after(first, "def f(): 1", {"x": 1}, new)) != key_of(after(first, "def f(): 2", {"x": 1}, new))


def test_files_tell() -> None:
    first = after({}, "", {})
    same = [after(first, source, {}, files={"a.txt": b"1"}) for source in ("one", "two")]
    assert key_of(same[0]) == key_of(same[1]) != key_of(first)
    assert key_of(after(same[0], "x", {})) == key_of(same[0])
    assert key_of(after(first, "", {}, files={"a.txt": b"2"})) != key_of(same[0])
    large = [after(first, "", {}, files={"a.txt": None}) for _ in range(2)]
    assert key_of(large[0]) != key_of(large[1])


def test_a_whole_number_of_any_length_is_told() -> None:
    assert digest(10**5000) == digest(10**5000) != digest(10**5000 + 1)
    assert digest({10**5000, 1}) == digest({1, 10**5000}) is not None
    assert digest(frozenset([frozenset([1]), 2])) != digest(frozenset([frozenset([2]), 1]))
