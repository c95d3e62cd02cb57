"""The async API: `AsyncSandbox` and `AsyncSession`, the names of the sync API, awaited.

They drive the same generators of the core, on asyncio or on trio. Cancelling the task that awaits a step stops the step
and restores the state; the exception goes on when that is done (1 to 3 ms).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import aclosing
from functools import partial, wraps
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Protocol, TypeVar, Unpack, overload

from safeexec.api.blocking import OneStep, Piece, Sandbox, SandboxAPI, Session, SessionAPI
from safeexec.api.loops import Driver, awaited, drive, running_loop
from safeexec.api.many import each_of, parts_of, workers_for
from safeexec.engine.host.waiting import Abandoned, Core, Work

if TYPE_CHECKING:
    from typing import Self

    from safeexec.api.options import Program, RunOptions
    from safeexec.api.plugins.aio import AsyncPlugin
    from safeexec.api.plugins.plugin import Plugin, PluginCore
    from safeexec.engine.host.session.session import SessionCore
    from safeexec.protocol.confinement import Mechanism
    from safeexec.results import Result, WaitingCall

P = ParamSpec("P")
R = TypeVar("R")


class Closing(Protocol):
    """An object that an `async with` closes at its end."""

    def close(self) -> Coroutine[Any, Any, None]: ...


Made = TypeVar("Made", bound=Closing)


class Opening(Coroutine[Any, Any, Made]):
    """A coroutine that opens something: await it, make a task of it, or enter it, which closes what was opened."""

    __slots__ = ("_begun", "_made")

    def __init__(self, begun: Coroutine[Any, Any, Made]) -> None:
        self._begun = begun
        self._made: Made | None = None

    def __await__(self) -> Generator[Any, Any, Made]:
        return self._begun.__await__()

    def send(self, value: Any) -> Any:
        return self._begun.send(value)

    def throw(self, *error: Any) -> Any:
        return self._begun.throw(*error)

    def close(self) -> None:
        self._begun.close()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{name!r} is not there yet: this is still to be opened. Write `async with ... as opened:`, or `await` it",
            name=name,
            obj=self,
        )

    async def __aenter__(self) -> Made:
        self._made = await self._begun
        return self._made

    async def __aexit__(self, *_: object) -> None:
        assert self._made is not None
        await self._made.close()


@overload
def opening(
    method: Callable[Concatenate[Any, P], Session],
) -> Callable[Concatenate[Any, P], Opening[AsyncSession]]: ...


@overload
def opening(
    method: Callable[Concatenate[Any, P], Plugin],
) -> Callable[Concatenate[Any, P], Opening[AsyncPlugin]]: ...


def opening(method: Any) -> Any:
    """Return the async form of a method that opens something: to be awaited or entered. What it opens is async, too."""
    begin = awaited(method)

    @wraps(method.__wrapped__)
    def on_loop(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return Opening(begin(self, *args, **kwargs))

    return on_loop


def giving(
    method: Callable[Concatenate[Any, P], list[Session]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, list[AsyncSession]]]:
    """Return `awaited(method)`, with the type that it has here: its sessions have the async API."""
    found: Any = awaited(method)
    return found  # type: ignore[no-any-return]


def in_thread(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the awaited form of a method that waits for the file system, or for a server: it runs in a thread."""

    @wraps(method)
    async def on_loop(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await running_loop().work(Work(partial(method, self, *args, **kwargs)))
        return found

    return on_loop


class AsyncSandbox(SandboxAPI):
    """One policy ready to run, for event loops (asyncio, trio).

        async with AsyncSandbox("calculator") as sandbox:
            result = await sandbox.run("import math; math.sqrt(2)")

    The arguments are those of `Sandbox`. Asynchronous tools are awaited on the loop; others run in threads of it.
    """

    def _session(self, core: SessionCore) -> AsyncSession:
        return AsyncSession(core)

    def _plugin(self, core: PluginCore) -> AsyncPlugin:
        from safeexec.api.plugins.aio import AsyncPlugin  # 12 ms, for hosts with plugins only

        return AsyncPlugin(core)

    async def __aenter__(self) -> AsyncSandbox:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> Self:
        """Start the zygote; `async with` does the same. Harmless when it is open. Raises `ProtectionError`."""
        await drive(self._open())
        return self

    close = awaited(Sandbox.close, undo=False)

    async def reopen(self) -> Self:
        """Close what is left of it and start anew: after the zygote died, or in a process that was forked."""
        await self.close()
        return await self.open()

    session = opening(Sandbox.session)
    session_for = opening(Sandbox.session_for)
    forget = awaited(Sandbox.forget)
    stored = awaited(Sandbox.stored)
    waiting = awaited(Sandbox.waiting, undo=False)
    template = awaited(Sandbox.template)
    drop_template = awaited(Sandbox.drop_template)
    command = awaited(Sandbox.command)
    restore = opening(Sandbox.restore)
    plugin = opening(Sandbox.plugin)
    check = awaited(Sandbox.check)

    async def map(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[Result]:
        """Run many programs, each in a session of its own; their results in order. Under asyncio alone: with
        trio, start `run` in a nursery.
        """
        async with aclosing(self._results(programs, workers, timeout, in_order=True)) as results:
            async for _, result in results:
                yield result

    async def map_as_completed(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[tuple[int, Result]]:
        """Run programs as `map` does; each result as soon as it is there, with the number of its program (from 0)."""
        async with aclosing(self._results(programs, workers, timeout, in_order=False)) as results:
            async for numbered in results:
                yield numbered

    async def _results(
        self, programs: Iterable[str | Program], workers: int | None, timeout: float | None, *, in_order: bool
    ) -> AsyncGenerator[tuple[int, Result], None]:
        running: list[asyncio.Task[tuple[int, Result]]] = []
        most = workers_for(workers, self.max_sessions)
        places = asyncio.Semaphore(most)

        async def one(number: int, program: str | Program) -> tuple[int, Result]:
            source, options = parts_of(program, timeout)
            async with places:
                return number, await self.run(source, **options)

        rest = enumerate(each_of(programs))
        try:
            while True:
                # As many again wait at the semaphore, so that a worker that is done has its next program at once.
                running += [asyncio.create_task(one(*numbered)) for numbered in islice(rest, 2 * most - len(running))]
                if not running:
                    return
                await asyncio.wait(running[:1] if in_order else running, return_when=asyncio.FIRST_COMPLETED)
                done = next(task for task in running if task.done())
                running.remove(done)
                yield done.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def run(self, source: str, **options: Unpack[RunOptions]) -> Result:
        """Run one step in a session of its own. The options are those of `Session.run`."""
        async with self.session(checkpoints="off") as session:
            return await session.run(source, **options)


class AsyncSession(SessionAPI):
    """One lineage of guest state, for event loops. One task at a time; a second one is a `SessionBusy`. Cancelling the
    task that awaits a step stops the step and restores the state.
    """

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    close = awaited(Session.close, undo=False)

    # Steps

    run = awaited(Session.run)
    sql = awaited(Session.sql)

    def stream(self, source: str, **options: Unpack[RunOptions]) -> AsyncStream:
        """Run one step and iterate over its output while it runs; `result` of the stream holds the result at the end.

            stream = session.stream(source)
            async for text in stream:
                print(text, end="", file=sys.stderr if text.stream == "stderr" else sys.stdout)
            stream.result.check()

        The options are those of `run`. The step begins with the iteration; leaving that early stops the step and
        restores the state. Raises `SessionBusy` and `SessionClosed` here, unless `wait` says to wait.
        """
        return AsyncStream(self._core, source, options)

    # State

    get = awaited(Session.get, undo=False)
    set = awaited(Session.set, undo=False)
    variables = awaited(Session.variables, undo=False)

    async def remove(self, name: str) -> None:
        """Unbind a variable. Raises KeyError."""
        await drive(self._core.variables.remove(name), undo=False)

    async def names(self) -> list[str]:
        """Return the names that the session's steps have bound."""
        return await drive(self._core.variables.names(), undo=False)

    # Files

    read_file = in_thread(Session.read_file)
    write_file = in_thread(Session.write_file)
    list_files = in_thread(Session.list_files)

    # Checkpoints

    checkpoint = awaited(Session.checkpoint, undo=False)
    rollback = awaited(Session.rollback, undo=False)
    branch = giving(Session.branch)

    # Steps that wait, and effects of host tools

    answer = awaited(Session.answer)
    cancel_waiting = awaited(Session.cancel_waiting, undo=False)

    @property
    def waiting_for(self) -> Awaitable[WaitingCall | None]:
        """The call for which a step of this session waits, as by `Session.waiting_for`: `await` it."""
        return drive(self._core.waits.shown(), undo=False)

    adopt = awaited(Session.adopt)
    command = awaited(Session.command)
    save = awaited(Session.save, undo=False)

    @property
    def protection(self) -> Awaitable[tuple[Mechanism, ...]]:
        """The mechanisms that hold this very session, tried as by `Session.protection`: `await` it."""
        return drive(self._core.protection(), undo=False)


class AsyncStream(OneStep):
    """The output of one step, piece by piece while it runs: iterate once. `result` is there at the end."""

    __slots__ = ()

    def __aiter__(self) -> AsyncIterator[Piece]:
        return _Pieces(self, self._begin())


class _Pieces:
    """The iteration over a step's output. It alone holds the step: when it is given up, by `break` or by an exception
    in the loop's body, the step is over at once, and whoever uses the session next finds it undone. An async generator
    that is left by `break` would end when the loop's hook gets round to it.
    """

    __slots__ = ("_step", "_stream")

    def __init__(self, stream: AsyncStream, core: Core[Result]) -> None:
        self._step: Driver[Result] | None = Driver(core)
        self._stream = stream

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> Piece:
        while not self._stream._arrived:
            if self._step is None:
                raise StopAsyncIteration
            await self._go_on(self._step)
        return self._stream._arrived.popleft()

    async def aclose(self) -> None:
        """Stop the step and restore the state now. Harmless when it has ended."""
        if (step := self._step) is not None:
            await self._give_up(step, Abandoned())

    async def _give_up(self, step: Driver[Result], interruption: BaseException) -> None:
        self._step = None
        await step.interrupt(interruption)

    async def _go_on(self, step: Driver[Result]) -> None:
        """Wait for what the step waits for, and let it go on."""
        try:
            if not await step.go_on():
                self._step, self._stream._result = None, step.result
        except Exception:
            self._step = None
            raise
        except BaseException as interruption:
            await self._give_up(step, interruption)
            raise
