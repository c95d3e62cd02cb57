"""A value that crosses as JSON is itself again, and what is no such value is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec import Opaque, ProtocolError
from safeexec.results.jsonable import jsonable
from safeexec.results.marked import exact, marked, unmarked

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
KEYS = st.text() | st.integers()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner), max_leaves=8
)
PLAIN = st.recursive(
    st.binary() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_sent_exactly_is_itself_again(value: Any) -> None:
    again = unmarked(json.loads(json.dumps(exact(value, 1 << 20))))
    assert again == value and repr(again) == repr(value)


@given(PLAIN)
def test_bytes_and_ints_in_plain_json_are_themselves_again(value: Any) -> None:
    assert unmarked(json.loads(json.dumps(jsonable(value)))) == value


def test_only_the_marked_form_is_read_as_such_also_of_what_is_no_json_or_too_large() -> None:
    now = datetime.now(UTC)
    assert unmarked(exact({now}, 1 << 20)) == {now}
    assert isinstance(unmarked(exact(b"x" * 1000, 100)), Opaque)
    for plain in ({"type": "bytes"}, {"type": "other", "base64": "AA=="}, {"type": "bytes", "base64": 1}, [{}]):
        assert unmarked(plain) == plain
    for digits in ("1e3", "abc", "", "9" * 5000, 7, None):
        assert unmarked({"type": "int", "repr": digits}) == {"type": "int", "repr": digits}
    for kind in ([], {}, 1, None):
        assert unmarked({"type": kind, "base64": "aa"}) == {"type": kind, "base64": "aa"}


@pytest.mark.parametrize("value", [{"type": "bytes", "base64": "?"}, marked(b"", "encoded"), marked(b"zz", "encoded")])
def test_what_cannot_be_read_is_an_error(value: Any) -> None:
    with pytest.raises((ValueError, ProtocolError)):
        unmarked(value)
