"""The report of an exception: where, what, and a traceback with the guest's frames only."""

from __future__ import annotations

import sys
import traceback

import pytest

from safeexec.engine.child.step.errors import report
from safeexec.protocol.messages import ErrorReport
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from tests.alone import alone

PLAN = LanguagePlan(
    imports={"math": ImportPlan(), "asyncio": ImportPlan()}, builtins=frozenset({"print", "len", "sum"})
)


def failed(*steps: str, namespace: dict | None = None, **options: object) -> ErrorReport:
    """Run the steps as a session would; the last one fails: its report."""
    names = {"__name__": "__main__"} if namespace is None else namespace
    sources = {f"<step {number}>": source for number, source in enumerate(steps, 1)}
    for filename, source in sources.items():
        try:
            exec(compile(source, filename, "exec"), names)
        except BaseException as exc:
            return report(exc, sources=sources, namespace=names, plan=PLAN, **options)
    raise AssertionError("the last step did not fail")


def text_of(told: ErrorReport) -> str:
    return told.traceback.decode()


def test_position_is_the_failing_expression_in_characters() -> None:
    told = failed("x = 1\nvalue = 10 + x / 0\n")
    assert (told.type, told.message, told.line) == ("ZeroDivisionError", b"division by zero", 2)
    assert (told.column, told.end_column, told.source_line) == (14, 19, b"value = 10 + x / 0")
    told = failed("größe = 1\ny = 'äöü' + größe\n")
    assert told.source_line.decode()[told.column - 1 : told.end_column - 1] == "'äöü' + größe"


def test_line_is_in_the_step_that_ran_and_traceback_crosses_steps_without_frames_of_libraries() -> None:
    told = failed("def clean(x):\n    return 1 / x\n", "y = 1\nclean(0)\n")
    assert told.line == 2
    call = "" if sys.version_info < (3, 13) else "    ~~~~~^^^\n"
    assert text_of(told) == (
        "Traceback (most recent call last):\n"
        '  File "<step 2>", line 2, in <module>\n'
        f"    clean(0)\n{call}"
        '  File "<step 1>", line 2, in clean\n'
        "    return 1 / x\n"
        "           ~~^~~\n"
        "ZeroDivisionError: division by zero\n"
    )
    told = failed("import json\njson.loads('{')\n")
    assert told.line == 2
    assert "decoder.py" not in text_of(told)
    assert text_of(told).endswith("json.decoder.JSONDecodeError: " + told.message.decode() + "\n")


@pytest.mark.parametrize(
    "source",
    [
        "d = {'a': {}}\nprint(d['a']['b'])\n",
        "def f():\n    raise ValueError('no')\nf()\n",
        "def a(n):\n    return a(n - 1) if n else 1 // 0\na(20)\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('x')\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e\n",
        "raise ExceptionGroup('two', [ValueError('a'), ExceptionGroup('in', [TypeError('b')])])\n",
        "e = ValueError('x')\ne.add_note('a note')\nraise e\n",
        "print(\n    1 +\n    'a'\n)\n",
    ],
)
def test_text_is_what_cpython_prints(source: str) -> None:
    """CPython is the oracle, once the frames that are not the guest's are taken away."""
    import linecache

    linecache.cache["<step 1>"] = (len(source), None, source.splitlines(keepends=True), "<step 1>")
    try:
        exec(compile(source, "<step 1>", "exec"), {"__name__": "__main__"})
    except BaseException as exc:
        exc.__traceback__ = exc.__traceback__.tb_next
        expected = "".join(traceback.format_exception(exc))
    finally:
        del linecache.cache["<step 1>"]
    assert text_of(failed(source)) == expected


BOUNDED = [
    ("def f(n):\n    return f(n + 1)\nf(0)\n", "[Previous line repeated ", 1000),
    ("def f(n):\n    return g(n)\ndef g(n):\n    return f(n)\nf(0)\n", "frames left out", 10_000),
    (
        "def fail(n):\n    try:\n        fail(n - 1) if n else 1 / 0\n"
        "    except Exception as e:\n        raise ValueError(n) from e\nfail(80)",
        "ValueError: 80",
        30_000,
    ),
    ("raise ExceptionGroup('g', [ExceptionGroup('h', [ValueError('x' * 9000)] * 50)] * 50)", "left out", 30_000),
]


@pytest.mark.parametrize(("source", "shown", "most"), BOUNDED)
def test_recursion_long_chains_and_wide_groups_are_bounded(source: str, shown: str, most: int) -> None:
    told = failed(source)
    assert shown in text_of(told) and len(told.traceback) < most


def test_syntax_error_has_its_own_place() -> None:
    told = failed("x = 1\nif x = 2:\n    pass\n")
    assert (told.type, told.line, told.column, told.source_line) == ("SyntaxError", 2, 4, b"if x = 2:")
    assert text_of(told).startswith('  File "<step 1>", line 2\n    if x = 2:\n       ^')
    assert told.message.endswith(b" (<step 1>, line 2)")
    assert "line 2)" not in text_of(told)
    read = failed("import ast\nast.literal_eval('1 +')\n")
    assert (read.type, read.line) == ("SyntaxError", 2), "of a text that the guest read: at the guest's line"


@pytest.mark.parametrize("does", ["raise KeyError('x')", "raise SystemExit", "return self.__str__()"])
def test_a_hostile_str_is_survived(does: str) -> None:
    told = failed(f"class E(Exception):\n    def __str__(self): {does}\nraise E()\n")
    assert (told.type, told.line) == ("E", 3)
    assert told.message == b"<exception str() failed>"


def test_huge_and_odd_messages_cross() -> None:
    assert len(failed("raise ValueError('x' * 10**7)").message) < 10_000
    assert failed("raise ValueError('\\ud800')").message == "\ud800".encode("utf-8", "surrogatepass")
    assert failed("class S(str):\n    def __len__(self): return 10**9\nraise ValueError(S('a'))").message == b"a"


def test_a_class_that_lies_is_not_asked() -> None:
    """No property and no metaclass of the guest runs while the report is made."""
    names: dict = {"__name__": "__main__", "asked": []}
    ask = "def __getattribute__(it, name):\n        asked.append(name)\n        return super().__getattribute__(name)"
    classes = f"class Meta(type):\n    {ask}\nclass E(Exception, metaclass=Meta):\n    {ask}\n"
    told = failed(f"{classes}error = E('x')\nasked.clear()\nraise error\n", namespace=names)
    assert (told.type, told.message) == ("E", b"x")
    assert names["asked"] == []


def test_a_very_long_traceback_is_short_and_soon_made() -> None:
    """In a process of its own: the recursion limit is the interpreter's. So deep goes the stack of a child."""
    program = """
import sys
from time import process_time
from safeexec.engine.child.step.errors import report
from safeexec.protocol.plan import LanguagePlan
sys.setrecursionlimit(10**6)
source = "def f(n): return 1 // n if n == 0 else 1 + f(n - 1)"
names = {}
exec(compile(source, "<step 1>", "exec"), names)
def took(depth):
    began = process_time()
    try: names["f"](depth)
    except ZeroDivisionError as error:
        ran = process_time() - began
        told = report(error, sources={"<step 1>": source}, namespace=names, plan=LanguagePlan())
        return ran, process_time() - began - ran, told
took(10)
ran, reported, told = took(20_000)
text = told.traceback.decode()
assert told.type == "ZeroDivisionError" and "more times]" in text and len(text) < 5000, text
assert reported < 4 * ran + 0.1, (ran, reported)
"""
    done = alone(program)
    assert done.returncode == 0, done.stderr[-2000:]
