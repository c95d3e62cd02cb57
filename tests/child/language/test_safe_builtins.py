"""Our builtins and guards start from RestrictedPython's: what is another object, or allows more, has its reason here.

They are compared, and not imported at run time: that would take a tenth of the time of a sandbox's first result.
"""

from __future__ import annotations

import string
from keyword import iskeyword
from typing import Any

import pytest
from RestrictedPython.Guards import safe_builtins, safer_getattr_raise
from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from safeexec.child.language.builtins import make_builtins
from safeexec.compiler.rules import PLAIN, Rules
from safeexec.facades.build import facade, importer
from safeexec.policy.model import Policy
from safeexec.policy.plans import language_plan

OF_OUR_OWN = {
    "setattr": "judges the name, and refuses modules and classes of libraries; theirs wants `_guarded_writes`",
    "delattr": "as setattr",
    "_getattr_": "lets the object decide; theirs refuses every underscore",
    "__build_class__": "the real one, which no program can name",
}


@pytest.fixture(scope="module")
def rules() -> Rules:
    return Rules(language_plan(Policy.load("standard")))


@pytest.fixture(scope="module")
def table(rules: Rules) -> dict[str, Any]:
    return make_builtins(rules, {"__name__": "__main__"}, importer(rules.plan))


def test_what_restrictedpython_calls_safe_is_given_as_it_is(table: dict[str, Any]) -> None:
    other = {name for name, value in safe_builtins.items() if not iskeyword(name) and table.get(name) is not value}
    assert other <= set(OF_OUR_OWN)


@pytest.mark.parametrize("name", [*sorted(INSPECT_ATTRIBUTES), "__globals__", "__code__", "__reduce__", "__builtins__"])
def test_a_name_that_their_getattr_refuses_is_refused(name: str, table: dict[str, Any]) -> None:
    class Holder:
        def __getattr__(self, name: str) -> int:
            return 1

    with pytest.raises(AttributeError):
        safer_getattr_raise(Holder(), name)
    if name == "tb_next":  # from one traceback to another, whose frames are refused
        return
    with pytest.raises(AttributeError):
        table["getattr"](Holder(), name)


def test_underscores_are_the_one_thing_that_ours_allows_more(rules: Rules) -> None:
    assert rules.attribute("_private") == rules.attribute("__class__") == PLAIN
    assert rules.attribute("__unheard_of__") != PLAIN


def test_a_template_is_read_before_it_is_formatted(table: dict[str, Any]) -> None:
    """Theirs refuses `str.format`; ours the attribute names in the template."""
    for template in ("{0.__globals__}", "{0.__class__.__mro__}"):
        with pytest.raises(AttributeError):
            table["getattr"](template, "format")(len)
        with pytest.raises(AttributeError):
            table["_format_"](template)(len)
    assert table["_format_"]("{:>3}")(1) == "  1"


def test_the_formatter_of_the_module_string_is_a_stand_in(rules: Rules) -> None:
    """CVE-2026-76825: `string.Formatter` and then a name that it looks up. Theirs refuses the class."""
    formatter = facade("string", rules.plan).Formatter
    assert formatter is not string.Formatter
    with pytest.raises(AttributeError):
        formatter().format("{0.__globals__}", test_the_formatter_of_the_module_string_is_a_stand_in)
