"""Where a rollback and a kill lead, against a model that remembers everything. No process: a copy is an object that
knows which state it was made of.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from safeexec import CheckpointError
from safeexec.engine.host.session.history import CopyDecision, History, State

Truth = tuple[str, ...]
"""What a session remembers: the names of all that was done to it."""


class Copy:
    """A frozen process. It knows what it remembers, and whether it has been ended."""

    def __init__(self, truth: Truth, freezes: bool) -> None:
        self.truth = truth
        self.freezes = freezes
        self.ended = False


class Engine:
    """A session without processes: it does what the real one does with a history, in the same order."""

    def __init__(self, freezes: Callable[[], bool] = lambda: True, differs: Callable[[], bool] = lambda: False) -> None:
        self.history: History[Copy] = History()
        self.differs = differs
        """Whether what is repeated comes out otherwise."""
        self.truth: Truth = ()
        self.freezes = freezes
        self.steps = 0
        self.empty: Truth = ()

    def _release(self, copies: list[Copy]) -> None:
        for copy in copies:
            assert not copy.ended, "ended twice"
            copy.ended = True

    def _settle(self) -> None:
        """The child has made, or failed to make, what it was asked for before this request."""
        for copy in [*self.history.uncertain]:
            if copy.freezes:
                self.history.note_frozen(copy)
            else:
                self.history.forget([copy])

    def step(self, name: str, *, again: bool = False) -> None:
        """A step; one that can be repeated if `again`, and else one whose state is copied."""
        self.steps += 1
        self.history.begin(self.steps)
        self._done(name, again)

    def change(self, name: str) -> None:
        self.history.begin()
        self._done(name, True)

    def load(self, name: str) -> None:
        self.history.begin()
        self._done(name, False)

    def _done(self, name: str, again: bool) -> None:
        self._settle()
        self.truth = (*self.truth, name)
        copy = None if again else Copy(self.truth, self.freezes())
        self._release(self.history.commit(entry=name if again else None, copy=copy))

    def refuse(self) -> None:
        self.steps += 1
        self._release(self.history.pass_over(self.steps))

    def kill(self) -> None:
        """A step that is ended."""
        self.steps += 1
        self.history.begin(self.steps)
        self._settle()
        self.history.undo()
        self._restore()

    def _restore(self) -> None:
        for state, copy, entries in self.history.ways_back():
            if copy is not None and (not copy.freezes or copy.ended):
                self.history.forget([copy])
            elif not entries or not self.differs():
                self._go(state, copy, entries)
                return
            else:  # the last of them comes out otherwise
                older, left_out = self.history.earlier(state, 1)
                if older is not None and entries[:-left_out]:
                    self._go(older, copy, entries[:-left_out])
                    return
        self._release(self.history.arrive(self.history.last_resort()))
        self.truth = self.empty

    def _go(self, state: State, copy: Copy | None, entries: list[str]) -> None:
        assert copy is None or not copy.ended, "resumed from a copy that was ended"
        self.truth = (*(self.empty if copy is None else copy.truth), *entries)
        self._release(self.history.arrive(state, copy))

    def rest(self) -> None:
        """The process is given up, where another one is as good, and the session used again."""
        self._settle()
        if self.history.needs_no_process():
            self._restore()

    def rollback(self, steps: int = 1) -> None:
        state = self.history.before_last(steps)
        copies = self.history.copies_below(state)
        self._settle()
        if copies and not any(copy.freezes for copy in copies):
            for copy in copies:
                self.history.forget([copy])
            raise CheckpointError("gone")
        self._release(self.history.arrive(state))
        self._restore()

    def checkpoint(self, name: str) -> None:
        copy = Copy(self.truth, True)
        self._settle()
        self._release(self.history.keep(name, copy))

    def rollback_to(self, name: str) -> None:
        self._settle()
        state, copy = self.history.find(name)
        assert not copy.ended
        self._release(self.history.arrive(state))
        self._restore()

    def drop(self, name: str) -> None:
        self._release(self.history.drop(name))

    def branch(self) -> Engine:
        self._settle()
        branch = Engine(self.freezes, self.differs)
        self.history.give_branch(branch.history, Copy(self.truth, True))
        branch.truth, branch.steps = self.truth, self.steps
        return branch


class Model:
    """What a user may rely on. It remembers everything: each state, with those before it."""

    def __init__(self, truth: Truth = (), before: tuple[Truth, ...] = ()) -> None:
        self.truth = truth
        self.before = before
        self.names: dict[str, tuple[Truth, tuple[Truth, ...]]] = {}
        self.fresh = 0
        """Steps and rollbacks since the last one that may have left nothing to go back to: at two a rollback works."""


ACTS = (
    *("ok", "again", "error", "atomic", "kill", "set", "checkpoint", "rollback", "back", "named", "drop", "branch"),
    *("restore", "refused", "rest"),
)
"""`ok` is a step that is copied, `again` one that can be repeated; `back` undoes two steps."""
FEW = ("ok", "again", "kill", "set", "checkpoint", "rollback", "back", "named", "drop", "branch", "refused", "rest")
"""Of these the different ones: an error is another ok, atomic another kill, restore another ok without a step."""


FEWEST = ("ok", "again", "kill", "checkpoint", "rollback", "named", "rest")


class Pair:
    """An engine and its model, which every act is done to."""

    def __init__(self, seed: int | None = None) -> None:
        chance = random.Random(seed)
        self.fails = seed is not None
        self.engine = Engine(lambda: chance.random() > 0.2, lambda: chance.random() < 0.1) if self.fails else Engine()
        self.model = Model()
        self.others: list[tuple[Engine, Model]] = []
        self.number = 0

    def act(self, act: str) -> None:
        self.number += 1
        name = f"{act}{self.number}"
        engine, model = self.engine, self.model
        if act in ("ok", "error", "again"):  # an error is a state like any other
            model.before, model.truth = (*model.before, model.truth), (*model.truth, name)
            model.fresh += 1
            engine.step(name, again=act == "again")
        elif act == "refused":  # before it was sent: a step that changes nothing, and has no copy of its own
            model.before = (*model.before, model.truth)
            engine.refuse()
        elif act in ("atomic", "kill"):
            engine.kill()
            self._adopt()
            model.fresh = 0
        elif act == "rest":
            engine.rest()
            if self._adopt():
                model.fresh = 0
        elif act in ("set", "restore"):
            model.truth = (*model.truth, name)
            (engine.change if act == "set" else engine.load)(name)
        elif act == "drop":
            if model.names.pop("p", None) is not None:
                engine.drop("p")
        elif act == "checkpoint":
            engine.checkpoint("p")
            model.names["p"] = model.truth, model.before
        elif act == "named":
            if "p" in model.names:
                engine.rollback_to("p")
                model.truth, model.before = model.names["p"]
                model.fresh = 0
                self._adopt()
        elif act in ("rollback", "back"):
            self._rollback(1 if act == "rollback" else 2)
        elif act == "branch":
            self._branch()
        assert self.engine.truth == self.model.truth, (act, self.engine.truth, self.model.truth)
        for other, its in self.others:
            assert other.truth == its.truth
        self._holds_no_more_than_it_needs()
        self._says_what_can_be_undone()

    def _adopt(self) -> bool:
        """Whether the engine is elsewhere than it should be, which the model takes over. Only where copies fail to be
        made: an older state of this line then, or an older version of one.
        """
        model, truth = self.model, self.engine.truth
        if truth == model.truth:
            return False
        assert self.fails and truth == model.truth[: len(truth)], (truth, model.truth)
        model.before = tuple(before for before in model.before if len(before) < len(truth))
        model.truth = truth
        return True

    def _rollback(self, steps: int) -> None:
        engine, model = self.engine, self.model
        try:
            engine.rollback(steps)
        except CheckpointError as error:
            if not model.before:
                assert "no step" in str(error)
            else:
                assert self.fails or model.fresh < 2 or steps > 1, f"refused: {error}"
            assert engine.truth == model.truth
            return
        assert len(model.before) >= steps, "there was nothing to roll back"
        model.truth, model.before = model.before[-steps], model.before[:-steps]
        model.fresh = 0
        self._adopt()

    def _branch(self) -> None:
        """Go on in a branch; the session that it came from stays as it is."""
        self.others.append((self.engine, self.model))
        branch = Model(self.model.truth, self.model.before)
        self.engine, self.model = self.engine.branch(), branch

    def _holds_no_more_than_it_needs(self) -> None:
        history = self.engine.history
        assert all(not copy.ended for copy in history.copies()), "a copy that was ended is listed"
        if not self.fails:
            # now, before the last step, the one that is being made, and an older version of each
            assert len(history.copies()) <= len(history.named) + 4, self.engine.key()
        states, line = 0, history.current
        while line.kill_to is not None:
            states, line = states + 1, line.kill_to
        assert states <= 2 * len(history.copies()) + 4, "states without a copy pile up"
        if not self.fails:
            assert history.can_be_had(history.current)

    def _says_what_can_be_undone(self) -> None:
        history = self.engine.history
        try:
            before = history.before_last(1)
        except CheckpointError:
            assert not history.undoable
        else:
            assert history.undoable and before is history.current.undo_to
        assert history.lost != history.can_be_had(history.current)


def replay(acts: tuple[str, ...], seed: int | None = None) -> Pair:
    pair = Pair(seed)
    for at, act in enumerate(acts):
        try:
            pair.act(act)
        except AssertionError as error:
            raise AssertionError(f"{' '.join(acts[: at + 1])}: {error}") from None
    return pair


@pytest.mark.parametrize(
    ("acts", "length"),
    [(ACTS, 3), (FEWEST, 4), *(pytest.param(*more, marks=pytest.mark.slow) for more in ((FEW, 4), (FEWEST, 5)))],
    ids=["all, 3", "fewest, 4", "few, 4", "fewest, 5"],
)
def test_every_sequence(acts: tuple[str, ...], length: int) -> None:
    for sequence in product(acts, repeat=length):
        replay(sequence)


def sequences(count: int, length: int, seed: int) -> Iterator[tuple[str, ...]]:
    chance = random.Random(seed)
    weights = [3, 9, 1, 1, 4, 3, 2, 3, 2, 2, 1, 1, 1, 2, 2]
    for _ in range(count):
        yield tuple(chance.choices(ACTS, weights, k=length))


SEQUENCES = int(os.environ.get("SAFEEXEC_TESTS_SEQUENCES", "1000")) // 4
"""Random ones of each kind, by four seeds: 100,000 take some minutes."""


@pytest.mark.parametrize("seed", range(4))
def test_long_random_sequences(seed: int) -> None:
    for acts in sequences(SEQUENCES, 40, seed):
        replay(acts)


@pytest.mark.parametrize("seed", range(4))
def test_long_random_sequences_in_which_one_copy_in_five_cannot_be_made(seed: int) -> None:
    """Then a kill may lead to an older state, and a rollback never does."""
    for number, acts in enumerate(sequences(SEQUENCES, 40, seed)):
        # The model tells the states by what they remember: an older one and a step that changed nothing look alike.
        replay(tuple(act for act in acts if act != "refused"), seed=number)


def test_states_are_copied_once_a_step_came_out_otherwise_or_a_class_that_was_made_was_looked_at() -> None:
    for name, value, source in (("repeats", False, b"x = 1"), ("looked_at", True, b"A = type('A', (), {})")):
        decision = CopyDecision(History[str]())
        assert not decision.must_copy(source)
        setattr(decision, name, value)
        assert decision.must_copy(source)
