"""A sandbox that writes its sessions down: in recordings, and in a store where they outlive the host.

The engine's sandbox calls it at two places: when a session was opened, and when one is looked up by its label.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from safeexec.engine.host.patience import patient
from safeexec.engine.host.sandbox import AT_THE_BEGINNING, SandboxCore
from safeexec.engine.host.session.session import SessionCore
from safeexec.engine.host.session.turns import arouse
from safeexec.engine.host.waiting import BUSY_SECONDS, Core, Wait, Work
from safeexec.engine.host.watch import lineage
from safeexec.errors import RecordingError, SandboxError, SessionClosed, SessionTaken, StoreError
from safeexec.recordings.session import RecordedSession
from safeexec.results import Rows

if TYPE_CHECKING:
    from safeexec.engine.host.session.template import TemplateCore
    from safeexec.engine.policy.model import Policy
    from safeexec.recordings.durable import Mode
    from safeexec.recordings.store import Store, StoredSession, StoreOptions
    from safeexec.recordings.store.interface import Claim
    from safeexec.results import WaitingCall

TIDY_SECONDS = 3600.0
"""Seconds between two looks for sessions that the store need not keep any more."""


class RecordedSandbox(SandboxCore):
    """One policy, one zygote, many sessions, of which some are written down."""

    session_type = RecordedSession
    store: Store | None = None
    """The store that keeps the sessions of `session_for`."""

    def __init__(
        self,
        policy: Policy,
        *,
        store: str | os.PathLike[str] | StoreOptions | None = None,
        durable: Mode = "second",
        **arguments: Any,
    ) -> None:
        super().__init__(policy, **arguments)
        self._durable: Mode = durable
        if store is not None:
            from safeexec.recordings.store import open_store  # few sandboxes have one, as what follows

            self.store = open_store(store)
            self.sessions.chores.append(Tidying(self.store))

    def close(self) -> Core[None]:
        if self.closed:
            return
        for session in self.sessions.of_callers():
            if (durable := session.turns.durable) is not None:
                yield from session.turns.attend(partial(durable.flush, session))
        try:
            yield from super().close()
        finally:
            if self.store is not None:
                yield Work(self.store.close)

    def disown(self) -> None:
        if self.store is not None and not self.closed:
            self.store.forget()
        super().disown()

    # Recordings

    def follow(self, session: SessionCore) -> None:
        if self.toolbox.has_effects:
            from safeexec.recordings import effects

            effects.follow_effects(session, self.toolbox)

    def record(
        self, session: SessionCore, record: Any, *, origin: TemplateCore | None = None, state: bytes | None = None
    ) -> None:
        from safeexec.recordings import recorder

        assert isinstance(session, RecordedSession)
        recorder.record(session, record, state, None if origin is None else origin.recorded)

    def preparing(self, session: SessionCore, name: str) -> Callable[[], Any]:
        from safeexec.recordings import recorder

        assert isinstance(session, RecordedSession)
        return partial(recorder.preparation, session, recorder.record(session, True), name)

    # Steps that wait

    def waiting(self) -> Core[list[WaitingCall]]:
        """Return what its sessions wait for, the oldest first: those that are open here, and those that are
        suspended in its store. Raises `StoreError`.
        """
        sessions = [one for one in self.sessions.of_callers() if isinstance(one, RecordedSession)]
        kept = ((one, one.turns.durable) for one in sessions)
        here = [one for one, durable in kept if durable is None or not durable.must_resume(one.supervisor)]
        calls = [call for one in here if one.waits.waiting is not None and (call := one.waits.call()) is not None]
        if (store := self.store) is not None:
            from safeexec.recordings import waits  # with the modules of recordings

            labels = {one.label for one in here}
            calls += yield Work(lambda: waits.of_rows(store.list(), labels, self.toolbox))
        return Rows(sorted(calls, key=lambda call: call.since))

    # The store

    def open_labelled(
        self, label: str, state: str | os.PathLike[str] | None, keywords: dict[str, Any], new: bool
    ) -> Core[SessionCore]:
        if (store := self.store) is None:
            return (yield from super().open_labelled(label, state, keywords, new))
        from safeexec.recordings.durable import Durable  # with the modules of recordings
        from safeexec.recordings.store import recovery

        self.children.check_usable()
        tightened = dict(keywords)
        if tightened.get("record"):
            raise RecordingError("a stored session is recorded in its store: leave out `record`")
        claim = yield from self._claim(store, label)
        try:
            left = yield Work(partial(recovery.read, store, claim))
            if left is None and not new:
                yield Work(partial(store.remove, claim))
                raise SessionClosed(f"there is no session of {label!r} in the store; it may have been removed")
            if left is None:
                durable = Durable(store, claim, self._durable)
                try:
                    session = yield from super().open_labelled(
                        label, state, tightened | {"record": durable.opened}, new
                    )
                except BaseException:
                    durable.closed()
                    raise
                durable.handed_out = True
                if unread := recovery.segments(claim):
                    session.supervisor.notes_next.append(recovery.cannot_be_read(unread, "begins anew"))
                return session
            given = {name: tightened.pop(name) for name in AT_THE_BEGINNING if name in tightened}
            session = RecordedSession(self, self.tightened_policies.of(tightened), label)
            session.processes.close()
            session.turns.durable = durable = Durable(store, claim, self._durable, left, given.get("queue_seconds"))
            self.follow(session)
            durable.attach(session)
            yield from arouse(session)
            return session
        except BaseException:
            store.release(claim)
            raise

    def remove_stored(self, label: str) -> Core[None]:
        """Close the session of a label, and remove it from the store."""
        store = self._has_store()

        def removed() -> Core[None]:
            if (session := self.sessions.labels.open_session(label)) is not None:
                yield from session.end("the session was removed from its store")
            claim = yield from self._claim(store, label)
            yield Work(partial(store.remove, claim))

        yield from self.sessions.labels.alone(label, removed)

    def _claim(self, store: Store, label: str) -> Core[Claim]:
        """Own a stored session, as soon as one that is being closed here has left it. Raises `SessionTaken`."""
        deadline, closing = monotonic() + patient(lineage.KILL_SECONDS), True
        while True:
            try:
                claim: Claim = yield Work(partial(store.claim, label))
            except SessionTaken:
                if not closing or monotonic() >= deadline:
                    raise
                # Looked up once more where there is none: it may have gone since.
                closing = (one := self.sessions.labels.open_session(label)) is not None and one.closed
                yield Wait((), monotonic() + BUSY_SECONDS)
            else:
                return claim

    def stored(self) -> Core[list[StoredSession]]:
        """Return the sessions in the store."""
        store = self._has_store()
        return (yield Work(lambda: list(store.list())))  # type: ignore[no-any-return]

    def _has_store(self) -> Store:
        if self.store is None:
            raise SandboxError("this sandbox has no store: Sandbox(…, store=directory), or serve --store DIRECTORY")
        return self.store


class Tidying:
    """Removes now and then what nobody has used for as long as the store keeps it, but for sessions that are open."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._next = 0.0

    def __call__(self) -> None:
        """Remove them, if it is time. Raises `StoreError`."""
        if (days := self._store.options.keep_days) is None or monotonic() < self._next:
            return
        self._next, before = monotonic() + TIDY_SECONDS, time() - days * 86400
        for row in list(self._store.list()):
            if row.used < before:
                with suppress(StoreError):  # it is open, or somebody was faster
                    self._store.remove(self._store.claim(row.label))
