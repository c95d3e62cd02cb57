"""Reads how the last owner left a stored session, from its parts, which anybody may have written. Pure.

A session is written in segments, numbered from 1. The lines of a segment are a recording, and one part of the store:
its heading says in which state it begins (a new child, or a saved state that the heading holds or that is a part of its
own), its lines what followed. Each line of an operation has the number of the state that it led to (`state_number`),
and of the one that it was done in (`since`), where it can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from safeexec.common.text import short_repr
from safeexec.errors import RecordingError, StoreError
from safeexec.recordings import format as form
from safeexec.recordings.format import OPEN, Exchange
from safeexec.recordings.forms import bytes_of
from safeexec.recordings.reader import Recording
from safeexec.recordings.served import EarlierSteps, Undone
from safeexec.recordings.store.interface import Claim, Store

LINES, STATE = ".jsonl", ".state"
NAMED = 20
"""Steps and calls that a note names one by one."""


class Doing(NamedTuple):
    """Something that led from one state to another, and can be repeated."""

    record: form.Run | form.Set | form.Deleted
    did: int
    """A number for all that it changed."""
    step: int
    state_number: int
    """The number of the state that it led to."""
    cpu_ms: float = 0.0


def segments(claim: Claim) -> list[int]:
    """Return the numbers of the segments, the newest first."""
    found = [part.removesuffix(LINES) for part in claim.parts if part.endswith(LINES)]
    numbers = [int(number) for number in found if number.isascii() and number.isdigit()]
    return sorted((number for number in numbers if part_of(number) in claim.parts), reverse=True)


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
        name = f"{store.options.tenant}/{claim.label}/{part}"
        try:
            recording = Recording(name, partial(store.read, claim, part))
        except RecordingError as error:
            if any(b"\n" in piece for piece in store.read(claim, part)):  # its heading is whole
                raise StoreError(f"the stored session cannot be read: {error}") from None
            unread.append(number)  # its owner ended as it was made, or the machine lost its power
            continue
        follows, before = recording.heading.follows, claim.parts.get(part_of(number - 1))
        if follows is not None and before is not None and before > follows:
            continue
        try:
            left = Left(number, recording)
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


class Untold(Struct):
    """The losses of a session that no result has reported, as earlier owners found them: one may end before its first
    result.
    """

    steps: list[int] = []
    unended: list[int] = []
    """The steps that had not ended."""
    undone: list[Undone] = []
    """The steps whose calls are to be reported."""
    unset: dict[str, None] = {}
    """The variables and files that the host changed."""
    named: dict[str, None] = {}
    """The checkpoints."""


class Left:
    """A session as it was left at the end of a segment, whose lines it takes in turn. Raises `RecordingError`."""

    def __init__(self, segment: int, recording: Recording) -> None:
        heading = recording.heading
        self.segment, self.recording, self.heading = segment, recording, heading
        self.step = heading.step
        """The last step that had begun."""
        self.now = heading.now
        """The step whose state the newest one is that can be had."""
        self.last_state_number = heading.state_number
        """The highest number of a state."""
        self.calls = 0
        """Number of the last call of a tool."""
        self.waits: form.Waiting | None = None
        """The step that waits for an answer."""
        self.given_up = 0
        """The step that waits no more, as the state before it is lost; 0: there is none."""
        self.unread: list[int] = []
        """The newer segments of which not even the heading is there."""
        self._newest: int | None = heading.state_number
        """The last state that can be had."""
        self._since: dict[int, tuple[int, Doing]] = {}
        """State that can be had → the one before it, and the operation that leads from there."""
        self._after: list[int] = []
        """The steps that ended after it, and what the host changed after it."""
        self._unset: dict[str, None] = {}
        self._begun: Undone | None = None
        """The step that runs."""
        self._kept: dict[int, Undone | None] = {}
        """The steps that ended since the last owner came, as a part of the session; None for queries."""
        self._earlier = EarlierSteps()
        """Steps that an earlier owner has undone."""
        self._caller: Undone | None = None
        """The step whose calls come."""
        self._caller_calls = 0
        """How many of them have come."""
        self._calls: dict[int, Exchange] = {}
        """By their numbers."""
        self._keys: dict[str, Exchange] = {}
        self._part: dict[str, Exchange] = {}
        """By key, the calls of the steps that are part of the newest state, and of those after it, in their order."""
        self._named: dict[str, None] = {}
        self._untold = Untold()
        for record in recording:
            if not isinstance(record, form.OfSession) or record.session == 1:
                self._take(record)
        self._conclude()

    def _conclude(self) -> None:
        """Work out, when all lines have been taken, what became of each step and call."""
        lost = {step: self._kept[step] for step in self._after if step in self._kept}
        untold = self._untold
        self.lost = sorted([*untold.steps, *lost])
        self.unset, self.dropped = [*(untold.unset | self._unset)], [*(untold.named | self._named)]
        """The steps that had ended, and are no part of that state; the variables and files that the host changed after
        it; the checkpoints that had a name.
        """
        self.doings: list[Doing] = []
        """The operations to repeat, from the state of the heading to the newest one that can be had."""
        number = self._newest
        while number is not None and number != self.heading.state_number:
            number, doing = self._since[number]
            self.doings.append(doing)
        self.doings.reverse()
        self.unended = [*untold.unended, *([] if self._begun is None else [self._begun.run.step])]
        """The steps that had not ended, the last one of each owner."""
        self.again = [*self._earlier.undone]
        unfinished = self.unfinished(fell=bool(lost or self._unset))
        self.undone = [*filter(None, lost.values()), *unfinished, *self.again]
        """The programs that are no part of it, in their order: those lost, the one that had not ended, and earlier ones
        that nobody has run again (`again`).
        """
        known = {id(one) for one in self.undone}
        self.forgotten = [one for one in untold.undone if id(one) not in known]
        """Earlier ones, which another step replaced as it began: that did not end, and reported none of their calls."""
        self._drop_calls()
        calls = self._part.values()
        self.waiting = [one.call for one in calls if one.call.effect == "deferred" and one.effect is None]
        """The deferred calls of steps that are, which were not carried out."""
        self.unsure = [one.call for one in calls if one.effect is not None and one.effect.became in OPEN]
        """The calls with an effect of which nobody knows what came of them."""

    def unfinished(self, *, fell: bool) -> list[Undone]:
        """Return the step that had not ended, if there is one. `fell`: the state that it began in is lost; a step that
        waits is to go on in no other, waits no more, and had not ended either.
        """
        begun, waits = self._begun, self.waits
        if waits is not None and fell:
            begun = Undone(waits.run, waits.calls)  # of which the one that had begun, if any, is another run
            self.waits, self.given_up, self._begun = None, waits.step, None
        return [] if begun is None else [begun]

    def _take(self, record: form.Record) -> None:
        self.step = max(self.step, getattr(record, "step", 0))
        if isinstance(record, form.Begun):
            self._begin(record)
        elif isinstance(record, form.Called):
            self._call(record)
        elif isinstance(record, form.Answered):
            if (call := self._calls.get(record.call)) is not None:
                call.answer = record
        elif isinstance(record, form.Waiting | form.WaitOver):
            self.waits = record if isinstance(record, form.Waiting) else None
        elif isinstance(record, form.Effect):
            if (call := self._keys.get(record.key)) is not None:
                call.effect = record
        elif isinstance(record, form.Operation):
            self._operate(record)

    def _begin(self, record: form.Begun) -> None:
        self._caller_calls = 0
        if not isinstance(record, form.Run):
            self._earlier.begin(None)
            self._begun = self._caller = None
        elif record.undone:
            self._caller = Undone(record)
            self._earlier.undone.append(self._caller)
            self._untold.undone.append(self._caller)
        else:
            self._begun = self._caller = self._earlier.begin(record.source) or Undone(record)
            self._begun.run = record

    def _call(self, record: form.Called) -> None:
        """Take a call: as a new one, or as one that its step makes once more: what came of it is known."""
        exchange, caller, undone = Exchange(record), self._caller, False
        if caller is not None and caller.run.step == record.step:
            made, at, undone = caller.made, self._caller_calls, caller.run.undone
            if at < len(made) and made[at].undone:
                made[at] = exchange
            elif at < len(made) and made[at].call.key == record.key:
                exchange = made[at]
                exchange.call = record
            else:
                made[at:] = [exchange]
            self._caller_calls += 1
        self._calls[record.call] = self._keys[record.key] = exchange
        self.calls = max(self.calls, record.call)
        self._part.pop(record.key, None)
        if not undone:
            self._part[record.key] = exchange

    def _operate(self, record: form.Operation) -> None:
        done: form.Run | form.Set | form.Deleted | None = None
        if isinstance(record, form.Set | form.Deleted | form.Written):
            self._untold.unset.pop(record.name, None)
        if isinstance(record, form.Ended):
            done = self._end(record)
        elif isinstance(record, form.Set | form.Deleted):
            done = record
        elif isinstance(record, form.Named):
            self._named[record.name] = None
        elif isinstance(record, form.Dropped):
            self._named.pop(record.name, None)
        elif isinstance(record, form.RolledBack):
            self._no_part_after(record.now)  # on purpose: who runs it again has its calls made again
        elif isinstance(record, form.Resumed):
            # Who runs it again gets the answers that it had.
            fell = bool(self._unset) or any(step > record.now for step in self._kept)
            lost = self._lost_after(record.now)
            if self._begun is not None:
                self._untold.unended.append(self._begun.run.step)
            lost += self.unfinished(fell=fell)
            self._untold.undone += lost
            self._untold.unset |= self._unset
            self._untold.named |= self._named
            self._earlier, self._begun = EarlierSteps([*lost, *self._earlier.undone]), None
            self._kept.clear()
            self._named.clear()
        number, since = record.state_number, record.since
        if number is not None:
            self.last_state_number = max(self.last_state_number, number)
            if done is not None and since is not None and self._can_be_had(since) and not self._can_be_had(number):
                spent = record.usage.cpu_ms if isinstance(record, form.Ended) else 0.0
                self._since[number] = since, Doing(done, record.did, record.step, number, spent)
        if self._can_be_had(number):
            self._newest, self.now = number, record.now
            self._drop_calls()
            self._after.clear()
            self._unset.clear()
        elif isinstance(record, form.Ended):
            self._after.append(record.step)
        elif isinstance(record, form.Set | form.Deleted | form.Written):
            self._unset.pop(record.name, None)
            self._unset[record.name] = None

    def _end(self, record: form.Ended) -> form.Run | None:
        """Take the end of a step. Returns what was run; None for a query."""
        done, part = self._begun, record.now == record.step
        repeats = self._earlier.ended(part=part)
        # Nobody has had the result of one with a problem: perhaps the session ended with it.
        self._begun = done if record.problem and (part or not repeats) else None
        if not record.problem:
            self._untold, self.given_up = Untold(), 0
        if part and not record.problem:
            self._kept[record.step] = done
        elif not part:
            # A process that has lost more than the store leads to is given up, and the store's state comes back.
            lost = self._lost_after(max(record.now, self.now))
            if lost and self.waits is not None:
                lost += self.unfinished(fell=True)
            self._untold.undone += lost
            self._earlier = EarlierSteps([*lost, *self._earlier.undone])
        return None if done is None else done.run

    def _lost_after(self, now: int) -> list[Undone]:
        """Return the steps after `now`, which are lost: the next result reports them."""
        self._untold.steps += [step for step in self._kept if step > now]
        return self._no_part_after(now)

    def _no_part_after(self, now: int) -> list[Undone]:
        """Return the steps after that are no part of the session any more."""
        after = [self._kept.pop(step) for step in list(self._kept) if step > now]
        return [one for one in after if one is not None]

    def _drop_calls(self) -> None:
        """Forget the calls of steps that are no part of the newest state: one that has waited makes them again."""
        while self._part and self._part[next(reversed(self._part))].call.step > self.now:
            self._part.popitem()

    def _can_be_had(self, number: int | None) -> bool:
        return number == self.heading.state_number or number in self._since


def notes_of(left: Left) -> list[str]:
    """Return what a session lost as its last owner left it, for the notes of its next result."""
    notes = [cannot_be_read(left.unread, "is as it was before")] if left.unread else []
    if left.lost:
        after = "it" if len(left.lost) == 1 else "them"
        notes.append(f"{steps(left.lost[0], left.lost[-1])} lost: no state was saved after {after}")
    if left.unset:
        named = ", ".join(map(short_repr, left.unset[:NAMED]))
        notes.append(f"what the host last gave {named} is lost: no state was saved after it")
    if left.given_up:
        notes.append(f"step {left.given_up} waits no more: the state before it is lost")
    unended = [step for step in left.unended[-NAMED:] if step not in left.lost]
    notes += [f"step {step} had not ended, and is undone" for step in unended]
    undone = *left.forgotten, *left.undone
    made = sorted((call for one in undone for call in one.made), key=lambda call: not call.unknown)
    for call in made[:NAMED]:
        became = "" if call.effect is None else call.effect.became
        if call.call.effect == "at-once" and call.answer is not None:
            undo = became and f"; its undo: {became}"
            outcome = call.answer.outcome
            came = "was put off" if outcome == "waiting" else f"was made, with the outcome {outcome}"
            notes.append(f"{_shown(call.call)} {came}{undo}")
        elif call.unknown:
            notes.append(f"{_shown(call.call)} was begun: nobody knows what became of it")
        elif became:
            notes.append(f"{_shown(call.call)} was carried out: {became}")
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
