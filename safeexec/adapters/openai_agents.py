"""A tool for the OpenAI Agents SDK that runs Python in a session:

with Sandbox("data-analysis") as sandbox, sandbox.session() as session:
    agent = Agent(name="Analyst", tools=[python_tool(session)])
    print(Runner.run_sync(agent, "Which region grew?").final_output)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from agents import FunctionTool, RunContextWrapper, ToolOutputImage, ToolOutputText

from safeexec.adapters.functions import INVALID, NAME, describe, schema
from safeexec.adapters.sessions import described, pictures, run_async
from safeexec.untrusted.call_arguments import code_of, why_no_call

if TYPE_CHECKING:
    from safeexec import AsyncSession, Policy, Session


def python_tool(
    session: Session | AsyncSession, policy: Policy | str | None = None, *, tools: Any = (), max_tokens: int = 2000
) -> FunctionTool:
    """Return a tool of ``run_python(code)`` over a session of either kind, which answers with the observation, and with
    the pictures of the step. `policy` and `tools`: what the description names, if not the session's own. Calls that a
    model makes side by side run one after the other, in their order: they share state. Invalid arguments are an answer
    to the model, and nothing is run.
    """
    turn = asyncio.Lock()

    async def invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
        code = code_of(arguments)
        if code is None:
            return INVALID.format(why=why_no_call(arguments))
        async with turn:
            result = await run_async(session, code)
        text, shown = result.observation(max_tokens), pictures(result)
        images = [ToolOutputImage(image_url=f"data:{mime};base64,{data}") for mime, data in shown]
        return [ToolOutputText(text=text), *images] if images else text

    given = described(session, policy)
    return FunctionTool(
        name=NAME,
        description=describe(given, tools),
        params_json_schema=schema(given, "openai-responses")["parameters"],
        on_invoke_tool=invoke,
    )
