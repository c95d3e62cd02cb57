"""The one place where the host waits. Its logic is written once, as generators; an API drives them.

A generator of the core yields a `Wait` when it can go no further without I/O, a `CallTool` when guest code calls a
host function, or a `Work` for what blocks, and is resumed with the answer. `drive` is the sync API;
`safeexec.api.loops` drives the same generators on an event loop. (The shape is psycopg 3's: generators in the core,
`waiting.py` per API.)
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Generator
from functools import wraps
from time import monotonic, sleep

from safeexec.common.identity import AT_ONCE
from safeexec.common.typed import TYPE_CHECKING
from safeexec.errors import SessionBusy

if TYPE_CHECKING:
    from typing import Any, Concatenate, ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
    S = TypeVar("S")
    T = TypeVar("T")
    First = dict[None, T]
    """Holds one thing for ever: the first that anybody puts there, by `setdefault(None, thing)`. That is one call of C
    code: of threads and handlers of signals that come at once all get the same.
    """

READ, WRITE = 1, 4
"""POLLIN and POLLOUT, also where there is no `poll`."""
LONGEST_SECONDS = 3600.0
"""The longest wait asked of the kernel at a time: it takes no more than 24 days, and a deadline may be infinite."""
BRIEF_SECONDS = 0.0005
"""Each wait for whoever looks after idle sessions: a look takes 0.1 ms."""
BUSY_SECONDS = 0.02
"""The longest time between two questions whether a session that somebody waits for is free."""


class Signal:
    """Set by a thread of the host, and waited for by the core: some systems have no descriptor for it."""

    __slots__ = ("_event", "on_set")

    def __init__(self) -> None:
        from threading import Event  # 1 ms, for connections only

        self._event = Event()
        self.on_set: Callable[[], object] | None = None
        """Called by the thread that sets it: it wakes a loop that waits."""

    def set(self) -> None:
        self._event.set()
        heard = self.on_set
        if heard is not None:
            heard()

    def clear(self) -> None:
        """Count it as not set, until it is set again."""
        self._event.clear()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, deadline: float) -> bool:
        """Return whether it was set before the deadline. In parts: on Windows nothing interrupts a wait."""
        while not self._event.wait(min(max(0.0, deadline - monotonic()), 0.5)):
            if monotonic() >= deadline:
                return False
        return True


class Wait:
    """Wait until one of `fds` is readable (`writable`: the first one writable), or until `signal` is set, or until
    `deadline` (monotonic seconds).

    The generator is resumed with True, or with False when the deadline came first. `poller` has the same descriptors,
    registered once; the sync API uses it as it is.
    """

    __slots__ = ("deadline", "fds", "poller", "signal", "writable")

    def __init__(
        self,
        fds: tuple[int, ...],
        deadline: float,
        writable: bool = False,
        poller: Any = None,
        signal: Signal | None = None,
    ) -> None:
        self.signal = signal
        self.fds = fds
        self.deadline = deadline
        self.writable = writable
        self.poller = poller


class CallTool:
    """Run `call()` for the guest. The generator is resumed with what it returns (or the awaited result of that)."""

    __slots__ = ("call", "in_thread", "is_async", "owner", "timeout")

    def __init__(
        self,
        call: Callable[[], Any],
        timeout: float | None,
        *,
        is_async: bool = False,
        in_thread: bool = False,
        owner: object = None,
    ) -> None:
        """`timeout`: seconds after which an asynchronous tool, or one in a thread of its own, is given up.

        `is_async`: `call` is known to return an awaitable at once; otherwise it may block. `in_thread`: a blocking
        caller gives it a thread of its own, so that the timeout holds for it too. `owner`: whose call it is; an event
        loop that a blocking caller starts for it lives until its owner is closed.
        """
        self.call = call
        self.timeout = timeout
        self.is_async = is_async
        self.in_thread = in_thread
        self.owner = owner


class Work:
    """Do `call()`, which blocks (files), and give the generator what it returns. An event loop does it in a thread."""

    __slots__ = ("call",)

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call


if TYPE_CHECKING:
    Core = Generator[Wait | CallTool | Work, Any, R]
else:
    Core = Generator


def worked(call: Callable[[], R]) -> Core[R]:
    """Return what `call` returned, as `Work`. A cancellation that comes meanwhile is met here, even where nothing is
    waited for after it: a step whose value was being read is undone, and not kept with nobody having its result.
    """
    returned: R = yield Work(call)
    yield Wait((), 0.0)
    return returned


def apart(size: int, call: Callable[[], R]) -> Core[R]:
    """Return what `call` makes of something of this size: in a thread, where it may hold an event loop."""
    return call() if size <= AT_ONCE else (yield Work(call))


def given_up() -> bool:
    """Return whether nobody drives the core any more: a `finally` or `except` that runs then can wait for nothing."""
    return isinstance(sys.exc_info()[1], GeneratorExit)


def ending(size: int, call: Callable[[], R]) -> Core[R]:
    """Return as `apart`, for a `finally`: when nobody drives the core any more it is done here."""
    return call() if given_up() else (yield from apart(size, call))


def wait(request: Wait) -> bool:
    """Block until `request` is ready (True) or late (False)."""
    if request.signal is not None:
        return request.signal.wait(request.deadline)
    if sys.platform == "win32":
        raise NotImplementedError("Windows cannot wait for descriptors")
    poller = request.poller
    if poller is None:
        poller = select.poll()
        for fd in request.fds:
            poller.register(fd, WRITE if request.writable else READ)
    while True:
        # poll counts whole milliseconds. What is left below one is slept away in small parts, so that a deadline is
        # met within 0.1 ms and not within 2.
        milliseconds = int(min(request.deadline - monotonic(), LONGEST_SECONDS) * 1000)
        if poller.poll(max(0, milliseconds)):
            return True
        left = request.deadline - monotonic()
        if left <= 0:
            return False
        if left < 0.001:
            sleep(min(left, 0.0001))


class Abandoned(BaseException):
    """Nobody waits for this step any more. (`GeneratorExit` itself would forbid the core to wait for anything.)"""


def call_tool(request: CallTool) -> Any:
    """Run a host tool for a blocking caller; an async one gets an event loop of its own."""
    if not request.in_thread:
        value = request.call()
        if not hasattr(value, "__await__"):
            return value
    from safeexec.engine.host.tools import blocking_tools  # with asyncio: for tools that are awaited, or left

    if request.in_thread:
        return blocking_tools.run_in_thread(request.call, request.timeout)
    return blocking_tools.await_blocking(value, request.timeout, request.owner)


def drive(core: Core[R]) -> R:
    """Run a generator of the core to its end, blocking."""
    try:
        request = next(core)
        while True:
            request = _go_on(core, request)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def blocking(operation: Callable[Concatenate[S, P], Core[R]]) -> Callable[Concatenate[S, P], R]:
    """Return the blocking method that drives `operation`. `safeexec.api.loops.awaited` makes the awaited one of it."""

    @wraps(operation)
    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return drive(operation(self, *args, **kwargs))

    # What readers are shown is what callers get: `Result`, and not `Core[Result]`.
    hints = operation.__annotations__
    hints["return"] = hints["return"].removeprefix("Core[").removesuffix("]")
    return method


def stepwise(core: Core[R]) -> Generator[None, None, R]:
    """Drive as `drive` does, but yield before each wait. Given up early, it lets the core bring its state in order."""
    try:
        request = next(core)
        while True:
            try:
                yield
            except GeneratorExit:
                _abandon(core)
                raise
            request = _go_on(core, request)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def _go_on(core: Core[R], request: Wait | CallTool | Work) -> Any:
    """Answer the core. Returns its next request; StopIteration at its end."""
    try:
        if isinstance(request, Wait):
            answer: Any = wait(request)
        elif isinstance(request, Work):
            answer = request.call()
        else:
            answer = call_tool(request)
    except BaseException as problem:
        # A tool that failed, or Ctrl-C while waiting: the core decides what becomes of the step.
        return core.throw(problem)
    return core.send(answer)


def _abandon(core: Core[Any]) -> None:
    try:
        request = core.throw(Abandoned())
        while True:
            request = _go_on(core, request)
    except (Abandoned, StopIteration):
        pass


def patiently(seconds: float, operation: Callable[[], Core[R]]) -> Core[R]:
    """Do `operation` when the session is free, within so many seconds. Raises `SessionBusy` after that."""
    deadline, pause = monotonic() + seconds, BRIEF_SECONDS
    while True:
        try:
            return (yield from operation())
        except SessionBusy:
            if (left := deadline - monotonic()) <= 0:
                raise
        pause = min(2 * pause, BUSY_SECONDS)
        yield Wait((), monotonic() + min(pause, left))
