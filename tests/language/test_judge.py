"""What compiling a step gives: body, tail, and one clear error for what is no program."""

from __future__ import annotations

import ast
import sys
from types import CodeType

import pytest

from safeexec.engine.child.step.program import TOO_DEEP, CompiledStep
from safeexec.language.judge import compile_step
from safeexec.protocol.plan import LanguagePlan

ARGUMENT = "parameter" if sys.version_info >= (3, 15) else "argument"
"""What CPython calls it in its messages."""


def value_of(step: CompiledStep) -> object:
    """Run a step as the child does."""
    namespace: dict[str, object] = {}
    if step.body is not None:
        exec(step.body, namespace)
    return eval(step.tail, namespace) if step.tail is not None else None


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("x = 2\nx * 3  # six", 6),
        ("x = 2\n(x *\n 3)\n\n# done\n", 6),
        ("x = [\n1,\n2\n]\nx", [1, 2]),
        ("'''a\nb'''", "a\nb"),
        ("'''doc'''\n5", 5),
        ("x = '''\ny = 1\n'''\nx", "\ny = 1\n"),
        ("x = 1; x + 1", 2),
        ("x = 1\r\nx + 1\r\n", 2),
        ("x = 1\n\x0cx + 1", 2),
        ("from __future__ import annotations\nx: Later = 1\nx", 1),
        ("int('7'\\\n)", 7),
        ("lambda: 1", None),
        ("def f(x: int): pass\nf.__annotations__['x']", int),  # no future statement of safeexec is inherited
    ],
)
def test_the_last_expression_is_the_value(source: str, value: object, plan: LanguagePlan) -> None:
    got = value_of(compile_step(source, plan, filename="<step>"))
    assert got == value if value is not None else callable(got)


QUIET = [
    "", "# only a comment", "x = 1\nx;", "x = 1\n(x\n);  # quiet", "x: int = 1", "x = 1\nx += 1", "import math", "pass",
    "for i in range(3):\n    i\n", "if 1:\n    2\nelse:\n    3\n", "class A:\n    'doc'\n    x = 1\n", "assert True",
]  # fmt: skip


@pytest.mark.parametrize("source", QUIET)
def test_other_statements_have_no_value(source: str, plan: LanguagePlan) -> None:
    assert compile_step(source, plan, filename="<step>").tail is None


DECEPTIVE = [
    "f(\nx = 1\n )", 'print("""\nx = 1 # """)', "print('a\\\nx = 1 # ')", "x = (\n1\n)", "print(1) if 1 else 2",
    "x = 1\nif x:\n    pass\nelse:\n    x", "@property\ndef f(): pass", "x = 5\n\n\n\nx.real\n\n",
    "'''\n''' + '''\n1\n'''", "not 1", "type = 1\ntype", "match = 3\nmatch",
]  # fmt: skip
"""Whose last statement is not where its text seems to begin."""


@pytest.mark.parametrize("source", DECEPTIVE)
def test_compiling_by_text_is_compiling_by_tree(source: str, plan: LanguagePlan) -> None:
    """The short way without a syntax tree gives the code that the parser's tree gives, lines and columns included."""
    step = compile_step(source, plan, filename="<step>")
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, "<step>", "exec") if tree.body else None
    tail = compile(ast.Expression(last.value), "<step>", "eval") if isinstance(last, ast.Expr) else None
    assert _essence(step.body) == _essence(body)
    assert _essence(step.tail) == _essence(tail)


def _essence(code: CodeType | None) -> object:
    if code is None:
        return None
    return code.co_code, code.co_names, list(code.co_positions()), code.co_filename


def test_lines_are_those_of_the_source(plan: LanguagePlan) -> None:
    step = compile_step("x = 1\n\n\ny = 2\n\nx / 0", plan, filename="<step 3>")
    assert step.tail is not None and step.tail.co_filename == "<step 3>"
    assert {line for _, _, line in step.tail.co_lines() if line} == {6}


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("x = = 1", "invalid syntax", 1),
        ("x = 1\ny = (2", "'(' was never closed", 2),
        ("return 1", "'return' outside function", 1),
        ("def f():\nx = 1", "expected an indented block after function definition on line 1", 2),
        ("x = 1\n  y = 2", "unexpected indent", 2),
        ("def f(a, a): pass", f"duplicate {ARGUMENT} 'a' in function definition", 1),
        ("x = 'abc", "unterminated string literal (detected at line 1)", 1),
    ],
)
def test_a_syntax_error_is_cpythons_own(source: str, message: str, line: int, plan: LanguagePlan) -> None:
    with pytest.raises(SyntaxError) as caught:
        compile_step(source, plan, filename="<step 1>")
    assert (caught.value.msg, caught.value.lineno, caught.value.filename) == (message, line, "<step 1>")


@pytest.mark.parametrize(
    "source",
    [
        "(" * 100_000 + ")" * 100_000,
        "-" * 100_000 + "1",
        "a" + ".b" * 100_000,
        "lambda: " * 100_000 + "1",
        "1 if 1 else " * 100_000 + "2",
        "if 1: pass\n" + "elif 1: pass\n" * 100_000,
        "".join(" " * i + "if 1:\n" for i in range(200)) + " " * 200 + "pass",
    ],
    ids=lambda source: source[:12],
)
def test_nesting_beyond_the_parser_is_a_syntax_error(source: str, plan: LanguagePlan) -> None:
    with pytest.raises(SyntaxError) as caught:
        compile_step(source, plan, filename="<step>")
    assert source[0] != "-" or caught.value.msg == TOO_DEEP, "of which CPython says nothing that helps"


def test_python_mode_compiles_anything() -> None:
    step = compile_step("import os\nos.__dict__.get('nothing')", LanguagePlan(mode="python"), filename="<step>")
    assert value_of(step) is None
