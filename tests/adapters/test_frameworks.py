"""Adapters, against the real packages where they are installed."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from typing import Any

import pytest

from safeexec import AsyncSandbox, Sandbox, Session


@pytest.mark.profile("calculator")
async def test_a_langchain_tool(sandbox: Sandbox, session: Session) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from safeexec.adapters.langchain import async_python_tool, python_tool

    tool = python_tool(session, sandbox.policy)
    assert "42" in tool.invoke({"code": "x = 6 * 7; x"})
    message = tool.invoke({"name": tool.name, "args": {"code": "x"}, "id": "1", "type": "tool_call"})
    assert message.artifact.value == 42
    for arguments in ({"code": 5}, {"code": None}, {"code": ["1"]}, {}, {"code": "1", "x": 2}, {"code": b"1"}):
        call = {"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}
        told = tool.invoke(call).content
        assert "Nothing was run" in told and '{"code": "print(1)"}' in told and "{why}" not in told, told

    async with AsyncSandbox("calculator") as sandbox, sandbox.session() as session:
        assert "2" in await async_python_tool(session, sandbox.policy).ainvoke({"code": "1 + 1"})


@pytest.mark.profile("calculator")
def test_a_langgraph_agent(sandbox: Sandbox, session: Session) -> None:
    """A graph with a scripted model: its tool call runs, the answer goes back to it, the state stays in between."""
    pytest.importorskip("langgraph", reason="langgraph is not installed")
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    from safeexec.adapters.langchain import python_tool

    def call(code: str, number: int) -> AIMessage:
        request = {"name": "run_python", "args": {"code": code}, "id": str(number), "type": "tool_call"}
        return AIMessage("", tool_calls=[request])

    script = [call("x = 6", 1), call("x * 7", 2), call("1 / 0", 3), AIMessage("done")]

    def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [script[sum(isinstance(message, ToolMessage) for message in state["messages"])]]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([python_tool(session, sandbox.policy)]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    messages = graph.compile().invoke({"messages": [("user", "6 * 7?")]})["messages"]
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    assert [answer.artifact.outcome for answer in answers] == ["ok", "ok", "error"]
    assert "42" in answers[1].content
    assert "ZeroDivisionError" in answers[2].content
    assert messages[-1].content == "done"


@pytest.fixture
def smolagents() -> Any:
    return pytest.importorskip("smolagents", reason="smolagents is not installed")


def test_a_smolagents_executor(smolagents: Any) -> None:
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
                "Thought: a mistake\n<code>\nimport subprocess\n</code>",
                "Thought: done\n<code>\nfinal_answer(left + start)\nfinal_answer(0)\n</code>",
                "Thought: go on\n<code>\nfinal_answer(left)\n</code>",
            ]
        )

        def generate(self, messages: Any, **options: Any) -> Any:
            return smolagents.ChatMessage(role="assistant", content=next(self.replies))

    executor = SafeExecutor("standard")
    agent = smolagents.CodeAgent(
        tools=[Stock()],
        model=Script(),
        executor=executor,
        additional_authorized_imports=executor.authorized_imports,
        verbosity_level=0,
    )
    assert "'fractions'" in agent.system_prompt
    assert agent.run("how many?", additional_args={"start": 10}) == 13
    steps = [step for step in agent.memory.steps if isinstance(step, smolagents.ActionStep)]
    assert "left 3" in steps[0].observations
    assert "subprocess" in str(steps[1].error)
    assert agent.run("and how many are left?", reset=False) == 3
    executor.cleanup()


def test_smolagents_tools_get_what_they_declare(smolagents: Any) -> None:
    from safeexec.adapters.smolagents import SafeExecutor

    class Transfer(smolagents.Tool):  # type: ignore[misc, name-defined]
        name = "transfer"
        description = "d"
        inputs = {"amount": {"type": "integer", "description": "a"}, "to": {"type": "string", "description": "t"}}
        output_type = "string"

        def forward(self, amount: int, to: str) -> str:
            return f"{amount} {to}"

    refused = ("'1e9', 'x'", "True, 'x'", "{'amount': 1, 'to': 'x'}", "1, 'x', sanitize_inputs_outputs=True")
    with SafeExecutor("standard") as executor:
        executor.send_tools({"transfer": Transfer()})
        for arguments in refused:
            with pytest.raises(Exception, match="TypeError"):
                executor(f"transfer({arguments})")
        assert executor("transfer(1, to='x')").output == "1 x"
        assert str(executor("10**5000").output) == "<int of about 5001 digits>"


def test_functions_that_smolagents_decorates(smolagents: Any) -> None:
    from safeexec.adapters.smolagents import SafeExecutor

    @smolagents.tool  # type: ignore[misc]
    def add(a: int, b: int = 2) -> int:
        """Add.

        Args:
            a: one
            b: another
        """
        return a + b

    @smolagents.tool  # type: ignore[misc]
    def five() -> int:
        """Five."""
        return 5

    with SafeExecutor("standard") as executor:
        executor.send_tools({"add": add, "five": five})
        calls = ["add(1)", "add(1, b=5)", "add(a=1, b=1)", "five()", "```python\nadd(five())\n```"]
        assert [executor(call).output for call in calls] == [3, 6, 2, 5, 7]
        with pytest.raises(Exception, match="expected int, got str"):
            executor("add('x')")


PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n6 * 7"


def test_tools_over_either_session_give_pictures() -> None:
    """LangChain, pydantic-ai and the OpenAI Agents SDK, each over a blocking and an asynchronous session."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    tried = 0

    async def looked_at(session: Any) -> int:
        count = 0
        for name, look in (("langchain", of_langchain), ("pydantic_ai", of_pydantic_ai), ("openai_agents", of_agents)):
            try:
                adapter = import_module(f"safeexec.adapters.{name}")
            except ImportError:
                continue
            await look(adapter, session)
            count += 1
        return count

    async def of_langchain(adapter: Any, session: Any) -> None:
        call = {"name": "run_python", "args": {"code": PLOT}, "id": "1", "type": "tool_call"}
        message = await adapter.python_tool(session).ainvoke(call)
        assert [block["type"] for block in message.content] == ["text", "image_url"]
        assert "42" in message.content[0]["text"] and message.content[1]["image_url"]["url"].startswith("data:image")

    async def of_pydantic_ai(adapter: Any, session: Any) -> None:
        from pydantic_ai import Agent, BinaryContent
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        asked: list[Any] = []

        def model(messages: Any, info: Any) -> ModelResponse:
            asked.append(messages)
            return ModelResponse(parts=[TextPart("done") if asked[1:] else ToolCallPart("run_python", {"code": PLOT})])

        await Agent(FunctionModel(model), toolsets=[adapter.toolset(session)]).run("go")
        shown = [
            part for message in asked[-1] for part in message.parts if isinstance(getattr(part, "content", 0), list)
        ]
        assert any(isinstance(one, BinaryContent) for part in shown for one in part.content)
        assert "42" in str(asked[-1])

    async def of_agents(adapter: Any, session: Any) -> None:
        tool = adapter.python_tool(session)
        text, picture = await tool.on_invoke_tool(None, json.dumps({"code": PLOT}))
        assert "42" in text.text and picture.image_url.startswith("data:image/png;base64,")
        assert "Nothing was run" in await tool.on_invoke_tool(None, '{"source": "1"}')
        side_by_side = [tool.on_invoke_tool(None, json.dumps({"code": f"x = {n}\nx"})) for n in range(3)]
        assert [f"{n}" in answer for n, answer in enumerate(await asyncio.gather(*side_by_side))] == [True] * 3

    async def main() -> int:
        async with AsyncSandbox("data-analysis") as sandbox, sandbox.session() as session:
            return await looked_at(session)

    with Sandbox("data-analysis") as sandbox, sandbox.session() as session:
        tried += asyncio.run(looked_at(session))
    tried += asyncio.run(main())
    if not tried:
        pytest.skip("none of langchain-core, pydantic-ai, openai-agents is installed")
