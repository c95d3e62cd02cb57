"""Drive the agent loop: answer its requests with a model and a session, open and close those that are the run's own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

import safeexec  # its names load on first use: AsyncSandbox with asyncio
from safeexec import Policy, Sandbox, WorkspaceError
from safeexec.agent.errors import AgentError, ModelError, TranscriptError
from safeexec.agent.messages import Message, Reply, ToolSpec
from safeexec.agent.models.asking import answering, ask_in_thread, out_of_time
from safeexec.agent.models.base import Model, ModelEvents
from safeexec.agent.outcome import AgentResult, Event, RetryEvent, TextEvent
from safeexec.agent.transcript import Transcript
from safeexec.common.coroutines import at_once, now_or_awaited
from safeexec.engine.approvals import decision
from safeexec.errors import CheckpointError

T = TypeVar("T")


# Requests of an agent's generators: a reply, a decision, a program run apart, or a plain call


@dataclass(frozen=True, slots=True)
class AskModel:
    """A reply to `messages` within `seconds`. Answered with a `Reply`; raises ModelError or TranscriptError."""

    messages: list[Message]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Confirm:
    """The decision of the caller's `confirm` about a step. Answered with `Allow` or `Deny`."""

    source: str


@dataclass(frozen=True, slots=True)
class RunApart:
    """A program in a session of its own: a fresh one, or where a session was given, one that begins as that did before
    the run. Answered with the `Result` and the value of the variable `name`, if one is named; None where that session
    cannot be copied.
    """

    source: str
    name: str = ""
    timeout: float | None = None


Call = Callable[[], Any]
"""A call of a method of the session: `partial(session.run, source)`. Answered with what it returns, awaited where the
session is awaited; raises WorkspaceError.
"""
Request = AskModel | Confirm | RunApart | Call
Loop = Generator[Request, Any, AgentResult]


# Their answers


class Driven(Protocol):
    """The agent, as far as its requests need it."""

    model: Model
    sandbox: Any
    opening: dict[str, Any]
    tool_specs: tuple[ToolSpec, ...]
    confirm: Callable[[str], Any] | None
    emit: Callable[[Event], None]


def drive(
    agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], aparts: bool, hold: Transcript | None = None
) -> T:
    """Run the loop in this thread. `aparts`: it may have programs run apart. `hold` keeps the session of a run that
    ends to wait, open for the one that goes on.
    """
    return _finished(_drive(agent, start, aparts, hold, blocking=True))


async def drive_async(
    agent: Driven, start: Callable[[Any], Generator[Request, Any, T]], aparts: bool, hold: Transcript | None = None
) -> T:
    """As `drive`, in this task; a model or a session that blocks gets a thread."""
    return await _drive(agent, start, aparts, hold, blocking=False)


