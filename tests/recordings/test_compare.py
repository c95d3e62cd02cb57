"""When two recorded values are one."""

from __future__ import annotations

from typing import Any

import pytest

from safeexec import Opaque
from safeexec.recordings.compare import same

HERE, THERE = (Opaque("object", f"<object object at 0x7f000000{n}>") for n in ("00a0", "00b0"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (float("nan"), float("nan")),
        ([1.5, (HERE, {2, 3})], [1.5, (THERE, {3, 2})]),
        ({"a": HERE, "b": [None]}, {"a": THERE, "b": [None]}),
    ],
)
def test_addresses_and_the_order_of_sets_are_promised_to_nobody(one: Any, other: Any) -> None:
    assert same(one, other) and not same(one, [other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1.5, float("nan")),
        ([1, 2], [1]),
        ((1,), [1]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": [1]}, {"a": [2]}),
        (HERE, Opaque("Thing", HERE.repr)),
        (HERE, Opaque("object", "<object object at home>")),
    ],
)
def test_all_else_is_a_difference(one: Any, other: Any) -> None:
    assert not same(one, other) and not same([one], [other])


@pytest.mark.modules("numpy")
def test_an_array_has_no_one_truth() -> None:
    import numpy

    assert not same(numpy.arange(2), numpy.arange(2))
