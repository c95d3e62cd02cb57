"""The history of recorded sessions: variables at each moment, who changed them when, what a step read. Pure.

Steps, and values that the host set, are moments; each follows another one. A rollback leads back to one, a branch goes
on from one in another session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from safeexec.common.text import one_line, shorten
from safeexec.errors import RecordingError
from safeexec.recordings import format as form

T = TypeVar("T")
_WORD = r"(?<![\w.])([^\W\d]\w*+)(?![ \t]*+=(?!=))"
_NAMES = re.compile(
    # Comments and strings are passed over, whole or to the end of what there is, so that each character is looked at
    # once; attributes and keywords are no names.
    r"""#[^\n]*+|(?:(?<!\w)([A-Za-z]{1,2}))?(?:'{3}(?>(?:[^'\\]|\\.|'(?!''))*)(?>(?:'{3})?)"""
    r"""|"{3}(?>(?:[^"\\]|\\.|"(?!""))*)(?>(?:"{3})?)|'(?>(?:[^'\\\n]|\\.)*)'?+|"(?>(?:[^"\\\n]|\\.)*)"?+)|""" + _WORD,
    re.S,
)
_IN_TEXT = re.compile(_WORD)
SOURCE_CHARACTERS = 1 << 20
"""The most characters of a source in which names are looked for."""
LEVELS = 1000
"""Branches of branches through which a state is looked for."""


def mentioned(source: str) -> set[str]:
    """Return the names that a source mentions, those in f-strings included."""
    names: set[str] = set()
    for found in _NAMES.finditer(source[:SOURCE_CHARACTERS]):
        prefix, name = found.groups()
        if name:
            names.add(name)
        elif prefix and "f" in prefix.lower():
            names.update(_IN_TEXT.findall(found[0], len(prefix)))
    return names


class Moment(Struct, frozen=True, eq=False, kw_only=True):
    """A state of a session: after a step, or after the host has changed a variable."""

    session: int
    step: int
    before: Moment | None = None
    source: str = ""
    """The source of the step; "" where the host set a variable."""
    ended: form.Ended | None = None
    undone: bool = False
    """True if the step left no trace: `before` is the state after it, too."""
    written: dict[str, str] = {}
    """Name → what it has become, in a few words."""
    deleted: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    """The host tools that it called, and with what."""
    stepped: Moment | None = None
    """The last one before it that is a step's."""
    depth: int = 0
    """Of a step's moment: how many of these there are, with those before it."""
    far: Moment | None = None
    """Of a step's moment: one further back, so that any of them is a few such links away."""

    @property
    def place(self) -> str:
        """``7``, or ``2.7`` for a step of another session than the first."""
        return str(self.step) if self.session == 1 else f"{self.session}.{self.step}"

    def variables(self) -> dict[str, str]:
        """Return every variable after it, with a few words about its value."""
        found: dict[str, str] = {}
        gone: set[str] = set()
        for moment in _past(self):
            if not moment.undone:
                for name, words in moment.written.items():
                    if name not in gone:
                        found.setdefault(name, words)
                gone.update(moment.deleted)
                gone.update(moment.written)
        return dict(sorted(found.items()))

    def reads(self) -> list[str]:
        """Return the variables that there were and that its source mentions. (What a function reads that it calls is
        not in the source.)
        """
        if self.before is None:
            return []
        return sorted(mentioned(self.source) & self.before.variables().keys())

    def __repr__(self) -> str:
        return f"<Moment {str(self).strip()}>"

    def __str__(self) -> str:
        what = one_line(self.source, 60) if self.source else f"the host set {', '.join(self.written) or 'nothing'}"
        return f"{self.place:>6}  {self.outcome:10} {what}{'   (undone)' if self.undone else ''}"

    @property
    def outcome(self) -> str:
        """Return how its step ended, ``ok``."""
        if self.ended is None:
            return "host"
        return "raised" if self.ended.problem else self.ended.outcome

    def describe(self) -> str:
        """Return all that is known of it, for people."""
        lines = [str(self).strip()]
        if self.source:
            lines += ["", *(f"    {line}" for line in self.source.splitlines()[:40]), ""]
        for title, words in (
            ("read", ", ".join(self.reads())),
            ("wrote", ", ".join(self.written)),
            ("deleted", ", ".join(self.deleted)),
            ("called", "; ".join(f"{tool}({arguments})" for tool, arguments in self.calls)),
        ):
            if words:
                lines.append(f"{title}: {shorten(words, 1000)}")
        if (ended := self.ended) is not None:
            error = ended.error
            for title, said in (
                ("printed", ended.stdout),
                ("value", ended.text),
                ("error", error and f"{error.type}: {error.message}"),
                ("rule", error and error.rule),
            ):
                if said:
                    lines.append(f"{title}: {one_line(said, 300)}")
        lines += ["variables:"] + [f"    {name} = {one_line(words, 100)}" for name, words in self.variables().items()]
        return "\n".join(lines)


