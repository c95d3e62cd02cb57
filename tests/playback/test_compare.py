"""When two recorded values are one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from safeexec import Opaque
from safeexec.playback.compare import Deviation, differing, same
from safeexec.recordings.format import DisplayText, Ended, Value
from safeexec.recordings.forms import encoded, packed
from safeexec.recordings.reader import Recording
from safeexec.results.outcomes import Changes, ToolCallRecord

ERRAND = Path(__file__).parents[1] / "recordings" / "data" / "errand.jsonl"
HERE, THERE = (Opaque("object", f"<object object at 0x7f000000{n}>") for n in ("00a0", "00b0"))


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


def test_addresses_and_the_order_of_sets_are_promised_to_nobody_and_an_array_has_no_one_truth() -> None:
    one = [float("nan"), 1.5, (HERE, {2, 3}), {"a": HERE, "b": [None]}]
    assert same(one, [float("nan"), 1.5, (THERE, {3, 2}), {"a": THERE, "b": [None]}])
    numpy = pytest.importorskip("numpy")
    assert not same(numpy.arange(2), numpy.arange(2))


def step(number: int) -> Ended:
    """A step of the first session of `errand`."""
    return next(one for one in Recording(ERRAND) if isinstance(one, Ended) and (one.session, one.step) == (1, number))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"outcome": "error"}, ("outcome", "'ok'", "'error'")),
        ({"stdout": "9.47 with tax"}, ("stdout", "'10.80 with tax <b>&</b>\\n'", "'9.47 with tax'")),
        ({"stderr": "at 0x7f0000001230"}, ("stderr", "''", "'at …'")),
        ({"tool_calls": [ToolCallRecord("price", 2, "ok")]}, ("tool_calls", "[]", "[('price', 'ok')]")),
        ({"value": packed(encoded(11.0))}, ("value", None, None)),
        ({"value": None}, ("value", None, "None")),
        ({"value": Value(text="10.8", left_out="large", size=9 << 20)}, ("value", None, None)),
        ({"displays": [DisplayText({"text/plain": "x"})]}, ("displays", "[]", "[{'text/plain': 'x'}]")),
        ({"changes": Changes(deleted=("total",))}, ("changes", None, "deleted total")),
        ({"exit_status": 3}, ("exit_status", "None", "3")),
    ],
)
def test_the_first_difference_of_two_results_is_told(changes: dict[str, Any], told: tuple[str, Any, Any]) -> None:
    recorded = step(2)
    found = differing(recorded, replace(recorded, **changes))
    assert found is not None and all(part in (None, shown) for part, shown in zip(told, found, strict=True)), found


def test_what_is_no_difference_and_the_session_of_one() -> None:
    recorded = replace(step(2), stderr="<object at 0x7f0000001230>", value=packed(encoded({1, 8})))
    again = replace(recorded, stderr="<object at 0x7f0000009990>", value=packed(encoded({8, 1})), at=9.0, notes=["new"])
    assert differing(recorded, again) is None
    unreadable = replace(recorded, value=Value("//8=", text="{1, 8}"))
    assert (differing(recorded, unreadable) or [""])[0] == "value"
    one = Deviation(session=1, step=3, what="stdout", recorded="'a'", now="'b'")
    assert str(one) == "step 3: stdout was 'a', and is 'b'"
    assert str(replace(one, session=2, cause="why")) == "step 3 of session 2: stdout was 'a', and is 'b'; why"
