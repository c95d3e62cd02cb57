"""Keeps a session in a store: records its steps, saves its state now and then, resumes it here or in another process.

The lines are those of its recording. Where a step cannot be repeated, or doing all of them would take long, a
saved state is written, and a new segment of lines begins with it. To resume is to take the newest state that there is,
or a new child, and to do the steps since once more.

A session that nobody uses is left to the store: it has no process then, and no file, until it is used again.
"""

from __future__ import annotations

import platform
import secrets
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec.structs import replace

from safeexec.common.text import one_line, spelt
from safeexec.common.version import VERSION
from safeexec.engine.host.files import state_file
from safeexec.engine.host.session.history import FRESH, State
from safeexec.engine.host.session.steps import checked_source
from safeexec.engine.host.session.supervisor import CLOSED, Supervisor
from safeexec.engine.host.waiting import Core, Work, ending, worked
from safeexec.engine.host.watch.lineage import wait_and_close
from safeexec.errors import RecordingError, SandboxError, SessionClosed, SessionTaken, StoreError
from safeexec.protocol import messages as m
from safeexec.recordings import format as form
from safeexec.recordings import waits
from safeexec.recordings.forms import CONTENT_BYTES, bytes_of, content, line_of
from safeexec.recordings.reader import Recording
from safeexec.recordings.recorder import SessionRecording
from safeexec.recordings.served import EarlierSteps, Undone
from safeexec.recordings.store import recovery
from safeexec.recordings.store.interface import WAITS, Claim, Store
from safeexec.recordings.writer import Append, RecordOptions, RecordWriter
from safeexec.results import ErrorInfo, Result
from safeexec.results.outcomes import NEWEST_LEFT, STARTS_EMPTY, Changes

if TYPE_CHECKING:
    from safeexec.recordings.session import RecordedSession

Mode = Literal["step", "second", "close"]
"""The time at which a step is on the disk: before its result is given, at most `LATE_SECONDS` later, or when the
session rests or is closed.
"""
LATE_SECONDS = 1.0
"""Seconds from the end of a step until its state is on the disk at the latest, with ``second``."""
REPEAT_CPU_MS = 150.0
"""CPU milliseconds that repeating the steps since a saved state may take before the next one is saved."""
MOST_STEPS, MOST_BYTES = 300, 1 << 20
"""The most steps between two saved states, and the most bytes of their sources."""
OTHERWISE = "a step came out otherwise when it was repeated"
BATCH = 100
"""Steps that are repeated by one message."""
_UNKNOWN = object()
"""Stands for what the store's list shows, where nobody here knows it."""

# How a session stands to what its store has of it. `Durable` says what leads from one to another.

STORED: Final = "stored"
"""The store has the state that the session is in, or the steps that lead to it."""
AHEAD: Final = "ahead"
"""Its process here alone has the state that it is in."""
STALE: Final = "stale"
"""The state that counts is in the store, and what is here is another one: to be dropped."""
SUSPENDED: Final = "suspended"
"""It is in the store alone, and has no process here."""


class Way(NamedTuple):
    """The operations to be done once more to come from a saved state, or a new child, to another state."""

    steps: int = 0
    cpu_ms: float = 0.0
    """CPU milliseconds that they took the first time."""
    source_bytes: int = 0

    def longer(self, cpu_ms: float, source_bytes: int) -> Way:
        """Return the way with one more step."""
        return Way(self.steps + 1, self.cpu_ms + cpu_ms, self.source_bytes + source_bytes)


