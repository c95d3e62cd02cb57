"""A pydantic-ai toolset that runs Python in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import Tool
from pydantic_ai.toolsets import FunctionToolset

from safeexec.adapters.functions import NAME, describe

if TYPE_CHECKING:
    from safeexec import AsyncSession, Policy


def toolset(session: AsyncSession, policy: Policy, *, tools: Any = (), max_tokens: int = 2000) -> FunctionToolset[Any]:
    """A toolset with one tool, ``run_python(code)``, that answers with the observation. One call at a time: they share
    state.
    """

    async def run_python(code: str) -> str:
        return (await session.run(code)).observation(max_tokens)

    return FunctionToolset([Tool(run_python, name=NAME, description=describe(policy, tools), sequential=True)])
