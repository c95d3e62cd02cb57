"""Keeps the open sessions of a sandbox: how many there may be, which caller has which, and which of them rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from safeexec.engine.host import descriptors
from safeexec.engine.host.queue import Turnstile
from safeexec.engine.host.session.session import CLOSED_WITH_SANDBOX
from safeexec.engine.host.waiting import BRIEF_SECONDS, Core, Wait
from safeexec.engine.host.watch.idle import IdleSessions
from safeexec.errors import PolicyError, SandboxBusy, SandboxError, SessionClosed

if TYPE_CHECKING:
    from safeexec.engine.host.session.session import SessionCore

R = TypeVar("R")


class OpenSessions:
    """The open sessions of one sandbox. From any thread. What becomes of one, and who says so:

    | | open | awake | descriptors | place |
    | --- | --- | --- | --- | --- |
    | `opened`, `resumed` (from its store) | yes | yes | reserved | its own, if it is a caller's |
    | `rests`: it gave up its process | yes | no | given back | kept |
    | `wakes`: it is used again | yes | yes | reserved | kept |
    | `suspended` (left to its store), `closed` | no | no | given back | given back |
    """

    def __init__(
        self,
        replenish: Callable[[], None],
        max_sessions: int | None,
        queue_seconds: float,
        idle_seconds: float | None,
    ) -> None:
        """`replenish` requests the spare children that are missing."""
        self.places = Turnstile(max_sessions)
        self.labels = Labels()
        self.replenish = replenish
        self.chores: list[Callable[[], None]] = []
        """Called by the thread for idle sessions each time that it looks. May raise `SandboxError`."""
        self._max_sessions = max_sessions
        self._queue_seconds = queue_seconds
        self._idle_seconds = idle_seconds
        self._open: set[SessionCore] = set()
        self._awake: set[SessionCore] = set()
        """Those that do not rest."""
        self.placed: set[SessionCore] = set()
        """Those that have one of the places: neither branches, nor what holds a template's state."""
        self._apart: set[SessionCore] = set()
        """Those that no caller has: they hold the states of templates."""
        self._count = 0
        """The number that there have been."""
        self._idle: IdleSessions | None = None
        self._closed = False
        self._lock = threading.Lock()
        """Held while the thread for idle sessions is made: sessions come from many threads."""

    # Places

    def enter(self, label: str | None, seconds: float | None) -> Core[None]:
        """Wait for a place for one more, which is to be among `placed` then, or gives it back by `places.leave`. Raises
        `SandboxBusy` after `seconds`; None: as long as the sandbox says.
        """
        seconds = self._queue_seconds if seconds is None else seconds
        if not (yield from self.places.enter(monotonic() + seconds, label)):
            idle = sum(not session.turns.in_use for session in self.of_callers())
            advice = "; idle_seconds= closes those that nobody uses" if idle and self._idle_seconds is None else ""
            raise SandboxBusy(
                f"{self._max_sessions} sessions are open (max_sessions), {idle} of them idle, and none was closed "
                f"within {seconds:g} s; {self.places.waiting} more wait{advice}"
            )

    def admit(self, session: SessionCore, seconds: float | None) -> Core[None]:
        """Wait for a place for a session that comes back from the store. Raises `SandboxBusy`."""
        yield from self.enter(session.label, seconds)
        self.placed.add(session)

    # The end of one

    def opened(self, session: SessionCore) -> None:
        """Count a session, which `close` will close. Raises `SessionClosed` if that has begun: the caller closes it."""
        with self._lock:
            if self._closed:
                raise SessionClosed(CLOSED_WITH_SANDBOX)
            self._open.add(session)
            if self._idle is None:
                self._idle = IdleSessions(self, self._idle_seconds)
        self._rouse(session)
        self._count += 1

    def resumed(self, session: SessionCore) -> None:
        """Count a session that has a process again, after it was left to the store."""
        if session not in self._open:
            session.watch_anew()
            with descriptors.reserved():
                self.opened(session)

    def rests(self, session: SessionCore) -> None:
        """Count a session that has given up its process: until it wakes only its idle time is looked at."""
        self._awake.discard(session)
        descriptors.count(-1)
        session.watched.close()

    def wakes(self, session: SessionCore) -> None:
        """Count a session that is used again. Raises `SandboxBusy` where there are too few descriptors."""
        with descriptors.reserved():
            self._rouse(session)

    def _rouse(self, session: SessionCore) -> None:
        self._awake.add(session)
        descriptors.count(1)
        session.watched.open()

    def suspended(self, session: SessionCore) -> None:
        """Let go of a session that is left to the store: it has nothing here until it is used again."""
        self._let_go(session)
        session.rests = False

    def closed(self, session: SessionCore) -> None:
        self._let_go(session)
        self.labels.closed(session)  # last: the label is free then in the store, too

    def _let_go(self, session: SessionCore) -> None:
        """Give the place and the descriptors of a session to others: it has nothing here any more."""
        if session in self._open:
            self._open.discard(session)
            self._awake.discard(session)
            self._apart.discard(session)
            descriptors.count(0 if session.rests else -1)
        session.watched.close()
        if session in self.placed:
            self.placed.discard(session)
            self.places.leave()
        self.replenish()

    def first_step_done(self) -> None:
        """Ask for a spare child, where sessions come and go, as one has done its first step: the next one comes.

        The first session's next step would share a core with the spare (500 calls of a tool took a quarter longer):
        there `watch.idle` requests it a moment later.
        """
        if self._count > 1:
            self.replenish()

    def set_apart(self, session: SessionCore) -> None:
        """Note that this one holds the state of a template: nobody else uses it, and no idle time counts."""
        self._apart.add(session)

    def look_after(self, session: SessionCore) -> None:
        """Have a session closed soon that no caller has any more, also if it rests."""
        if session in self._open:
            self._awake.add(session)

    # Which there are

    def of_callers(self, *, awake: bool = False) -> list[SessionCore]:
        """Return those of callers: not the ones that hold the states of templates. `awake`: none that rest."""
        return [session for session in list(self._awake if awake else self._open) if session not in self._apart]

    def labelled(self, session: SessionCore) -> bool:
        """Return whether `session_for` finds it."""
        return self.labels.open_session(session.label) is session

    # The end of all

    def close(self) -> Core[None]:
        """Close them. Raises the first of the errors that came of it, with the others as notes, when all are closed."""
        with self._lock:
            self._closed = True
        # All are killed before the end of any is waited for: the kernel takes them down side by side. And nobody looks
        # after one any more whose end has begun: each that does not answer would keep the thread that does for seconds.
        for session in list(self._open):
            session.begin_close()
        if self._idle is not None:
            yield from self._idle.close()
        failed: list[SandboxError] = []
        for session in list(self._open):
            try:
                yield from session.close()
            except SandboxError as error:
                failed.append(error)
        for other in failed[1:]:
            failed[0].add_note(str(other))
        if failed:
            raise failed[0]

    def disown(self) -> None:
        """Let go of them in a fork of the process that opened the sandbox, without ending anything."""
        for session in list(self._open):
            session.disown()
        self._open.clear()  # they are the other process's to count
        self._awake.clear()