class Durable(SessionRecording):
    """Records one session in a store, and resumes it from there.

    How it stands to its store, and what changes that:

        from                    what happens                                        to           where
        STORED, AHEAD           the lines lead to the state after an operation      STORED       `take_transition`
        STORED, AHEAD           they do not: it cannot be repeated from there       AHEAD        `take_transition`
        AHEAD                   the state is saved                                  STORED       `save`
        STORED, AHEAD           the processes died, with copies of what is stored   STALE        `must_resume`
        STORED, AHEAD           the store did not take what was done                STALE        `_not_taken`
        STORED, AHEAD, STALE    nobody uses it for long, or it is closed            SUSPENDED    `closed`
        STALE                   it is to be used: what is here is dropped           SUSPENDED    `resume`
        SUSPENDED               it is resumed; where that fails, it stays           STORED       `resume`

    A new one begins as `STORED`, or `AHEAD` with a template, a saved state or files; a stored one as `SUSPENDED`.
    """

    stored = True

    def __init__(
        self,
        store: Store,
        claim: Claim,
        mode: Mode,
        left: recovery.Left | None = None,
        queue_seconds: float | None = None,
    ) -> None:
        """`left`: how the session was left, where it is there already. Its first use resumes it."""
        super().__init__()
        self._store = store
        self._claim = claim
        """Released while the session is suspended, but for one that has not been used yet."""
        self._label = claim.label
        self.mode = mode
        self.identity = (left and left.heading.identity) or secrets.token_hex(8)
        self._standing = STORED if left is None else SUSPENDED
        self.handed_out = left is not None
        """True once somebody has got the session. Of one that nobody has got, as its opening failed or was cancelled,
        nothing stays: the next caller would find it without the variables that it was to begin with.
        """
        self._unreadable = left is None and bool(claim.parts)
        """True if parts of an earlier session were there, which cannot be read and are kept."""
        self._ahead_since = 0.0
        """Monotonic time since which it is `AHEAD`."""
        self._segment = 1
        self._state_numbers = count(1)
        """Gives each new state its number."""
        self._state_number = 0
        """The state that the session is in, where it is `STORED`."""
        self._ways: dict[int, Way] = {0: Way()}
        """Number of each state that the lines of this segment lead to → the way to it."""
        self._stored_step = 0
        """The step whose state is the newest in the store."""
        self._saving_seconds = 0.0
        """Seconds that the last saved state took."""
        self._queue_seconds = queue_seconds
        self._left = left
        """The stored session as it was read under the claim, for the first `resume`; None: it is read then."""
        self._listed: object = None
        """The waiting step that the list of the store shows."""
        self._undone_unread = False
        """True after the session went back to a copy of an older state, as the store had no newer one: which steps
        that undid is still to be read in the lines.
        """
        self._done = self._refusal = 0
        """The last step that was said to be done, and the one that was said to be undone since then."""
        self._loss: Exception | None = None
        """The error with which the lines of its last steps did not get into the store as it was left there."""

    # The interface of the recorder

    def opened(self, session: RecordedSession, *, saved: bool) -> Durable:
        """Return this, to record a session of which nothing is stored yet. `saved`: the heading will hold the state
        that it is in.
        """
        session.turns.durable, session.steps.identity, self.entropy = self, self.identity, session.processes.entropy
        self._segment = next(iter(recovery.segments(self._claim)), 0) + 1
        self._write_to(recovery.part_of(self._segment))
        memory = session.processes.history.current.memory
        if memory is not FRESH and saved:
            memory.state_number, self._ways = next(self._state_numbers), {}
        # Nothing in the store leads to a template; the files of every session, the next host may have otherwise.
        if memory is not FRESH or session.sandbox.children.files:
            self._standing, self._ahead_since = AHEAD, monotonic()
        return self

    def _write_to(self, part: str, **there: Any) -> None:
        options = RecordOptions(max_mb=self._store.options.session_mb, durable=self.mode == "step")
        later, append = LATE_SECONDS if self.mode == "second" else None, partial(self._store.append, self._claim, part)
        self.writer = RecordWriter(options, append, sync_seconds=later, **there)

    def records(self) -> Recording:
        """Return the lines since the newest saved state."""
        if self._standing is SUSPENDED:
            raise StoreError(f"the session {self._label!r} is suspended in its store: use it first")
        part = recovery.part_of(self._segment)
        return Recording(f"{self._label}/{part}", partial(self._store.read, self._claim, part))

    def check(self) -> None:
        if self.writer.problem:
            raise self.writer.cause or StoreError(self.writer.problem)

    def take_transition(self, session: RecordedSession) -> dict[str, Any]:
        """Take in which state an operation has led to, and how; what the session and this one have noted of it is
        cleared. Returns fields of its line: none where no line leads there.
        """
        restorer, current = session.supervisor.restorer, session.processes.history.current
        fingerprint, session.steps.fingerprint = session.steps.fingerprint, None
        variables, self.variables = self.variables, 0
        if self.must_resume(session.supervisor):
            return {}
        self._undone_unread, restorer.fell_back = self._undone_unread or restorer.fell_back, False
        memory = current.memory
        led: dict[str, Any] = {}
        if session.files.changed:
            session.files.changed = False
            self._ways.pop(memory.state_number, None)  # the same variables with other files
        elif memory is not FRESH and not memory.state_number:
            memory.state_number = next(self._state_numbers)
            led = self._lead_to(current, fingerprint, variables)
        if memory.state_number in self._ways:
            self._standing, self._state_number, self._stored_step = STORED, memory.state_number, current.step
            return {"state_number": memory.state_number, **led}
        if self._standing is STORED:
            self._standing, self._ahead_since = AHEAD, monotonic()
        return {}

    def _lead_to(self, state: State, fingerprint: tuple[int, float] | None, variables: int) -> dict[str, Any]:
        """Note the way to a new state, where repeating a step (of that `fingerprint`, after so many `variables` were
        set for it), or a change by the host, leads there from one that has a way. Returns fields of its line.
        """
        memory, entry = state.memory, state.memory.entry
        if fingerprint is not None:
            did, cpu_ms = fingerprint
        elif entry is not None and type(entry.request) is not m.Execute:
            did, cpu_ms = entry.did, 0.0
        else:
            return {}
        origin = state.undo_to.memory if entry is None and state.undo_to is not None else memory.origin
        while origin is not None and origin is not FRESH and not origin.state_number:
            origin, variables = origin.origin, variables - 1  # set for the step
        if origin is None or variables or (way := self._ways.get(origin.state_number)) is None:
            return {}
        self._ways[memory.state_number] = way.longer(cpu_ms, self.size)
        return {"since": origin.state_number, "did": did}

    @property
    def _live(self) -> bool:
        """Return whether the state of the process here is the one that counts."""
        return self._standing in (STORED, AHEAD)

    def must_resume(self, supervisor: Supervisor) -> bool:
        """Return whether the session is to be resumed before it is used: it is suspended, or stale. It is noted as
        stale here, if its processes have lost what the store has: no copy of its state was left, or only an older one.
        """
        current, fell_back = supervisor.processes.history.current, supervisor.restorer.fell_back
        if self._live and fell_back and (current.step < self._stored_step or current.memory is FRESH):
            self._standing = STALE
        return not self._live

    # When what is written

    @property
    def due(self) -> bool:
        """Return whether a state is to be saved: nothing in the store leads to this one, or only what takes long."""
        if self._standing is AHEAD:
            return True
        way, most_ms = self._ways[self._state_number], max(REPEAT_CPU_MS, 2000 * self._saving_seconds)
        return way.steps > MOST_STEPS or way.source_bytes > MOST_BYTES or way.cpu_ms > most_ms

    @property
    def overdue(self) -> bool:
        """Return whether a state is to be saved now, while nobody uses the session."""
        return self._live and self.mode != "close" and self.due

    def after(self, session: RecordedSession, result: Result) -> Core[Result]:
        if self.must_resume(session.supervisor):
            return (yield from self._recover(session, result))
        try:
            yield from self._keep(session)
            self.check()
            yield from self._update_list(session)
        except (SandboxError, OSError) as error:
            return self._refused(session, result, error)
        self._done = session.steps.number
        return result

    def _keep(self, session: RecordedSession) -> Core[None]:
        """Have what has been done in the store, as soon as the mode says."""
        late = monotonic() - self._ahead_since >= LATE_SECONDS
        if self._standing is AHEAD and (self.mode == "step" or (self.mode == "second" and late)):
            yield from self.save(session)
        elif self.mode == "step":
            yield from worked(self.writer.flush)

    def changed(self, session: RecordedSession) -> Core[None]:
        if self.must_resume(session.supervisor):
            return  # its process is gone: the next use reports what is in the store
        try:
            yield from self._keep(session)
            self.check()
        except (SandboxError, OSError) as error:
            raise self._not_taken("change", error) from None

    def _update_list(self, session: RecordedSession) -> Core[None]:
        """Write to the store's list what the session waits for."""
        claim, waiting = self._claim, session.waits.waiting
        if waiting is self._listed:
            return
        self._listed = waiting
        with suppress(StoreError):  # the next step says so
            if waiting is None:
                yield Work(partial(self._store.remove, claim, WAITS))
            else:
                yield Work(partial(self._store.append, claim, WAITS, 0, waits.listed(waiting)))

    def _find_undone(self) -> Core[None]:
        """Read which steps are no part of the session any more: if a source runs again, its calls are answered as they
        were. The next use has to read them once more: only then all is written of the calls that were undone for it.
        """
        claim = self._claim
        yield Work(self.writer.flush)
        claim.parts[recovery.part_of(self._segment)] = self.writer.size
        left = yield Work(partial(recovery.read, self._store, claim))
        self.earlier = EarlierSteps(() if left is None else left.again)

    def _recover(self, session: RecordedSession, result: Result) -> Core[Result]:
        """Bring back the session from its store, as a step has ended with all its processes. Returns its result."""
        notes = [*result.notes]
        if notes and notes[-1].endswith((STARTS_EMPTY, NEWEST_LEFT)):
            notes.pop()
        try:
            yield from self.resume(session)
        except (SandboxError, OSError) as error:
            notes.append(f"the session is to come back from its store: {one_line(str(error), 300)}")
        else:
            notes += ["the session has come back from its store", *session.supervisor.notes_next]
            session.supervisor.notes_next = []
        return replace(result, state="restored", remaining=(), notes=tuple(notes))

    def _refused(self, session: RecordedSession, result: Result, error: Exception) -> Result:
        """Return the result of a step that the store did not take: the session comes back as it is stored."""
        refusal, self._refusal = self._not_taken("step", error), session.steps.number
        return replace(
            result,
            outcome="cancelled",
            value=None,
            text="",
            error=ErrorInfo(type(refusal).__name__, str(refusal)),
            changes=Changes(),
            files=(),
            state="restored",
        )

    def _not_taken(self, what: str, error: Exception) -> StoreError:
        """Undo `what` was done last, as the store did not take it. Returns the error that says so."""
        self._standing = STALE
        return _of_store(f"the {what} could not be stored, and is undone", error)

    def save(self, session: RecordedSession) -> Core[None]:
        """Save the state, if that is due, and begin a new segment with it. By whoever has the turn. Raises
        `StoreError`, `StateFileError`.
        """
        claim, began = self._claim, monotonic()
        if self.must_resume(session.supervisor) or not self.due:
            return
        self.check()
        if self._undone_unread:
            yield from self._find_undone()
        segment = self._segment + 1
        state: list[form.Content] = []
        put = partial(self._put, claim, segment, state)
        yield from session.saving(None).save(put, session.steps.number, lasting=True)
        history = session.processes.history
        memory = history.current.memory
        number = memory.state_number or next(self._state_numbers)
        if memory is not FRESH:
            memory.state_number = number
        said: dict[str, Any] = {"step": session.steps.number, "now": history.current.step, "state_number": number}
        carried = list(self._carried(session))

        def begin(size: int) -> tuple[Append, int, int]:
            heading = replace(
                self.heading,
                safeexec=VERSION,
                python=platform.python_version(),
                **said,
                started=datetime.now(UTC).isoformat(),
                files={},
                state=state[0],
                entropy="",
                follows=size,
            )
            # In one: a host that is killed in between would lose what the lines before had of it.
            records = [heading, *carried]
            lines = b"".join(line_of(replace(record, n=n, at=0.0)) for n, record in enumerate(records))
            part = recovery.part_of(segment)
            self._store.append(claim, part, 0, lines, sync=True)
            claim.parts[recovery.part_of(segment - 1)] = size  # as of now: `_make_room` counts it
            self.heading = heading
            return partial(self._store.append, claim, part), len(lines), len(records)

        try:
            yield Work(partial(self.writer.turn_over, begin))
        finally:
            self.check()  # the store's own words
        self._standing, self._state_number, self._stored_step = STORED, number, history.current.step
        self._segment, self._ways = segment, {number: Way()}
        self._saving_seconds = monotonic() - began
        yield from worked(partial(self._make_room, claim))

    def _carried(self, session: RecordedSession) -> Iterator[form.Record]:
        """Yield what the lines before the saved state say that is still to be known."""
        for name in session.processes.history.named:
            yield form.Named(name=name, step=session.steps.number, now=session.processes.history.current.step)
        if session.effects is not None:
            yield from session.effects.unfinished()
        yield from self.earlier.records()
        if (waiting := session.waits.waiting) is not None:
            yield waiting

    def _put(self, claim: Claim, segment: int, state: list[form.Content], pieces: Iterator[bytes]) -> None:
        """Store a saved state: in the heading, or beside it where it is large."""
        data = bytearray()
        part, at = recovery.part_of(segment, recovery.STATE), 0
        for piece in pieces:
            data += piece
            if at or len(data) > CONTENT_BYTES // 8:
                self._store.append(claim, part, at, bytes(data))
                at += len(data)
                data.clear()
        if not at:
            state.append(content(bytes(data)))
            return
        self._store.append(claim, part, at, bytes(data), sync=True)
        claim.parts[part] = at + len(data)
        state.append(form.Content(left_out="large", size=at + len(data)))

    def _make_room(self, claim: Claim) -> None:
        """Remove the oldest parts, down to what one session may have."""
        most = self._store.options.session_mb << 20
        for part in sorted(claim.parts):  # by their numbers: the oldest segment first
            if sum(claim.parts.values()) <= most or part.startswith(f"{self._segment:06}"):
                return
            self._store.remove(claim, part)
            del claim.parts[part]

    # To the store, and back

    def flush(self, session: RecordedSession) -> Core[None]:
        """Write what is not in the store yet: the session is about to end, and nobody uses it."""
        if not self.must_resume(session.supervisor) and session.supervisor.state is not CLOSED:
            try:
                yield from self._update_list(session)
                yield from self.save(session)
            except (SandboxError, OSError) as error:
                session.supervisor.notes_next.append(f"its last state could not be stored: {one_line(str(error), 300)}")

    def suspend(self, session: RecordedSession) -> Core[None]:
        """Leave the session to the store, until it is used again."""
        if not self._live or session.supervisor.state is CLOSED:
            return
        yield from self.flush(session)
        yield from self._drop(session)

    def _drop(self, session: RecordedSession) -> Core[None]:
        """End all that the session has in this process. It is suspended then."""
        yield from self._end(session)
        session.sandbox.sessions.suspended(session)
        yield Work(self.closed)

    def _end(self, session: RecordedSession) -> Core[None]:
        """End its processes, and remove their files."""
        yield from wait_and_close(session.processes.end_processes())
        session.supervisor.doing = None
        if (workspace := session.processes.workspace) is not None:
            yield from ending(1 << 20, workspace.close)
        session.processes.close()

    def closed(self) -> None:
        """Write what is left, and let another process have the session."""
        if (writer := getattr(self, "writer", None)) is not None:  # it has none before it is used
            writer.close()
            if self._live and writer.problem:
                self._loss = writer.cause or StoreError(writer.problem)
        if not self.handed_out:
            self.handed_out = True
            with suppress(StoreError):
                self._store.remove(self._claim, recovery.part_of(self._segment) if self._unreadable else None)
        self._release()

    def check_closed(self) -> None:
        """Raise `StoreError`, once, where lines of steps that were said to be done are not in the store: whoever opens
        the session next cannot know of them.
        """
        if (error := self._loss) is not None:
            self._loss = None
            raise _of_store(f"the session of {self._label!r} is closed, and its last steps could not be stored", error)

    def _release(self) -> None:
        self._standing, self._left = SUSPENDED, None
        self._store.release(self._claim)

    def ensure_resumed(self, session: RecordedSession) -> Core[None]:
        """Before it is used, by who has the turn: have its process ready, or go on with what is in the store. Raises
        `StoreError`, `StateFileError`, `SandboxError`.
        """
        if self._live:
            yield from session.supervisor.ensure_ready()  # what is lost is known before a step of it is written down
        if self.must_resume(session.supervisor):
            yield from self.resume(session)
        elif self._undone_unread:
            yield from self._find_undone()
            self._undone_unread = False

    def resume(self, session: RecordedSession) -> Core[None]:
        """Go on with what is in the store. By who has the turn. Raises `StoreError`, `StateFileError`, and
        `SessionClosed` where nothing is.
        """
        if self._standing is STALE:
            yield from self._drop(session)
        notes, began = session.supervisor.notes_next, monotonic()
        yield from session.sandbox.sessions.admit(session, self._queue_seconds)
        try:
            if (left := self._left) is None:
                self._claim = yield Work(partial(self._store.claim, self._label))
                left = yield Work(partial(recovery.read, self._store, self._claim))
            if left is None:
                session.supervisor.why_closed = why = (
                    f"nothing of {self._label!r} is in the store: ask for the session again"
                )
                raise SessionClosed(why)
            yield from self._restore(session, left, notes)
        except BaseException as error:
            yield from self._end(session)
            session.sandbox.sessions.suspended(session)
            self._release()
            if isinstance(error, SessionTaken) and (closed := session.supervisor.why_closed) is not None:
                raise SessionClosed(closed) from None  # meanwhile, so that another one could take it
            raise
        self._standing, self._left, self._loss = STORED, None, None
        session.supervisor.woke = monotonic() - began

    def _restore(self, session: RecordedSession, left: recovery.Left, notes: list[str]) -> Core[None]:
        # In batches; if one comes out otherwise, one by one, to find what does; then in batches again, up to there.
        doings, size = left.doings, BATCH
        while True:
            yield from self._restore_state(session, left)
            done = yield from self._repeat(session, doings, size, bytes.fromhex(left.heading.entropy))
            if done == len(doings):
                break
            yield from self._end(session)
            if size > 1:
                size = 1
                continue
            lost = [doing.record for doing in doings[done:] if isinstance(doing.record, form.Run)]
            left.lost = sorted({*left.lost, *(run.step for run in lost)})
            if left.waits is not None:
                left.undone = [*left.unfinished(fell=True), *left.again]
            left.undone = [*map(Undone, lost), *left.undone]
            left.now = doings[done - 1].step if done else left.heading.now
            notes = [*notes, OTHERWISE]
            doings, size = doings[:done], BATCH
        session.supervisor.notes_next[:0] = notes
        self._go_on(session, left, doings)

    def _restore_state(self, session: RecordedSession, left: recovery.Left) -> Core[None]:
        """Get a process in the state that the segment begins with."""
        claim, policy = self._claim, session.policy
        yield from session.supervisor.begin_anew()
        processes, supervisor = session.processes, session.supervisor
        session.sandbox.sessions.resumed(session)
        if left.heading.state is None:
            return
        name = f"the stored session {self._label!r}"
        saved = yield Work(
            lambda: state_file.read_pieces(recovery.state_of(self._store, claim, left), policy.limits, name)
        )
        try:
            header = saved.header
            foreign = header.python != state_file.python_version()
            if processes.workspace is not None:
                yield Work(partial(state_file.put_back, processes.workspace, saved, alone=True))
            elif header.files:
                supervisor.notes_next.append(f"the policy {policy.name!r} gives no workspace: its files are not kept")
            yield from session.saving(None).load(saved.payload, foreign=foreign)
        finally:
            yield from ending(saved.size(), saved.close)
        processes.history.current.memory.state_number = left.heading.state_number
        failed = list(header.failed.items())[: recovery.NAMED]
        supervisor.notes_next += [
            one_line(f"{name!r} could not be kept: {why}", m.NOTE_CHARACTERS) for name, why in failed
        ]
        if foreign:
            supervisor.notes_next.append(
                f"its state was saved by Python {one_line(header.python, 20)}, and this is "
                f"{state_file.python_version()}: no function or class of it is kept"
            )

    def _repeat(self, session: RecordedSession, doings: list[recovery.Doing], size: int, entropy: bytes) -> Core[int]:
        """Do once more what led to the newest state, in batches of `size`. Returns the length of the prefix that came
        out as it did, rounded down to whole batches.
        """
        restorer, steps = session.supervisor.restorer, [self._entries(session, doing) for doing in doings]
        for start in range(0, max(len(steps), 1), size):
            batch = [entry for entries in steps[start : start + size] for entry in entries]
            if not (yield from restorer.repeat_stored(batch, b"" if start else entropy)):
                return start
        total = session.supervisor.tool_records.total
        session.processes.history.current.tool_calls = total
        for entries, doing in zip(steps, doings, strict=True):
            restorer.commit_repeated(entries, doing.state_number, total)
            if isinstance(doing.record, form.Run):
                session.supervisor.sources.add(doing.step, doing.record.source)
        return len(doings)

    def _entries(self, session: RecordedSession, doing: recovery.Doing) -> list[m.JournalEntry]:
        record = doing.record
        try:
            if isinstance(record, form.Deleted):
                return [m.JournalEntry(m.Remove(record.name), doing.did)]
            if isinstance(record, form.Set):
                return [m.JournalEntry(m.Assign(record.name, bytes_of(record.value)), doing.did)]
            given = [m.Assign(spelt(name), bytes_of(value)) for name, value in record.namespace.items()]
        except ValueError as error:
            raise StoreError(f"the stored session {self._label!r} is damaged: {error}") from None
        text, refusal = checked_source(session.policy, record.source)
        if refusal is not None:
            raise StoreError(f"step {record.step} of the stored session {self._label!r}: {refusal.message}")
        return [*(m.JournalEntry(one, 0) for one in given), m.JournalEntry(m.Execute(record.step, text), doing.did)]

    def _go_on(self, session: RecordedSession, left: recovery.Left, doings: list[recovery.Doing]) -> None:
        """Go on writing: the session is in the newest state that can be had."""
        claim = self._claim
        if self._done > left.step:
            session.supervisor.notes_next.append(f"{recovery.steps(left.step + 1, self._done)} lost: not in the store")
        if self._refusal and left.now >= self._refusal:
            session.supervisor.notes_next.append(f"step {self._refusal} is in the store after all, and not undone")
        self._done = self._refusal = 0
        # Never a number that this process has given already: the keys of calls are made of them.
        session.steps.number, session.steps.identity = max(session.steps.number, left.step), self.identity
        self.heading, self._segment, self._state_numbers = left.heading, left.segment, count(left.last_state_number + 1)
        self._state_number, self._stored_step, way = left.heading.state_number, left.now, Way()
        self._ways = {self._state_number: way}
        for doing in doings:
            size = len(doing.record.source) if isinstance(doing.record, form.Run) else 0
            way, self._state_number = way.longer(doing.cpu_ms, size), doing.state_number
            self._ways[self._state_number] = way
        session.steps.fingerprint, session.files.changed = None, False
        self.earlier = EarlierSteps(left.undone)
        try:
            began = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(left.heading.started)).total_seconds())
        except (ValueError, TypeError):
            began = 0.0
        self._write_to(
            recovery.part_of(left.segment), lines=left.recording.lines, size=left.recording.size, began=began
        )
        self.calls = count(left.calls + 1)
        if (effects := session.effects) is not None:
            effects.come_back()
            left.unsure = [called for called in left.unsure if not effects.resume(called, again=True)]
            left.waiting = [called for called in left.waiting if not effects.resume(called)]
        session.waits.waiting, session.waits.calls_before = None, session.supervisor.tool_records.total
        if left.waits is not None:
            try:
                session.waits.waiting = waits.checked(left.waits)
            except RecordingError as error:
                session.supervisor.notes_next.append(f"it waits no more, as what it waits for cannot be read: {error}")
        self._listed = (session.waits.waiting or _UNKNOWN) if WAITS in claim.parts else None
        session.supervisor.notes_next += recovery.notes_of(left)
        self.writer.add(form.Resumed(step=session.steps.number, now=left.now, state_number=self._state_number))


def _of_store(what: str, error: Exception) -> StoreError:
    """Return the error that says `what` came of an error of the store: `SessionTaken` where that is another owner."""
    kind = SessionTaken if isinstance(error, SessionTaken) else StoreError
    return kind(f"{what}: {one_line(str(error), 400)}")
