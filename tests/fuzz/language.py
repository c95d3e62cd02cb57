"""Programs: the outcome of CPython, or a refusal. Never an internal error, and never another outcome."""

# ruff: noqa: E501  (lists of odd signs read best when they fill their lines)

from __future__ import annotations

import math
import os
import re
import resource
import statistics
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from safeexec import Policy, Sandbox
from safeexec.engine.child.step.program import Rejection
from safeexec.errors import ExpressionError
from safeexec.inline import compile_expression, evaluate, forget
from safeexec.language.judge import compile_step
from safeexec.language.rules import rules_of
from tests.fuzz.mutation import drawn, edited, lines_mutated
from tests.fuzz.target import Holds, Target, plain

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
FRAGMENTS = [
    "x = 1", "return", "yield x", "await x", "nonlocal x", "global x", "import json", "from math import *", "del x", "pass", "break",
    "x.y = 1", "x[0] += 1", "a, *b = x", "lambda: x", "[i for i in x]", "match x:", "    case {'a': 1, **r}:", "case A(b=c):", "async def f():",
    "class A(B, m=1):", "@x", "try:", "except* E as e:", "finally:", "with a as b, c:", "f'{x!r:>{y}}'", "raise E from None", "assert x, y",
    "(x := 1)", "x: int = 1", "x if y else z", "*a", "**k", "/", "->", "else:", "__class__", "__import__('os')", "print(x)", "type X = int",
    "\\", "'''", '"', "(", ")", "[", "]", "{", "}", ":", ";", "\t", "\f", "\r", "\0", "é", "\ufeff", "\u2028", "ﬁ", "0x", "1_", "1e999", "0777",
    "9" * 5000, "-" * 200, "(" * 150, "not " * 90, "# -*- coding: utf-16 -*-", "# type: ignore", "if 1:", "    ", "while x:", "for x.y in z: 1",
]  # fmt: skip
CHANGES = [
    "None", "0", "1", "-1", "2", "''", "[]", "{}", "()", "True", "x", "1.5", "10**20", "'é'", "b''", "{1, 2}",
    "lambda: 0", "print", "len", "+", "-", "*", "//", "%", "<", "==", "is", "in", "not ", "and", "or", ".", ",", "(",
    ")", "[0]", "[::-1]", "()", ".x", "self", "= 1", "return None", "pass", "break", "continue",
    "raise ValueError('x')", "print('here')", "yield 1", "global x", "del x", "x = 1", "1 / 0",
    "for x in range(3): print(x)", "assert False", "try:\n    1 / 0\nexcept Exception as e:\n    print(e)",
    "import math", "f'{1:>5}'", "class A:\n    y = 1", "def f(*a, **k): return a, k", "print(f(1, b=2))",
    "with open('x') as f: pass", "print(sorted([3, 1]))",
]  # fmt: skip


