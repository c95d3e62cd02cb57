"""Expressions made to hang, to flood or to reach out: each one ends, refused, within small limits of CPU and memory.

The kernel is the oracle: every expression runs in a forked child with 3 s of CPU and 512 MB of new memory. A cost that
no guard has bounded kills the child and fails the test; it does not hang it.
"""

from __future__ import annotations

import os
import resource
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec.errors import ExpressionError
from safeexec.inline import compile_expression, evaluate

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # pytest-timeout has a thread

CPU_SECONDS = 3
NEW_MEMORY = 512 << 20

P = 2**61 - 1

COST = {
    "power": "9 ** 9 ** 9",
    "power, float base is fine and then int": "int(2.0 ** 1000) ** 9999",
    "shift": "1 << 10 ** 10",
    "product of products": "(big ** 300) * (big ** 300) * (big ** 300) * (big ** 300) * (big ** 300)",
    "repeated text": "'a' * 10 ** 9",
    "nested lists compared": "[[[0] * 1000] * 1000] * 1000 == [[[0] * 1000] * 1000] * 1000",
    "nested tuples hashed": "{(((0,) * 1000,) * 1000,) * 1000}",
    "nested tuples looked up": "(((0,) * 1000,) * 1000,) * 1000 in {1: 2}",
    "nested lists printed": "str([[[0] * 1000] * 1000] * 1000)",
    "nested lists searched": "[0] in [[[0] * 1000] * 1000] * 1000",
    "nested lists sorted": "sorted([[[[0] * 1000] * 1000] * 1000] * 1000)",
    "sum of lists": "sum([[0] * 1000] * 100000, [])",
    "list from a range": "list(range(10 ** 10))",
    "sum of a range": "sum(range(10 ** 12))",
    "float in a range": "1.5 in range(10 ** 10)",
    "range of wide numbers": "list(range(2 ** 60000, 2 ** 60000 + 20000))",
    "loops": "[0 for i in range(5000) for j in range(5000)]",
    "any over a range": "any(i < 0 for i in range(10 ** 12))",
    "zip": "list(zip(range(10 ** 10), range(10 ** 10)))",
    "set() of collisions": f"set([i * {P} for i in range(60000)])",
    "set of colliding tuples": f"{{(i * {P},) for i in range(60000)}}",
    "dict() of collisions": f"dict([(i * {P}, 0) for i in range(60000)])",
    "sets of collisions merged": f"set([i * {P} for i in range(900)]) | set([i * {P} for i in range(901, 60000)])",
    "complex numbers of one hash": "len({k * 1000003 - k * 1j for k in range(30000)})",
    "tuples of one hash, alike in front": f"len({{((1.5,) * 200, (2.5,) * 200, k * {P}) for k in range(1, 900)}})",
    "modular powers by a wide exponent": "[pow(3, n, 7) for n in [1 << 65000] for i in range(99)]",
    "loops within 250 loops": "[1 " + "for a in [1] " * 250 + "for z in range(10000)]",
    "f-string nested spec": "f'{x:{y}{big}}'",
    "format width": "format(1, '>2000000000')",
    "factorial": "math.factorial(20000000)",
    "comb": "math.comb(10 ** 9, 5 * 10 ** 8)",
    "lcm": "math.lcm(*range(1, 100000))",
    "prod": "math.prod(range(1, 1000000))",
    "prod by a start": "math.prod([2 ** 30000] * 1000, start=2 ** 30000)",
    "gcd again and again": "[math.gcd(2 ** 60000 + i, 3 ** 30000) for i in range(5000)]",
    "isqrt again and again": "[math.isqrt(2 ** 60000 + i) for i in range(50000)]",
    "round to the left": "round(5, -10 ** 8)",
    "variance of a range": "statistics.variance(range(10 ** 9))",
    "quantiles": "statistics.quantiles([1, 2, 3], n=10 ** 9)",
    "int of long text": "int('9' * 10 ** 6)",
    "float of long text": "float('9' * 10 ** 7)",
    "text of wide numbers": "[str(2 ** 60000 + i) for i in range(10 ** 5)]",
    "divisions": "[(2 ** 60000 + i) // (2 ** 30000) for i in range(10 ** 5)]",
    "text in text": "('a' * 10 ** 6 + 'b') in ('a' * 10 ** 7)",
    "slices": "[('a' * 10 ** 6)[::2] for i in range(1000)]",
    "join": "join('a' * 10 ** 6, ['b'] * 10 ** 5)",
    "text doubled": "[[[x + x for x in [x + x]] for x in [x + x]] for x in ['a' * 10 ** 7]]",
    "enumerate with a wide start": "list(enumerate([0] * 100000, 2 ** 60000))",
    "long keys looked up": "[k in t for t in [{'a' * 10 ** 6: 1}] for k in ['a' * 10 ** 6] for i in range(10 ** 5)]",
    "colliding keys looked up": "[k in crowd for i in range(200000)]",
    "wide floats rounded": "[round(1.7e308, 2) for i in range(99999)]",
    "empty sets": "[set() for i in range(499999)]",
    "missing key of a wide integer": "{}[2 ** 60000]",
    "exponent of many digits": "2 ** (10 ** 15000)",
    "multiplications": "[x * y * x * y * x * y * (x + i) for i in range(10 ** 6)]",
    "f-strings in a loop": "[f'{i:>999}' for i in range(10 ** 6)]",
    "dict merge": "[{**t, **t} for i in range(10 ** 6)]",
    "a list that holds itself": "loop == loop2",
}

