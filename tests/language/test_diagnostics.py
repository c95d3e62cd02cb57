"""A refusal says where, by which rule, and what to do instead."""

from __future__ import annotations

import pytest

from safeexec.engine.child.step.program import Diagnostic, Rejection
from safeexec.language.judge import compile_step
from safeexec.protocol.plan import LanguagePlan


def diagnostics(source: str, plan: LanguagePlan) -> list[Diagnostic]:
    with pytest.raises(Rejection) as caught:
        compile_step(source, plan, filename="<step>")
    return caught.value.diagnostics


def test_every_violation_is_told_at_once_with_its_rule_in_source_order(plan: LanguagePlan) -> None:
    found = diagnostics("import os\nx = f.__globals__\neval('1')\nimport os", plan)
    assert [(item.line, item.message, item.rule) for item in found] == [
        (1, "import of 'os' is refused", "test.yaml:2"),
        (2, "attribute '__globals__' is refused", "test.yaml:9"),
        (3, "builtin 'eval' is refused", "test.yaml:1"),
        (4, "import of 'os' is refused", "test.yaml:2"),
    ]


def test_the_place_of_an_attribute_is_its_name_in_characters_and_carets_keep_tabs(plan: LanguagePlan) -> None:
    """They stand under wide and combined characters as a terminal shows these."""
    (found,) = diagnostics("y = (f\n    .__globals__)", plan)
    assert (found.line, found.column, found.end_line, found.end_column) == (2, 6, 2, 17)
    assert found.caret == "    .__globals__)\n     ^^^^^^^^^^^"
    (found,) = diagnostics("if 1:\n\tx = 'äöü', f.__code__", plan)
    assert found.column == 15
    assert found.caret == "\tx = 'äöü', f.__code__\n\t             ^^^^^^^^"
    (found,) = diagnostics("s = '日本', e\u0301.__code__", plan)
    assert found.column == 14
    assert found.caret.splitlines()[1] == " " * 14 + "^" * 8  # two signs of two columns, one of none
    (found,) = diagnostics("import os as 日本", plan)
    assert found.caret.splitlines()[1] == " " * 7 + "^" * 10


def test_of_a_long_line_the_place_is_shown_and_a_long_expression_is_cut(plan: LanguagePlan) -> None:
    (found,) = diagnostics("x = " + "'a' + " * 300 + "f.__code__" + " + 'b'" * 300, plan)
    line, carets = found.caret.splitlines()
    assert len(line) < 420 and line.startswith("...") and line.endswith("...")
    assert line[carets.index("^") :][: carets.count("^")] == "__code__"
    assert found.column == 1807
    (found,) = diagnostics("'{0.__globals__}" + "x" * 1000 + "'.format(1)", plan)
    assert max(map(len, found.caret.splitlines())) < 420


def test_the_text_of_a_rejection(plan: LanguagePlan) -> None:
    with pytest.raises(Rejection, match=r"line 1: import of 'os' is refused \(and 1 more\)"):
        compile_step("import os\nimport sys", plan, filename="<step>")
    (found,) = diagnostics("import os", plan)
    assert str(found).startswith("line 1: import of 'os' is refused (test.yaml:2)\nimport os\n       ^^")
