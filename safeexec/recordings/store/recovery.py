"""Reads how the last owner left a stored session, from its parts, which anybody may have written. Pure.

A session is written in segments, numbered from 1. The lines of a segment are a recording, and one part of the store:
its heading says in which state it begins (a new child, or a saved state that the heading holds or that is a part of its
own), its lines what followed. Each line of an operation has the number of the state that it led to (`state_number`),
and of the one that it was done in (`since`), where it can be repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from safeexec.common.text import short_repr
from safeexec.errors import RecordingError, StoreError
from safeexec.recordings import format as form
from safeexec.recordings.forms import bytes_of
from safeexec.recordings.reader import Recording
from safeexec.recordings.served import OPEN, Exchange, Undone
from safeexec.recordings.store.interface import Claim, Store

LINES, STATE = ".jsonl", ".state"
NAMED = 20
"""Steps and calls that are told one by one."""


class Doing(NamedTuple):
    """Something that led from one state to another, and can be repeated."""

    record: form.Run | form.Set | form.Deleted
    did: int
    """A number for all that it changed."""
    step: int
    state_number: int
    """The number of the state that it led to."""
    cpu_ms: float = 0.0


class Left(Struct):
    """A session as it was left."""

    segment: int
    heading: form.Heading
    lines: int = 0
    size: int = 0
    """Bytes of the segment's whole lines."""
    doings: list[Doing] = []
    """The operations to repeat, from the state of the heading to the newest one that can be had."""
    step: int = 0
    """The last step that had begun."""
    begun: int = 0
    """The step that had not ended; 0: there is none."""
    now: int = 0
    """The step whose state that is."""
    last_state_number: int = 0
    """The highest number of a state."""
    calls: int = 0
    """Number of the last call of a tool."""
    lost: list[int] = []
    """Steps that had ended, and are no part of that state."""
    undone: list[Undone] = []
    """The programs that are no part of it, in their order: those lost, the one that had not ended, and earlier ones
    that nobody has run again.
    """
    again: list[Undone] = []
    """The earlier ones of these."""
    waiting: list[form.Called] = []
    """The deferred calls of steps that are, which were not carried out."""
    unsure: list[form.Called] = []
    """The deferred calls of which nobody knows what came of them."""
    dropped: list[str] = []
    """The checkpoints that had a name."""
    waits: form.Waiting | None = None
    """The step that waits for an answer."""
    unset: list[str] = []
    """Variables and files that the host changed after that state."""
    unread: list[int] = []
    """The newer segments of which not even the heading is there."""


def segments(claim: Claim) -> list[int]:
    """Return the numbers of the segments, the newest first."""
    found = [part.removesuffix(LINES) for part in claim.parts if part.endswith(LINES)]
    return sorted((int(number) for number in found if number.isascii() and number.isdigit()), reverse=True)


def part_of(segment: int, kind: str = LINES) -> str:
    """Return the name of the part that holds the lines of a segment, or its saved state."""
    return f"{segment:06}{kind}"


def read(store: Store, claim: Claim) -> Left | None:
    """Return how the newest segment with a whole heading was left; None where there is none. Raises `StoreError`."""
    unread: list[int] = []
    for number in segments(claim):
        part = part_of(number)
        if claim.parts[part] > 2 * store.options.session_mb << 20:
            raise StoreError(
                f"the session {claim.label!r} has {claim.parts[part] >> 20} MiB of lines, and session_mb allows "
                f"{store.options.session_mb}"
            )
        told = f"{store.options.tenant}/{claim.label}/{part}"
        try:
            recording = Recording(told, partial(store.read, claim, part))
        except RecordingError as error:
            if any(b"\n" in piece for piece in store.read(claim, part)):  # its heading is whole
                raise StoreError(f"the stored session cannot be read: {error}") from None
            unread.append(number)  # its owner ended as it was made, or the machine lost its power
            continue
        follows, before = recording.heading.follows, claim.parts.get(part_of(number - 1))
        if follows is not None and before is not None and before > follows:
            continue
        try:
            left = _SegmentReading(number, recording.heading).all(recording)
            left.unread = unread
            return left
        except RecordingError as error:
            raise StoreError(f"the stored session cannot be read: {error}") from None
    return None


def state_of(store: Store, claim: Claim, left: Left) -> Iterator[bytes]:
    """Return the saved state that a segment begins in. Raises `StoreError`."""
    state = left.heading.state
    assert state is not None
    if state.data is None:
        part = part_of(left.segment, STATE)
        if claim.parts.get(part) != state.size:
            raise StoreError(f"the saved state of the session {claim.label!r} is missing, or damaged")
        return store.read(claim, part)
    try:
        return iter([bytes_of(state)])
    except ValueError as error:
        raise StoreError(f"the saved state of the session {claim.label!r} is damaged: {error}") from None