def _finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing, as all it calls answers at once: so one code serves both APIs."""
    return at_once(coroutine, AgentError("something is awaited: use run_async() or resume_async(), or ask_async()"))


async def _drive(
    agent: Driven,
    start: Callable[[Any], Generator[Request, Any, T]],
    aparts: bool,
    hold: Transcript | None,
    *,
    blocking: bool,
) -> T:
    async with AsyncExitStack() as stack:
        held = None if hold is None else hold.held
        if hold is None or held is None:
            session, apart = await _opened(agent, aparts, stack, blocking)
        else:
            hold.held = None
            closing, session, apart = held
            await stack.enter_async_context(closing)
            _check_kind(session, blocking)
        waits = held is not None
        try:
            result = await _driven(agent, session, apart, start(session), blocking)
            waits = getattr(result, "stop", "") == "waiting"
            return result
        finally:
            if hold is not None and waits:
                hold.held = stack.pop_all(), session, apart


async def _driven(agent: Driven, session: Any, apart: Apart, loop: Generator[Request, Any, T], blocking: bool) -> T:
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
            answer = await _answer(agent, session, apart, request, blocking)
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

    async def run(self, request: RunApart) -> Any:
        """Return the result and the variable that is named; None where nothing can be run apart."""
        if self._fresh is not None:
            async with AsyncExitStack() as stack:
                return await _ran(await _entered(stack, self._fresh()), request)
        if self._before is None:
            return None
        if self._used:
            await now_or_awaited(self._before.rollback())
        self._used = True
        ran = await _ran(self._before, request)
        self._used = ran[0].state == "kept"
        return ran


async def _ran(alone: Any, request: RunApart) -> tuple[Any, Any]:
    result = await now_or_awaited(alone.run(request.source, timeout=request.timeout))
    return result, await now_or_awaited(alone.get(request.name)) if request.name else None


async def _entered(stack: AsyncExitStack, manager: Any) -> Any:
    """Enter a sandbox or a session of either API."""
    # Itself, and not by a generator: that of a session which is held open would end with its event loop.
    if hasattr(manager, "__aenter__"):
        return await stack.enter_async_context(manager)
    return stack.enter_context(manager)


async def _answer(agent: Driven, session: Any, apart: Apart, request: Request, blocking: bool) -> Any:
    if isinstance(request, AskModel):
        return _ask(agent, request) if blocking else await _ask_async(agent, request)
    if isinstance(request, Confirm):
        answer = agent.confirm(request.source) if agent.confirm is not None else True
        if blocking and inspect.isawaitable(answer):
            close = getattr(answer, "close", None)
            if close is not None:
                close()
            raise AgentError("confirm is awaited: use run_async() or resume_async(), or ask_async()")
        return decision(await now_or_awaited(answer), "confirm")
    if not blocking and not inspect.iscoroutinefunction(session.run):
        import asyncio

        return await asyncio.to_thread(lambda: _finished(_answer(agent, session, apart, request, True)))
    return await (apart.run(request) if isinstance(request, RunApart) else now_or_awaited(request()))


def _events(agent: Driven, seconds: float | None) -> ModelEvents:
    return ModelEvents(
        on_text=lambda text: agent.emit(TextEvent(text)),
        on_retry=lambda reason, wait: agent.emit(RetryEvent(reason, wait)),
        seconds=seconds,
    )


def _ask(agent: Driven, request: AskModel) -> Reply:
    ask = partial(agent.model.complete, request.messages, tools=agent.tool_specs)
    with answering(agent.model.name, _events(agent, request.seconds)) as events:
        return ask(events=events) if request.seconds is None else ask_in_thread(lambda inner: ask(events=inner), events)


async def _ask_async(agent: Driven, request: AskModel) -> Reply:
    import asyncio

    call = getattr(agent.model, "complete_async", None)
    if call is None:
        return await asyncio.to_thread(_ask, agent, request)
    with answering(agent.model.name, _events(agent, request.seconds)) as events:
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


def _check_kind(given: Any, blocking: bool) -> None:
    if blocking and inspect.iscoroutinefunction(given.run):
        raise AgentError(f"an {type(given).__name__} is awaited: use run_async() or resume_async(), or ask_async()")


async def _opened(agent: Driven, aparts: bool, stack: AsyncExitStack, blocking: bool) -> tuple[Any, Apart]:
    """Open the session of a run, and sessions apart from it. `stack` closes what is the run's own; on an event loop
    what blocks is opened and closed in a thread.
    """
    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        kind: Any = Sandbox if blocking else safeexec.AsyncSandbox
        given = await _entered(stack, kind(given, **agent.opening))
    elif not blocking and not inspect.iscoroutinefunction(given.run):
        import asyncio

        own = AsyncExitStack()
        stack.push_async_callback(asyncio.to_thread, lambda: _finished(own.aclose()))
        return await asyncio.to_thread(lambda: _finished(_opened(agent, aparts, own, True)))
    _check_kind(given, blocking)
    session = await _entered(stack, given.session()) if hasattr(given, "session") else given
    if session is not given and given.max_sessions is None:
        return session, Apart(partial(given.session, checkpoints="off"))
    # A branch takes no place of `max_sessions`: runs that each held a place and waited for one more would wait for each
    # other.
    before = None
    if aparts:
        with suppress(CheckpointError):
            (branch,) = await now_or_awaited(session.branch(checkpoints="before-step"))
            before = await _entered(stack, branch)
    return session, Apart(before=before)
