"""Results as data: displays by MIME type, and dictionaries that JSON takes whatever the value is."""

from __future__ import annotations

import json
import math
import pickle
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import safeexec
import safeexec.agent
from safeexec.protocol.values import Opaque
from safeexec.results import Changes, Display, ErrorInfo, FileChange, Result, StepFailed, ToolCallRecord

EXCEPTIONS = {
    found
    for module in (safeexec, safeexec.agent)
    for name in module.__all__
    if isinstance(found := getattr(module, name), type) and issubclass(found, BaseException)
}


@pytest.mark.parametrize("kind", sorted(EXCEPTIONS, key=lambda kind: kind.__name__))
def test_every_public_exception_comes_back_from_a_pickle(kind: type[Exception]) -> None:
    """As a worker of a ProcessPoolExecutor hands it to its caller: with its message, and all that it carries."""
    carried = {"StepFailed": {"result": Result("error")}, "ModelRequestRefused": {"status": 404}}
    error = kind("what went wrong", **carried.get(kind.__name__, {}))
    error.__dict__["more"] = 1
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (kind, "what went wrong", error.__dict__)


def test_a_display_is_a_mapping_with_names_for_the_usual_forms() -> None:
    display = Display(
        {
            "image/png": b"\x89PNG",
            "text/html": b"<b>",
            "text/plain": b"lone \xed\xa0\x80",
            "image/svg+xml": b"<svg/>",
            "application/vnd.plotly.v1+json": b"{}",
            "text/latex": b"\xff",
        }
    )
    assert (display.png, display.html, display.text) == (b"\x89PNG", "<b>", "lone \ud800")
    assert (display.svg, display.json) == ("<svg/>", "{}")
    assert display.latex == "\ufffd"
    assert display.markdown is None
    assert sorted(display)[0] == "application/vnd.plotly.v1+json"
    assert "image/gif" not in display and len(display) == 6
    assert repr(Display({"text/plain": b"abc"})) == "Display(text/plain: 3)"


VALUES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (1.5, 1.5),
    ("lone \ud800", "lone \ud800"),
    ((1, [2]), [1, [2]]),
    ({"a": {"b": (1,)}}, {"a": {"b": [1]}}),
    ({1: "x"}, {"type": "dict", "items": [[1, "x"]]}),
    (math.nan, {"type": "float", "repr": "nan"}),
    (-math.inf, {"type": "float", "repr": "-inf"}),
    (1j, {"type": "complex", "repr": "1j"}),
    (b"\xff", {"type": "bytes", "base64": "/w=="}),
    (10**5000, {"type": "int", "repr": "<int of about 5001 digits>"}),
    (Decimal("1.50"), {"type": "decimal.Decimal", "repr": "Decimal('1.50')"}),
    (date(2024, 1, 2), {"type": "datetime.date", "repr": "datetime.date(2024, 1, 2)"}),
    (range(3), {"type": "range", "repr": "range(0, 3)"}),
    (Opaque("Point", "Point(1)"), {"type": "Point", "repr": "Point(1)"}),
    ({1}, [1]),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda value: type(value).__name__)
def test_values_in_json(value: Any, expected: Any) -> None:
    told = Result("ok", value=value).to_dict()
    assert told["value"] == expected
    assert json.loads(json.dumps(told, allow_nan=False))["value"] == expected


def test_all_parts_of_a_result_in_json() -> None:
    result = Result(
        "error",
        stdout="out",
        error=ErrorInfo("ValueError", "no", line=1, diagnostics=(ErrorInfo("X", "y"),)),
        changes=Changes(("a",), descriptions={"a": "int 1"}),
        displays=(Display({"image/png": b"\x89PNG", "text/plain": b"x"}),),
        tool_calls=(ToolCallRecord("price", 1, "ok"),),
        files=(FileChange("a.csv", "created", 3, "text/csv"),),
        step=7,
        notes=("n",),
        remaining=("kept",),
    )
    told = json.loads(json.dumps(result.to_dict()))
    assert told["ok"] is False and told["outcome"] == "error" and told["step"] == 7
    assert told["error"]["diagnostics"][0]["message"] == "y"
    assert told["displays"] == [{"data": {"image/png": "iVBORw==", "text/plain": "x"}, "truncated": False}]
    assert told["files"] == [{"name": "a.csv", "change": "created", "size": 3, "type": "text/csv"}]
    assert told["changes"]["descriptions"] == {"a": "int 1"}
    assert told["tool_calls"][0]["tool"] == "price" and told["remaining"] == ["kept"]


def test_check_gives_the_result_or_raises_in_words_that_a_terminal_may_show() -> None:
    good = Result("ok", value=1)
    assert good.check() is good and bool(good)
    bad = Result("error", error=ErrorInfo("ValueError", "no"))
    assert not bad
    with pytest.raises(StepFailed, match="error: ValueError: no") as caught:
        bad.check()
    assert caught.value.result is bad
    result = Result(outcome="error", error=ErrorInfo(type="E", message="a\x1b]0;title\x07b\x9b2J\ud800\nnext"))
    with pytest.raises(StepFailed) as caught:
        result.check()
    assert str(caught.value) == "error: E: ab\\ud800\nnext"