class _SegmentReading:
    """Reads the lines of one segment, in turn."""

    def __init__(self, segment: int, heading: form.Heading) -> None:
        self._left = Left(segment, heading, step=heading.step, now=heading.now, last_state_number=heading.state_number)
        self._newest: int | None = heading.state_number
        """The last state that can be had."""
        self._after: list[int] = []
        """The steps that ended after it, and what the host changed after it."""
        self._unset: dict[str, None] = {}
        self._since: dict[int, tuple[int, Doing]] = {}
        """State that can be had → the one before it, and the operation that leads from there."""
        self._begun: form.Run | None = None
        self._ended: dict[int, form.Run | None] = {}
        """The steps that ended since the last owner came."""
        self._undone: deque[Undone] = deque()
        """Steps that an earlier owner has undone."""
        self._again = False
        """True if the last step that began repeats an undone one."""
        self._before: dict[int, list[Exchange]] = {}
        """By step, the calls of the one that it does once more."""
        self._calls: dict[int, Exchange] = {}
        self._effects: dict[str, form.Effect] = {}
        self._named: dict[str, None] = {}
        self._gone: set[int] = set()
        """The steps that earlier owners found to be no part of the state."""
        self._untold: list[int] = []
        """Steps that were lost, and no result has told of it yet."""
        self._unended = 0
        """The step that had not ended, which was lost, too."""

    def all(self, recording: Recording) -> Left:
        for record in recording:
            self._take(record)
        left, number = self._left, self._newest
        lost = [step for step in self._after if step in self._ended]
        left.lines, left.size = recording.lines, recording.size
        left.lost, left.unset = [*self._untold, *lost], [*self._unset]
        while number is not None and number != self._left.heading.state_number:
            number, doing = self._since[number]
            left.doings.append(doing)
        left.doings.reverse()
        left.begun = self._unended if self._begun is None else self._begun.step
        left.again, left.dropped = self._earlier(), list(self._named)
        runs = (run for run in (*(self._ended[step] for step in lost), self._begun) if run is not None)
        left.undone = [*(Undone(run, self._made_by(run.step)) for run in runs), *left.again]
        gone = {*self._gone, *lost, *(one.run.step for one in left.undone)}
        of_each_key = {one.call.key: one.call for one in self._calls.values()}  # the last one
        calls = [one for one in of_each_key.values() if one.step not in gone]
        left.waiting = [one for one in calls if one.effect == "deferred" and one.key not in self._effects]
        left.unsure = [one for one in calls if one.key in self._effects and self._effects[one.key].became in OPEN]
        return left

    def _earlier(self) -> list[Undone]:
        return [Undone(run, made or self._made_by(run.step)) for run, made in self._undone]

    def _made_by(self, step: int) -> list[Exchange]:
        """Return the calls of a step, and those of the one that it does once more to which it has not come."""
        own = [
            replace(one, effect=self._effects.get(one.call.key))
            for one in self._calls.values()
            if one.call.step == step
        ]
        before = self._before.get(step, [])
        same = all(one.call.key == other.call.key for one, other in zip(own, before, strict=False))
        return own + (before[len(own) :] if same else [])

    def _take(self, record: form.Record) -> None:
        if isinstance(record, form.OfSession) and record.session != 1:
            return
        left = self._left
        left.step = max(left.step, getattr(record, "step", 0))
        if isinstance(record, form.Run) and record.undone:
            self._undone.append(Undone(record, []))
            self._gone.add(record.step)
        elif isinstance(record, form.Begun):
            self._begun = record if isinstance(record, form.Run) else None
            if self._undone and self._begun is not None and self._undone[0].run.source == self._begun.source:
                run, made = self._undone.popleft()
                self._before[record.step] = made or self._made_by(run.step)
                self._again = True
            else:
                self._again = False
                self._undone.clear()
        elif isinstance(record, form.Called):
            self._calls[record.call] = Exchange(record)
            left.calls = max(left.calls, record.call)
        elif isinstance(record, form.Answered):
            if (call := self._calls.get(record.call)) is not None:
                call.answer = record
        elif isinstance(record, form.Waiting | form.WaitOver):
            left.waits = record if isinstance(record, form.Waiting) else None
        elif isinstance(record, form.Effect):
            self._effects[record.key] = record
        elif isinstance(record, form.Operation):
            self._operate(record)

    def _operate(self, record: form.Operation) -> None:
        done: form.Run | form.Set | form.Deleted | None = None
        if isinstance(record, form.Ended):
            done, self._begun = self._begun, None
            if record.now != record.step and done is not None and self._again:
                self._undone.appendleft(Undone(done, self._made_by(record.step)))
            elif record.problem:
                self._begun = done  # nobody has had its result: perhaps the session ended with it
            elif record.now == record.step:
                self._ended[record.step] = done
            if record.now != record.step:
                self._gone.add(record.step)  # and its deferred calls: one that has waited makes them again
                self._undone.extendleft(self._no_part_after(record.now)[::-1])
            if not record.problem:
                self._untold, self._unended = [], 0
        elif isinstance(record, form.Set | form.Deleted):
            done = record
        elif isinstance(record, form.Named):
            self._named[record.name] = None
        elif isinstance(record, form.Dropped):
            self._named.pop(record.name, None)
        elif isinstance(record, form.RolledBack):
            self._no_part_after(record.now)  # that was wanted: who runs it again has its calls made again
        elif isinstance(record, form.Resumed):
            # Who runs it again gets the answers that it had.
            self._untold += [step for step in self._ended if step > record.now]
            lost = self._no_part_after(record.now)
            if self._begun is not None:
                self._unended = self._begun.step
                self._gone.add(self._unended)
                lost.append(Undone(self._begun, self._made_by(self._unended)))
            self._undone, self._begun = deque([*lost, *self._earlier()]), None
            self._ended.clear()
            self._named.clear()
        number = record.state_number
        if number is not None:
            self._left.last_state_number = max(self._left.last_state_number, number)
            since = record.since
            if done is not None and since is not None and self._can_be_had(since) and not self._can_be_had(number):
                spent = record.usage.cpu_ms if isinstance(record, form.Ended) else 0.0
                self._since[number] = since, Doing(done, record.did, record.step, number, spent)
        if self._can_be_had(number):
            self._newest, self._left.now = number, record.now
            self._after.clear()
            self._unset.clear()
        elif isinstance(record, form.Ended):
            self._after.append(record.step)
        elif isinstance(record, form.Set | form.Deleted | form.Written):
            self._unset.pop(record.name, None)
            self._unset[record.name] = None

    def _no_part_after(self, now: int) -> list[Undone]:
        """Return the steps after that are no part of the session any more."""
        after = {step: self._ended.pop(step) for step in list(self._ended) if step > now}
        self._gone.update(after)
        return [Undone(run, self._made_by(step)) for step, run in after.items() if run is not None]

    def _can_be_had(self, number: int | None) -> bool:
        return number == self._left.heading.state_number or number in self._since


