"""Tools as frameworks declare them, as Python signatures."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

import pytest

from safeexec.adapters.signatures import from_schema, hint


@pytest.mark.parametrize(
    ("declared", "meant"),
    [
        ({"type": "integer"}, int),
        ({"type": "number"}, int | float),
        ({"type": ["string", "null"]}, str | None),
        ({"type": "integer", "nullable": True}, int | None),
        ({"type": "image"}, Any),
        ({}, Any),
        (True, Any),
    ],
)
def test_types(declared: dict[str, Any] | bool, meant: object) -> None:
    assert hint(declared) == meant


def test_what_must_be_given_comes_first_and_odd_names_are_left_out() -> None:
    schema = {"properties": {"b": {"type": "string"}, "a": {"type": "integer"}, "x-y": {}}, "required": ["a"]}
    a, b = from_schema(schema).parameters.values()
    assert (a.name, a.annotation, a.default) == ("a", int, Parameter.empty)
    assert (b.name, b.annotation, b.default) == ("b", Any, None)
    assert not from_schema({}).parameters
