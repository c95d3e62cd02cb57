"""One tool, ``run_python``, as the function schemas of the OpenAI, Mistral and Anthropic APIs, and the answer to it."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from safeexec import AsyncSession, Policy
from safeexec.untrusted.call_arguments import code_of, why_no_call

if TYPE_CHECKING:
    from safeexec import AsyncSandbox, Result, Sandbox, Session

    Given = Policy | str | PathLike[str] | Sandbox | AsyncSandbox | Session | AsyncSession

Api = Literal["openai", "openai-responses", "mistral", "anthropic"]
"""`openai` is Chat Completions, `openai-responses` the Responses API: they nest a function differently."""
NAME = "run_python"
INVALID = 'Nothing was run: the arguments must be a JSON object like {{"code": "print(1)"}}; found: {why}.'


def describe(given: Given, tools: Any = ()) -> str:
    """Return what a model should know of the tool: the card of a policy (or of the one of that name) with the host's
    `tools`, or that of a sandbox or a session, which has its own.
    """
    if isinstance(given, (str, PathLike)):
        given = Policy.load(given)
    card = given.card(tools=tools) if isinstance(given, Policy) else given.card()
    return (
        "Run Python code and give its output and the value of its last expression. "
        "Variables stay from call to call.\n\n" + card
    )


def schema(policy: Given, api: Api = "openai", *, tools: Any = ()) -> dict[str, Any]:
    """Return the declaration of the tool for one API; `policy` is one, its name, a sandbox or a session. Raises
    ValueError for another API.
    """
    parameters = {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "Python source, several lines if need be"}},
        "required": ["code"],
        "additionalProperties": False,
    }
    description = describe(policy, tools)
    if api in ("openai", "mistral"):
        return {"type": "function", "function": {"name": NAME, "description": description, "parameters": parameters}}
    if api == "openai-responses":
        return {"type": "function", "name": NAME, "description": description, "parameters": parameters, "strict": True}
    if api == "anthropic":
        return {"name": NAME, "description": description, "input_schema": parameters}
    raise ValueError(f"no such API: {api!r}; there are {', '.join(get_args(Api))}")


def answer(session: Session, arguments: str | dict[str, Any], *, max_tokens: int = 2000) -> tuple[str, Result | None]:
    """Run what a model asked for: the text to send back, and the result. `arguments` as the API gave them, JSON or a
    dict.

    Invalid arguments are an answer to the model, and nothing is run.
    """
    given: Any = session
    if isinstance(given, AsyncSession):
        raise TypeError("an AsyncSession is awaited: text, result = await async_answer(session, arguments)")
    code = code_of(arguments)
    if code is None:
        return INVALID.format(why=why_no_call(arguments)), None
    result = session.run(code)
    return result.observation(max_tokens), result


async def async_answer(
    session: AsyncSession, arguments: str | dict[str, Any], *, max_tokens: int = 2000
) -> tuple[str, Result | None]:
    """Answer as `answer` does, in an event loop."""
    code = code_of(arguments)
    if code is None:
        return INVALID.format(why=why_no_call(arguments)), None
    result = await session.run(code)
    return result.observation(max_tokens), result
