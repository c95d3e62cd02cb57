"""Drive the agent loop: answer its requests with a model and a session, open and close what is the run's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, ExitStack, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

import safeexec  # its names load on first use: AsyncSandbox with asyncio
from safeexec import Policy, Sandbox, WorkspaceError
from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.messages import Reply, ToolSpec
from safeexec.agent.models.asking import answering, ask_in_thread, out_of_time
from safeexec.agent.models.base import Model, ModelEvents
from safeexec.agent.requests import AskModel, Confirm, Request, RunApart
from safeexec.agent.transcript import Transcript
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


def drive(
    agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], *, aparts: bool, hold: Transcript | None = None
) -> T:
    """Run the loop in this thread. `aparts`: it may have programs run apart. `hold` keeps the session of a run that
    ends to wait, open for the one that goes on.
    """
    with ExitStack() as stack:
        held, session, apart = _held(hold)
        if held is None:
            session, apart = _opened(agent, aparts, stack)
        else:
            stack.enter_context(held)
        waits = held is not None
        try:
            result = _driven(agent, apart, start(session))
            waits = getattr(result, "stop", "") == "waiting"
            return result
        finally:
            if hold is not None and waits:
                hold.held = stack.pop_all(), session, apart


def _held(hold: Transcript | None) -> tuple[Any, Any, Any]:
    """Return what closes the session that a transcript has kept open, the session, and what runs beside it."""
    if hold is None or hold.held is None:
        return None, None, None
    held, hold.held = hold.held, None
    stack, session, apart = held
    return stack, session, apart


def _driven(agent: Driven, apart: Apart, loop: Generator[Request, Any, T]) -> T:
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


async def drive_async(
    agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], *, aparts: bool, hold: Transcript | None = None
) -> T:
    """As `drive`, in this task; a model or a session that blocks gets a thread."""
    async with AsyncExitStack() as stack:
        held, session, apart = _held(hold)
        if held is None:
            session, apart = await _async_opened(agent, aparts, stack)
        else:
            await stack.enter_async_context(held)
        waits = held is not None
        try:
            result = await _driven_async(agent, session, apart, start(session))
            waits = getattr(result, "stop", "") == "waiting"
            return result
        finally:
            if hold is not None and waits:
                hold.held = stack.pop_all(), session, apart


async def _driven_async(agent: Driven, session: Any, apart: Apart, loop: Generator[Request, Any, T]) -> T:
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


def _opened(agent: Driven, aparts: bool, stack: ExitStack) -> tuple[Any, Apart]:
    """The session of a run, and what opens one apart from it. `stack` closes what is the run's own."""
    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        given = stack.enter_context(Sandbox(given, **agent.opening))
    elif inspect.iscoroutinefunction(given.run):
        raise AgentError(f"an {type(given).__name__} is awaited: use run_async() or resume_async(), or ask_async()")
    session = stack.enter_context(given.session()) if hasattr(given, "session") else given
    if session is not given and given.max_sessions is None:
        return session, Apart(partial(given.session, checkpoints="off"))
    # A branch takes no place of `max_sessions`: runs that each held a place and waited for one more would wait for each
    # other.
    before = None
    if aparts:
        with suppress(CheckpointError):
            before = stack.enter_context(session.branch(checkpoints="before-step")[0])
    return session, Apart(before=before)


async def _async_opened(agent: Driven, aparts: bool, stack: AsyncExitStack) -> tuple[Any, Apart]:
    """As `_opened`; one that blocks is opened and closed in a thread."""
    import asyncio

    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        given = await stack.enter_async_context(safeexec.AsyncSandbox(given, **agent.opening))
    elif not inspect.iscoroutinefunction(given.run):
        blocking = ExitStack()
        stack.push_async_callback(asyncio.to_thread, blocking.close)
        return await asyncio.to_thread(_opened, agent, aparts, blocking)
    session = await stack.enter_async_context(given.session()) if hasattr(given, "session") else given
    if session is not given and given.max_sessions is None:
        return session, Apart(partial(given.session, checkpoints="off"))
    before = None
    if aparts:
        with suppress(CheckpointError):
            before = await stack.enter_async_context((await session.branch(checkpoints="before-step"))[0])
    return session, Apart(before=before)
