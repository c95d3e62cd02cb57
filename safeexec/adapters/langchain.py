"""A LangChain (and LangGraph) tool that runs Python in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool

from safeexec.adapters.functions import NAME, describe

if TYPE_CHECKING:
    from safeexec import AsyncSession, Policy, Session


def python_tool(session: Session, policy: Policy, *, tools: Any = (), max_tokens: int = 2000) -> StructuredTool:
    """A tool over a blocking session. The artifact of its message is the `Result`."""

    def run_python(code: str) -> tuple[str, Any]:
        result = session.run(code)
        return str(result.observation(max_tokens)), result

    return StructuredTool.from_function(
        func=run_python, name=NAME, description=describe(policy, tools), response_format="content_and_artifact"
    )


def async_python_tool(
    session: AsyncSession, policy: Policy, *, tools: Any = (), max_tokens: int = 2000
) -> StructuredTool:
    """The same over an `AsyncSession`, for `ainvoke`."""

    async def run_python(code: str) -> tuple[str, Any]:
        result = await session.run(code)
        return str(result.observation(max_tokens)), result

    return StructuredTool.from_function(
        coroutine=run_python, name=NAME, description=describe(policy, tools), response_format="content_and_artifact"
    )
