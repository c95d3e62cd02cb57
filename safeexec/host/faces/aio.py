"""The face for event loops: `AsyncSandbox` and `AsyncSession`, the names of the blocking face, awaited.

They drive the same generators of the core, on asyncio or on trio. Cancelling the task that awaits a step stops the step
and restores the state; the exception goes on when that is done (1 to 3 ms).
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

from safeexec.host.faces.blocking import OneStep, SandboxFace, SessionFace, environment
from safeexec.host.faces.loops import answered, drive, interrupted, running_loop
from safeexec.host.faces.many import each_of, parts_of, workers_for
from safeexec.host.startup.launch import Launched
from safeexec.host.waiting import Core

if TYPE_CHECKING:
    from safeexec.host.commands import CommandResult
    from safeexec.host.plugins.aio import AsyncPlugin
    from safeexec.host.plugins.source import Exports, Source
    from safeexec.host.sandbox import Files, SandboxCore
    from safeexec.host.session.listeners import OnDisplay, OnProgress
    from safeexec.host.session.options import Program, RunOptions
    from safeexec.host.session.output import OnOutput
    from safeexec.host.session.standard_input import Given
    from safeexec.host.session.template import Prepare, TemplateInfo
    from safeexec.policy.keywords import PluginChanges, SessionChanges
    from safeexec.policy.settings import Checkpoints
    from safeexec.protocol.confinement import Mechanism
    from safeexec.recordings.tape import RecordOptions
    from safeexec.results import Result, ToolCallRecord, Variable


class AsyncSandbox(SandboxFace):
    """One policy ready to run, for event loops (asyncio, trio).

        async with AsyncSandbox("calculator") as sandbox:
            result = await sandbox.run("import math; math.sqrt(2)")

    The arguments are those of `Sandbox`. Asynchronous tools are awaited on the loop; others run in threads of it.
    """

    async def __aenter__(self) -> AsyncSandbox:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> AsyncSandbox:
        """Start the zygote; `async with` does the same. Harmless when it is open. Raises `ProtectionError`."""
        if self._opened is not None and self._opened.alive:
            return self
        if self._opened is not None and self._opened.begun:
            await self.close()  # what its zygote left
            self._opened = None
        core = self._opened or self._new_core()
        await drive(core.open(Launched(environment(core.policy))))
        self._opened = core
        return self

    async def close(self) -> None:
        """End every process of the sandbox and remove its files. Steps that run are stopped."""
        if self._opened is not None:
            await drive(self._opened.close(), undo=False)

    async def reopen(self) -> AsyncSandbox:
        """Close what is left of it and start anew: after the zygote died, or in a process that was forked."""
        await self.close()
        return await self.open()

    def session(self, **tightened: Unpack[SessionChanges]) -> Opening:
        """A new session: ``async with sandbox.session() as session``, or ``session = await sandbox.session()``."""
        return Opening(self._core, dict(tightened))

    async def session_for(
        self, label: str, /, *, restore: str | os.PathLike[str] | None = None, **tightened: Unpack[SessionChanges]
    ) -> AsyncSession:
        """The open session of this label, else a new one; as `Sandbox.session_for`."""
        return AsyncSession(await drive(self._core.session_for(label, restore, dict(tightened))))

    async def template(
        self,
        name: str,
        *,
        prepare: Prepare = None,
        files: Files | None = None,
        timeout: float | None = None,
        **tightened: Unpack[PluginChanges],
    ) -> TemplateInfo:
        """Prepare a state from which sessions begin at the cost of a fork; as `Sandbox.template`. The function may be
        asynchronous.
        """
        changes = dict(tightened)
        return await drive(self._core.new_template(name, prepare, files, timeout, changes, AsyncSession))

    async def drop_template(self, name: str) -> None:
        """Give up a template. The sessions that began there go on. Raises `CheckpointError`."""
        await drive(self._core.drop_template(name))

    async def command(
        self, argv: Sequence[str], *, cwd: str | os.PathLike[str] | None = None, timeout: float | None = None
    ) -> CommandResult:
        """Run a program that the policy lists on a copy of the directory `cwd`; as `Sandbox.command`."""
        return await drive(self._core.command(argv, cwd, timeout))

    async def restore(
        self,
        path: str | os.PathLike[str],
        *,
        trust: Literal["signed", "kernel-only"] = "signed",
        timeout: float | None = None,
        record: str | os.PathLike[str] | RecordOptions | bool | None = None,
    ) -> AsyncSession:
        """A session that goes on from a state that `AsyncSession.save` or `Session.save` wrote; as
        `Sandbox.restore`.
        """
        return AsyncSession(await drive(self._core.restore(path, trust, timeout, record)))

    async def plugin(
        self,
        source: Source,
        *,
        exports: Exports | None = None,
        tools: Iterable[Callable[..., Any]] | Mapping[str, Callable[..., Any]] | None = None,
        state: Literal["keep", "fresh"] = "keep",
        timeout: float | None = None,
        name: str | None = None,
        settings: Mapping[str, Any] | None = None,
        api: int | None = None,
        record: str | os.PathLike[str] | RecordOptions | bool | None = None,
        **limits: Unpack[PluginChanges],
    ) -> AsyncPlugin:
        """Load a plugin; as `Sandbox.plugin`."""
        from safeexec.host.plugins import aio, plugin  # 12 ms, for hosts with plugins only

        core = plugin.PluginCore(
            self._core,
            source,
            exports=exports,
            tools=tools,
            state=state,
            timeout=timeout,
            name=name,
            limits=limits,
            settings=settings,
            api=api,
            record=record,
        )
        await drive(core.load())
        return aio.AsyncPlugin(core)

    async def map(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[Result]:
        """Run many programs, each in a session of its own; their results in order. For asyncio (a trio nursery does it
        there).
        """
        waiting: deque[asyncio.Task[Result]] = deque()
        places = asyncio.Semaphore(workers_for(workers))

        async def one(program: str | Program) -> Result:
            source, options = parts_of(program, timeout)
            async with places:
                return await self.run(source, **options)

        try:
            for program in each_of(programs):
                waiting.append(asyncio.create_task(one(program)))
                if len(waiting) >= 2 * workers_for(workers):
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def map_as_completed(
        self, programs: Iterable[str | Program], *, workers: int | None = None, timeout: float | None = None
    ) -> AsyncIterator[tuple[int, Result]]:
        """As `map`, but each result as soon as it is there, with the number of its program (from 0)."""
        running: set[asyncio.Task[tuple[int, Result]]] = set()

        async def one(number: int, program: str | Program) -> tuple[int, Result]:
            source, options = parts_of(program, timeout)
            return number, await self.run(source, **options)

        try:
            for number, program in enumerate(each_of(programs)):
                running.add(asyncio.create_task(one(number, program)))
                if len(running) >= workers_for(workers):
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            while running:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def check(self, source: str) -> Result:
        """What the policy refuses in `source` (`error.diagnostics`), or its syntax error; nothing of it runs."""
        async with self.session(checkpoints="off") as session:
            return await drive(session._core.check(source))

    async def run(self, source: str, **options: Unpack[RunOptions]) -> Result:
        """Run one step in a session of its own. The options are those of `Session.run`."""
        async with self.session(checkpoints="off") as session:
            return await session.run(source, **options)


class Opening:
    """A session that is about to be opened: await it, or enter it."""

    __slots__ = ("_core", "_session", "_tightened")

    def __init__(self, core: SandboxCore, tightened: dict[str, Any]) -> None:
        self._core = core
        self._tightened = tightened
        self._session: AsyncSession | None = None

    def __await__(self) -> Generator[Any, Any, AsyncSession]:
        return self._open().__await__()

    async def _open(self) -> AsyncSession:
        return AsyncSession(await drive(self._core.new_session(**self._tightened)))

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()


class AsyncSession(SessionFace):
    """One lineage of guest state, for event loops. One task at a time; a second one is a `SessionBusy`."""

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the session's processes and remove its files. A step that runs in another task is stopped first."""
        await drive(self._core.close(), undo=False)

    # Steps

    async def run(
        self,
        source: str,
        *,
        timeout: float | None = None,
        atomic: bool = False,
        stdin: Given | None = None,
        argv: Sequence[str] | None = None,
        namespace: Mapping[str, Any] | None = None,
        wait: float | None = None,
        on_output: OnOutput | None = None,
        on_stdout: OnOutput | None = None,
        on_stderr: OnOutput | None = None,
        on_display: OnDisplay | None = None,
        on_progress: OnProgress | None = None,
    ) -> Result:
        """Run one step, as `Session.run`. Cancelling the task stops the step and restores the state."""
        told = (on_output, on_stdout, on_stderr, on_display, on_progress)
        run = partial(
            self._core.run, source,
            timeout=timeout, atomic=atomic, told=told, stdin=stdin, argv=argv, namespace=namespace,
        )  # fmt: skip
        return await drive(run() if wait is None else self._core.patiently(wait, run))

    async def sql(self, query: str, *, name: str = "result", timeout: float | None = None) -> Result:
        """Run one SQL query over the session's frames and files, as `Session.sql`."""
        return await drive(self._core.sql(query, name, timeout))

    def stream(self, source: str, *, timeout: float | None = None, atomic: bool = False) -> AsyncStream:
        """Run one step and iterate over its output while it runs; `result` of the stream holds the result at the end.

            stream = session.stream(source)
            async for text in stream:
                print(text, end="")
            stream.result.check()

        Leaving the loop early stops the step and restores the state.
        """
        return AsyncStream(
            lambda on_output: self._core.run(
                source, timeout=timeout, atomic=atomic, told=(on_output, None, None, None, None)
            )
        )

    # State

    async def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable: arrays and frames as such where the host has the library. `default` if there is
        none.
        """
        found, value = await drive(self._core.fetch(name, arrays=True), undo=False)
        return value if found else default

    async def set(self, name: str, value: Any) -> None:
        """Bind a variable to a value of the host. Raises TypeError for a value that cannot cross."""
        await drive(self._core.assign(name, value), undo=False)

    async def remove(self, name: str) -> None:
        """Unbind a variable. Raises KeyError."""
        await drive(self._core.remove(name), undo=False)

    async def names(self) -> list[str]:
        """The names that the session's steps have bound."""
        return await drive(self._core.names(), undo=False)

    async def variables(self) -> list[Variable]:
        """Every variable with type, shape, size and a short repr."""
        return await drive(self._core.variables(), undo=False)

    # Checkpoints

    async def checkpoint(self, name: str) -> None:
        """Keep the state as it is now under `name`. Raises `CheckpointError`."""
        await drive(self._core.checkpoint(name), undo=False)

    async def rollback(self, name: str | None = None) -> list[ToolCallRecord]:
        """Go back to a named checkpoint, or to before the last step; as `Session.rollback`."""
        return await drive(self._core.rollback(name), undo=False)

    async def branch(self, n: int = 1, *, checkpoints: Checkpoints | None = None) -> list[AsyncSession]:
        """`n` new sessions that go on from the state as it is now, independent of this one and of each other."""
        return [AsyncSession(core) for core in await drive(self._core.branch(n, checkpoints))]

    # Effects of host tools

    async def adopt(self) -> list[str]:
        """This branch is the one that is kept: carry out its deferred calls, those of later steps when they end.

        Returns what went wrong, in words. In a session that is no branch: carry out now what a failed step left.
        """
        return await drive(self._core.carry_out())

    async def command(self, argv: Sequence[str], *, cwd: str = ".", timeout: float | None = None) -> CommandResult:
        """Run a program that the policy lists in the session's workspace; `cwd` is a directory in it."""
        return await drive(self._core.command(argv, cwd, timeout))

    async def save(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> dict[str, str]:
        """Write the variables and files to `path`, signed with this host's key; as `Session.save`."""
        return await drive(self._core.save(path, timeout), undo=False)

    @property
    def protection(self) -> Awaitable[tuple[Mechanism, ...]]:
        """What the kernel does for this very session, tried as by `Session.protection`: `await` it."""
        return drive(self._core.protection(), undo=False)


class AsyncStream(OneStep):
    """The output of one step, piece by piece while it runs: iterate once. `result` is there when the iteration has
    ended.
    """

    __slots__ = ()

    def __aiter__(self) -> AsyncIterator[str]:
        return _Pieces(self._begin(), self._end)

    def _end(self, result: Result) -> None:
        self._result = result


class _Pieces:
    """The iteration over a step's output. It alone holds the step: when it is given up, by `break` or by an exception
    in the loop's body, the step is over at once, and whoever uses the session next finds it undone.
    """

    __slots__ = ("_core", "_end", "_pieces", "_wanted")

    def __init__(self, start: Callable[[OnOutput], Core[Result]], end: Callable[[Result], None]) -> None:
        self._pieces: deque[str] = deque()
        self._core: Core[Result] | None = start(self._pieces.append)
        self._wanted: Any = None
        self._end = end

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> str:
        while not self._pieces:
            if self._core is None:
                raise StopAsyncIteration
            await self._go_on(self._core)
        return self._pieces.popleft()

    async def aclose(self) -> None:
        """Stop the step and restore the state now. Harmless when it has ended."""
        core, self._core = self._core, None
        if core is not None and self._wanted is not None:
            await interrupted(running_loop(), core)

    async def _go_on(self, core: Core[Result]) -> None:
        """Wait for what the step waits for, and let it go on."""
        loop = running_loop()
        try:
            if self._wanted is None:
                self._wanted = next(core)
                return
            try:
                answer = await answered(loop, self._wanted)
            except Exception as error:
                self._wanted = core.throw(error)
            except BaseException:
                self._core = None
                await interrupted(loop, core)
                raise
            else:
                self._wanted = core.send(answer)
        except StopIteration as stop:
            self._core = None
            self._end(stop.value)
        except Exception:
            self._core = None
            raise