class Labels:
    """The sessions of one sandbox that are found by a label alone: one for each label. From any thread."""

    __slots__ = ("_beginning", "_lock", "_open")

    def __init__(self) -> None:
        self._open: dict[str, tuple[SessionCore, Mapping[str, Any]]] = {}
        """Each with the keywords that it was opened with."""
        self._beginning: set[str] = set()
        """The labels for which one is being opened, or removed."""
        self._lock = threading.Lock()

    def session(
        self, label: str, asked: Mapping[str, Any], begin: Callable[[], Core[SessionCore]]
    ) -> Core[SessionCore]:
        """Return the open session of this label; else a new one, which `begin` opens for all who ask meanwhile.

        `asked`: what the policy is tightened by. Raises `PolicyError` where the open one was opened otherwise: a limit
        that the caller sets must hold.
        """
        if not isinstance(label, str) or not label:
            raise ValueError(f"label={label!r}: a text that says whose session it is")
        return (yield from self.alone(label, lambda: self._session(label, asked, begin)))

    def _session(
        self, label: str, asked: Mapping[str, Any], begin: Callable[[], Core[SessionCore]]
    ) -> Core[SessionCore]:
        session, opened = self._open.get(label, (None, {}))
        if session is None or session.closed:
            session = yield from begin()
            self._open[label] = session, asked
        elif asked and asked != opened:
            raise PolicyError(
                f"the session of {label!r} is open with other keywords than {_shown(asked)}: "
                f"{_shown(opened)}; ask for it without keywords, or close it first"
            )
        return session

    def alone(self, label: str, work: Callable[[], Core[R]]) -> Core[R]:
        """Do `work` while nobody else opens a session of this label, or removes it."""
        while not self._begin(label):
            yield Wait((), monotonic() + BRIEF_SECONDS)
        try:
            return (yield from work())
        finally:
            self._beginning.discard(label)

    def _begin(self, label: str) -> bool:
        with self._lock:
            if label in self._beginning:
                return False
            self._beginning.add(label)
        return True

    def open_session(self, label: str | None) -> SessionCore | None:
        """Return the session of this label, if there is one."""
        return self._open.get(label or "", (None, {}))[0]

    def closed(self, session: SessionCore) -> None:
        """Take the label from a session that was closed: the next caller for it gets another one."""
        if session.label is not None and self.open_session(session.label) is session:
            del self._open[session.label]


def _shown(keywords: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r:.60}" for name, value in keywords.items()) or "none of its own"
