"""What a session must hold, as plain data: no process, no file. Each state is a mapping of names, `file:` for files."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

State = dict[str, Any]
NAMES = ("a", "b", "c")
EMPTY: State = {}
FILES = ("one.txt", "two.txt")


class Model:
    """One session: what it is now, what a rollback leads to, what its checkpoints hold, and all that it ever was."""

    def __init__(self, now: State = EMPTY, past: Sequence[State] = (), ever: Sequence[State] = ()) -> None:
        self.now: State = dict(now)
        self.past: list[State] = list(past)
        """The states before each step, the last one last."""
        self.ever: list[State] = [*ever, {}]
        """What a loss may lead back to, if it is told."""
        self.named: dict[str, tuple[State, list[State]]] = {}
        self.arrived = False
        """Whether states came before the first one of `past`."""

    def step(self, after: State) -> None:
        self.past.append(self.now)
        self.change(after)

    def change(self, after: State) -> None:
        self.ever.append(self.now)
        self.now = after

    def checkpoint(self, name: str) -> None:
        self.named[name] = self.now, list(self.past)

    def go_to(self, name: str) -> None:
        self.ever.append(self.now)
        self.now, past = self.named[name]
        self.past = list(past)

    def go_back(self) -> None:
        self.ever.append(self.now)
        self.now = self.past.pop()

    def branch(self) -> Model:
        branch = Model(self.now, self.past, [*self.ever, self.now])
        branch.arrived = self.arrived
        return branch

    def arrive(self, state: State) -> None:
        """After a loss that was told: an older state, of which nobody knows what came before it."""
        self.now, self.past, self.named, self.arrived = state, [], {}, True

    def may_be_lost_to(self, state: State) -> bool:
        """Variables that were so at one time, and files that were so at one time or are gone: what could not be brought
        back of the files is told by itself.
        """
        were = [*self.ever, *self.past, self.now, *(kept for kept, _ in self.named.values())]
        variables, files = apart(state)
        return any(apart(other)[0] == variables for other in were) and all(
            any(other.get(name) == data for other in were) for name, data in files.items()
        )


def apart(state: State) -> tuple[State, State]:
    """Variables and files of a state."""
    files = {name: value for name, value in state.items() if name.startswith("file:")}
    return {name: value for name, value in state.items() if name not in files}, files


def statement(random: Random, before: State) -> tuple[str, State]:
    """A line of Python, and the state after it."""
    after, name, number = dict(before), random.choice(NAMES), random.randrange(1000)
    kind = random.randrange(6)
    held = before.get(name)
    if kind == 0 and isinstance(held, list):
        after[name] = [*held, number]
        return f"{name}.append({number})", after
    if kind == 1 and isinstance(held, int):
        after[name] = held + number
        return f"{name} += {number}", after
    if kind == 2 and name in before:
        del after[name]
        return f"del {name}", after
    if kind == 3:
        after[name] = [number]
        return f"{name} = [{number}]", after
    if kind == 5:
        file = random.choice(FILES)
        after[f"file:{file}"] = str(number).encode() * 50
        # Unbuffered: where the disk is full this raises. A buffer that is written as the file is collected loses the
        # error with the data, in any Python.
        return f"open({file!r}, 'wb', 0).write(b'{number}' * 50) and None", after
    after[name] = number
    return f"{name} = {number}", after


def statements(random: Random, before: State) -> tuple[str, State]:
    """A few lines, and the state after them."""
    lines = []
    for _ in range(random.randint(1, 3)):
        line, before = statement(random, before)
        lines.append(line)
    return "\n".join(lines), before
