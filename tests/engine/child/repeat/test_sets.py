"""What the sets of a program can hold, by its text."""

from __future__ import annotations

import pytest

from safeexec.engine.child.repeat.sets import makes_sets_of_anything, only_compares


class ByValue:
    def __hash__(self) -> int:
        return 1


class ByAddress:
    pass


NAMESPACE = {"V": ByValue, "A": ByAddress, "items": [], "v": ByValue(), "view": {}.keys()}
VALUES = [
    "x = 1",
    "{1, 'a', (2, b'')}",
    "{len(x) for x in items}",
    "{f'{x}' for x in items}",
    "s = set(); t = frozenset()",
    "set('abc'), set(range(9)), set(map(str, items)), set([1, 2]), set(str(x) for x in items)",
    "isinstance(items, (set, frozenset))",
    "{1}; type(v).__name__, type(v) is int, v.__class__.__qualname__",
    "d = {}\nfor k in d.keys():\n    k - 1",
]
ANYTHING = [
    "{x for x in items}",
    "{*items}",
    "set(items)",
    "{A()}",
    "{V(1), V(2)}",
    "{v}",
    "f = set",
    "map(set, items)",
    "defaultdict(set)",
    "def f():\n    return {V(1)}",
    "len = A\n{len(x) for x in items}",
    "def f(str):\n    return {str(1)}",
    "isinstance = print\nisinstance(set)",
    "set(map(A, items))",
    "{x: 1 for x in items}.keys() | set(items)",
    "{len(x), x}",
    "type(items)(items)",
    "k = type(items)",
    "items.__class__(items)",
    "d.keys() - e",
    "k = d.keys()\nk - 1",
    "k = d.keys()\nf(k) | 1",
    "view - 1",
    "no program (",
]


@pytest.mark.parametrize("source", VALUES)
def test_values_alone(source: str) -> None:
    assert not makes_sets_of_anything(source, NAMESPACE)


@pytest.mark.parametrize("source", ANYTHING)
def test_whatever_else(source: str) -> None:
    assert makes_sets_of_anything(source, NAMESPACE)


def test_a_builtin_that_the_session_has_bound_is_none() -> None:
    assert makes_sets_of_anything("{len(x) for x in items}", {**NAMESPACE, "len": ByAddress})


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