def sources() -> list[str]:
    """The test programs that need the standard library alone."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        needs = re.search(r"^# needs: (.*)$", text, re.MULTILINE)
        if needs is None or set(needs[1].replace(" ", "").split(",")) <= {"", "stdlib"}:
            found.append(text)
    return found


@contextmanager
def _compiled() -> Iterator[Holds]:
    """Under each plan: code, a refusal with places in the source, or what CPython says of it."""
    profiles = ("standard", "data-analysis", "confined-python", "calculator")
    plans = [Policy.load(name).language_plan() for name in profiles]

    def holds(source: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for plan in plans:
                said = _said_by_python(source, rules_of(plan).step_flags)
                try:
                    compile_step(source, plan, filename="<step 1>", known_names=("x", "open"))
                except Rejection as refusal:
                    _has_places(refusal, source)
                except (SyntaxError, ValueError) as error:
                    assert said is not None and type(error) is type(said), (said, error)
                else:
                    assert said is None, said

    yield holds


def _said_by_python(source: str, flags: int) -> BaseException | None:
    try:
        compile(source, "<step 1>", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return error
    except (RecursionError, MemoryError):
        return SyntaxError("too deep")
    return None


def _has_places(refusal: Rejection, source: str) -> None:
    lines = len(source.splitlines()) + 1
    for report in refusal.diagnostics:
        assert 1 <= report.line <= lines and report.message


@contextmanager
def _run() -> Iterator[Holds]:
    """A program under the language layer, and the same by plain CPython: both confined by the kernel alike, and with the
    same chance and clock.
    """
    both: dict[str, Any] = {
        "limits": {"wall_seconds": 10.0, "memory_mb": 256},
        "determinism": {"seed": 1, "clock": "2025-01-01T00:00:00+00:00"},
    }
    with (
        Sandbox(Policy.load("standard").replace(**both)) as guarded,
        Sandbox(Policy.load("confined-python").replace(**both)) as free,
    ):

        def holds(source: str) -> None:
            got = guarded.run(source, timeout=3)
            assert got.outcome in ("ok", "error", "rejected", "timeout", "memory", "violation", "cpu", "output"), got
            assert got.error is None or "internal" not in got.error.message.lower(), got.error
            if got.outcome in ("rejected", "violation", "memory", "timeout", "cpu", "output") or got.refusals:
                return
            wanted = free.run(source, timeout=6)
            if wanted.outcome in ("timeout", "memory", "cpu", "output", "violation"):
                return
            if " at 0x" in got.stdout + wanted.stdout:  # addresses: two runs of CPython differ, too
                return
            if "\nFailed example:\n" in got.stdout and "\nFailed example:\n" in wanted.stdout:
                return  # doctest prints the frames of its own file, and which file a program is
            assert _told(got) == _told(wanted), (_told(got), _told(wanted))

        yield holds


def _told(result: Any) -> Any:
    error = result.error
    # The file that a module comes from is not a guest's to know: its facade prints the name alone.
    stdout = re.sub(r"<module ('[\w.]+') (?:from '[^']*'|\(built-in\)|\(frozen\))>", r"<module \1>", result.stdout)
    return result.outcome, stdout, (error.type, _plain(error.message)) if error is not None else None


def _plain(message: str) -> str:
    """A module that is there in one and not in the other is another matter."""
    return re.sub(r"0x[0-9a-f]+", "0x", message).partition("\n")[0]


MATHEMATICS = [
    "a + b * c", "max(xs) - min(xs)", "[x ** 2 for x in xs if x % 2]", "sum(i * j for i in range(9) for j in xs)", "f'{a:>{b}}|{c!r}'", "a < b <= c",
    "math.comb(a, b)", "round(a / 3, 2)", "'%5.2f %s' % (a, text)", "{k: v for k, v in zip(text, xs)}", "text * 3 + 'x'", "xs[1:-1][::-1]",
    "str(a) + repr(xs)", "int('12', 3)", "statistics.mean(xs)", "a if b else c", "d['k'][0]",
    "join(',', [str(x) for x in xs])", "1 << b", "math.factorial(b)", "sorted(set(xs))", "a not in xs and not b",
    "range(a, 100, b)[2]", "pow(a, b, 97)", "divmod(a, b)", "math.sqrt(abs(c))", "any(x > 3 for x in xs)", "{*xs, a}", "(a, *xs)", "2 ** 10 ** 2",
]  # fmt: skip
PIECES = [
    "a", "b", "c", "xs", "text", "d", "big", "0", "1", "-1", "7", "10 ** 9", "10 ** 15", "2 ** 60000", "'x'", "1.5", "1e308", "1j", "True", "None",
    "+", "-", "*", "**", "/", "//", "%", "<<", ">>", "&", "|", "^", "~", "<", "==", "in", "not ", "and", "or", "(", ")", "[", "]", "{", "}",
    ",", ":", "for x in ", "if ", " else ", "range(", "range(10 ** 9)", "[0] * 1000", "'a' * 10 ** 6", "list(", "set(", "sum(", "len(", "str(",
    "sorted(", "max(", "repr(", "hash(", "int(", "float(", "Decimal(", "Fraction(", "math.prod(", "math.comb(", "math.perm(", "math.lcm(", "f'{", "}'",
    "'%*d' % ", "round(", "pow(", "join(", "format(", "complex(", "divmod(", "enumerate(", "zip(", "[x for x in ", "{x: x for x in ", "date(", "*",
    "timedelta(", "datetime(", "time(", ".x", "lambda: ", "await ", "=", ":=", "is", "statistics.", "math.", "@", "...", "__class__", "b'x'",
]  # fmt: skip
CPU_SECONDS, NEW_MEMORY, AT_ONCE = 3, 512 << 20, 16
VALUES: dict[str, Any] = {
    "a": 17, "b": 5, "c": 2.5, "xs": [3, 1, 4, 1, 5, 9, 2, 6], "text": "hello", "big": 10**15, "d": {"k": [1, 2]},
}  # fmt: skip


def _expressions() -> st.SearchStrategy[list[str]]:
    return drawn(lambda random: [_expression(random) for _ in range(AT_ONCE)])


def _expression(random: Random) -> str:
    if random.random() < 0.5:
        return edited(random, MATHEMATICS, PIECES, 3)
    text = random.choice(MATHEMATICS)
    for _ in range(random.randint(1, 3)):
        name = random.choice(["a", "b", "c", "xs", "text", "9", "3"])
        text = text.replace(name, f"({random.choice([*MATHEMATICS, *PIECES[:20]])})", 1)
    return text


def bounded(expressions: list[str]) -> None:
    """A value or an `ExpressionError` within its cost, by every route, and Python's value where there is one."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            code = _bounded(expressions)
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    said = {-9: "killed", -24: "CPU time", 4: "memory", 5: "routes differ", 6: "not what Python says"}
    assert status == 0, said.get(status, f"another exception or status {status}")


def _bounded(expressions: list[str]) -> int:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + NEW_MEMORY, used + NEW_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for expression in expressions:
        forget()
        told = []
        for route in (evaluate, evaluate, lambda e, n: compile_expression(e)(n)):
            try:
                told.append(("value", repr(route(expression, VALUES))))
            except ExpressionError as error:
                if isinstance(error.__cause__, MemoryError):
                    return 4
                told.append(("error", type(error.__cause__).__name__ if error.__cause__ else "refused"))
            except ValueError as error:  # of repr: more digits than Python shows
                if "digits" not in str(error):
                    raise
                told.append(("value", "wide"))
        if len({kind for kind, _ in told}) != 1:
            return 5
        if told[0][0] == "value" and told[0][1] != "wide" and _python(expression) != told[0][1]:
            return 6
    return 0


PYTHON: dict[str, Any] = {"math": math, "statistics": statistics, "join": str.join}


def _python(expression: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(eval(expression.strip(), {**PYTHON, **VALUES}))


TARGETS = [
    Target("compiler", "programs with edits", lambda: lines_mutated(sources(), FRAGMENTS), _compiled, 60),
    Target("programs", "programs with edits, run", lambda: lines_mutated(sources(), CHANGES, most=3), _run, 12),
    Target("expressions", "expressions for `evaluate`, several at once", _expressions, plain(bounded), 20),
]
