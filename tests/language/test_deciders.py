"""The page says who decides about each kind of node; what it says is read off the transformer."""

from __future__ import annotations

import ast

from RestrictedPython.transformer import RestrictingNodeTransformer

from safeexec.language.transformer import DECIDERS
from tests.language.deciders import BEGIN, END, HOOKS, OURS, PAGE, table


def test_the_table_on_the_page_is_current_and_each_method_of_ours_says_in_a_line_why_it_differs() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table(), "python -m tests.language.deciders"
    for name in (*HOOKS, *(name for name in OURS if name.startswith("visit_"))):
        assert (OURS[name].__doc__ or "").strip(), name


def test_what_the_base_class_decides_is_decided_by_its_own_method() -> None:
    """For `x if y else z`, `while` and the rest ours has no method; one that the base class gains is asked."""
    assert "visit_While" not in OURS and "visit_NamedExpr" not in OURS
    assert DECIDERS[ast.NamedExpr] is RestrictingNodeTransformer.visit_NamedExpr
    assert DECIDERS[ast.For] is RestrictingNodeTransformer.visit_For
    assert DECIDERS[ast.While] is RestrictingNodeTransformer.visit_While
