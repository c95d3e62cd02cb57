"""Arguments of a call cross as themselves; what is none is a ProtocolError; what cannot cross is named by its place."""

from __future__ import annotations

from typing import Any

import pytest

from safeexec.errors import ProtocolError
from safeexec.protocol.arguments import decode_call, encode_arguments, exceeded, foreign
from safeexec.protocol.values import encode


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1, "a", None), {"x": 2.5}), ((2**70, "\ud800"), {}), (([1, {2}],), {"k": {"a": (b"x",)}})],
)
def test_a_call_crosses_as_itself(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    encoded = encode_arguments(args, kwargs, max_bytes=1000, max_depth=8)
    assert not encoded.opaque
    assert decode_call(encoded.data, max_bytes=1000, max_depth=8, arrays=True) == (args, kwargs, None)


def test_plain_arguments_that_are_too_long_are_cut_as_values_are() -> None:
    encoded = encode_arguments(("x" * 5000, 1), {}, max_bytes=1000, max_depth=8)
    assert encoded.truncated and encoded.opaque and len(encoded.data) < 2000


def _written(value: Any) -> bytes:
    return encode(value, max_bytes=1000, max_depth=8).data


HOSTILE = {
    "too long": bytes(3000),
    "plain, and cut off": b"\x92\x90",
    "plain, with a name that is none": b"\x92\x90\x81\x01\x01",
    "no call": _written([1]),
    "a list for a tuple": _written(([], {})),
    "a keyword that is no name": _written(((), {1: 2})),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_call_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_call(data, max_bytes=1000, max_depth=8, arrays=True)


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((1, {"a": [0, object()]}), {}, "argument 2['a'][1] is, or holds, an object that is no value, of type object"),
        ((1,), {"k": {1, len}}, "an item of k is, or holds"),
        ((1,), {"k": {len: 1}}, "a key of k is, or holds"),
        ((1,), {"k": [1]}, "it is, or holds, an object that is no value"),
    ],
)
def test_what_cannot_cross_is_named_by_its_place(args: tuple[Any, ...], kwargs: dict[str, Any], told: str) -> None:
    assert foreign(args, kwargs, max_depth=8).startswith(told)


@pytest.mark.modules("pandas")
def test_an_object_in_a_table_is_named_by_its_column() -> None:
    import pandas as pd

    table = pd.DataFrame({"ok": [1, 2], "bad": [{}, {"a": object()}]}, index=["x", "y"])
    assert foreign((table,), {}, max_depth=8).startswith("argument 1['bad']['y']['a'] is, or holds")
    assert foreign((), {"k": [pd.Series([1, len])]}, max_depth=8).startswith("k[0][1] is, or holds")


CYCLE: list[Any] = [1]
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("x" * 3000, "it is larger than limits.value_kb (1 KiB)"),
        ([1, {"a": "x" * 3000}], "it is larger than limits.value_kb (1 KiB)"),
        ([[[[1]]]], "it is nested deeper than limits.value_depth (2)"),
        (CYCLE, "it holds itself"),
        ([object()], ""),
    ],
    ids=["text", "part", "deep", "cycle", "object"],
)
def test_the_limit_that_a_value_does_not_keep_is_named(value: Any, told: str) -> None:
    refused = encode(value, max_bytes=1024, max_depth=2)
    assert refused.opaque
    assert exceeded(refused, value_kb=1, value_depth=2) == told
