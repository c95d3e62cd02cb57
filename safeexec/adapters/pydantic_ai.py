"""pydantic-ai: a toolset that runs Python in a session, and one that lets a model call other tools from Python."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import BinaryContent, RunContext, Tool, ToolReturn
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset, ToolsetTool, WrapperToolset

from safeexec import AsyncSandbox, AsyncSession, Policy
from safeexec.adapters.functions import NAME, describe
from safeexec.adapters.sessions import described, pictures, run_async
from safeexec.adapters.signatures import from_schema

if TYPE_CHECKING:
    from safeexec import Result, Session


def toolset(
    session: AsyncSession | Session, policy: Policy | str | None = None, *, tools: Any = (), max_tokens: int = 2000
) -> FunctionToolset[Any]:
    """Return a toolset of ``run_python(code)`` over a session of either kind, which answers with the observation, and
    with the pictures of the step. `policy` and `tools`: what the description names, if not the session's own. One
    call at a time: they share state.
    """

    async def run_python(code: str) -> Any:
        return _answer(await run_async(session, code), max_tokens)

    description = describe(described(session, policy), tools)
    return FunctionToolset([Tool(run_python, name=NAME, description=description, sequential=True)])


def _answer(result: Result, max_tokens: int) -> Any:
    text = result.observation(max_tokens)
    shown = [BinaryContent(base64.b64decode(data), media_type=mime) for mime, data in pictures(result)]
    return ToolReturn(text, content=[f"The pictures of step {result.step}:", *shown]) if shown else text


@dataclass
class CodeMode(WrapperToolset[Any]):  # type: ignore[misc]
    """The tools of another toolset as functions that ``run_python(code)`` can call: one answer of the model does what
    took one for each call.

        Agent(model, toolsets=[CodeMode(FunctionToolset([get_weather]), policy="standard")])

    A run of the agent has one session. Tools that appear later in the run need a new one, whose variables are gone;
    the answer says so. `options` are those of `Sandbox`.
    """

    wrapped: AbstractToolset[Any]
    policy: str | Policy = "standard"
    max_tokens: int = 2000
    options: dict[str, Any] = field(default_factory=dict)
    _tools: dict[str, ToolsetTool[Any]] = field(default_factory=dict, init=False, repr=False)
    _context: RunContext[Any] | None = field(default=None, init=False, repr=False)
    _sandbox: AsyncSandbox | None = field(default=None, init=False, repr=False)
    _session: AsyncSession | None = field(default=None, init=False, repr=False)
    _offered: frozenset[str] = field(default=frozenset(), init=False, repr=False)

    async def for_run(self, ctx: RunContext[Any]) -> CodeMode:
        """Return another one for each run: its session is its own."""
        return replace(self, wrapped=await self.wrapped.for_run(ctx))

    async def for_run_step(self, ctx: RunContext[Any]) -> CodeMode:
        """Return this toolset: all steps of a run share it."""
        self.wrapped = await self.wrapped.for_run_step(ctx)
        return self

    async def __aexit__(self, *args: Any) -> None:
        await self._close()
        await super().__aexit__(*args)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return one tool, with the card of the policy and the signatures of the others."""
        self._tools = {name: tool for name, tool in (await super().get_tools(ctx)).items() if name.isidentifier()}
        functions = [self._function(name) for name in self._tools]
        description = describe(Policy.load(self.policy), functions)

        async def run_python(code: str) -> str:
            raise NotImplementedError  # `call_tool` answers

        declared = FunctionToolset([Tool(run_python, name=NAME, description=description, sequential=True)])
        return {NAME: replace((await declared.get_tools(ctx))[NAME], toolset=self)}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run the code that the model wrote, and answer with the observation."""
        self._context = ctx
        fresh = self._session is not None and not self._tools.keys() <= self._offered
        if fresh:
            await self._close()
        session = await self._open()
        answer = _answer(await session.run(tool_args["code"]), self.max_tokens)
        note = "There are new tools, so the variables of before are gone.\n"
        if not fresh:
            return answer
        if isinstance(answer, ToolReturn):
            return replace(answer, return_value=note + answer.return_value)
        return note + answer

    async def _open(self) -> AsyncSession:
        if self._session is None:
            self._offered = frozenset(self._tools)
            tools = [self._function(name) for name in self._offered]
            self._sandbox = await AsyncSandbox(self.policy, tools=tools, **self.options).open()
            self._session = await self._sandbox.session()
        return self._session

    async def _close(self) -> None:
        sandbox, self._sandbox, self._session = self._sandbox, None, None
        if sandbox is not None:
            await sandbox.close()

    def _function(self, name: str) -> Callable[..., Any]:
        """Return a tool as a host function. Its arguments are judged as those of the model itself."""
        definition = self._tools[name].tool_def

        async def call(*args: Any, **kwargs: Any) -> Any:
            tool, context = self._tools[name], self._context
            assert context is not None
            given = tool.args_validator.validate_python(signature.bind(*args, **kwargs).arguments)
            return await self.wrapped.call_tool(name, given, context, tool)

        signature = from_schema(definition.parameters_json_schema)
        call.__name__, call.__doc__ = name, definition.description
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return call
