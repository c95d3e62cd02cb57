"""Every rule for texts that are not Python answers its own example, whose mended form compiles."""

from __future__ import annotations

import sys
import warnings

import pytest

from safeexec.hints.syntax import syntax_hint
from safeexec.hints.tables.syntax import CODE, LANGUAGES, MESSAGES, SyntaxRule
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


@pytest.mark.parametrize("rule", [*LANGUAGES, *CODE, *MESSAGES], ids=lambda rule: repr(rule.wrong))
def test_a_rule_answers_its_example(rule: SyntaxRule) -> None:
    message, hint = told(rule.wrong)
    compile(rule.right, "<step 1>", "exec")
    if not message:
        assert sys.version_info >= (3, 12), "it compiles"
    elif rule not in MESSAGES or rule.pattern in message:
        assert hint == rule.hint
    else:
        assert hint, message  # other versions of Python say it in other words


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
