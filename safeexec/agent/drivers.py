"""Calls of an agent's run: ask the model, confirm, run steps, and programs apart; open and close what is the run's own.

A run is a coroutine, written once. In the blocking API all that it calls answers at once; on an event loop a model or a
session that blocks gets a thread.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

import safeexec  # its names load on first use: AsyncSandbox with asyncio
from safeexec import Allow, Deny, Policy, Sandbox
from safeexec.agent.errors import AgentError
from safeexec.agent.messages import Message, Reply, ToolSpec
from safeexec.agent.models.asking import answering, ask_in_thread, out_of_time
from safeexec.agent.models.base import Model, ModelEvents
from safeexec.agent.outcome import Event, RetryEvent, TextEvent
from safeexec.agent.transcript import Transcript
from safeexec.common.coroutines import at_once, now_or_awaited
from safeexec.common.identity import AT_ONCE
from safeexec.engine.approvals import decision
from safeexec.errors import CheckpointError

T = TypeVar("T")


class Driven(Protocol):
    """The agent, as far as its calls need it."""

    model: Model
    sandbox: Any
    opening: dict[str, Any]
    tool_specs: tuple[ToolSpec, ...]
    confirm: Callable[[str], Any] | None
    emit: Callable[[Event], None]


class RunCalls:
    """The calls of one run, in its `session`. Programs run apart in sessions that `fresh` opens, or all in `before`, a
    branch of the session from before the run, which goes back for the next one; without either none is run.
    """

    def __init__(self, session: Any, *, fresh: Callable[[], Any] | None = None, before: Any = None) -> None:
        self.session = session
        self._fresh = fresh
        self._before = before
        self._used = False

    def serve(self, agent: Driven, blocking: bool) -> RunCalls:
        """Take the agent whose calls they are. Raises AgentError for a session that the blocking API cannot await."""
        _check_kind(self.session, blocking)
        self._agent, self._blocking = agent, blocking
        self._threaded = not blocking and not inspect.iscoroutinefunction(self.session.run)
        return self

    async def do(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the session, and await it where the session is awaited."""
        if self._threaded:
            import asyncio

            return await asyncio.to_thread(method, *arguments, **options)
        return await now_or_awaited(method(*arguments, **options))

    async def read(self, characters: int, reading: Callable[[], T]) -> T:
        """Return what `reading` makes of so many characters of a reply, at 2 us each, or of a value of such a `weight`:
        on an event loop in a thread, where it may take long.
        """
        if self._blocking or characters <= AT_ONCE:
            return reading()
        import asyncio

        return await asyncio.to_thread(reading)

    async def apart(self, source: str, name: str = "", timeout: float | None = None) -> tuple[Any, Any] | None:
        """Run a program in a session of its own: a fresh one, or where a session was given, one that begins as that did
        before the run. Return the `Result`, and the value of the variable `name`; None where that session cannot be
        copied.
        """
        if not self._threaded:
            return await self._run_apart(source, name, timeout)
        import asyncio

        return await asyncio.to_thread(lambda: _run_blocking(self._run_apart(source, name, timeout)))

    async def _run_apart(self, source: str, name: str, timeout: float | None) -> tuple[Any, Any] | None:
        if self._fresh is not None:
            async with AsyncExitStack() as stack:
                return await _run_in(await _enter(stack, self._fresh()), source, name, timeout)
        if self._before is None:
            return None
        if self._used:
            await now_or_awaited(self._before.rollback())
        self._used = True
        ran = await _run_in(self._before, source, name, timeout)
        self._used = ran[0].state == "kept"
        return ran

    async def confirm(self, source: str) -> Allow | Deny:
        """Return the decision of the caller's `confirm` about a step."""
        answer = self._agent.confirm(source) if self._agent.confirm is not None else True
        return decision(await now_or_awaited(answer), "confirm")

    async def ask(self, messages: list[Message], seconds: float | None) -> Reply:
        """Return a reply to `messages` within `seconds`. Raises ModelError or TranscriptError."""
        if self._blocking:
            return self._ask(messages, seconds)
        import asyncio

        call = getattr(self._agent.model, "complete_async", None)
        if call is None:
            return await asyncio.to_thread(self._ask, messages, seconds)
        with answering(self._agent.model.name, self._events(seconds)) as events:
            asked: Awaitable[Reply] = call(messages, tools=self._agent.tool_specs, events=events)
            try:
                async with asyncio.timeout(seconds) as patience:
                    return await asked
            except TimeoutError:
                if not patience.expired():
                    raise
            raise out_of_time(seconds)

    def _ask(self, messages: list[Message], seconds: float | None) -> Reply:
        ask = partial(self._agent.model.complete, messages, tools=self._agent.tool_specs)
        with answering(self._agent.model.name, self._events(seconds)) as events:
            return ask(events=events) if seconds is None else ask_in_thread(lambda inner: ask(events=inner), events)

    def _events(self, seconds: float | None) -> ModelEvents:
        return ModelEvents(
            on_text=lambda text: self._agent.emit(TextEvent(text)),
            on_retry=lambda reason, wait: self._agent.emit(RetryEvent(reason, wait)),
            seconds=seconds,
        )


