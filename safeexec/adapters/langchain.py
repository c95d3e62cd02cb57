"""A LangChain (and LangGraph) tool that runs Python in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict

from safeexec import AsyncSession
from safeexec.adapters.functions import INVALID, NAME, describe
from safeexec.adapters.sessions import described, pictures, run_async
from safeexec.common.text import shorten

if TYPE_CHECKING:
    from safeexec import Policy, Result, Session


class RunPython(BaseModel):
    """The arguments of a call, and nothing besides. Invalid ones are an answer to the model."""

    model_config = ConfigDict(extra="forbid", strict=True)
    code: str


def python_tool(
    session: Session | AsyncSession, policy: Policy | str | None = None, *, tools: Any = (), max_tokens: int = 2000
) -> StructuredTool:
    """Return a tool over a session of either kind, for `invoke` and `ainvoke`; an `AsyncSession` is awaited, by
    `ainvoke` alone. Its content is the observation, with the pictures of the step as image blocks; the artifact of its
    message is the `Result`. `policy` and `tools`: what the description names, if not the session's own.
    """
    given: Any = session

    def run_python(code: str) -> tuple[Any, Any]:
        if isinstance(given, AsyncSession):
            raise TypeError("the tool of an AsyncSession is awaited: use ainvoke")
        return _answer(given.run(code), max_tokens)

    async def run_python_async(code: str) -> tuple[Any, Any]:
        return _answer(await run_async(session, code), max_tokens)

    return StructuredTool.from_function(
        func=run_python,
        coroutine=run_python_async,
        name=NAME,
        description=describe(described(session, policy), tools),
        args_schema=RunPython,
        handle_validation_error=_invalid,
        response_format="content_and_artifact",
    )


async_python_tool = python_tool
"""`python_tool` under its earlier name."""


def _invalid(error: Any) -> str:
    """Return what the model reads of arguments that are none: by pydantic, its first complaint."""
    first = error.errors(include_url=False, include_input=False)[0]
    return INVALID.format(why=f"{shorten('.'.join(map(str, first['loc'])), 60)}: {shorten(first['msg'], 200)}")


def _answer(result: Result, max_tokens: int) -> tuple[Any, Result]:
    text, shown = result.observation(max_tokens), pictures(result)
    if not shown:
        return text, result
    images = [{"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}} for mime, data in shown]
    return [{"type": "text", "text": text}, *images], result
