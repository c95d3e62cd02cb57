"""Adapters, against the real packages where they are installed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from safeexec import AsyncSandbox, Sandbox
from safeexec.adapters import functions


def test_function_schemas_and_answers() -> None:
    with Sandbox("calculator", tools={"add": lambda a, b: a + b}) as sandbox, sandbox.session() as session:
        for api in ("openai", "mistral"):
            declared = functions.schema(sandbox.policy, api)["function"]  # type: ignore[arg-type]
            assert (declared["name"], declared["parameters"]["required"]) == ("run_python", ["code"])
        assert functions.schema(sandbox.policy, "anthropic")["input_schema"]["type"] == "object"
        with pytest.raises(ValueError, match="no such API"):
            functions.schema(sandbox.policy, "other")  # type: ignore[arg-type]
        json.dumps(functions.schema(sandbox.policy, tools={"add": lambda a, b: a + b}))
        text, result = functions.answer(session, '{"code": "x = add(1, 2); x"}')
        assert "3" in text
        assert result is not None
        assert result.value == 3
        assert functions.answer(session, {"code": "x + 1"})[1].value == 4  # type: ignore[union-attr]
        for wrong in ("print(1)", "[]", '{"source": "1"}', '{"code": 1}'):
            text, result = functions.answer(session, wrong)
            assert result is None
            assert "Nothing was run" in text


def test_a_langchain_tool() -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from safeexec.adapters.langchain import async_python_tool, python_tool

    with Sandbox("calculator") as sandbox, sandbox.session() as session:
        tool = python_tool(session, sandbox.policy)
        assert "42" in tool.invoke({"code": "x = 6 * 7; x"})
        message = tool.invoke({"name": tool.name, "args": {"code": "x"}, "id": "1", "type": "tool_call"})
        assert message.artifact.value == 42

    async def main() -> None:
        async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
            assert "2" in await async_python_tool(session, sandbox.policy).ainvoke({"code": "1 + 1"})

    asyncio.run(main())


def test_a_pydantic_ai_toolset() -> None:
    pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from safeexec.adapters.pydantic_ai import toolset

    async def main() -> None:
        async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:

            def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
                returned = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
                if returned:
                    return ModelResponse(parts=[TextPart(str(returned[-1].content))])
                return ModelResponse(parts=[ToolCallPart(info.function_tools[0].name, {"code": "6 * 7"})])

            agent: Any = Agent(FunctionModel(model), toolsets=[toolset(session, sandbox.policy)])
            assert "42" in (await agent.run("what is 6 * 7?")).output

    asyncio.run(main())


def test_a_smolagents_executor() -> None:
    smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
    from safeexec.adapters.smolagents import SafeExecutor

    class Stock(smolagents.Tool):  # type: ignore[misc, name-defined]
        name = "stock"
        description = "How many there are."
        inputs = {"item": {"type": "string", "description": "what"}}
        output_type = "integer"

        def forward(self, item: str) -> int:
            return len(item)

    class Script(smolagents.Model):  # type: ignore[misc, name-defined]
        replies = iter(
            [
                "Thought: look\n<code>\nleft = stock('abc')\nprint('left', left)\n</code>",
                "Thought: a mistake\n<code>\nimport os\n</code>",
                "Thought: done\n<code>\nfinal_answer(left + start)\n</code>",
            ]
        )

        def generate(self, messages: Any, **options: Any) -> Any:
            return smolagents.ChatMessage(role="assistant", content=next(self.replies))

    executor = SafeExecutor("standard")
    agent = smolagents.CodeAgent(tools=[Stock()], model=Script(), executor=executor, verbosity_level=0)
    assert agent.run("how many?", additional_args={"start": 10}) == 13
    steps = [step for step in agent.memory.steps if isinstance(step, smolagents.ActionStep)]
    assert "left 3" in steps[0].observations
    assert "os" in str(steps[1].error)
    executor.cleanup()
