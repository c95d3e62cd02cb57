"""What a session can go back to: which states there were, which have a copy, where a rollback and a kill lead, and
what may be dropped.

Pure: no process, no clock, no descriptor. A copy is whatever object the caller keeps for a parked process; this
module compares copies by identity and gives back those that nothing leads to any more. The caller ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from safeexec.errors import CheckpointError

C = TypeVar("C")

FRESH: Final = object()
"""The memory of a new child. It needs no copy: another child has the same."""
NOTHING_TO_UNDO = "no step is part of this state: there is nothing to roll back"
NO_LONGER_KEPT = "the state before the last step is no longer kept: roll back to a named checkpoint"


class State(Struct, eq=False, gc=True):
    """One moment of a session: what its process remembers, and its files.

    `memory` is an identity: two states with one memory differ in their files alone. `before` is the state before the
    step that led here, `older` the next best one to fall back to when no copy of this one is left: an earlier version
    of it, which the host has changed since, or `before`.
    """

    step: int
    memory: object
    files: Any = None
    before: State | None = None
    older: State | None = None
    tool_calls: int = 0
    """Host tool calls made until then."""


GAP: Final = State(-1, object())
"""Stands for a state that has no copy any more."""


class History(Generic[C]):
    """The states of one session's line, and the copies of them."""

    __slots__ = ("_begun", "_certain", "_copies", "base", "current", "named", "next", "root")

    def __init__(self, root: State | None = None) -> None:
        self.root = State(0, FRESH) if root is None else root
        """What the session is when nothing is left to go back to."""
        self.current = self.root
        """The state that the session is in. While a step runs: the one to go back to."""
        self.next: State | None = None
        """The state that the running step, or change, leads to."""
        self.named: dict[str, tuple[State, C]] = {}
        self.base: C | None = None
        """The copy that the process was thawed from. It is kept when its name is dropped."""
        self._begun: State | None = self.root
        """The state that the process began in, as long as it has no name that was given to it later."""
        self._copies: dict[C, State] = {}
        self._certain: set[C] = set()
        """Copies that are known to have parked. Of the others there is only the promise that they will."""

    # A step, or a change by the host

    def begin(self, step: int, copy: C | None = None) -> None:
        """Step `step` begins; `copy` will be made of the state after it."""
        current = self.current
        self.next = State(step, object(), None, current, current)
        if copy is not None:
            self._copies[copy] = self.next

    def begin_change(self, copy: C | None) -> None:
        """The host changes variables: another version of the same state."""
        current = self.current
        self.next = State(current.step, object(), current.files, current.before, current, current.tool_calls)
        if copy is not None:
            self._copies[copy] = self.next

    def promised(self) -> list[C]:
        """The copies that have not been seen to park, but for that of the running step."""
        if not self._copies:
            return []
        certain, coming = self._certain, self.next
        return [copy for copy, state in self._copies.items() if copy not in certain and state is not coming]

    def commit(self, files: Any = None, tool_calls: int = 0) -> list[C]:
        """The step is part of the session. Returns the copies that nothing leads to any more."""
        state = self.next
        assert state is not None
        state.files, state.tool_calls = files, tool_calls
        self.current, self.next = state, None
        if self.named or len(self._copies) not in (0, 3):
            return self._dropped()
        return self._usual(state)

    def _usual(self, state: State) -> list[C]:
        """What `_dropped` does in the usual cases: no copies; or three, of this state and the two before."""
        before, copies = state.before, list(self._copies)
        if before is None:
            return self._dropped()
        if copies:
            first, second, third = copies
            known = second in self._certain and self._copies[second] is before and self._copies[third] is state
            if not known or self._copies[first].memory is before.memory:
                return self._dropped()
            state.older, before.older = before, None
            if before.before is not None and before.before.memory is not FRESH:
                before.before = GAP
            return self._forget([first])
        state.older = None
        if before.memory is not FRESH:
            state.before = GAP
        return []

    def undo(self) -> list[C]:
        """The step is no part of the session. Returns the copies that were to be made of the state after it."""
        state, self.next = self.next, None
        if state is None or state is self.current:
            return []
        return self._forget([copy for copy, of in self._copies.items() if of is state])

    def pass_over(self, step: int) -> list[C]:
        """Step `step` ran nothing: it is part of the session, with the memory and the files of the state before it.
        Returns the copies that nothing leads to any more.
        """
        now = self.current
        if now.before is not None and now.before.memory is now.memory:
            now.before = GAP  # or there would be a state more for each such step
        self.current = State(step, now.memory, now.files, now, now.older, now.tool_calls)
        if now is self._begun:
            self._begun = self.current
        return self._dropped()

    def change_files(self, files: Any) -> None:
        """The host changed files: the same memory with other files. Copies of it serve both; a name keeps what it
        named.

        Without automatic copies a kill leads back to the state that the process began in: that state gets these files,
        too.
        """
        begun = self._begun
        at_begun = self.current is begun
        self.see_files(files)
        if begun is None or at_begun:
            return
        lasting = {self.base, *(copy for _, copy in self.named.values())}
        if any(copy not in lasting and state.memory is not begun.memory for copy, state in self._copies.items()):
            return
        self._begun = _with_files(begun, files)
        if begun.memory is FRESH:
            self.root = self._begun
        state = self.current
        while state.older is not None and state.older is not begun:
            state = state.older
        if state.older is not None:
            state.older = self._begun

    def see_files(self, files: Any) -> None:
        """The state has these files, whoever made them."""
        now = self.current
        self.current = _with_files(now, files)
        if now is self.root:
            self.root = self.current
        if now is self._begun:
            self._begun = self.current

    # Copies

    def note_parked(self, copy: C) -> None:
        """`copy` is there."""
        if copy in self._copies:
            self._certain.add(copy)

    def note_lost(self, copy: C) -> None:
        """`copy` never came to be, has ended, or has to go. A name that it had is still listed until it is dropped."""
        self._forget([copy])

    def replace(self, old: C, new: C) -> list[C]:
        """`new` is another copy of what `old` is of, and takes its place. Returns what nothing leads to any more."""
        self._copies[new] = self._copies[old]
        self._certain.add(new)
        return [*self._forget([old]), *self._dropped()]

    def keep(self, name: str, copy: C) -> list[C]:
        """Name the state as it is now, of which `copy` has parked. Returns what had that name, if nothing else leads
        there.
        """
        before = self.drop(name) if name in self.named else []
        if self.current is self._begun:
            self._begun = None
        self._copies[copy] = self.current
        self._certain.add(copy)
        self.named[name] = self.current, copy
        return before

    def find(self, name: str) -> tuple[State, C]:
        """The state of that name, and its copy. Raises `CheckpointError`."""
        try:
            return self.named[name]
        except (KeyError, TypeError):
            known = ", ".join(self.named) or "none"
            raise CheckpointError(f"no checkpoint {name!r}; named checkpoints of this session: {known}") from None

    def drop(self, name: str) -> list[C]:
        """Give up a name. Returns its copy, if that is to go with it. Raises `CheckpointError`."""
        _, copy = self.find(name)
        del self.named[name]
        if copy is self.base and copy in self._copies:
            return self._dropped()
        return self._forget([copy])

    def expendable(self) -> list[C]:
        """The copies that could go for want of room: automatic ones, the oldest first, none of the present state."""
        kept = {copy for _, copy in self.named.values()}
        memory = self.current.memory
        return [copy for copy, state in self._copies.items() if copy not in kept and state.memory is not memory]

    def copies(self) -> list[C]:
        """Every copy that is held, the oldest first; those with a name whose process has ended among them."""
        # Each step is one call of C code: a thread that sweeps a branch of the session may ask at the same time.
        return list(dict.fromkeys((*self._copies, *[copy for _, copy in list(self.named.values())])))

    def copies_of(self, state: State) -> list[C]:
        """The copies of a state's memory: the surest first, and of these the ones with a name."""
        found = [copy for copy, of in self._copies.items() if of.memory is state.memory]
        if len(found) < 2:
            return found
        names = [copy for _, copy in self.named.values()]
        return sorted(found, key=lambda copy: (copy not in self._certain, copy not in names))

    # Going back

    @property
    def undoable(self) -> bool:
        """Whether the state before the last step can be had."""
        before = self.current.before
        return before is not None and (before.memory is FRESH or bool(self.copies_of(before)))

    def before_last(self) -> State:
        """The state before the last step that is part of the session, never an older one. Raises `CheckpointError`."""
        before = self.current.before
        if before is None:
            raise CheckpointError(NOTHING_TO_UNDO)
        if before.memory is not FRESH and not self.copies_of(before):
            raise CheckpointError(NO_LONGER_KEPT)
        return before

    def ways_back(self) -> Iterator[tuple[State, C]]:
        """Where the session can go on after its process has ended, the newest state first. Then comes `last_resort`."""
        state: State | None = self.current
        while state is not None:
            yield from ((state, copy) for copy in self.copies_of(state))
            state = state.older

    def last_resort(self) -> State:
        """The state of a new child: that of the line, with the files it had, or the one that the session began with."""
        state: State | None = self.current
        while state is not None and state.memory is not FRESH:
            state = state.older
        return self.root if state is None else state

    def arrive(self, state: State, base: C | None = None) -> list[C]:
        """The session is in `state` again, thawed from `base`, or a new child. Returns the copies that nothing leads to
        any more.
        """
        self.current, self.next, self.base, self._begun = state, None, base, state
        return self._dropped()

    def branch(self, copy: C, template: str | None = None) -> History[C]:
        """The history of another session that begins in the state as it is now, with `copy` of it. It has no copies of
        earlier states. If the state is that of a `template`, there are no earlier ones, and it has that name.
        """
        now, branch = self.current, History[C](self.root)
        before = now.before if template is None else None
        if before is not None and before.memory is not FRESH:
            before = GAP
        branch.current = State(now.step, now.memory, now.files, before, None, now.tool_calls)
        branch._copies[copy] = branch._begun = branch.current
        if template is not None:
            branch.named[template] = branch.current, copy
        branch._certain.add(copy)
        branch.base = copy
        return branch

    # What may go

    def _dropped(self) -> list[C]:
        """Forget the copies that nothing leads to, and the states between the others.

        What leads somewhere: the names; the state as it is now and the one before the last step; and, until one of
        these is known to have parked, the older ones down to the newest that is. A copy with a name does not count for
        that, as its name may be dropped; the one that the process was thawed from does.
        """
        current = self.current
        kept = [current.memory] if current.before is None else [current.memory, current.before.memory]
        line, safe, state = [current], self._is_safe(current), current.older
        while state is not None:
            if not safe:
                kept.append(state.memory)
            line.append(state)
            safe = safe or self._is_safe(state)
            state = state.older
        gone = self._forget(self._superfluous(kept))
        line = [state for state in line if state is current or state.memory is FRESH or self.copies_of(state)]
        for state, older in zip(line, [*line[1:], None], strict=True):
            state.older = older
            if state.before is not None and state.before.memory is not FRESH and not self.copies_of(state.before):
                state.before = GAP
        return gone

    def _superfluous(self, kept: list[object]) -> list[C]:
        """The copies without a name that are not of the memories `kept`, or of one that has a sure copy already."""
        names = [copy for _, copy in self.named.values()]
        found: list[C] = []
        have: list[object] = []
        for copy, of in self._copies.items():
            if copy in names:
                continue
            if of.memory not in kept or of.memory in have:
                found.append(copy)
            elif copy in self._certain:
                have.append(of.memory)
        return found

    def _is_safe(self, state: State) -> bool:
        """Whether a copy of it is known to have parked that stays when names are dropped."""
        found = [copy for copy, of in self._copies.items() if of.memory is state.memory and copy in self._certain]
        if not found:
            return False
        names = [copy for _, copy in self.named.values()]
        return any(copy is self.base or copy not in names for copy in found)

    def _forget(self, copies: list[C]) -> list[C]:
        for copy in copies:
            self._copies.pop(copy, None)
            self._certain.discard(copy)
        return copies


def _with_files(state: State, files: Any) -> State:
    """The same state with other files."""
    return State(state.step, state.memory, files, state.before, state.older, state.tool_calls)
