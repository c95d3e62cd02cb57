"""Recorded answers are found by what a call asks, in one look, however many calls a recording holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from safeexec.protocol.arguments import encode_arguments
from safeexec.protocol.messages import ToolReply, ToolRequest
from safeexec.recordings import format as form
from safeexec.recordings.forms import encoded, packed
from safeexec.recordings.served import ServedTools, earlier_reply
from tests.untrusted.doubling import SLACK, growth


def asked(*args: Any) -> bytes:
    return encode_arguments(args, {}, max_bytes=1 << 20, max_depth=64).data


def exchange(number: int, answer: int | form.Value | None, *args: Any, outcome: Any = "ok") -> form.Exchange:
    """A call with its answer, if it has one: a number, or how a value was written down."""
    value = packed(encoded(answer)) if isinstance(answer, int) else answer
    answered = form.Answered(call=number, value=value, outcome=outcome) if value or outcome != "ok" else None
    return form.Exchange(form.Called(call=number, tool="f", arguments=packed(asked(*args))), answered)


def a_session(max_calls: int = 1 << 30) -> Any:
    limits = SimpleNamespace(tools=SimpleNamespace(max_calls=max_calls))
    return SimpleNamespace(calls_of_step=0, number=1, tool_records=[], policy=limits)


def call(tools: ServedTools, *args: Any, session: Any = None, raw: bytes | None = None) -> ToolReply:
    core = tools.answer(ToolRequest(1, "f", asked(*args) if raw is None else raw), session or a_session(), None)
    try:
        next(core)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    raise AssertionError("it waits for something")


def test_each_call_gets_its_own_answer_in_turn_and_one_that_cannot_be_given_is_named() -> None:
    tools = ServedTools([], None)
    script = [exchange(1, 10, "a"), exchange(2, 20, "b"), exchange(3, 30, "a"), exchange(4, 40, {"x", "y"})]
    tools.begin([*script, form.Exchange(form.Called(call=5, tool="f", arguments=form.Value(left_out="redacted")))])
    assert [call(tools, name).value for name in ("b", "a", "a")] == [*map(encoded, (20, 10, 30))]
    assert call(tools, {"y", "x"}).value == encoded(40)
    assert call(tools, "a").error_type == "ToolError"
    assert "f('a')" in tools.mismatch
    assert [one.call.call for one in tools.left()] == [5]
    for value, why in (
        (form.Value(data=b"!!", size=2), "cannot be read"),
        (form.Value(data=bytes(3), size=3), "cannot be read"),
        (form.Value(left_out="redacted"), "left out of the recording: it is redacted"),
    ):
        tools = ServedTools([], None)
        tools.begin([exchange(1, value, 1)])
        assert call(tools, 1).error_type == "ToolError"
        assert tools.mismatch.startswith("the answer to f(1) is needed: ") and why in tools.mismatch


def test_a_million_recorded_calls_are_not_looked_at_again_for_each() -> None:
    def script(n: int) -> list[form.Exchange]:
        return [exchange(number, 1, number) for number in range(n)]

    def step(recorded: list[form.Exchange]) -> None:
        tools = ServedTools([], None)
        tools.begin(recorded)
        for number in reversed(range(len(recorded))):
            assert not call(tools, number).error_type

    assert growth(step, script, 1 << 8, 1 << 12) < SLACK


def test_a_call_whose_effect_was_put_off_gets_no_value_and_one_that_may_be_undone_is_not_made_again() -> None:
    tools, session = ServedTools([], None), a_session()
    tools.begin([exchange(1, None, 1, outcome="deferred")])
    reply = call(tools, 1, session=session)
    assert (reply.value, reply.error_type, tools.mismatch) == (ToolReply(1).value, "", "")
    assert [record.outcome for record in session.tool_records] == ["ok"]
    made = exchange(1, 10)
    for became, known in (("not-undone", True), ("undoing", False), ("unknown", False)):
        made.effect = form.Effect(call=1, tool="f", became=became)
        reply = earlier_reply(made, ToolRequest(1, "f", asked()), SimpleNamespace(idempotent=True))
        assert reply is not None and (reply.value == encoded(10)) is known
        assert known or "nobody knows whether it was undone" in reply.error


def test_calls_beyond_the_limit_are_refused_and_the_first_that_is_unknown_is_the_one_that_is_told() -> None:
    tools, session = ServedTools([], None), a_session(max_calls=2)
    tools.begin([exchange(1, 10, "a")])
    told = [call(tools, name, session=session).error_type for name in "bcaa"]
    assert told == ["ToolError", "ToolError", "", "PermissionError"], "what is recorded was within the limit"
    assert tools.mismatch.startswith("the step called f('b'), where f(")


def test_arguments_that_cannot_be_read_are_equal_by_their_bytes_alone() -> None:
    """Of a call, and of a recording that somebody has edited."""
    tools = ServedTools([], None)
    odd = form.Value(data=b"!!", size=2)
    tools.begin(
        [form.Exchange(form.Called(call=1, tool="f", arguments=odd), form.Answered(call=1)), exchange(2, 20, "a")]
    )
    assert call(tools, raw=b"\xc1").error_type == "ToolError"
    assert call(tools, "a").value == encoded(20)
    assert [one.call.call for one in tools.left()] == [1]
