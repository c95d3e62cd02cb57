"""The number for a namespace: the same for what came about in the same way, another one for what differs anywhere."""

from __future__ import annotations

import builtins
import random
from typing import Any

import pytest

from safeexec.engine.child.repeat.digest import MOST, digest

PROGRAM = """
from collections import OrderedDict, deque
from dataclasses import dataclass
class Slotted:
    __slots__ = ("a", "b")
@dataclass
class Point:
    x: int
    more: object = None
def make(n):
    def inner():
        return n
    return inner
def count():
    n = 0
    while True:
        n += 1
        yield n
slotted = Slotted()
slotted.a = 1
around = [1, 2.5, "text", b"bytes", None, {"k": (1, {2, 3}, frozenset("a"))}, deque([1]), OrderedDict(a=1)]
around.append(around)
point, inner, g = Point(1, [Point(2)]), make(5), count()
next(g)
error = ValueError("bad", 3)
bound = point.__eq__
big = 10 ** 20_000
"""
CHANGES = [
    "slotted.b = 2",
    "point.more[0].x = 3",
    "inner = make(6)",
    "next(g)",
    "big *= 10 ** 20",
    "def make(n):\n    return n",
]


def number(*sources: str) -> int:
    space: dict[str, Any] = {"__name__": "__main__"}
    for source in sources:
        exec(compile(source, "<program>", "exec"), space)
    return digest(space, [name for name in space if not name.startswith("__")])


def test_the_same_for_what_came_about_in_the_same_way() -> None:
    before = number(PROGRAM)
    assert number(PROGRAM) == before != 0
    random.random()
    assert number(PROGRAM) != before, "the state of `random` counts"


@pytest.mark.parametrize("change", CHANGES)
def test_another_one_for_what_differs(change: str) -> None:
    assert number(PROGRAM, change) == number(PROGRAM, change) != number(PROGRAM)


@pytest.mark.modules("numpy")
def test_the_items_of_arrays_count() -> None:
    array = "import numpy\nx = [numpy.arange(100.0)[::2].copy()]"
    assert number(array) == number(array) != number(array, "x[0][7] = 1")


@pytest.mark.modules("numpy")
@pytest.mark.parametrize(
    "made",
    [
        "[('Rex', ['a'], 3.5)], [('name', 'U10'), ('tags', object), ('weight', 'f8')]",
        "[[1], {'k': 2}, ['x']], object",
        "[1, 2.5, 3], numpy.longdouble",
    ],
)
def test_addresses_in_arrays_and_bytes_that_nobody_writes_do_not_count(made: str) -> None:
    """Padding keeps what was in memory: long doubles are made again and again where others lay."""
    around = "import numpy\njunk = [bytes([n] * 64) for n in range({})]\ndel junk\n"
    array = f"x = numpy.cumsum(numpy.array({made})) if 'long' in {made!r} else numpy.array({made})"
    assert number(around.format(1) + array) == number(around.format(200) + array)


def test_the_builtins_of_a_dict_of_the_programs_do_not_count() -> None:
    numbers = []
    for more in ({}, {"_": [1]}):
        space: dict[str, Any] = {"__name__": "__main__", "__builtins__": {**vars(builtins), **more}}
        exec("space = {}\nexec('def f(): return 1', space)", space)
        assert space["space"]["__builtins__"] is space["__builtins__"]
        numbers.append(digest(space, ["space"]))
    assert numbers[0] == numbers[1]


def test_no_code_of_the_program_runs_and_the_look_is_bounded() -> None:
    program = """
asked = []
class Curious:
    def _ask(self, *more):
        asked.append(1)
        return 0
    __repr__ = __eq__ = __hash__ = __iter__ = __len__ = __getattr__ = __getattribute__ = __reduce_ex__ = _ask
things = [Curious()]
"""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(program, space)
    digest(space, ["things", "asked", "Curious"])
    assert space["asked"] == []
    many = {"x": [[n] for n in range(10 * MOST)]}
    assert digest(many, ["x"]) == digest({"x": [*many["x"][:-1], [None]]}, ["x"])
