"""Whatever a value is, what is made of it goes through `json.dumps`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from safeexec.protocol.values import Opaque
from safeexec.results.jsonable import jsonable

SCALARS = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(st.characters())
    | st.binary()
    | st.complex_numbers()
    | st.sampled_from([5000, 6000]).map(lambda digits: 10**digits)
    | st.sampled_from([Opaque("Point", "\ud800"), range(10**12)])
)
KEYS = st.text() | st.integers() | st.none() | st.tuples(st.integers())


@given(
    st.recursive(SCALARS, lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner), max_leaves=8)
)
def test_every_value_is_json(value: Any) -> None:
    json.dumps(jsonable(value), allow_nan=False)


def test_large_ints_come_with_all_their_digits_and_what_nests_too_deeply_is_told() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    cycle: list[Any] = []
    cycle.append(cycle)
    for value in (deep, cycle):
        assert "repr" in json.dumps(jsonable(value))
    assert jsonable(2**53) == 2**53
    assert jsonable([2**53 + 1, {"in": -(2**53) - 1}, -(10**4000)]) == [
        {"type": "int", "repr": "9007199254740993"},
        {"in": {"type": "int", "repr": "-9007199254740993"}},
        {"type": "int", "repr": str(-(10**4000))},
    ]
