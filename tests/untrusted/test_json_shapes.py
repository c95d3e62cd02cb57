"""Parts of a JSON text are counted before it is read, outside of texts, and nothing is allocated for it."""

from __future__ import annotations

import json
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted.json_shapes import MOST_ESCAPES, PIECE, SHOWN, check_parts, shaped

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def parts(value: object) -> int:
    """Lists, dicts, items and keys, as the marks of their JSON tell them."""
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(parts, value))
    if isinstance(value, dict):
        return 1 + len(value) + max(0, len(value) - 1) + sum(map(parts, value.values()))
    return 0


@given(VALUES)
def test_what_has_more_parts_is_refused_and_nothing_else(value: object) -> None:
    text, count = json.dumps(value).encode(), parts(value)
    check_parts(text, count)
    check_parts(bytearray(text), count)
    if count:
        with pytest.raises(ValueError, match="more than"):
            check_parts(text, count - 1)


@pytest.mark.parametrize(
    "inside",
    [",[{:" * 3, '\\"' * 9, "\\\\" * 9, "," * (2 * PIECE), '\\"' * PIECE, "\\\\" * PIECE, "x" * (PIECE - 2) + '\\",,,'],
)
def test_marks_inside_of_texts_are_none(inside: str) -> None:
    check_parts(f'{{"a": "{inside}", "b": [1, 2]}}'.encode(), 6)
    with pytest.raises(ValueError, match="more than 5"):
        check_parts(f'{{"a": "{inside}", "b": [1, 2]}}'.encode(), 5)


def test_escapes_are_bounded() -> None:
    """Each takes a reader 7 ns, in one call that holds every thread."""
    text = '{"a": "' + "\\n" * MOST_ESCAPES
    check_parts(f'{text}"}}'.encode(), 9)
    with pytest.raises(ValueError, match="more than 6,000,000 escapes"):
        check_parts(f'{text}\\n"}}'.encode(), 9)


@pytest.mark.parametrize(
    "text", ['"', '"\\', '"\\"', "", "[" * 9, '"' + "\\" * (2 * PIECE + 1), '{"a": "' + '\\"' * PIECE]
)
def test_what_is_no_json_ends(text: str) -> None:
    check_parts(text.encode(), 9)


def test_what_is_told_of_json_that_does_not_fit_is_short() -> None:
    class Shape(msgspec.Struct, forbid_unknown_fields=True):
        a: int

    with pytest.raises(ValueError, match="unknown field") as told:
        shaped(b'{"' + b"k" * 1_000_000 + b'": 1}', Shape)
    assert len(str(told.value)) <= SHOWN
    for half in (b"\\ud800", b"\\uD800"):
        with pytest.raises(ValueError, match="half of a character"):
            shaped(b'"' + half + b'"', str)


def test_it_allocates_little() -> None:
    text = b"[" + b'"a",' * 1_000_000 + b"1]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than"):
            check_parts(text, 500_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(text)
