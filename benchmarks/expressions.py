"""What an expression costs: repeated, against eval() of a code object; the first time, against simpleeval and asteval.

    python -m benchmarks.expressions [--quick]

Peers are measured only where they are installed. Times are the best of five runs, per evaluation.
"""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import Any

import safeexec.inline
from benchmarks.common import options
from safeexec import compile_expression, evaluate

NUMBERS: list[tuple[str, dict[str, Any]]] = [
    ("2 * (3 + x)", {"x": 4}),
    ("x * x + y * y - 2.5", {"x": 4, "y": 3.5}),
    ("math.sqrt(x ** 2 + y ** 2)", {"x": 3, "y": 4}),
    ("1 < x < 10 and y > 2", {"x": 4, "y": 3}),
    ("max(x, y) / 2", {"x": 3, "y": 4}),
    ("round(x * 1.2, 2)", {"x": 1.5}),
    ("(a + b) * c / (d - e) if a > b else a % c", {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}),
    ("sum(i * x for i in range(100))", {"x": 3}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("2 ** x", {"x": 10}),
    ("first + ' ' + last", {"first": "Ada", "last": "Lovelace"}),
    ("name == 'x' or age > 3", {"name": "y", "age": 5}),
    ("size in ('S', 'M', 'L')", {"size": "M"}),
    ("f'{x:.2f} EUR'", {"x": 1.5}),
    ("xs[0] + xs[-1]", {"xs": [1, 2, 3]}),
    ("order['total'] * 2", {"order": {"total": 3}}),
    ("'a' in tags", {"tags": ["b", "a"]}),
    ("order['size'] == 'M' and order['total'] > 5", {"order": {"size": "M", "total": 7}}),
    ("[round(x * 1.2, 2) for x in xs]", {"xs": [1.5] * 100}),
    ("[i * 2 for i in xs if i > 3]", {"xs": list(range(100))}),
    ("[a + b for a, b in zip(xs, ys)]", {"xs": [1.0] * 50, "ys": [2] * 50}),
]
FIRST = [case for case in NUMBERS if "math" not in case[0] and " for " not in case[0]]
MODULES = {"math": math}


def best(function: Callable[[], object], seconds: float = 0.05) -> float:
    """Nanoseconds per call."""
    start = time.perf_counter()
    function()
    number = max(1, int(seconds / 5 / max(1e-7, time.perf_counter() - start)))
    return min(timeit.repeat(function, number=number, repeat=5)) / number * 1e9


def repeated(cases: list[tuple[str, dict[str, Any]]], goal: float) -> None:
    print(f"\n{'repeated evaluation':45} {'eval ns':>9} {'ours ns':>9} {'ratio':>6}   goal {goal:.0f}")
    for source, names in cases:
        code, expression = compile(source, "<eval>", "eval"), compile_expression(source)
        scope = {**names, **MODULES}
        assert expression(names) == eval(code, scope)
        plain = best(lambda code=code, scope=scope: eval(code, scope))
        ours = best(lambda expression=expression, names=names: expression(names))
        print(f"{source:45} {plain:9.0f} {ours:9.0f} {ours / plain:6.2f}")


def first_time() -> None:
    evaluators: dict[str, Callable[[str, dict[str, Any]], object]] = {"safeexec": _evaluate_unseen}
    if importlib.util.find_spec("simpleeval"):
        import simpleeval

        evaluators["simpleeval"] = lambda source, names: simpleeval.simple_eval(
            source, names=names, functions={"max": max, "round": round}
        )
    if importlib.util.find_spec("asteval"):
        import asteval

        evaluators["asteval"] = lambda source, names: asteval.Interpreter(
            minimal=True, use_numpy=False, user_symbols=names
        )(source)
    print(f"\n{'first evaluation, us':45} " + " ".join(f"{name:>11}" for name in evaluators))
    for source, names in FIRST:
        times = [best(lambda run=run, source=source, names=names: run(source, names)) for run in evaluators.values()]
        print(f"{source:45} " + " ".join(f"{time / 1000:11.1f}" for time in times))


def _evaluate_unseen(source: str, names: dict[str, Any]) -> object:
    safeexec.inline.forget()
    return evaluate(source, names)


def cold() -> None:
    """Import and first evaluation in a new process, less what an empty process costs."""
    scripts = {
        "safeexec": "from safeexec import evaluate; evaluate('2 * (3 + x)', {'x': 4})",
        "simpleeval": "from simpleeval import simple_eval; simple_eval('2 * (3 + x)', names={'x': 4})",
        "asteval": "from asteval import Interpreter; Interpreter(user_symbols={'x': 4})('2 * (3 + x)')",
    }
    print("\nnew process: import and first evaluation, ms")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        empty = _process("pass", environment)
        for name, script in scripts.items():
            if importlib.util.find_spec(name):
                print(f"  {name:12} {(_process(script, environment) - empty) / 1e6:7.1f}")


def _process(script: str, environment: dict[str, str]) -> float:
    return best(lambda: subprocess.run([sys.executable, "-c", script], check=True, env=environment), 1)


if __name__ == "__main__":
    if options(__doc__).quick:
        NUMBERS, OTHERS = NUMBERS[::2], OTHERS[::3]
    repeated(NUMBERS, 2)
    repeated(OTHERS, 4)
    first_time()
    cold()
