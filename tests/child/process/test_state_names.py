"""Which objects a saved state may name: those of an exact list, whatever a library's class would answer."""

from __future__ import annotations

import dataclasses
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

from safeexec import Policy
from safeexec.child.process.state_names import find
from safeexec.policy.plans import language_plan

PLAN = language_plan(Policy.load("standard"))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("dataclasses", "Field.__repr__.__globals__"),
        ("dataclasses", "__dict__"),
        ("dataclasses", "sys"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("os", "system"),
        ("posix", "system"),
        ("functools", "partial.__reduce__"),
        ("collections", "_sys"),
        ("collections", "abc"),  # a module
        ("safeexec.child.process.state_names", "find"),
        ("safeexec.facades.replacements.attributes", "load_again"),  # loads any module
        ("safeexec.facades.replacements.checked", "set_guards"),
        ("safeexec.facades.replacements.logs", "_logging"),
    ],
)
def test_what_leads_away_has_no_name(module: str, name: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match="which the policy does not allow"):
        find(module, name, PLAN)


def test_a_function_of_a_library_has_none_whatever_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some functions of ours are methods of dataclasses: a library may call one of its own so, too."""
    library = ModuleType("sympy.made_up")
    exec("def _replace(): pass\nclass Made: pass", vars(library))
    monkeypatch.setitem(sys.modules, library.__name__, library)
    plan = language_plan(Policy.load("mathematics"))
    assert find(library.__name__, "Made", plan) is vars(library)["Made"]
    with pytest.raises(pickle.UnpicklingError, match="which the policy does not allow"):
        find(library.__name__, "_replace", plan)


@pytest.mark.parametrize("name", [7, None, b"Field"])
def test_a_name_is_a_text(name: Any) -> None:
    with pytest.raises(pickle.UnpicklingError, match="other than text"):
        find("dataclasses", name, PLAN)


def test_what_the_policy_opens_has_one() -> None:
    ours = "safeexec.facades.replacements."
    assert find(ours + "attributes", "wraps", PLAN) and find(ours + "classes", "_dataclass_getstate", PLAN)
    assert find("dataclasses", "Field", PLAN) is dataclasses.Field and find("builtins", "dict", PLAN) is dict
