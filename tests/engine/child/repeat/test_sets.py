"""What the sets of a program hold, as the rewritten program shows it while it runs."""

from __future__ import annotations

import ast
import traceback
from collections import defaultdict
from typing import Any

import pytest

from safeexec.engine.child.repeat.objects import is_ordered_by_address
from safeexec.engine.child.repeat.repeatable import Repeatable
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
    def __init__(self, x=1):
        pass
V, items, words, v, a = ByValue, [A(), A()], ["b", "c"], ByValue(), A()
d, e, by_address = {"k": 1}, {"l": 2}, {a: 1}
"""
VALUES = [
    "{1, 'a', (2, b'')}",
    "first, *others = words; [*others] = words; sorted([*words])",
    "{len(x) for x in words}",
    "set('abc'), set(range(9)), set(map(str, items)), set([1, 2]), set(str(x) for x in items)",
    "{1}; type(v).__name__, type(v) is int, v.__class__.__qualname__, type({1}) is set",
    "for k in d.keys():\n    4 - 1",
    "for k, x in sorted({a: 1}.items(), key=len):\n    a in by_address.keys(), [x for x in by_address.items()]",
    "{V(1), V(2)}; {v}; set(map(V, words))",
    "def less(a, b):\n    return a - b\nless(d.keys(), e.keys()), d.items() - e.items()",
    "d.keys() | e.keys(), d.keys() - e, d.keys() ^ e.keys(), d.items() & e.items()",
    "k = d.keys()\nk - e.keys(), k | {1}",
    "type({1})([2]), {1}.__class__([2])",
    "def f(x: set[A], y: set = None) -> set:\n    z: set = {1}\n    return z\nf(1)",
    "print(type(items), str(set)), f'{type(items)} {type(v)!r}'",
    "import collections as c\ndefaultdict(set), c.defaultdict(set)",
    "import dataclasses\ndataclasses.field(default_factory=set)",
    "import fractions, decimal, datetime\n{fractions.Fraction(1, 2), decimal.Decimal(1), datetime.date(2024, 1, 2)}",
]
ANYTHING = [
    "{x for x in items}",
    "{float('nan')}",
    "def f(x):\n    return type(x)",
    "import decimal\n{decimal.Decimal('nan')}",
    "import typing\n{typing.List[A]}",
    "isinstance(set(items), list)",
    "set(map(id, items)), set(map(A, words))",
    "type({1})(items)",
    "{1}.__class__(items)",
    "def less(a, b):\n    return a - b\nless(by_address.keys(), e.keys())",
    "class D(dict):\n    def own(self):\n        return self.keys()\nD({a: 1}).own() - e.keys()",
    "import functools, operator\nfunctools.reduce(operator.or_, [d.keys(), by_address.keys()])",
    "import collections\n(lambda x: x)(collections.OrderedDict({a: 1}).keys())",
    "k = {a: 1}.keys()\n(lambda x: x)(k) | {1}",
    "{'a': {a}}['a'].copy()",
]


def instrumented(source: str, judge: Repeatable | None = None) -> ast.Module:
    """The program as it shows its sets, to this judge."""
    tree = ast.parse(source)
    (judge or Repeatable({}, (), ())).instrument_sets(tree)
    return tree


def shown(source: str) -> bool:
    """Run a program whose sets are shown. Return whether one may have held anything."""
    space: dict[str, Any] = {"__name__": "__main__", "defaultdict": defaultdict}
    exec(SETUP, space)
    judge = Repeatable(space, (), ())
    space[GUARD_SET] = judge.report_set
    exec(compile(instrumented(source, judge), "<program>", "exec"), space)
    return not judge.deterministic or judge.seen.unseen_sets


@pytest.mark.parametrize(
    ("source", "anything"), [*((one, False) for one in VALUES), *((one, True) for one in ANYTHING)]
)
def test_whether_a_set_holds_values_alone(source: str, anything: bool) -> None:
    assert shown(source) is anything


def test_an_error_is_told_at_its_own_place_and_annotations_stay_as_they_are_written() -> None:
    tree = instrumented("x = {\n  1,\n  [2]}")
    with pytest.raises(TypeError, match="unhashable") as told:
        exec(compile(tree, "<program>", "exec"), {GUARD_SET: lambda value: value})
    place = traceback.extract_tb(told.value.__traceback__)[-1]
    assert (place.name, place.lineno) == ("<module>", 1)
    source = "from __future__ import annotations\ndef f(x: int | None) -> {1} | {2}:\n    y: set | int = {x}"
    space: dict[str, Any] = {}
    exec(compile(instrumented(source), "<program>", "exec"), space)
    assert space["f"].__annotations__ == {"x": "int | None", "return": "{1} | {2}"}


HASHES = [
    ("hash(self.x)", True),
    ("hash((self.x, self.y, tuple(self.more)))", True),
    ("hash(self.key)", False),
    ("hash((type(self), self.x))", False),
    ("super().__hash__()", False),
    ("hash(str(self))", False),
    ("hash(self.kind())", False),
    ("object.__hash__(self)", False),
]


@pytest.mark.parametrize(("hashing", "by_value"), HASHES)
def test_a_hash_of_values_and_one_of_addresses(hashing: str, by_value: bool) -> None:
    source = f"""
class P:
    def __init__(self):
        self.x, self.y, self.more, self.of = "x", 1.5, [1, (2, None)], A()
    def __hash__(self):
        return {hashing}
    @property
    def key(self):
        return self.x, self.y
    def kind(self):
        return type(self)
class Q(P):
    pass
"""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP + source, space)
    assert not is_ordered_by_address({"a", 1, (1, space["V"](2))})
    for kind in "P", "Q":
        thing = object.__new__(space[kind])
        thing.__init__()
        assert is_ordered_by_address({thing}) is not by_value


def test_a_look_at_a_set_runs_no_code_of_the_program() -> None:
    source = """
class Loud(set):
    def __iter__(self):
        said.append("iter")
        return iter(())
class Item:
    def __init__(self):
        self.x = 1
    def __getattribute__(self, name):
        said.append(name)
        return object.__getattribute__(self, name)
    def __eq__(self, other):
        said.append("eq")
        return True
    def __hash__(self):
        return 1
said = []
Loud([Item()])
"""
    space: dict[str, Any] = {"__name__": "__main__"}
    judge = Repeatable(space, (), ())
    space[GUARD_SET] = judge.report_set
    tree = instrumented(source, judge)
    tree.body[-1] = ast.parse(f"{GUARD_SET}(Loud([Item()]))").body[0]
    exec(compile(tree, "<program>", "exec"), space)
    assert space["said"] == []


def test_so_many_items_are_looked_at_in_a_step() -> None:
    assert not shown("for x in range(30000):\n    {x, str(x)}")
    assert not shown("for x in range(1000):\n    {(x, 1), (x, 2)}")
    assert shown("for x in range(10000):\n    {(x, 1), (x, 2)}")
