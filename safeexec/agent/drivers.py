"""Drive the agent loop: carry out its wishes with a model and a session, blocking or awaiting; open and close what is
the run's own.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol

from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.messages import Reply, ToolSpec
from safeexec.agent.models.asking import ask_in_thread, out_of_time
from safeexec.agent.models.base import Model, ModelEvents
from safeexec.agent.outcome import AgentResult
from safeexec.agent.wishes import AskModel, FetchVariable, Loop, RunStep, Wish


class Driven(Protocol):
    """What is driven: the agent, as far as its wishes need it."""

    model: Model

    @property
    def sandbox(self) -> Any: ...

    @property
    def opening(self) -> dict[str, Any]: ...

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]: ...

    def model_events(self, seconds: float | None) -> ModelEvents: ...

    def on_output(self, text: str) -> None: ...


def drive(agent: Driven, start: Callable[[Any], Loop]) -> AgentResult:
    """Run the loop in this thread."""
    with _session(agent) as session:
        loop = start(session)
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                wish = loop.throw(error) if error is not None else loop.send(answer)
            except StopIteration as stop:
                result: AgentResult = stop.value
                return result
            answer, error = None, None
            try:
                answer = _fulfil(agent, session, wish)
            except (ModelError, TranscriptError) as caught:
                error = caught


async def drive_async(agent: Driven, start: Callable[[Any], Loop]) -> AgentResult:
    """Run the loop in this task; a model or a session that blocks gets a thread."""
    async with _async_session(agent) as session:
        loop = start(session)
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                wish = loop.throw(error) if error is not None else loop.send(answer)
            except StopIteration as stop:
                result: AgentResult = stop.value
                return result
            answer, error = None, None
            try:
                answer = await _fulfil_async(agent, session, wish)
            except (ModelError, TranscriptError) as caught:
                error = caught


def _fulfil(agent: Driven, session: Any, wish: Wish) -> Any:
    if isinstance(wish, AskModel):
        return _ask(agent, wish)
    if isinstance(wish, RunStep):
        return session.run(wish.source, timeout=wish.timeout, on_output=agent.on_output if wish.shown else None)
    if isinstance(wish, FetchVariable):
        return session.get(wish.name)
    session.set(wish.name, None)
    return None


def _ask(agent: Driven, wish: AskModel) -> Reply:
    events = agent.model_events(wish.seconds)
    ask = partial(agent.model.complete, wish.messages, tools=agent.tool_specs)
    return ask(events=events) if wish.seconds is None else ask_in_thread(lambda inner: ask(events=inner), events)


async def _fulfil_async(agent: Driven, session: Any, wish: Wish) -> Any:
    import asyncio

    if isinstance(wish, AskModel):
        return await _ask_async(agent, wish)
    if not inspect.iscoroutinefunction(session.run):
        return await asyncio.to_thread(_fulfil, agent, session, wish)
    if isinstance(wish, RunStep):
        return await session.run(wish.source, timeout=wish.timeout, on_output=agent.on_output if wish.shown else None)
    if isinstance(wish, FetchVariable):
        return await session.get(wish.name)
    await session.set(wish.name, None)
    return None


async def _ask_async(agent: Driven, wish: AskModel) -> Reply:
    import asyncio

    call = getattr(agent.model, "complete_async", None)
    if call is None:
        return await asyncio.to_thread(_ask, agent, wish)
    asked: Awaitable[Reply] = call(wish.messages, tools=agent.tool_specs, events=agent.model_events(wish.seconds))
    if wish.seconds is None:
        return await asked
    try:
        async with asyncio.timeout(wish.seconds) as patience:
            return await asked
    except TimeoutError:
        if not patience.expired():
            raise
    raise out_of_time(wish.seconds)


@contextmanager
def _session(agent: Driven) -> Iterator[Any]:
    from safeexec import Policy, Sandbox

    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        with Sandbox(given, **agent.opening) as sandbox, sandbox.session() as session:
            yield session
    elif inspect.iscoroutinefunction(given.run):
        raise AgentError(f"an {type(given).__name__} is awaited: use run_async() or resume_async()")
    elif hasattr(given, "session"):
        with given.session() as session:
            yield session
    else:
        yield given


@asynccontextmanager
async def _async_session(agent: Driven) -> AsyncIterator[Any]:
    from safeexec import Policy

    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        from safeexec import AsyncSandbox

        async with AsyncSandbox(given, **agent.opening) as sandbox, sandbox.session() as session:
            yield session
    elif not hasattr(given, "session"):
        yield given
    elif inspect.iscoroutinefunction(given.run):
        async with given.session() as session:
            yield session
    else:
        import asyncio

        blocking: Any = await asyncio.to_thread(given.session)
        try:
            yield blocking
        finally:
            await asyncio.to_thread(blocking.close)
