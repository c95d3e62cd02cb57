"""What the sets of a program can hold, by its text."""

from __future__ import annotations

import pytest

from safeexec.engine.child.step.sets import makes_sets_of_anything


class ByValue:
    def __hash__(self) -> int:
        return 1


class ByAddress:
    pass


NAMESPACE = {"V": ByValue, "A": ByAddress, "items": [], "v": ByValue()}
VALUES = [
    "x = 1",
    "{1, 'a', (2, b'')}",
    "{len(x) for x in items}",
    "{f'{x}' for x in items}",
    "s = set(); t = frozenset()",
    "set('abc'), set(range(9)), set(map(str, items)), set([1, 2]), set(str(x) for x in items)",
    "{V(1), V(2)}",
    "isinstance(items, (set, frozenset))",
]
ANYTHING = [
    "{x for x in items}",
    "{*items}",
    "set(items)",
    "{A()}",
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
