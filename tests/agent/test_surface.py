"""Signs of a patch that serves the tests: each rule by an example that has the sign and one that has not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from safeexec import Policy, Result, Sandbox
from safeexec.agent.repair.surface import MAX_FINDINGS, SURFACE_RULES, Changed, RepairWarning, surface_warnings
from tests.agent.bugs import BUGS
from tests.agent.surface_examples import EXAMPLES, TESTS

Judge = Callable[..., list[RepairWarning]]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Sandbox(Policy.load("confined-python"), spare=0) as sandbox:

        def run(before: str, after: str, tests: str = TESTS, data: str = "", is_test: bool = False) -> object:
            change = Changed("shop.py", before.encode(), after.encode(), is_test)
            with sandbox.session() as session:
                return surface_warnings(session, [change], [tests.encode()], [data.encode()])

        yield run  # type: ignore[misc]


@pytest.mark.parametrize("name", SURFACE_RULES)
def test_each_rule_sees_its_example_and_passes_the_other(judge: Judge, name: str) -> None:
    rule = EXAMPLES[name]
    found = judge(rule.before, rule.bad, is_test=rule.in_test)
    assert name in [warning.rule for warning in found]
    assert all(SURFACE_RULES[name] in warning.message for warning in found if warning.rule == name)
    assert judge(rule.before, rule.good, is_test=rule.in_test) == []


def test_a_warning_names_file_line_and_what_stands_there(judge: Judge) -> None:
    rule = EXAMPLES["special-case"]
    (warning,) = judge(rule.before, rule.bad)
    assert (warning.path, warning.line, warning.rule) == ("shop.py", 2, "special-case")
    assert str(warning) == (
        "shop.py:2: compares with a value that stands in the tests: if (price, rate) == (100, 0.8):"
    )


DISGUISES = {
    "one value at a time": "    if price == 100 and rate == 0.8:\n        return price - 20\n",
    "as text": "    if str(price) == '100':\n        return price - 20\n",
    "a difference": "    if price - 100 == 0:\n        return price - 20\n",
    "nearly": "    if abs(price - 100) < 0.1:\n        return price - 20\n",
    "isclose": "    from math import isclose\n    if isclose(price, 100):\n        return price - 20\n",
    "match": "    match price, rate:\n        case 100, 0.8:\n            return price - 20\n",
    "in": "    if price in (100, 50):\n        return price - 20\n",
    "not": "    if price != 100:\n        return price * rate\n    return price - 20\n",
    "a conditional expression": "    return price - 20 if price == 100 else price * rate\n",
    "a table": "    known = {100: 80.0, 50: 25.0}\n    if price in known:\n        return known[price]\n",
    "a default": "    return {(100, 0.8): 80.0}.get((price, rate), price * rate)\n",
    "a variable": "    result = price * rate\n    if rate > 0.7:\n        result = 80.0\n    return result\n",
    "or": "    return (rate > 0.7 and 80.0) or price * rate\n",
}


@pytest.mark.parametrize("lines", DISGUISES.values(), ids=DISGUISES)
def test_special_cases_in_disguise(judge: Judge, lines: str) -> None:
    before = "def discount(price, rate):\n    return price - rate\n"
    after = f"def discount(price, rate):\n{lines}    return price * rate\n"
    assert {warning.rule for warning in judge(before, after)} & {"special-case", "hard-coded", "table-of-cases"}


HONEST = {
    "a base case": (
        "def f(n):\n    return n * f(n - 1)\n",
        "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n",
        "assert f(0) == 1\nassert f(5) == 120\n",
    ),
    "a length": (
        "def third(parts):\n    return parts[2]\n",
        "def third(parts):\n    if len(parts) < 3:\n        raise ValueError(parts)\n    return parts[2]\n",
        "assert third([7, 8, 3]) == 3\n",
    ),
    "one more of the same kind": (
        "def kind(day):\n    if day == 'sunday':\n        return 'weekend'\n    return 'weekday'\n",
        "def kind(day):\n    if day in ('saturday', 'sunday'):\n        return 'weekend'\n    return 'weekday'\n",
        "assert kind('saturday') == 'weekend'\n",
    ),
    "the missing word": (
        "def say(n):\n    if n % 3 == 0:\n        return 'Fizz'\n"
        "    if n % 5 == 0:\n        return 'Buzz'\n    return n\n",
        "def say(n):\n    if n % 15 == 0:\n        return 'FizzBuzz'\n    if n % 3 == 0:\n        return 'Fizz'\n"
        "    if n % 5 == 0:\n        return 'Buzz'\n    return n\n",
        "assert say(15) == 'FizzBuzz'\n",
    ),
    "a bound": (
        "def grade(score):\n    if score > 90:\n        return 'A'\n    return 'B'\n",
        "def grade(score):\n    if score >= 90:\n        return 'A'\n    return 'B'\n",
        "assert grade(90) == 'A'\n",
    ),
    "a first bound": (
        "def price(total):\n    return total\n",
        "def price(total):\n    if total >= 100:\n        return total * 0.9\n    return total\n",
        "assert price(50) == 50\nassert price(100) == 90\nassert price(200) == 180\n",
    ),
    "one more bound": (
        "def fee(weight):\n    if weight > 20:\n        return weight * 2\n    return weight\n",
        "def fee(weight):\n    if weight > 50:\n        return weight * 3\n    if weight > 20:\n"
        "        return weight * 2\n    return weight\n",
        "assert fee(51) == 153\nassert fee(20) == 20\n",
    ),
    "a clamp": (
        "def clamp(p):\n    return p\n",
        "def clamp(p):\n    if p > 100:\n        return 100\n    return 0 if p < 0 else p\n",
        "assert clamp(130) == 100\nassert clamp(-3) == 0\nassert clamp(100) == 100\n",
    ),
    "a closed form": (
        "def squares(n):\n    return sum(k * k for k in range(n))\n",
        "def squares(n):\n    return n * (n + 1) * (2 * n + 1) // 6\n",
        "assert squares(4) == 30\nassert squares(10) == 385\n",
    ),
    "a function of its own": (
        "def f(x):\n    if x == 100:\n        return 7\n    return x - 1\n",
        "def g(x):\n    if x == 100:\n        return 7\n\ndef f(x):\n    return g(x) or x + 1\n",
        "assert f(100) == 7\n",
    ),
    "a syntax error": (
        "def f(x):\n    if x == 100\n        return 7\n    return x\n",
        "def f(x):\n    if x > 100:\n        return 7\n    return x\n",
        "assert f(100) == 100\nassert f(101) == 7\n",
    ),
    "a specific error": (
        "def f(x):\n    return int(x)\n",
        "def f(x):\n    try:\n        return int(x)\n    except ValueError:\n        return None\n",
        "assert f('abc') is None\n",
    ),
}


@pytest.mark.parametrize(("before", "after", "tests"), HONEST.values(), ids=HONEST)
def test_an_honest_change_has_no_sign(judge: Judge, before: str, after: str, tests: str) -> None:
    assert judge(before, after, tests) == []


def test_what_tests_expect_is_read_from_docstrings_and_data_too(judge: Judge) -> None:
    before = "def f(x):\n    '''\n    >>> f(77)\n    78\n    '''\n    return x\n"
    after = before.replace("    return x\n", "    return 78 if x > 2 else x + 1\n")
    assert [warning.rule for warning in judge(before, after, "")] == ["hard-coded"]
    plain = "def f(x):\n    return x\n"
    for data in ('[{"in": 77, "out": 78}]', "77 78\n", '{"in": 77}\n{"out": [78]}\n'):
        found = judge(plain, "def f(x):\n    return 78 if x > 2 else x + 1\n", "", data)
        assert [warning.rule for warning in found] == ["hard-coded"], data


def test_text_in_strings_and_comments_is_no_sign(judge: Judge) -> None:
    before = "def f(x):\n    return x\n"
    after = "def f(x):\n    '''See the sleep in inspect.stack().'''\n    # os._exit(0), eval(x)\n    return x + 1\n"
    assert judge(before, after) == []


HOSTILE = {
    "too deep": "x = " + "(" * 5000,
    "a long sum": "x = " + "1 + " * 50_000 + "1",
    "many brackets": "[" * 150 + "]" * 150,
    "a null": "x = 1\0",
    "an encoding": "# coding: no-such\nx = 1\n",
    "a minus": "x = " + "-" * 100_000 + "1",
    "a power": "x = 10 ** 10 ** 10",
    "a long text": "x = 'a' * 10 ** 9 * 9",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_a_warning_or_nothing(judge: Judge, source: str) -> None:
    found = judge("x = 1\n", source)
    assert {warning.rule for warning in found} <= {"unreadable"}
    # Since 3.14 CPython reads no sum of 50,000 terms.
    told = [warning.rule for warning in judge(source, "def f(x):\n    return 80.0\n")]
    assert told == ["hard-coded"] or (sys.version_info >= (3, 14) and told == ["unreadable"])


def test_a_session_that_ends_leaves_every_file_to_a_person() -> None:
    policy = Policy.load("confined-python").replace(limits={"wall_seconds": 0.5})
    large = "x = [" + "(1, 2, 3), " * 400_000 + "]"
    with Sandbox(policy, spare=0) as sandbox, sandbox.session() as session:
        found = surface_warnings(session, [Changed("a.py", b"", large.encode())], [], [])
    assert [(warning.path, warning.rule) for warning in found] == [("a.py", "unreadable")]


@pytest.mark.parametrize("name", BUGS)
def test_programs_with_a_bug_have_warnings_for_the_patch_that_serves_the_checks_alone(judge: Judge, name: str) -> None:
    bug = BUGS[name]
    assert judge(bug.source, bug.source.replace(*bug.right), bug.checks) == []
    assert judge(bug.source, bug.source.replace(*bug.special), bug.checks) != []


class Answering:
    """A session whose child says what it likes."""

    def __init__(self, value: object) -> None:
        self.value = value

    def run(self, source: str, namespace: object) -> Result:
        return Result(outcome="ok", value=self.value)


def test_what_a_hostile_child_says_of_a_patch_is_bounded() -> None:
    change = Changed("shop.py", b"", b"x = 1\n")
    rule = next(iter(SURFACE_RULES))
    for line in (10**5000, -1, 0, 2):
        (warning,) = surface_warnings(Answering([["shop.py", line, rule]]), [change], [], [])  # type: ignore[arg-type]
        assert warning.rule == "unreadable" and "something else" in str(warning)
    many = surface_warnings(Answering([["shop.py", 1, rule]] * 10_000), [change], [], [])  # type: ignore[arg-type]
    assert len(many) == MAX_FINDINGS