class UnknownEffect(Struct, frozen=True):
    """A call of a host tool, or the undoing of one, that began and of which nobody knows what came of it."""

    session: int
    step: int
    tool: str
    arguments: str
    """As they would be written, short."""
    key: str
    """By which an idempotent tool tells its calls apart; "" where it has none."""
    undoing: bool = False

    def __str__(self) -> str:
        place = str(self.step) if self.session == 1 else f"{self.session}.{self.step}"
        call = one_line(f"{self.tool}({self.arguments})", 300)
        key = f", key {one_line(self.key, 100)}" if self.key else ""
        return f"{place:>6}  {'undo of ' if self.undoing else ''}{call}{key}"


class SessionStates(Generic[T]):
    """The state that a session is in, while its records are read, and those to which it may go back."""

    def __init__(self, now: T, origin: SessionStates[T] | None = None) -> None:
        self.now = now
        self.origin = origin
        """The states of the session that it has branched from."""
        self.names: dict[str, T] = {}
        self._states: dict[int, T] = {} if origin is not None else {0: now}
        """Step → the state after it, as the host has changed it."""

    def go_to(self, step: int, state: T) -> None:
        """Note that the session is in `state` now, the one after `step`."""
        self.now = self._states[step] = state

    def state(self, step: int) -> T:
        """Return the state after `step`, also of sessions that this one is from; the present one if there is none."""
        position: SessionStates[T] | None = self
        for _ in range(LEVELS):
            if position is None:
                break
            if step in position._states:
                return position._states[step]
            position = position.origin
        return self.now


class _Reading(Struct):
    """One session, while its records are read."""

    at: SessionStates[Moment]
    begun: form.Begun | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)


