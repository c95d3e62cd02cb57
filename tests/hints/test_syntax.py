"""Every rule for texts that are not Python answers an example, whose mended form compiles."""

from __future__ import annotations

import re
import sys
import warnings

import pytest

from safeexec.hints.syntax import syntax_hint
from safeexec.hints.tables.syntax import CODE, LANGUAGES, MESSAGES
from tests.hints.mended import SYNTAX
from tests.untrusted.doubling import SLACK, growth


def told(source: str) -> tuple[str, str | None]:
    """CPython's message and the hint; nothing if this version of Python accepts the text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<step 1>", "exec")
        except SyntaxError as error:
            return str(error.msg).lower(), syntax_hint(error, source)
    return "", None


@pytest.mark.parametrize(("wrong", "right", "says"), SYNTAX, ids=lambda source: repr(source))
def test_an_example_is_answered_and_its_mended_form_compiles(wrong: str, right: str, says: str) -> None:
    message, hint = told(wrong)
    compile(right, "<step 1>", "exec")
    if not message:
        assert sys.version_info >= (3, 12), "it compiles"
    else:
        assert hint, message
        assert hint.startswith(says) or sys.version_info >= (3, 12), hint


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later versions of Python say it in other words")
def test_every_rule_answers_an_example() -> None:
    said = [told(wrong) for wrong, *_ in SYNTAX]
    rules = [rule for rule in MESSAGES if any(re.search(rule.pattern, message) for message, _ in said)]
    hints = {hint for _, hint in said}
    assert [rule.hint for rule in (*LANGUAGES, *CODE, *rules) if rule.hint not in hints] == []


@pytest.mark.parametrize(
    "source", ["def f(: pass", "def f(a b): pass", "def f(x:): pass", "def (x): pass", "class A(: pass"]
)
def test_a_header_that_cannot_be_read_is_no_missing_colon(source: str) -> None:
    _, hint = told(source)
    assert hint is not None
    assert "begins with" in hint


@pytest.mark.parametrize(
    ("begin", "repeated", "end"),
    [("", " ", "(=\n)"), ("import", " ", "x"), ("[", "for if ", ")")],
    ids=["blanks before the line before", "blanks after import", "conditions in brackets"],
)
def test_a_long_line_is_looked_at_in_linear_time(begin: str, repeated: str, end: str) -> None:
    def look(source: str) -> None:
        error = SyntaxError("invalid syntax")
        error.lineno = source.count("\n") + 1
        syntax_hint(error, source)

    assert growth(look, lambda length: begin + repeated * (length // len(repeated)) + end, 1 << 8, 1 << 12) <= SLACK
