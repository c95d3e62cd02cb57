"""The declaration of `run_python`, of whatever has a card; and the answers to its calls."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from safeexec import AsyncSandbox, Policy, Sandbox, Session
from safeexec.adapters import functions
from safeexec.adapters.sessions import described, hand_over


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_the_schema_takes_whatever_has_a_card() -> None:
    assert functions.schema("calculator") == functions.schema(Policy.load("calculator"))
    with Sandbox("calculator", tools=[add]) as sandbox, sandbox.session() as session:
        told = functions.schema(session)["function"]["description"]
        assert "add(a: int, b: int)" in told
        assert functions.schema(sandbox)["function"]["description"] == told
        assert functions.schema("calculator", tools=[add])["function"]["description"] == told


def test_each_api_has_its_form() -> None:
    for api in ("openai", "mistral"):
        declared = functions.schema("calculator", api)["function"]  # type: ignore[arg-type]
        assert (declared["name"], declared["parameters"]["required"]) == ("run_python", ["code"])
    assert functions.schema("calculator", "anthropic")["input_schema"]["type"] == "object"
    assert functions.schema("calculator", "openai-responses")["parameters"]["required"] == ["code"]
    with pytest.raises(ValueError, match="no such API"):
        functions.schema("calculator", "other")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("api", "module", "name"),
    [
        ("openai", "openai.types.chat", "ChatCompletionFunctionToolParam"),
        ("openai-responses", "openai.types.responses", "FunctionToolParam"),
        ("anthropic", "anthropic.types", "ToolParam"),
        ("mistral", "mistralai.client.models", "Tool"),
    ],
)
def test_the_schemas_are_what_the_sdks_declare(api: Any, module: str, name: str) -> None:
    """The SDK's own type of a tool takes it."""
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    pytest.importorskip(module.partition(".")[0], reason=f"the package of {module} is not installed")
    taken = pydantic.TypeAdapter(getattr(import_module(module), name)).validate_python(
        functions.schema("calculator", api)
    )
    assert "run_python" in str(taken)


@pytest.mark.parametrize(
    "call", [{"code": "```python\n6 * 7\n```"}, {"code": "```\n6 * 7\n```\n"}, '{"code": "6 * 7"}']
)
def test_a_call_is_answered_and_a_fence_is_no_part_of_the_code(session: Session, call: Any) -> None:
    told, result = functions.answer(session, call)
    assert result is not None and result.value == 42 and "42" in told


@pytest.mark.parametrize("wrong", ["print(1)", "[]", '{"source": "1"}', '{"code": 1}'])
def test_a_wrong_call_runs_nothing(session: Session, wrong: str) -> None:
    told, result = functions.answer(session, wrong)
    assert result is None and "Nothing was run" in told


async def test_a_session_of_an_event_loop_answers_too_and_a_wrong_call_says_why() -> None:
    async with AsyncSandbox("calculator", spare=0) as sandbox, sandbox.session() as session:
        text, result = await functions.async_answer(session, '{"code": "6 * 7"}')
        assert result is not None and result.value == 42 and "Value: 42" in text
        text, result = await functions.async_answer(session, '{"code": "1", "timeout": 5}')
        assert result is None and "unknown field `timeout`" in text
        with pytest.raises(TypeError, match="await async_answer"):
            functions.answer(session, {"code": "1"})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["calculator", Policy.load("calculator")], ids=["name", "policy"])
def test_a_policy_in_the_place_of_a_session_is_told_at_once(session: Session, given: Any) -> None:
    with pytest.raises(TypeError, match=r"runs code in a session.*found (str|Policy): write `with Sandbox"):
        described(given, None)
    assert described(session, None) is session and described(session, "calculator") == "calculator"


def test_a_long_text_is_handed_over_in_parts(session: Session) -> None:
    text = "aé😀" * 2_000_000
    hand_over(session, "document", text)
    assert session.run("(len(document), document[-2:], document.count('é'))").value == (6_000_000, "é😀", 2_000_000)
    assert [variable.name for variable in session.variables()] == ["document"]
    with pytest.raises(TypeError):
        hand_over(session, "thing", object())
