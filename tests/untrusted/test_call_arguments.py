"""Arguments that a model wrote: one text, or nothing, in linear time."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safeexec.untrusted.call_arguments import MAX_CHARACTERS, code_of, why_no_call
from tests.untrusted.doubling import SLACK, growth


@pytest.mark.parametrize("part", ["[", '{"a":', '{"code":', "9", '"', "\\u0000", "\x00", " ", "\\"])
def test_the_work_grows_no_faster_than_the_text(part: str) -> None:
    for before in ("", '{"code":', '{"code":"'):
        assert growth(code_of, lambda n, before=before: before + part * (n // len(part))) < SLACK


@given(st.text())
def test_what_is_asked_for_is_what_runs(code: str) -> None:
    given = {"code": code}
    assert code_of(given) == code
    assert code_of(json.dumps(given)) == (code if not any("\ud800" <= sign <= "\udfff" for sign in code) else None)


SCALARS = st.none() | st.booleans() | st.floats() | st.integers() | st.text()


NESTED = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("code"), inner), max_leaves=8
)


@given(NESTED)
def test_anything_else_is_no_call(arguments: Any) -> None:
    code = code_of(arguments)
    assert code is None or arguments in ({"code": code}, json.dumps({"code": code}))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"code": "1", "timeout": 5}', "Object contains unknown field `timeout`"),
        ({"code": "1", "timeout": 5}, "Object contains unknown field `timeout`"),
        ({}, "Object missing required field `code`"),
        ({"code": 5}, "Expected `str`, got `int` - at `$.code`"),
        ('{"code": "prin', "Input data was truncated"),
        ("print(1)", "JSON is malformed: invalid character (byte 0)"),
        (None, "Expected `object`, got `null`"),
        (" " * (MAX_CHARACTERS + 1), f"longer than {MAX_CHARACTERS} characters"),
        (OrderedDict(code="1"), "not a JSON object"),
    ],
)
def test_what_is_wrong_is_said(arguments: Any, why: str) -> None:
    assert code_of(arguments) is None
    assert why_no_call(arguments) == why
    assert len(why_no_call({"x" * 1000: "1", "code": ""})) <= 200
