"""A LangChain (and LangGraph) tool that runs Python in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict

from safeexec.adapters.functions import INVALID, NAME, describe

if TYPE_CHECKING:
    from safeexec import AsyncSession, Policy, Session


class RunPython(BaseModel):
    """The arguments of a call, and nothing besides. Invalid ones are told to the model."""

    model_config = ConfigDict(extra="forbid", strict=True)
    code: str


def python_tool(session: Session, policy: Policy, *, tools: Any = (), max_tokens: int = 2000) -> StructuredTool:
    """A tool over a blocking session. The artifact of its message is the `Result`."""

    def run_python(code: str) -> tuple[str, Any]:
        result = session.run(code)
        return result.observation(max_tokens), result

    return StructuredTool.from_function(func=run_python, **_declared(policy, tools))


def async_python_tool(
    session: AsyncSession, policy: Policy, *, tools: Any = (), max_tokens: int = 2000
) -> StructuredTool:
    """The same over an `AsyncSession`, for `ainvoke`."""

    async def run_python(code: str) -> tuple[str, Any]:
        result = await session.run(code)
        return result.observation(max_tokens), result

    return StructuredTool.from_function(coroutine=run_python, **_declared(policy, tools))


def _declared(policy: Policy, tools: Any) -> dict[str, Any]:
    return {
        "name": NAME,
        "description": describe(policy, tools),
        "args_schema": RunPython,
        "handle_validation_error": INVALID,
        "response_format": "content_and_artifact",
    }