def told(left: Left) -> list[str]:
    """Return what a session lost as its last owner left it, for the notes of its next result."""
    notes = [cannot_be_read(left.unread, "is as it was before")] if left.unread else []
    if left.lost:
        after = "it" if len(left.lost) == 1 else "them"
        notes.append(f"{steps(left.lost[0], left.lost[-1])} lost: no state was saved after {after}")
    if left.unset:
        named = ", ".join(map(short_repr, left.unset[:NAMED]))
        notes.append(f"what the host last gave {named} is lost: no state was saved after it")
    if left.begun and left.begun not in left.lost:
        notes.append(f"step {left.begun} had not ended, and is undone")
    made = [call for one in left.undone for call in one.made]
    for call in made[:NAMED]:
        if call.unknown:
            notes.append(f"{_shown(call.call)} was begun: nobody knows what became of it")
        elif call.call.effect == "deferred":
            if call.effect is not None:
                notes.append(f"{_shown(call.call)} was carried out: {call.effect.became}")
        elif call.answer is not None:
            notes.append(f"{_shown(call.call)} was made, with the outcome {call.answer.outcome}")
    if len(made) > NAMED:
        notes.append(f"{len(made) - NAMED} more calls were made by these steps")
    notes += [f"{_shown(one)}, a call with an effect: nobody knows what became of it" for one in left.unsure[:NAMED]]
    notes += [f"{_shown(one)} was deferred, and not carried out" for one in left.waiting[:NAMED]]
    if left.dropped:
        notes.append(f"checkpoints end with their host: {', '.join(left.dropped[:NAMED])} cannot be gone back to")
    return notes


def cannot_be_read(segments: list[int], became: str) -> str:
    """Say that of these segments not even the heading is there, and what became of the session."""
    named = ", ".join(map(part_of, segments[:NAMED]))
    why = "its host ended as it began, or it is damaged"
    return f"nothing in {named} of the store can be read ({why}): the session {became}"


def _shown(called: form.Called) -> str:
    return f"{called.text} of step {called.step}"


def steps(first: int, last: int) -> str:
    """Return their names, with a verb."""
    return f"step {first} is" if first == last else f"steps {first} to {last} are"
