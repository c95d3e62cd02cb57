"""The states that a session can go back to: which there were, which have a copy, which are a copy and the steps since,
where a rollback and a kill lead, and which copies nothing needs (`History`); whether the next state is to be copied
(`CopyDecision`).

Pure: no process, no clock, no descriptor. A copy is whatever object the caller keeps for a frozen process, an entry of
the journal whatever it needs to do a step once more; this module compares copies by identity.

Three words for three ends: a name is *dropped*. A copy is *forgotten* here once nothing leads to it. Whoever holds it
then *releases* it, which ends its process: what forgets copies returns them for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from safeexec.errors import CheckpointError

C = TypeVar("C")


class Memory(Struct, eq=False, gc=True):
    """The memory of the process of a session at one moment. An identity: two states with one memory differ in their
    files alone.
    """

    origin: Memory | None = None
    """The memory from which it is had by doing `entry` once more; None: only a copy leads here."""
    entry: Any = None
    depth: int = 0
    """Entries since the last memory that only a copy leads to."""
    size: int = 0
    """Bytes of these, as the caller counts them."""
    state_number: int = 0
    """The number by which a store knows it; 0: not at all, or that of a new child."""
    digest: int = 0
    """A number for all that its variables hold, from a process that rested; 0: not known."""


FRESH: Final = Memory()
"""The memory of a new child. It needs no copy: another child has the same."""
NOTHING_TO_UNDO = "no step is part of this state: there is nothing to roll back"

MOST_BYTES = 128 << 10
"""Bytes of sources and of values that the host has set in a journal, after which the next step or change is copied."""


class State(Struct, eq=False, gc=True):
    """One moment of a session: what its process remembers, and its files.

    An example. Step 1 is in the journal, as its entry e1. Step 2 could not be repeated, so it has a copy, which was
    given a name. Then the host set `x`, which makes another version of the same state, and step 3 ran:

        named                          "fitted"
        copies                         A
        memories   FRESH ──e1──▶ M1    M2 ───x = 1──▶ M2' ──e3──▶ M3    an arrow is an entry; only A leads to M2
        states     S0            S1    S2             S2'         S3    `current` is S3
        undo_to    S0 ◀───────── S1 ◀──┴───────────── S2' ◀────── S3    where one rollback leads
        kill_to    S0 ◀─────────────── S2 ◀────────────────────── S3    where a kill leads if nothing leads here

    A kill in step 4 leads to S3: A is resumed, `x` is set, step 3 is done once more. If that comes out otherwise it
    leads to S2, and if A has died to S0, in a new child.

    The two ways are two fields, as each leaves out what the other needs. `undo_to` is the state before the step that
    led here, whatever it is made of, so it goes over every step; it is `UNREACHABLE` where that cannot be had, which a
    rollback must report. `kill_to` is the next state that has a copy of its own, or a new child's, be it an earlier
    version of this one, and leaves out what is lost.
    """

    step: int
    memory: Memory
    files: Any = None
    undo_to: State | None = None
    kill_to: State | None = None
    tool_calls: int = 0
    """Host tool calls made until then."""


UNREACHABLE: Final = State(-1, Memory())
"""Stands for a state that nothing leads to any more."""


class History(Generic[C]):
    """The states of one session, and the copies of them."""

    __slots__ = (
        "_copies",
        "_process_began_in",
        "current",
        "lost",
        "named",
        "next",
        "resumed_from",
        "root",
        "uncertain",
    )

    def __init__(self, root: State | None = None) -> None:
        self.root = State(0, FRESH) if root is None else root
        """The state of the session when nothing is left to go back to."""
        self.current = self.root
        """The state that the session is in. While a step runs: the one to go back to."""
        self.next: State | None = None
        """The state that the running step, or change, leads to."""
        self.named: dict[str, tuple[State, C]] = {}
        self.resumed_from: C | None = None
        """The copy that the process was resumed from; None: it is a new child. It is kept when its name is dropped."""
        self._process_began_in: State | None = self.root
        """The state that the process began in, as long as it has no name that was given to it later."""
        self._copies: dict[C, State] = {}
        self.uncertain: list[C] = []
        """Copies of which there is only the promise: they have not been seen to freeze."""
        self.lost = False
        """True if nothing leads to the state as it is, as far as is known."""

    # A step, or a change by the host

    def begin(self, step: int | None = None) -> None:
        """Begin step `step`; without a number, a change of variables by the host: another version of the same state."""
        now, memory = self.current, self.current.memory
        kill_to = now if memory is FRESH else now.kill_to
        for copied in self._copies.values():
            if copied.memory is memory:
                kill_to = now  # what is begun may be repeated from here, and come out otherwise
        if step is None:
            self.next = State(now.step, Memory(), now.files, now.undo_to, kill_to, now.tool_calls)
        else:
            self.next = State(step, Memory(), None, now, kill_to)

    def commit(
        self, files: Any = None, tool_calls: int = 0, *, entry: Any = None, size: int = 0, copy: C | None = None
    ) -> list[C]:
        """Make the state that was begun the session's. With `entry` it can be repeated exactly; `copy` will be made of
        it; with neither, no kill and no rollback leads back there. Returns the copies that nothing needs any more.
        """
        state = self.next
        assert state is not None
        state.files, state.tool_calls = files, tool_calls
        before, self.current, self.next = self.current, state, None
        if copy is None and entry is None and not self._copies and before.memory.entry is None:
            state.kill_to, self.lost = None, True  # the fast path: no copies, no journal
            if before.memory is not FRESH:
                state.undo_to = UNREACHABLE
            return []
        if copy is not None:
            self._copies[copy] = state
            self.uncertain.append(copy)
        if entry is None:
            state.kill_to, self.lost = before, copy is None
        else:
            if self.lost and state.undo_to is before:
                state.undo_to = UNREACHABLE
            memory = state.memory
            memory.origin, memory.entry = before.memory, entry
            memory.depth, memory.size = before.memory.depth + 1, before.memory.size + size
            if len(self._copies) <= 1 + len(self.named) and not self.uncertain:
                return []  # the usual case: one copy without a name, and all that leads from there to here
        return self._prune()

    def undo(self) -> None:
        """Undo what was begun: it is no part of the session."""
        self.next = None

    def pass_over(self, step: int) -> list[C]:
        """Take in step `step`, which ran nothing, with the memory and the files of the state before it.
        Returns the copies that nothing leads to any more.
        """
        now = self.current
        if now.undo_to is not None and now.undo_to.memory is now.memory:
            now.undo_to = UNREACHABLE  # or there would be a state more for each such step
        self.current = State(step, now.memory, now.files, now, now.kill_to, now.tool_calls)
        if now is self._process_began_in:
            self._process_began_in = self.current
        return self._prune()

    def change_files(self, files: Any) -> None:
        """Take in files that the host changed: the same memory with other files. Copies of it serve both; a name keeps
        what it named.

        Without automatic copies a kill leads back to the state that the process began in: that state gets these files,
        too.
        """
        began_in = self._process_began_in
        is_there = self.current is began_in
        self.see_files(files)
        if began_in is None or is_there or self.current.memory.entry is not None:
            return  # a journal leads back to this state, which has the files
        held = {self.resumed_from, *self.named_copies()}
        if any(copy not in held and state.memory is not began_in.memory for copy, state in self._copies.items()):
            return  # there are automatic copies: a kill leads to one of them
        self._process_began_in = _with_files(began_in, files)
        if began_in.memory is FRESH:
            self.root = self._process_began_in
        state = self.current
        while state.kill_to is not None and state.kill_to is not began_in:
            state = state.kill_to
        if state.kill_to is not None:
            state.kill_to = self._process_began_in

    def see_files(self, files: Any) -> None:
        """Give the state these files, whoever made them."""
        now = self.current
        self.current = _with_files(now, files)
        if now is self.root:
            self.root = self.current
        if now is self._process_began_in:
            self._process_began_in = self.current

    # Copies

    def note_frozen(self, copy: C) -> None:
        """Count a copy as certain: it is there."""
        if copy in self.uncertain:
            self.uncertain.remove(copy)

    def replace(self, old: C, new: C) -> list[C]:
        """Put `new` in the place of `old`: both are copies of one state. Returns what nothing leads to any more."""
        self._copies[new] = self._copies[old]
        return [*self.forget([old]), *self._prune()]

    def keep(self, name: str, copy: C) -> list[C]:
        """Name the state as it is now, of which `copy` is frozen. Returns what had it, if nothing else leads there."""
        before = self.drop(name) if name in self.named else []
        if self.current is self._process_began_in:
            self._process_began_in = None
        self._copies[copy] = self.current
        self.named[name] = self.current, copy
        self.lost = False
        return before

    def find(self, name: str) -> tuple[State, C]:
        """Return the state of that name, and its copy. Raises `CheckpointError`."""
        try:
            return self.named[name]
        except (KeyError, TypeError):
            known = ", ".join(self.named) or "none"
            raise CheckpointError(f"no checkpoint {name!r}; named checkpoints of this session: {known}") from None

    def drop(self, name: str) -> list[C]:
        """Drop a name. Returns the copies that are forgotten with it. Raises `CheckpointError`."""
        _, copy = self.find(name)
        del self.named[name]
        gone = [] if copy is self.resumed_from and copy in self._copies else self.forget([copy])
        return [*gone, *self._prune()]

    def expendable(self) -> list[C]:
        """Return the copies that could go for want of room: automatic ones, the oldest first, none that the present
        state is made of.
        """
        kept, memory = self.named_copies(), self.current.memory
        needed = self._nearest_copied(memory), self._nearest_copied(memory, self._memories(without_names=True))
        return [copy for copy, state in self._copies.items() if copy not in kept and state.memory not in needed]

    def copies(self) -> list[C]:
        """Return every copy that is held, the oldest first; those with a name whose process has ended among them."""
        # Each step is one call of C code: a thread that sweeps a branch of the session may ask at the same time.
        return list(dict.fromkeys((*self._copies, *self.named_copies())))

    def copies_below(self, state: State) -> list[C]:
        """Return the copies from which the state can be had, if need be by repeating the steps since."""
        nearest = self._nearest_copied(state.memory)
        return [] if nearest is None else self.copies_of(nearest)

    def copies_of(self, memory: Memory) -> list[C]:
        """Return the copies of a memory: the surest first, and of these the ones with a name."""
        found = [copy for copy, of in self._copies.items() if of.memory is memory]
        if len(found) < 2:
            return found
        names = self.named_copies()
        return sorted(found, key=lambda copy: (copy in self.uncertain, copy not in names))

    def named_copies(self) -> list[C]:
        """Return the copies that have a name."""
        return [copy for _, copy in list(self.named.values())]

    def _kept_without_names(self) -> list[C]:
        """Return the copies that stay when all names are dropped: those without one, and that of `resumed_from`."""
        names = self.named_copies()
        return [copy for copy in self._copies if copy is self.resumed_from or copy not in names]

    def _memories(self, *, without_names: bool = False) -> set[int]:
        """Return the identities of the memories that have a copy, or would have one `without_names`."""
        copies = self._kept_without_names() if without_names else self._copies
        return {id(self._copies[copy].memory) for copy in copies}

    # Going back

    def _nearest_copied(self, memory: Memory | None, have: set[int] | None = None) -> Memory | None:
        """Return what the memory is made of by entries of the journal: the nearest one that has a copy, or that of a
        new child. Itself, if it has a copy; None if nothing leads there. `have`: those that have one, where known.
        """
        have = self._memories() if have is None else have
        while memory is not None and id(memory) not in have and memory is not FRESH:
            memory = memory.origin
        return memory

    def needs_no_process(self) -> bool:
        """Return whether what the process began as leads to the state as it is, by repeated steps: a new child, or
        the copy that it was resumed from. Then another one is as good.
        """
        nearest = self._nearest_copied(self.current.memory)
        if self.resumed_from is None:
            return nearest is FRESH
        began = self._copies.get(self.resumed_from)
        return began is not None and nearest is began.memory

    def can_be_had(self, state: State) -> bool:
        """Return whether anything leads to this state."""
        return self._nearest_copied(state.memory) is not None

    @property
    def undoable(self) -> bool:
        """True if the state before the last step can be had."""
        before = self.current.undo_to
        if before is None or before is UNREACHABLE:
            return False
        return self.current.memory.entry is not None or self.can_be_had(before)

    def before_last(self, steps: int) -> State:
        """Return the state before so many steps of the session, never an older one. Raises `CheckpointError`."""
        state = self.current
        for found in range(steps):
            if state is UNREACHABLE:
                raise not_kept(steps)
            if state.undo_to is None:
                fewer = f"{found} {'step is' if found == 1 else 'steps are'} part of this state, and not {steps}"
                raise CheckpointError(fewer if found else NOTHING_TO_UNDO)
            state = state.undo_to
        if not self.can_be_had(state):
            raise not_kept(steps)
        return state

    def ways_back(self) -> Iterator[tuple[State, C | None, list[Any]]]:
        """Yield where the session can go on after its process has ended, the newest state first: from which copy (None:
        a new child), and by which entries of the journal, to be done in their order. Then comes `last_resort`.
        """
        state: State | None = self.current
        while state is not None:
            memory: Memory | None = state.memory
            entries: list[Any] = []
            while memory is not None:
                for copy in self.copies_of(memory):
                    yield state, copy, entries[::-1]
                if memory is FRESH and entries:
                    yield state, None, entries[::-1]
                entries.append(memory.entry)
                memory = memory.origin
            state = state.kill_to

    def earlier(self, state: State, entries: int) -> tuple[State | None, int]:
        """Return the newest state before a step that `state` is made of, by leaving out so many `entries` at the end of
        its journal or more, and how many that are; None where there is none.
        """
        left_out: dict[int, int] = {}
        memory: Memory | None = state.memory
        while memory is not None:
            left_out[id(memory)] = len(left_out)
            memory = memory.origin
        before = state.undo_to
        while before is not None and before is not UNREACHABLE:
            if (count := left_out.get(id(before.memory), 0)) >= entries:
                return before, count
            before = before.undo_to
        return None, 0

    def last_resort(self) -> State:
        """Return the state of a new child: that of the session, with the files it had, or the one that the session
        began with.
        """
        state: State | None = self.current
        while state is not None and state.memory is not FRESH:
            state = state.kill_to
        return self.root if state is None else state

    def arrive(self, state: State, resumed_from: C | None = None) -> list[C]:
        """Make `state` the current one again, resumed from that copy, or in a new child. Returns the copies that
        nothing leads to any more.
        """
        self.current, self.next, self.resumed_from, self._process_began_in = state, None, resumed_from, state
        self.lost = False
        if resumed_from is not None and (of := self._copies.get(resumed_from)) is not None and of.memory is not FRESH:
            # What is done from here on is repeated from this copy, and never from an older one.
            of.memory.origin = of.memory.entry = None
            of.memory.depth = of.memory.size = 0
        return self._prune()

    def give_branch(self, branch: History[C], copy: C, template: str | None = None) -> None:
        """Have `branch`, the history of a new session, begin in the state as it is now, with `copy` of it. It has no
        copies of earlier states. If the state is that of a `template`, there are no earlier ones, and it has that name.
        """
        now, branch.root = self.current, self.root
        before = now.undo_to if template is None else None
        if before is not None and before.memory is not FRESH:
            before = UNREACHABLE
        memory = now.memory if now.memory is FRESH else Memory()
        branch.current = State(now.step, memory, now.files, before, None, now.tool_calls)
        branch._copies[copy] = branch._process_began_in = branch.current
        if template is not None:
            branch.named[template] = branch.current, copy
        branch.resumed_from = copy

    def clear(self) -> list[C]:
        """Forget every state. Returns all copies."""
        copies = self.copies()
        self.__init__()  # type: ignore[misc]
        return copies

    # What may go

    def _prune(self) -> list[C]:
        """Forget the copies that nothing leads to, and the states between the others.

        What is kept: 1. copies with a name; 2. what leads to the state as it is now; 3. what leads to the one before
        the last step; 4. as long as none of these rests on a copy that is known to be frozen, older ones down to the
        first that does. For 4 a copy with a name does not count, as its name may be dropped; the one that the process
        was resumed from does.
        """
        staying, state = self._memories(without_names=True), self.current.kill_to
        kept = [self._nearest_copied(self.current.memory, staying)]
        safe = self._is_safe(kept[0])
        if self.current.undo_to is not None:
            kept.append(self._nearest_copied(self.current.undo_to.memory, staying))
        line, needed = [self.current], 1
        while state is not None:
            if not safe:
                needed += 1
                kept.append(self._nearest_copied(state.memory, staying))
                safe = self._is_safe(kept[-1])
            line.append(state)
            state = state.kill_to
        gone = self.forget(self._superfluous(kept))
        met: list[Memory | None] = [None]
        have = self._memories()
        for place, state in enumerate([*line]):
            nearest = self._nearest_copied(state.memory, have)
            # Of those that are made of one copy by entries of the journal, the newest will do.
            if place and nearest is not state.memory and (place >= needed or nearest in met):
                line.remove(state)
            met.append(nearest)
        for state, kill_to in zip(line, [*line[1:], None], strict=True):
            state.kill_to = kill_to
            self._end_undo(state, have)
        return gone

    def _end_undo(self, state: State, have: set[int]) -> None:
        """Mark the newest state before this one that nothing leads to: no rollback goes further."""
        leads = self._nearest_copied(state.memory, have) is not None
        while (before := state.undo_to) is not None and before is not UNREACHABLE:
            memory = state.memory
            if not leads or id(memory) in have or before.memory not in (memory, memory.origin):
                leads = self._nearest_copied(before.memory, have) is not None
            if not leads:
                state.undo_to = UNREACHABLE
                return
            state = before

    def _superfluous(self, kept: list[Memory | None]) -> list[C]:
        """Return the copies without a name that are of none of `kept`, or of one that has a sure copy already."""
        names = self.named_copies()
        found: list[C] = []
        have: list[Memory] = []
        for copy, of in self._copies.items():
            if copy in names:
                continue
            if of.memory not in kept or of.memory in have:
                found.append(copy)
            elif copy not in self.uncertain:
                have.append(of.memory)
        return found

    def _is_safe(self, memory: Memory | None) -> bool:
        """Return whether a copy of it is known to be frozen that stays when names are dropped, or it needs none."""
        certain = (copy for copy in self._kept_without_names() if copy not in self.uncertain)
        return memory is FRESH or any(self._copies[copy].memory is memory for copy in certain)

    def forget(self, copies: list[C]) -> list[C]:
        """Forget copies that never came to be, have ended, or are not needed; returns them. Names that they had are
        still listed until they are dropped.
        """
        for copy in copies:
            self._copies.pop(copy, None)
            if copy in self.uncertain:
                self.uncertain.remove(copy)
        if copies:
            self.lost = not self.can_be_had(self.current)
        return copies


class CopyDecision:
    """Decides whether the next state of one session is copied, or kept as an entry of the journal."""

    repeats = True
    """True while steps are repeated instead of copied: until one has come out otherwise."""

    def __init__(self, history: History[Any]) -> None:
        self._history = history
        self.looked_at = False
        """True if the process showed a value by the program's own code, which may have changed the state."""
        self.resumed = False
        """True if the process was resumed from a copy, which may hold classes of the steps before it."""
        self._defines = False
        """True if a step may have made a class."""

    def may_have_changed(self) -> bool:
        """Return whether a look at a variable may have run code of the program's classes, which no step repeats."""
        return self.looked_at and (self._defines or self.resumed)

    def must_copy(self, source: bytes = b"") -> bool:
        """Note whether a step of this source may make a class. Returns whether the state after it is to have a copy."""
        # A class that is made otherwise, by `t = type; t(...)` say, the child finds when it looks at what the step did.
        self._defines = self._defines or b"class" in source or b"type(" in source
        if self.looked_at and self.may_have_changed():  # tested first: a call less in each step
            return True
        return not self.repeats or self._history.current.memory.size > MOST_BYTES


def not_kept(steps: int) -> CheckpointError:
    """Return the error where nothing leads to the state before so many steps any more."""
    if steps == 1:
        return CheckpointError("the state before the last step is no longer kept: roll back to a named checkpoint")
    return CheckpointError(
        f"the state before the last {steps} steps is no longer kept: roll back by fewer, or to a named checkpoint"
    )


def _with_files(state: State, files: Any) -> State:
    """Return the same state with other files."""
    return State(state.step, state.memory, files, state.undo_to, state.kill_to, state.tool_calls)