Start = Callable[[RunCalls], Coroutine[Any, Any, T]]
"""Begins a run."""


def drive(agent: Driven, start: Start[T], aparts: bool, hold: Transcript) -> T:
    """Carry out a run in this thread. `aparts`: it may have programs run apart. `hold` keeps the session of a run that
    ends to wait, open for the one that goes on.
    """
    return _run_blocking(_drive(agent, start, aparts, hold, blocking=True))


async def drive_async(agent: Driven, start: Start[T], aparts: bool, hold: Transcript) -> T:
    """As `drive`, in this task."""
    return await _drive(agent, start, aparts, hold, blocking=False)


def _run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    return at_once(coroutine, AgentError("something is awaited: use run_async() or resume_async(), or ask_async()"))


async def _drive(agent: Driven, start: Start[T], aparts: bool, hold: Transcript, *, blocking: bool) -> T:
    async with AsyncExitStack() as stack:
        held, hold.held = hold.held, None
        waits = held is not None
        if held is None:
            calls = await _open(agent, aparts, stack, blocking)
        else:
            closing, calls = held
            await stack.enter_async_context(closing)
        try:
            result = await start(calls.serve(agent, blocking))
            waits = getattr(result, "stop", "") == "waiting"
            return result
        finally:
            if waits:
                hold.held = stack.pop_all(), calls


async def _run_in(alone: Any, source: str, name: str, timeout: float | None) -> tuple[Any, Any]:
    result = await now_or_awaited(alone.run(source, timeout=timeout))
    return result, await now_or_awaited(alone.get(name)) if name else None


async def _enter(stack: AsyncExitStack, manager: Any) -> Any:
    """Enter a sandbox or a session of either API."""
    # Itself, and not by a generator: that of a session which is held open would end with its event loop.
    if hasattr(manager, "__aenter__"):
        return await stack.enter_async_context(manager)
    return stack.enter_context(manager)


def _check_kind(given: Any, blocking: bool) -> None:
    if blocking and inspect.iscoroutinefunction(given.run):
        raise AgentError(f"an {type(given).__name__} is awaited: use run_async() or resume_async(), or ask_async()")


async def _open(agent: Driven, aparts: bool, stack: AsyncExitStack, blocking: bool) -> RunCalls:
    """Open the session of a run, and sessions apart from it. `stack` closes what is the run's own; on an event loop
    what blocks is opened and closed in a thread.
    """
    given = agent.sandbox
    if isinstance(given, (str, Policy)):
        kind: Any = Sandbox if blocking else safeexec.AsyncSandbox
        given = await _enter(stack, kind(given, **agent.opening))
    elif not blocking and not inspect.iscoroutinefunction(given.run):
        import asyncio

        own = AsyncExitStack()
        stack.push_async_callback(asyncio.to_thread, lambda: _run_blocking(own.aclose()))
        return await asyncio.to_thread(lambda: _run_blocking(_open(agent, aparts, own, True)))
    _check_kind(given, blocking)
    session = await _enter(stack, given.session()) if hasattr(given, "session") else given
    if session is not given and given.max_sessions is None:
        return RunCalls(session, fresh=partial(given.session, checkpoints="off"))
    # A branch takes no place of `max_sessions`: runs that each held a place and waited for one more would wait for each
    # other.
    before = None
    if aparts:
        with suppress(CheckpointError):
            (branch,) = await now_or_awaited(session.branch(checkpoints="before-step"))
            before = await _enter(stack, branch)
    return RunCalls(session, before=before)