class Timeline:
    """The moments of a recording. Iterate for the steps in the order in which they ended."""

    def __init__(self, records: Iterable[form.Record], session: int = 1) -> None:
        """`session`: the one that is meant where none is named."""
        self.session = session
        self.steps: list[Moment] = []
        self._arguments: dict[int, str] = {}
        self._unknown: dict[int, UnknownEffect] = {}
        self._lines = {1: _Reading(SessionStates(Moment(session=1, step=0)))}
        for record in records:
            if isinstance(record, form.OfSession):
                self._take(record)
        self._places = {(moment.session, moment.step): moment for moment in self.steps}

    def __iter__(self) -> Iterator[Moment]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def at(self, step: int, session: int | None = None) -> Moment:
        """Return a step by number; without `session` also one that a branch went on from. Raises `RecordingError`."""
        found = self._places.get((self.session if session is None else session, step))
        if found is None and session is None:
            found = next((one for one in _past(self.now()) if one.step == step and one.ended is not None), None)
        if found is None:
            raise RecordingError(f"there is no step {step} of session {session or self.session}")
        return found

    def now(self, session: int | None = None) -> Moment:
        """Return the state that a session is in. Raises `RecordingError`."""
        try:
            return self._lines[self.session if session is None else session].at.now
        except KeyError:
            raise RecordingError(f"there is no session {session}") from None

    def when(self, name: str, session: int | None = None) -> list[Moment]:
        """Return the moments at which a variable got what it now is, and before; the last one first."""
        past = (moment for moment in _past(self.now(session)) if not moment.undone)
        return [moment for moment in past if name in moment.written or name in moment.deleted]

    @property
    def unknown(self) -> list[UnknownEffect]:
        """The effects that began and of which no end is recorded, in order: the host died meanwhile, the step was
        interrupted, or the tool gave no answer in time.
        """
        return list(self._unknown.values())

    def __str__(self) -> str:
        return self.listed({*self._lines})

    def listed(self, sessions: set[int]) -> str:
        """Return the steps of some sessions, a line each; what a rollback or the end of a step has undone is marked."""
        kept: set[int] = set()
        for number in sessions & self._lines.keys():
            for moment in _past(self.now(number)):
                if id(moment) in kept:
                    break  # and so is all before it
                kept.add(id(moment))
        lines = (
            f"{moment}{'' if moment.undone or id(moment) in kept else '   (undone)'}"
            for moment in self.steps
            if moment.session in sessions
        )
        return "\n".join(lines) or "no step has ended"

    def _take(self, record: form.OfSession) -> None:
        line = self._lines.get(record.session)
        if line is None:
            raise RecordingError(f"line {record.n}: there is no session {record.session}")
        if isinstance(record, form.Begun):
            line.begun, line.calls = record, []
        elif isinstance(record, form.Called):
            line.calls.append((record.tool, record.arguments.text))
            self._arguments[record.call] = record.arguments.text
            if record.effect == "at-once":
                self._begins(record)
        elif isinstance(record, form.Answered):
            self._unknown.pop(record.call, None)
        elif isinstance(record, form.Effect):
            if record.became in ("begun", "undoing"):
                self._begins(record, undoing=record.became == "undoing")
            elif record.became != "unknown":
                self._unknown.pop(record.call, None)
        elif isinstance(record, form.Ended):
            self._end(line, record)
        elif isinstance(record, form.Operation) and not record.problem:
            self._operate(line, record)

    def _begins(self, record: form.Called | form.Effect, *, undoing: bool = False) -> None:
        arguments = self._arguments.get(record.call, "")
        where = (record.session, record.step, record.tool, arguments, record.key, undoing)
        self._unknown[record.call] = UnknownEffect(*where)

    def _end(self, line: _Reading, ended: form.Ended) -> None:
        undone = bool(ended.problem) or ended.state != "kept"
        if undone and line.at.now.step != ended.now:
            line.at.now = line.at.state(ended.now)
        begun, changes = line.begun, ended.changes
        names = () if undone else (*changes.created, *changes.changed)
        moment = _after(
            line.at.now,
            session=ended.session,
            step=ended.step,
            source=begun.source if begun is not None else "",
            ended=ended,
            undone=undone,
            written={name: changes.descriptions.get(name, "") for name in names},
            deleted=() if undone else changes.deleted,
            calls=tuple(line.calls),
        )
        if not undone and isinstance(begun, form.Run):
            for name, value in begun.namespace.items():
                moment.written.setdefault(name, value.text)
        line.begun = None
        self.steps.append(moment)
        if not undone:
            line.at.go_to(ended.now, moment)

    def _operate(self, line: _Reading, record: form.Operation) -> None:
        at, now = line.at, line.at.now
        where: dict[str, Any] = {"session": record.session, "step": record.now}
        if isinstance(record, form.Set):
            at.go_to(record.now, _after(now, written={record.name: record.value.text}, **where))
        elif isinstance(record, form.Deleted):
            at.go_to(record.now, _after(now, deleted=(record.name,), **where))
        elif isinstance(record, form.Named | form.FromTemplate):
            at.names[record.name] = now
        elif isinstance(record, form.Dropped):
            at.names.pop(record.name, None)
        elif isinstance(record, form.RolledBack):
            known = at.names.get(record.name) if record.name is not None else _undone(now, record.steps)
            at.now = known if known is not None else at.state(record.now)
        elif isinstance(record, form.Branched):
            for number in record.branches:
                self._lines[number] = _Reading(SessionStates(now, at))


def place_of(text: str) -> tuple[int, int]:
    """Return session and number of a step, of ``7`` or ``2.7``. Raises `RecordingError`."""
    session, _, step = text.rpartition(".")
    numbers = (session or "1", step)
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        raise RecordingError(f"{text!r} is no step: N, or SESSION.N")
    return int(numbers[0]), int(numbers[1])


def describe_step(timeline: Timeline, place: str) -> str:
    """Return one moment in full, by the number that the history shows."""
    session, step = place_of(place)
    return timeline.at(step, session).describe()


def describe_changes(timeline: Timeline, name: str) -> str:
    """Return the moments at which a variable changed, a line each."""
    return "\n".join(map(str, timeline.when(name))) or f"no step of it has changed {name}"


def _past(moment: Moment | None) -> Iterator[Moment]:
    """Yield it, and all before it."""
    while moment is not None:
        yield moment
        moment = moment.before


def _after(before: Moment, **fields: Any) -> Moment:
    """Return a moment after another one."""
    last = before if before.ended is not None else before.stepped
    if last is None:
        return Moment(before=before, depth=1, **fields)
    # As long as the two links before it, if these are alike (Myers, "An applicative random-access stack", 1983).
    one = last.far or last
    two = one.far or one
    far = two if last.depth - one.depth == one.depth - two.depth else last
    return Moment(before=before, stepped=last, depth=last.depth + 1, far=far, **fields)


def _undone(now: Moment, steps: int) -> Moment | None:
    """Return the state before the last step, or before so many; None where it is not known."""
    if steps <= 0:
        return now
    last = now if now.ended is not None else now.stepped
    wanted = 0 if last is None else last.depth - steps + 1
    if last is None or wanted < 1:
        return None
    while last.depth > wanted:
        near = last.stepped
        assert near is not None
        last = last.far if last.far is not None and last.far.depth >= wanted else near
    return last.before
