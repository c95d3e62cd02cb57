"""Who may make code. An audit hook cannot be taken back, so each question is asked in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

FIRST = """
import ast, collections, concurrent.futures, dataclasses, functools, sys, timeit, types
from safeexec.child.language.code_makers import CODE_EVENTS, judge_maker
real_eval = eval
def function(): pass
def call(function, *arguments): return function(*arguments)
sys.addaudithook(lambda event, _: judge_maker(sys._getframe(1)) if event in CODE_EVENTS else None)
"""
SECOND = "\nprint('made')"
REFUSED = {
    "a pool of threads": (
        "with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(eval, '1', {}).result()",
        "concurrent.futures.thread._WorkItem.run",
    ),
    "a function of code, by a pool": (
        "with concurrent.futures.ThreadPoolExecutor(1) as pool:\n"
        "    pool.submit(types.FunctionType, function.__code__, {}).result()",
        "concurrent.futures.thread._WorkItem.run",
    ),
    "a decorator": ("functools.singledispatch(real_eval)('1', {})", "functools.singledispatch.<locals>.wrapper"),
    "a runner of Python": ("timeit.Timer('1')", "timeit.Timer.__init__"),
    "a library that calls what it is given": ("call(real_eval, '1')", "__main__.call"),
}
MADE = {
    "a library that spells it": "def run(text): return eval(text)\nrun('1')",
    "a named tuple": "collections.namedtuple('P', 'a b')(1, 2)",
    "a dataclass": "dataclasses.make_dataclass('D', ['a'])(1)",
    "a tree": "ast.literal_eval('[1]')",
    "a coroutine": "@types.coroutine\ndef made(): yield",
    "a module": "import colorsys, html.entities",
}


def asked(source: str) -> subprocess.CompletedProcess[str]:
    # Compiled before the rule holds, and run by a function that spells it.
    whole = f"{FIRST}exec({source!r}){SECOND}"
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("source", "who"), REFUSED.values(), ids=REFUSED)
def test_what_was_given_the_real_function_makes_no_code(source: str, who: str) -> None:
    ended = asked(source)
    assert f"RuntimeError: {who} makes code, which is refused" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("source", MADE.values(), ids=MADE)
def test_who_spells_it_makes_code(source: str) -> None:
    ended = asked(source)
    assert (ended.stdout, ended.stderr) == ("made\n", "")
