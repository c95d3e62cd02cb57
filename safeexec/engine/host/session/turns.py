"""The turns of a session: each use of it is one, of one caller at a time. Who follows what is done in a
session, to write it down, to store it or to carry out effects, is called here, at the beginning of a turn.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from time import monotonic
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar
from weakref import ref

from msgspec import Struct

from safeexec.engine.host.waiting import BRIEF_SECONDS, Core, Wait, patiently
from safeexec.errors import SessionBusy, SessionClosed

if TYPE_CHECKING:
    from safeexec.engine.host.session.interfaces import HasEffects, KeepsSession, RecordsSession
    from safeexec.engine.host.session.supervisor import Supervisor
    from safeexec.engine.host.waiting import First
    from safeexec.engine.host.watch.account import Subject

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="HasTurns")

_BUSY = (
    "a step of this session is running in another thread or task; wait for it with session.run(..., wait=seconds), "
    "use a session per thread, or branch"
)


class TakesTurns(Protocol):
    """A session, as its turns see it."""

    rests: bool

    @property
    def watched(self) -> Subject: ...
    @property
    def closed(self) -> bool: ...
    def wake(self) -> None: ...
    def end_at_once(self) -> None: ...
    def end_and_wait(self) -> Core[None]: ...


class HasTurns(Protocol):
    """A session or a part of one: what has operations that take a turn."""

    turns: Turns


class Turn(Struct, eq=False):
    """One caller's use of a session: a second caller is refused at once.

    No lock is held, for none could be lost: a turn is a generator of the core, and lasts exactly as long as that runs
    or waits. However it ends, by returning, by an exception of a signal handler at any byte code, or by being
    forgotten, the next caller finds it ended.
    """

    brief: bool = False
    """True if it is the host's own and soon over, so that others wait for it."""
    thread: int = 0
    """The thread that began it."""
    core: Callable[[], Any] = lambda: None
    """Gives the generator whose life is that of the turn, as long as it lives."""
    next: First[Turn] = {}
    """The turn that follows, once there is one."""

    @property
    def goes_on(self) -> bool:
        """True if its generator runs, or waits for something."""
        core = self.core()
        return core is not None and (core.gi_running or core.gi_suspended)


OperationName = Literal[
    "run", "perform", "check", "ask", "set", "checkpoint", "drop", "rollback", "branch", "save", "load", "command",
    "write", "put_files", "protection", "resume", "carry_out", "cancel_waiting",
]  # fmt: skip
"""The operations that take a turn, by the words that those know who follow the session."""


def exclusive(
    name: OperationName,
) -> Callable[[Callable[Concatenate[S, P], Core[R]]], Callable[Concatenate[S, P], Core[R]]]:
    """Give an operation the session to itself, from its start to its end, however it ends. Who follows the session
    knows it by `name`; a recording also by the order of its parameters (`recordings/recorder.py:LINES`).
    """

    def decorate(operation: Callable[Concatenate[S, P], Core[R]]) -> Callable[Concatenate[S, P], Core[R]]:
        @wraps(operation)
        def begin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Core[R]:
            turns, turn = self.turns, Turn()
            session = turns.session()
            assert session is not None, "whoever uses a part of a session holds the session"
            if turns.recorder is None:
                work = operation(self, *args, **kwargs)
            else:
                work = turns.recorder.perform(name, MethodType(operation, self), session, args, kwargs)
            if turns.effects is not None:
                work = turns.effects.follow(name, work)
            core = turns.in_turn(session, turn, work)
            turn.core = ref(core)
            return core

        return begin

    return decorate


@exclusive("resume")
def arouse(part: HasTurns) -> Core[None]:
    """Resume the session, of which this is it or a part, if it is suspended."""
    yield from ()  # taking the turn has: `in_turn`


class Turns:
    """The turns of one session, and who follows them."""

    patiently = staticmethod(patiently)

    def __init__(self, session: TakesTurns, supervisor: Supervisor) -> None:
        self.session = ref(session)
        """Weakly, as each part of a session has its turns: once a session is closed and nobody holds it, it goes at
        once, and with it a sandbox that nobody holds, whose processes end then.
        """
        self.supervisor = supervisor
        self.recorder: RecordsSession | None = None
        """Writes down what is done in the session, where that is asked for."""
        self.durable: KeepsSession | None = None
        """Keeps it in a store, where there is one."""
        self.effects: HasEffects | None = None
        """The calls of its tools that have effects, where there are such tools."""
        self.used = monotonic()
        """Monotonic time when the session was last used."""
        self._last = Turn()

    def in_turn(self, session: TakesTurns, turn: Turn, work: Core[R]) -> Core[R]:
        """Do `work` in `turn`. Raises `SessionClosed`, and `SessionBusy` while another caller has one."""
        while not self.take(turn):
            self.check_free()
            yield Wait((), monotonic() + BRIEF_SECONDS)
        if (why := self.supervisor.why_closed) is not None:
            raise SessionClosed(why)
        if session.rests or session.watched.idle:
            session.wake()
        self.supervisor.woke = 0.0
        try:
            if self.durable is not None:
                yield from self.durable.ensure_resumed(session)
            return (yield from work)
        finally:
            self.used = monotonic()
            if self.supervisor.why_closed is not None:  # closed meanwhile, which left its end to who has the turn
                session.end_at_once()

    def take(self, turn: Turn) -> bool:
        """Return whether it is `turn`'s now."""
        while not (last := self._last).goes_on:
            turn.thread = threading.get_ident()
            self._last = last.next.setdefault(None, turn)  # or whoever was faster
            if self._last is turn:
                return True
        return False

    def check_free(self) -> None:
        """Raise `SessionClosed`, and `SessionBusy` while another caller uses the session."""
        if (why := self.supervisor.why_closed) is not None:
            raise SessionClosed(why)
        if self.in_use and not self._last.brief:
            raise SessionBusy(_BUSY)

    @property
    def in_use(self) -> bool:
        """True if a caller has a turn. From any thread."""
        return self._last.goes_on

    @property
    def is_mine(self) -> bool:
        """True if the turn that goes on, or the last one, was begun by this thread."""
        return self._last.thread == threading.get_ident()

    def ended(self, session: TakesTurns) -> None:
        """Notify those who follow the session that it is closed."""
        if self.effects is not None:
            self.effects.closed()
        if self.recorder is not None:
            self.recorder.closed(session)

    # What the host itself does with a session

    def briefly(self, work: Callable[[Turn], Core[R]]) -> Core[R]:
        """Do `work` of the host's own, which takes the turn that it is given when it can. A caller who comes meanwhile
        waits for it.
        """
        turn = Turn(brief=True)
        core = work(turn)
        turn.core = ref(core)
        return core

    def attend(self, look: Callable[[], Core[None]]) -> Core[None]:
        """Do `look`, of the host's own watch, if nobody uses the session."""
        return self.briefly(partial(self._attend, look))

    def _attend(self, look: Callable[[], Core[None]], turn: Turn) -> Core[None]:
        session = self.session()
        if session is None or self.supervisor.why_closed is not None or not self.take(turn):
            return
        try:
            yield from look()
        finally:
            if session.closed:
                # Who closed it meanwhile may have waited long enough and gone: nobody else would end what there is.
                yield from session.end_and_wait()
