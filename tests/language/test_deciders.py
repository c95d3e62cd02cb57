"""The page says who decides about each kind of node; what it says is read off the transformer."""

from __future__ import annotations

from tests.language.deciders import BEGIN, END, HOOKS, OURS, PAGE, table


def test_the_table_on_the_page_is_current_and_each_method_of_ours_says_in_a_line_why_it_differs() -> None:
    assert PAGE.read_text().partition(BEGIN)[2].partition(END)[0] == table(), "python -m tests.language.deciders"
    for name in (*HOOKS, *(name for name in OURS if name.startswith("visit_"))):
        assert (OURS[name].__doc__ or "").strip(), name
