"""What clients of notebooks are shown of a step: each thing once, the value last, and whole where it can be read."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from safeexec import Display, Result

if find_spec("starlette") is None:
    pytest.skip("starlette is not installed (pip install 'safeexec[server]')", allow_module_level=True)

from safeexec.servers.http.cells import ShownPart, as_result, shown
from safeexec.servers.http.requests import answer


def test_a_value_that_was_displayed_is_shown_once_and_is_the_main_result() -> None:
    rich = Display({"text/plain": b"Table(2)", "text/html": b"<table>"})
    first, last = shown(Result("ok", text="Table(2)", displays=(Display({"text/plain": b"a"}), rich)))
    assert as_result(first) == {"is_main_result": False, "text": "a"}
    assert as_result(last) == {"is_main_result": True, "text": "Table(2)", "html": "<table>"}
    figure = Display({"text/plain": b"Figure()", "image/png": b"\x89PNG"})
    rows = [as_result(part) for part in shown(Result("ok", text="Figure()", displays=(figure,)))]
    assert [row["is_main_result"] for row in rows] == [False, True], "a figure is no value"
    assert (rows[0]["png"], rows[1]["text"]) == ("iVBORw==", "Figure()")


def test_json_is_read_and_what_cannot_be_or_has_no_name_of_its_own_is_extra() -> None:
    data = {"application/json": '{"a": [1]}', "application/x-own": b"\xff"}
    assert as_result(ShownPart(data, False)) == {
        "is_main_result": False,
        "json": {"a": [1]},
        "extra": {"application/x-own": "/w=="},
    }
    for text in ("{", "[" * 100_000, '{"a": NaN}'):
        assert as_result(ShownPart({"application/json": text}, True))["extra"] == {"application/json": text}


def test_json_that_is_nested_deeply_can_be_written() -> None:
    """Each depth: between those that are read and those that are not were two that were read and not written."""
    for depth in range(90, 1100):
        row = as_result(ShownPart({"application/json": "[" * depth + "]" * depth}, True))
        answer([{"execution": {"results": [row]}}])
        assert ("json" in row) != ("extra" in row)
