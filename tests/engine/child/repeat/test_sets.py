"""What the sets of a program hold, as the rewritten program shows it while it runs."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

import pytest

from safeexec.engine.child.repeat.repeatable import Repeatable
from safeexec.engine.child.repeat.sets import only_compares
from safeexec.engine.policy.names import GUARD_SET

SETUP = """
class ByValue:
    def __init__(self, x=1):
        self.x = x
    def __hash__(self):
        return hash(self.x)
    def __eq__(self, other):
        return self.x == other.x
class A:
    pass
V, items, words, v, a = ByValue, [A(), A()], ["b", "c"], ByValue(), A()
view, d, e = {A(): 1}.keys(), {"k": 1}, {"l": 2}
"""
VALUES = [
    "x = 1",
    "{1, 'a', (2, b'')}",
    "{len(x) for x in words}",
    "{x for x in words}",
    "{f'{x}' for x in items}",
    "s = set(); t = frozenset()",
    "set('abc'), set(range(9)), set(map(str, items)), set([1, 2]), set(str(x) for x in items)",
    "isinstance(items, (set, frozenset)), isinstance({1}, set)",
    "{1}; type(v).__name__, type(v) is int, v.__class__.__qualname__, type({1}) is set",
    "for k in d.keys():\n    4 - 1",
    "d.keys() | e.keys(), d.keys() - e, d.keys() ^ e.keys(), d.items() & e.items()",
    "k = d.keys()\nk - e.keys(), k | {1}",
    "type({1})([2]), {1}.__class__([2])",
    "{1}.union(words).symmetric_difference('xy')",
    "def f(x: set[A], y: set = None) -> set:\n    z: set = {1}\n    return z\nf(1)",
    "def f():\n    return {x for x in items}",
    "import fractions, decimal, datetime\n{fractions.Fraction(1, 2), decimal.Decimal(1), datetime.date(2024, 1, 2)}",
]
ANYTHING = [
    "{x for x in items}",
    "{*items}",
    "set(items)",
    "frozenset(items)",
    "{A()}",
    "{V(1), V(2)}",
    "{v}",
    "{(1, (a,))}",
    "{float('nan')}",
    "f = set",
    "list(map(set, [items]))",
    "defaultdict(set)",
    "def f():\n    return {V(1)}\nf()",
    "len = lambda x: A()\n{len(x) for x in items}",
    "isinstance(set(items), list)",
    "isinstance = print\nlist(map(set, [items]))",
    "set(map(id, items)), set(map(V, words))",
    "{x: 1 for x in items}.keys() | set(words)",
    "type({1})(items)",
    "k = type(items)",
    "{1}.__class__(items)",
    "view - {1}.__class__()",
    "view - e.keys()",
    "k = {a: 1}.keys()\nk - {1}",
    "k = {a: 1}.keys()\n(lambda x: x)(k) | {1}",
    "s = {1}\ns |= {a: 1}.keys()",
    "{1}.union(items)",
    "{'a': {a}}['a'].copy()",
]


def shown(source: str) -> bool:
    """Run a program whose sets are shown. Return whether one may have held anything."""
    space: dict[str, Any] = {"__name__": "__main__", "defaultdict": defaultdict}
    exec(SETUP, space)
    judge = Repeatable(space, (), ())
    space[GUARD_SET] = judge.report_set
    tree = ast.parse(source)
    judge.instrument_sets(tree)
    exec(compile(tree, "<program>", "exec"), space)
    return judge.seen.sets_of_anything


@pytest.mark.parametrize("source", VALUES)
def test_values_alone(source: str) -> None:
    assert not shown(source)


@pytest.mark.parametrize("source", ANYTHING)
def test_whatever_else(source: str) -> None:
    assert shown(source)


def test_an_error_is_told_at_its_own_place() -> None:
    tree = ast.parse("x = {\n  1,\n  [2]}")
    Repeatable({}, (), ()).instrument_sets(tree)
    with pytest.raises(TypeError, match="unhashable") as told:
        exec(compile(tree, "<program>", "exec"), {GUARD_SET: lambda value: value})
    assert [(code.co_name, line) for code, line in _places(told.value)][-1] == ("<module>", 1)


def _places(error: BaseException) -> list[tuple[Any, int]]:
    found, at = [], error.__traceback__
    while at is not None:
        found.append((at.tb_frame.f_code, at.tb_lineno))
        at = at.tb_next
    return found


@pytest.mark.parametrize(
    ("source", "only"),
    [
        ("print(id(a) == id(b) != id(c))", True),
        ("x = 1", True),
        ("id(a) < id(b)", False),
        ("id(a.b) == id(a.b)", False),
        ("id([]) == id([])", False),
        ("id(a) == 5", False),
        ("id(a) == id(b), id(a)", False),
        ("f = id", False),
        ("no program (", False),
    ],
)
def test_identities_that_are_only_compared(source: str, only: bool) -> None:
    assert only_compares(source, "id") is only
