"""The declaration of `run_python`, of whatever has a card."""

from __future__ import annotations

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox
from safeexec.adapters import functions


def price(symbol: str) -> float:
    """The price of a share."""
    return 1.0


def test_the_schema_takes_whatever_has_a_card() -> None:
    plain = functions.schema(Policy.load("calculator"))
    assert functions.schema("calculator") == plain
    with Sandbox("calculator", tools=[price]) as sandbox, sandbox.session() as session:
        told = functions.schema(session)["function"]["description"]
        assert "price(symbol: str)" in told
        assert functions.schema(sandbox)["function"]["description"] == told
        assert functions.schema("calculator", tools=[price])["function"]["description"] == told


async def test_a_session_of_an_event_loop_answers_too_and_a_wrong_call_says_why() -> None:
    async with AsyncSandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        text, result = await functions.async_answer(session, '{"code": "6 * 7"}')
        assert result is not None and result.value == 42 and "Value: 42" in text
        text, result = await functions.async_answer(session, '{"code": "1", "timeout": 5}')
        assert result is None and "unknown field `timeout`" in text
        with pytest.raises(TypeError, match="await async_answer"):
            functions.answer(session, {"code": "1"})  # type: ignore[arg-type]
