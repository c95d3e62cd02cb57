"""Drive the agent loop: answer its requests with a model and a session, open and close what is the run's own."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Any, Protocol, TypeVar

import safeexec  # its names load on first use: AsyncSandbox with asyncio
from safeexec import Policy, Sandbox, WorkspaceError
from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.messages import Reply, ToolSpec
from safeexec.agent.models.asking import answering, ask_in_thread, out_of_time
from safeexec.agent.models.base import Model, ModelEvents
from safeexec.agent.requests import AskModel, Confirm, Request, RunApart
from safeexec.engine.approvals import decision
from safeexec.errors import CheckpointError

T = TypeVar("T")


class Driven(Protocol):
    """The agent, as far as its requests need it."""

    model: Model

    @property
    def sandbox(self) -> Any: ...

    @property
    def opening(self) -> dict[str, Any]: ...

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]: ...

    @property
    def confirm(self) -> Callable[[str], Any] | None: ...

    def model_events(self, seconds: float | None) -> ModelEvents: ...


def drive(agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], *, aparts: bool) -> T:
    """Run the loop in this thread. `aparts`: it may have programs run apart."""
    with _opened(agent, aparts) as (session, apart):
        loop = start(session)
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                request = loop.throw(error) if error is not None else loop.send(answer)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answer, error = None, None
            try:
                answer = _answer(agent, apart, request)
            except (ModelError, TranscriptError, WorkspaceError) as caught:
                error = caught


async def drive_async(agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], *, aparts: bool) -> T:
    """As `drive`, in this task; a model or a session that blocks gets a thread."""
    async with _async_opened(agent, aparts) as (session, apart):
        loop = start(session)
        answer: Any = None
        error: Exception | None = None
        while True:
            try:
                request = loop.throw(error) if error is not None else loop.send(answer)
            except StopIteration as stop:
                result: T = stop.value
                return result
            answer, error = None, None
            try:
                answer = await _answer_async(agent, session, apart, request)
            except (ModelError, TranscriptError, WorkspaceError) as caught:
                error = caught


class Apart:
    """Runs programs apart: each in a session that `fresh` opens, or all in `before`, a branch of the session from
    before the run, which goes back for the next one. Without either they get no answer.
    """

    def __init__(self, fresh: Callable[[], Any] | None = None, before: Any = None) -> None:
        self._fresh = fresh
        self._before = before
        self._used = False

    def run(self, request: RunApart) -> Any:
        """Return the result and the variable that is named; None where nothing can be run apart."""
        if self._fresh is not None:
            with self._fresh() as alone:
                return _ran(alone, request)
        if self._before is None:
            return None
        if self._used:
            self._before.rollback()
        self._used = True
        ran = _ran(self._before, request)
        self._used = ran[0].state == "kept"
        return ran

    async def run_async(self, request: RunApart) -> Any:
        """As `run`."""
        if self._fresh is not None:
            async with self._fresh() as alone:
                return await _ran_async(alone, request)
        if self._before is None:
            return None
        if self._used:
            await self._before.rollback()
        self._used = True
        ran = await _ran_async(self._before, request)
        self._used = ran[0].state == "kept"
        return ran


def _ran(alone: Any, request: RunApart) -> tuple[Any, Any]:
    result = alone.run(request.source, timeout=request.timeout)
    return result, alone.get(request.name) if request.name else None


async def _ran_async(alone: Any, request: RunApart) -> tuple[Any, Any]:
    result = await alone.run(request.source, timeout=request.timeout)
    return result, await alone.get(request.name) if request.name else None


def _answer(agent: Driven, apart: Apart, request: Request) -> Any:
    if isinstance(request, AskModel):
        return _ask(agent, request)
    if isinstance(request, RunApart):
        return apart.run(request)
    if not isinstance(request, Confirm):
        return request()
    answer = agent.confirm(request.source) if agent.confirm is not None else True
    if inspect.isawaitable(answer):
        close = getattr(answer, "close", None)
        if close is not None:
            close()
        raise AgentError("confirm is awaited: use run_async() or resume_async(), or ask_async()")
    return decision(answer, "confirm")


def _ask(agent: Driven, request: AskModel) -> Reply:
    ask = partial(agent.model.complete, request.messages, tools=agent.tool_specs)
    with answering(agent.model.name, agent.model_events(request.seconds)) as events:
        return ask(events=events) if request.seconds is None else ask_in_thread(lambda inner: ask(events=inner), events)


async def _answer_async(agent: Driven, session: Any, apart: Apart, request: Request) -> Any:
    import asyncio

    if isinstance(request, AskModel):
        return await _ask_async(agent, request)
    if isinstance(request, Confirm):
        answer = agent.confirm(request.source) if agent.confirm is not None else True
        return decision(await _now_or_awaited(answer), "confirm")
    if not inspect.iscoroutinefunction(session.run):
        return await asyncio.to_thread(_answer, agent, apart, request)
    if isinstance(request, RunApart):
        return await apart.run_async(request)
    return await _now_or_awaited(request())


async def _now_or_awaited(answer: Any) -> Any:
    """Files of a session on this machine are there at once, those of one behind a wire are waited for."""
    return await answer if inspect.isawaitable(answer) else answer


async def _ask_async(agent: Driven, request: AskModel) -> Reply:
    import asyncio

    call = getattr(agent.model, "complete_async", None)
    if call is None:
        return await asyncio.to_thread(_ask, agent, request)
    with answering(agent.model.name, agent.model_events(request.seconds)) as events:
        asked: Awaitable[Reply] = call(request.messages, tools=agent.tool_specs, events=events)
        if request.seconds is None:
            return await asked
        try:
            async with asyncio.timeout(request.seconds) as patience:
                return await asked
        except TimeoutError:
            if not patience.expired():
                raise
        raise out_of_time(request.seconds)


@contextmanager
def _opened(agent: Driven, aparts: bool) -> Iterator[tuple[Any, Apart]]:
    """The session of a run, and what opens one apart from it."""
    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        with Sandbox(given, **agent.opening) as sandbox, sandbox.session() as session:
            yield session, Apart(partial(sandbox.session, checkpoints="off"))
    elif inspect.iscoroutinefunction(given.run):
        raise AgentError(f"an {type(given).__name__} is awaited: use run_async() or resume_async(), or ask_async()")
    elif hasattr(given, "session"):
        with given.session() as session:
            if given.max_sessions is None:
                yield session, Apart(partial(given.session, checkpoints="off"))
                return
            with _beside(session, aparts) as opened:
                yield opened
    else:
        with _beside(given, aparts) as opened:
            yield opened


@contextmanager
def _beside(session: Any, aparts: bool) -> Iterator[tuple[Any, Apart]]:
    """A session and a branch of it as it is now, which takes no place of `max_sessions`: runs that each held a place
    and waited for one more would wait for each other.
    """
    try:
        before = session.branch(checkpoints="before-step")[0] if aparts else None
    except CheckpointError:
        before = None
    with before or nullcontext():
        yield session, Apart(before=before)


@asynccontextmanager
async def _async_opened(agent: Driven, aparts: bool) -> AsyncIterator[tuple[Any, Apart]]:
    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        async with safeexec.AsyncSandbox(given, **agent.opening) as sandbox, sandbox.session() as session:
            yield session, Apart(partial(sandbox.session, checkpoints="off"))
    elif not inspect.iscoroutinefunction(given.run):
        async with in_thread(_opened(agent, aparts)) as opened:
            yield opened
    elif hasattr(given, "session"):
        async with given.session() as session:
            if given.max_sessions is None:
                yield session, Apart(partial(given.session, checkpoints="off"))
                return
            async with _async_beside(session, aparts) as opened:
                yield opened
    else:
        async with _async_beside(given, aparts) as opened:
            yield opened


@asynccontextmanager
async def _async_beside(session: Any, aparts: bool) -> AsyncIterator[tuple[Any, Apart]]:
    """As `_beside`."""
    try:
        before = (await session.branch(checkpoints="before-step"))[0] if aparts else None
    except CheckpointError:
        before = None
    async with before or nullcontext():
        yield session, Apart(before=before)


@asynccontextmanager
async def in_thread(blocking: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave a blocking context without holding up the event loop."""
    import asyncio

    entered = await asyncio.to_thread(blocking.__enter__)
    try:
        yield entered
    finally:
        await asyncio.to_thread(blocking.__exit__, None, None, None)
