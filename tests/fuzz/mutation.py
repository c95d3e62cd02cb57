"""Texts and bytes that nearly are what they should be: one of a few seeds with some edits.

Each is made of one number: to draw every edit by itself would take hypothesis longer than most targets take to read the
result. What is found is shortened by `tests.fuzz.target`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

Piece = TypeVar("Piece", str, bytes)
T = TypeVar("T")


def drawn(make: Callable[[Random], T]) -> st.SearchStrategy[T]:
    """What `make` makes by chance."""
    return st.integers(0, 1 << 48).map(lambda number: make(Random(number)))


def mutated(seeds: Sequence[Piece], fragments: Sequence[Piece], *, most: int = 5) -> st.SearchStrategy[Piece]:
    """One of `seeds` with up to `most` edits: a fragment put in or over, a piece deleted, repeated, moved, or taken
    from another seed.
    """
    return drawn(lambda random: edited(random, seeds, fragments, most))


def lines_mutated(seeds: Sequence[str], fragments: Sequence[str], *, most: int = 5) -> st.SearchStrategy[str]:
    """The same, of whole lines and of what is in them; a fragment is as deep as the line that it stands before."""
    return drawn(lambda random: _of_lines(random, seeds, fragments, most))


def edited(random: Random, seeds: Sequence[Piece], fragments: Sequence[Piece], most: int) -> Piece:
    """One text, as `mutated` says."""
    data = random.choice(seeds)
    for _ in range(random.randint(0, most)):
        at, length = random.randint(0, len(data)), random.choice((1, 1, 2, 4, 8, 40))
        fragment, rest = random.choice(fragments), data[at:]
        match random.randrange(6):
            case 0:
                data = data[:at] + fragment + rest
            case 1:
                data = data[:at] + fragment + rest[len(fragment) :]
            case 2:
                data = data[:at] + rest[length:]
            case 3:
                data = data[:at] + rest[:length] * random.choice((2, 2, 3, 300)) + rest[length:]
            case 4:
                data = data[:at] + rest[length:]
                to = random.randint(0, len(data))
                data = data[:to] + rest[:length] + data[to:]
            case _:
                foreign = random.choice(seeds)
                start = random.randint(0, len(foreign))
                data = data[:at] + foreign[start : start + 8 * length] + rest[length:]
    return data


def _of_lines(random: Random, seeds: Sequence[str], fragments: Sequence[str], most: int) -> str:
    lines = random.choice(seeds).split("\n")
    for _ in range(random.randint(1, most)):
        at, length = random.randint(0, len(lines)), random.choice((1, 1, 1, 2, 4))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())] if at < len(lines) else ""
        match random.randrange(7):
            case 0:
                lines[at:at] = [indent + line for line in random.choice(fragments).split("\n")]
            case 1:
                del lines[at : at + length]
            case 2:
                lines[at:at] = lines[at : at + length]
            case 3:
                piece = lines[at : at + length]
                del lines[at : at + length]
                to = random.randint(0, len(lines))
                lines[to:to] = piece
            case 4:
                foreign = random.choice(seeds).split("\n")
                start = random.randint(0, len(foreign))
                lines[at:at] = foreign[start : start + length]
            case _:
                lines[at : at + 1] = [edited(random, lines[at : at + 1] or [""], fragments, 2)]
    return "\n".join(lines)
