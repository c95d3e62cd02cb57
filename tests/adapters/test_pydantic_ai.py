"""pydantic-ai's own agent with our code mode, and a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai.toolsets import FunctionToolset  # noqa: E402

from safeexec.adapters.pydantic_ai import CodeMode  # noqa: E402


def add(a: int, b: int = 5) -> int:
    """Add two numbers."""
    return a + b


def answers_to(*sources: str) -> tuple[str, list[str]]:
    """The description of the one tool, and what the model is told after each source."""
    waiting, seen, described = list(sources), [], []

    def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        described.append(info.function_tools[0].description)
        if len(described) > 1:
            seen.append(messages[-1].parts[0].content)
        if not waiting:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("run_python", {"code": waiting.pop(0)})])

    agent = pydantic_ai.Agent(FunctionModel(model), toolsets=[CodeMode(FunctionToolset([add]))])
    assert asyncio.run(agent.run("go")).output == "done"
    return described[0] or "", seen


def test_tools_are_functions_variables_stay_and_what_is_wrong_is_told() -> None:
    described, (many, one) = answers_to("r = [add(i, 2) for i in range(3)]\nr", "sum(r) + add(1)")
    assert "add(a: int" in described
    assert "Value: [2, 3, 4]" in many
    assert "Value: 15" in one
    _, (wrong, refused) = answers_to("add('x')", "import subprocess")
    assert "expected int, got str 'x'" in wrong
    assert "import of 'subprocess' is refused" in refused
