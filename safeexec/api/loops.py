"""Waits on an event loop: asyncio's, or trio's where that is the one that runs. What the async API needs of either.

Each wait has an epoll descriptor of its own, so a loop watches one descriptor that nobody else uses: two sessions may
wait for the same process, and a descriptor that is closed meanwhile disturbs no other waiter.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial, wraps
from time import monotonic
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from safeexec.engine.host.waiting import CallTool, Core, Signal, Wait, Work

P = ParamSpec("P")
R = TypeVar("R")
Request = Wait | CallTool | Work


def running_loop() -> AsyncioLoop | TrioLoop:
    """Return the event loop that runs here. Raises RuntimeError when none does."""
    trio: Any = sys.modules.get("trio")
    if trio is not None:
        try:
            trio.lowlevel.current_task()
            return TrioLoop(trio)
        except RuntimeError:
            pass
    asyncio.get_running_loop()
    return _ASYNCIO


class Driver(Generic[R]):
    """A generator of the core on the event loop that runs: it goes on by one request at a time."""

    __slots__ = ("_core", "_request", "result")

    def __init__(self, core: Core[R]) -> None:
        self._core = core
        self._request: Request | None = None
        """None: the core has not begun, has ended, or was interrupted in its own code."""
        self.result: R
        """The value that the core returned."""

    async def go_on(self) -> bool:
        """Answer what the core waits for, and have it go on to the next request. Returns False at its end."""
        request, resume = self._request, self._core.__next__
        if request is not None:
            try:
                resume = partial(self._core.send, await _answered(running_loop(), request))
            except Exception as error:
                resume = partial(self._core.throw, error)
        return self._resumed(resume)

    def _resumed(self, resume: Callable[[], Request]) -> bool:
        self._request = None
        try:
            self._request = resume()
        except StopIteration as stop:
            self.result = stop.value
            return False
        return True

    async def interrupt(self, interruption: BaseException, *, undo: bool = True) -> None:
        """Have the core bring its state in order, undisturbed; `undo` as for `drive`."""
        await running_loop().shielded(self._end(interruption, undo))

    async def _end(self, interruption: BaseException, undo: bool) -> None:
        try:
            # What work has given would be lost: the core gets it first.
            going = not isinstance(self._request, Work) or await self.go_on()
            # What is waited for can be waited for again. A tool that is called again has its effect twice.
            if going and (undo or not isinstance(self._request, Wait | Work)):
                going = self._resumed(partial(self._core.throw, interruption))
            while going:
                going = await self.go_on()
        except BaseException as error:
            # The interruption itself comes back when the core has done its work; the caller raises it.
            if error is not interruption:
                raise


async def drive(core: Core[R], *, undo: bool = True) -> R:
    """Run a generator of the core to its end on the running event loop.

    When the task is cancelled, the core gets the cancellation and brings its state in order (a step is stopped and
    undone) before it goes on; without `undo` it finishes what it does first, unless it waits for a tool: that ends with
    the task. Work in a thread is done once, and the core gets what it gave (a claim on a stored session) before it gets
    the cancellation. None of this can be cancelled a second time.
    """
    driver = Driver(core)
    try:
        while await driver.go_on():
            pass
    except (Exception, GeneratorExit):
        raise  # who gives up the coroutine itself, gives up the core: neither can wait for anything
    except BaseException as interruption:
        await driver.interrupt(interruption, undo=undo)
        raise
    return driver.result


def awaited(
    method: Callable[Concatenate[Any, P], R], *, undo: bool = True
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the awaited form of a method that `host.waiting.blocking` made: the same operation, signature and
    docstring. `undo`: as for `drive`.
    """
    operation = method.__wrapped__  # type: ignore[attr-defined]

    @wraps(operation)
    async def on_loop(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        done: R = await drive(operation(self, *args, **kwargs), undo=undo)
        return done

    return on_loop


def _answered(loop: AsyncioLoop | TrioLoop, request: Request) -> Coroutine[Any, Any, Any]:
    """Return the answer to what the core waits for, to be awaited."""
    if isinstance(request, Wait):
        return loop.wait(request)
    return loop.call(request) if isinstance(request, CallTool) else loop.work(request)


def _watch(request: Wait) -> Any:
    if sys.platform != "linux":
        raise NotImplementedError
    watch = select.epoll()
    events = select.EPOLLOUT if request.writable else select.EPOLLIN
    for fd in request.fds:
        watch.register(fd, events)
    return watch


class AsyncioLoop:
    """The loop of asyncio that runs."""

    async def wait(self, request: Wait) -> bool:
        """Return whether one of the descriptors became ready before the deadline."""
        if request.signal is not None:
            return await self._wait_for(request.signal, request.deadline)
        if not request.fds:
            await asyncio.sleep(request.deadline - monotonic())
            return False
        with _watch(request) as watch:
            if watch.poll(0):
                await asyncio.sleep(0)  # a guest that keeps its socket readable is not to keep the loop
                return True
            loop = asyncio.get_running_loop()
            ready: asyncio.Future[bool] = loop.create_future()
            fd = watch.fileno()
            loop.add_reader(fd, _resolve, ready, True)
            timer = loop.call_later(max(0.0, request.deadline - monotonic()), _resolve, ready, False)
            try:
                return await ready
            finally:
                timer.cancel()
                loop.remove_reader(fd)

    async def _wait_for(self, signal: Signal, deadline: float) -> bool:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[bool] = loop.create_future()
        signal.on_set = lambda: loop.call_soon_threadsafe(_resolve, ready, True)
        timer = loop.call_later(max(0.0, deadline - monotonic()), _resolve, ready, False)
        if signal.is_set:
            _resolve(ready, True)
        try:
            return await ready
        finally:
            signal.on_set = None
            timer.cancel()

    async def call(self, request: CallTool) -> Any:
        """Return what the host tool returned. Raises TimeoutError, and whatever the tool raises."""
        try:
            async with asyncio.timeout(request.timeout):
                value = request.call() if request.is_async else await asyncio.to_thread(request.call)
                return await value if isinstance(value, Awaitable) else value
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise RuntimeError("the tool was cancelled") from None

    async def work(self, request: Work) -> Any:
        """Return what the blocking work returned, done in a thread. A cancellation waits until it is done."""
        done = asyncio.get_running_loop().run_in_executor(None, request.call)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            await _ended(done)  # it may hold a descriptor that the core is about to close
            request.call = done.result  # and is done once
            raise

    async def shielded(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` to its end, however often this task is cancelled meanwhile."""
        task = asyncio.get_running_loop().create_task(work)
        await _ended(task)
        task.result()


async def _ended(future: asyncio.Future[Any]) -> None:
    """Wait for it, however often this task is cancelled meanwhile."""
    while not future.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({future})


def _resolve(future: asyncio.Future[bool], ready: bool) -> None:
    if not future.done():
        future.set_result(ready)


_ASYNCIO = AsyncioLoop()


class TrioLoop:
    """trio, also below anyio: the methods of `AsyncioLoop`. Its module is the one that runs already, no dependency."""

    def __init__(self, trio: Any) -> None:
        self._trio = trio

    async def wait(self, request: Wait) -> bool:
        if request.signal is not None:
            return await self._wait_for(request.signal, request.deadline)
        with _watch(request) as watch:
            if watch.poll(0):
                await self._trio.lowlevel.checkpoint()  # as in asyncio
                return True
            with self._trio.move_on_after(max(0.0, request.deadline - monotonic())) as scope:
                await self._trio.lowlevel.wait_readable(watch.fileno())
            return not scope.cancelled_caught

    async def _wait_for(self, signal: Signal, deadline: float) -> bool:
        ready, token = self._trio.Event(), self._trio.lowlevel.current_trio_token()
        signal.on_set = lambda: token.run_sync_soon(ready.set)
        if signal.is_set:
            ready.set()
        try:
            with self._trio.move_on_after(max(0.0, deadline - monotonic())) as scope:
                await ready.wait()
        finally:
            signal.on_set = None
        return not scope.cancelled_caught

    async def call(self, request: CallTool) -> Any:
        limit = float("inf") if request.timeout is None else request.timeout
        value: Any = None
        with self._trio.move_on_after(limit) as scope:
            if request.is_async:
                value = request.call()
            else:
                (value,) = await self._trio.to_thread.run_sync(_boxed(request.call), abandon_on_cancel=True)
            value = await value if isinstance(value, Awaitable) else value
        if scope.cancelled_caught:
            raise TimeoutError
        return value

    async def work(self, request: Work) -> Any:
        (value,) = await self._trio.to_thread.run_sync(_boxed(request.call))  # it waits for the thread when cancelled
        return value

    async def shielded(self, work: Coroutine[Any, Any, None]) -> None:
        with self._trio.CancelScope(shield=True):
            await work


def _boxed(call: Callable[[], Any]) -> Callable[[], tuple[Any]]:
    """Return a function for trio, which shows the name of what it runs in a thread, and takes no coroutine back."""
    return lambda: (call(),)
