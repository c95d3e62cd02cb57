"""Two hundred thousand damaged messages and values: each is read, or is one ProtocolError, in bounded time and memory.

The same must hold of them as of the targets of `tests.fuzz.wire`. `SAFEEXEC_FUZZ_FRAMES` and `SAFEEXEC_FUZZ_SEED` make
longer and different runs.
"""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

from tests.fuzz.mutation import edited
from tests.fuzz.wire import FRAGMENTS, INTERESTING, STATES, decoded, heard, seeds_of_messages, seeds_of_values, streamed

FRAMES = int(os.environ.get("SAFEEXEC_FUZZ_FRAMES", "200000"))
SEED = int(os.environ.get("SAFEEXEC_FUZZ_SEED", "20240229"))


def value(random: Random, seeds: list[bytes]) -> bytes:
    return edited(random, seeds, FRAGMENTS, 6)


def message(random: Random, seeds: list[bytes]) -> Any:
    return random.choice(STATES), [value(random, seeds)], []


def stream(random: Random, seeds: list[bytes]) -> Any:
    """Whole frames, then one that somebody broke, in pieces of any size."""
    broken = bytes([random.choice(INTERESTING)]) * random.randrange(9) + value(random, seeds)
    cuts = [random.choice((1, 3, 4, 50, 1000)) for _ in range(30)]
    return [random.choice(seeds) for _ in range(5)], broken, cuts


@pytest.mark.parametrize(
    ("holds", "made", "seeds", "part"),
    [
        (decoded, value, seeds_of_values, 4),
        (heard, message, seeds_of_messages, 4),
        (streamed, stream, seeds_of_messages, 40),
    ],
)
def test_what_is_damaged_is_read_or_refused(holds: Any, made: Any, seeds: Any, part: int) -> None:
    random, known = Random(SEED), seeds()
    read = sum(holds(made(random, known)) for _ in range(FRAMES // part))
    assert 0 < read < FRAMES // part, "some can be read, and some cannot"