PARSE = {
    "parentheses": "(" * 2000 + "1" + ")" * 2000,
    "minus": "-" * 4000 + "1",
    "sum": "+".join("1" * 2000),
    "conditions": "1 if 1 else " * 330 + "1",
    "wide literal": "9" * 4090,
    "lambda": "lambda: " * 400 + "0",
    "f-strings": "f'{" * 5 + "1",
    "nested dicts": "{0:" * 60 + "0" + "}" * 60,
    "nested comprehensions, open": "[a for a in " * 90,
    "f-strings nested": "f'{f\"{1}\"}' " * 300,
    "comparisons": " < ".join("1" * 1900),
    "null": "1 + \0 1",
    "surrogate": "'\ud800' + é",
    "nothing": "",
}

REACH = {
    "class": "().__class__",
    "getattr": "getattr((), '__class__')",
    "map": "list(map(getattr, [()], ['__class__']))",
    "function as a value": "math.sqrt",
    "code of a function": "statistics.mean.__code__",
    "str.format": "'{0.__class__}'.format(x)",
    "format with a class": "format(x, '{0.__class__}')",
    "generator": "(i for i in range(3))",
    "import": "__import__('os')",
    "builtins": "__builtins__",
    "guard": "fuel",
    "eval": "eval('1')",
    "walrus": "(y := 1)",
    "yield": "(yield 1)",
    "keyword spread": "dict(**{'a': 1})",
    "bytes": "b'a'",
    "ellipsis": "...",
    "attribute target": "[0 for x.real in [1]]",
    "call of a call": "abs(1)(2)",
    "call of a name": "x(1)",
    "key function": "sorted(xs, key=len)",
    "matrix product": "x @ y",
}


def names() -> dict[str, object]:
    loop: list[object] = []
    loop.append(loop)
    return {
        "x": 3, "y": 9, "big": 10**15, "xs": list(range(1000)),
        "t": {i: i for i in range(1000)}, "loop": loop, "loop2": [loop],
        "crowd": {i * P: 0 for i in range(1, 1500)}, "last": 1499 * P, "k": 0,
    }  # fmt: skip


ROUTES: list[Callable[[str, dict[str, object]], object]] = [evaluate, evaluate, lambda e, n: compile_expression(e)(n)]
"""The second evaluation has the first one's code."""


def outcome(expression: str) -> str:
    """'refused', 'value', or how the child that evaluated the expression died."""
    given = names()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + NEW_MEMORY, used + NEW_MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            code = 0
            for route in ROUTES[::2]:  # the second has the code of the first, and nothing else to refuse it by
                try:
                    route(expression, given)
                    code = code or 1
                except ExpressionError as error:
                    if isinstance(error.__cause__, MemoryError):
                        code = 4
        except BaseException:
            code = 2
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    known = {0: "refused", 1: "value", 2: "another exception", 3: "no start", 4: "memory"}
    return known.get(status, f"killed: {status}")


@pytest.mark.parametrize("name", COST)
def test_cost_is_refused(name: str) -> None:
    assert outcome(COST[name]) == "refused"


MAX_STEPS = 5000
CALLS_PER_STEP = 4
BYTES_PER_STEP = 200
FIRST = {"calls": 12_000, "bytes": 3 << 20}
"""What refusing, a message and modules that are loaded when they are first needed may take, whatever the steps."""


@pytest.mark.parametrize("name", COST)
def test_calls_and_memory_grow_no_faster_than_the_steps(name: str) -> None:
    """Counted, not timed: what an expression calls and allocates until it is refused is bounded by its `max_steps`."""
    compiled = compile_expression(COST[name], max_steps=MAX_STEPS)
    given = names()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    sys.setprofile(count)
    try:
        with pytest.raises(ExpressionError):
            compiled(given)
    finally:
        sys.setprofile(None)
        peak = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
    assert calls <= FIRST["calls"] + CALLS_PER_STEP * MAX_STEPS
    assert peak <= FIRST["bytes"] + BYTES_PER_STEP * MAX_STEPS


@pytest.mark.parametrize("name", PARSE)
def test_parser_and_compiler_survive(name: str) -> None:
    assert outcome(PARSE[name]) in ("refused", "value")


def test_marks_that_would_hold_the_host_are_not_parsed() -> None:
    """An expression of 4,096 took up to 170 ms, in which no thread of the host ran."""
    for expression in ("a" + "\u0301" * 2000 + "\u0316" * 2000, "'" + "\u0301" * 51 + "'"):
        with pytest.raises(ExpressionError, match="too many combining marks on one letter"):
            evaluate(expression)
    assert evaluate("2 * π", {"π": 3}) == 6


@pytest.mark.parametrize("name", REACH)
def test_nothing_of_the_host_is_reached(name: str) -> None:
    for route in ROUTES:
        with pytest.raises(ExpressionError):
            route(REACH[name], names())
