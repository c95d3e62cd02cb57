"""Each refusal of the tables, under each shipped profile: what `why` says is what is enforced, with a reason and a hint
that names nothing which is itself refused.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from keyword import iskeyword
from random import Random
from typing import Any

import pytest

from safeexec import Policy
from safeexec.engine.child.step.program import Rejection
from safeexec.engine.policy.refusals import MODULES, NAMES
from safeexec.language.judge import compile_step
from safeexec.protocol.plan import LanguagePlan
from safeexec.reports.why import Judge
from tests.shipped import PROFILES

RESTRICTED = [name for name in PROFILES if name not in ("confined-python", "expression")]
SAMPLED = 5
"""Names of each module of the standard library."""
NOT_IMPORTED = {"antigravity", "this", "idlelib", "__main__", "turtledemo"}
"""Modules that do something when they are imported."""


@cache
def policy(profile: str) -> tuple[Judge, LanguagePlan]:
    """Who answers for a profile (`Policy.why` asks one anew each time), and what is enforced."""
    loaded = Policy.load(profile)
    return Judge(loaded), loaded.language_plan()


def refusal(plan: LanguagePlan, source: str) -> str:
    """What the compiler refuses in `source` first: its name, or ``""``."""
    try:
        compile_step(source, plan, filename="<step>")
    except Rejection as rejection:
        return rejection.diagnostics[0].name
    return ""


@pytest.mark.parametrize("profile", RESTRICTED)
@pytest.mark.parametrize("module", MODULES)
def test_a_row_of_a_module(profile: str, module: str) -> None:
    loaded, plan = policy(profile)
    answer = loaded.why(module)
    for source in (f"import {module}", f"from {module} import x"):
        assert answer.allowed == (refusal(plan, source) == ""), source
    check_reason(loaded, answer)


@pytest.mark.parametrize("profile", RESTRICTED)
@pytest.mark.parametrize("module", NAMES)
def test_the_rows_of_names(profile: str, module: str) -> None:
    loaded, plan = policy(profile)
    if refusal(plan, f"import {module}"):
        assert not loaded.why(module).allowed
        return
    for name in NAMES[module]:
        if module == "builtins":
            assert (refusal(plan, f"import builtins\nbuiltins.{name}") == "") == (refusal(plan, name) == "") is False
            continue
        answer = loaded.why(f"{module}.{name}")
        reads = (f"import {module}\n{module}.{name}", f"from {module} import {name}", f"import {module} as m\nm.{name}")
        for source in reads:
            assert answer.allowed == (refusal(plan, source) == ""), source
        check_reason(loaded, answer)


def check_reason(loaded: Judge, answer: Any) -> None:
    """A refusal says why, and what instead: the dotted names in the code of its hint are such as the policy allows."""
    if not answer.allowed:
        assert answer.reason and answer.rule and answer.instead, answer
        named = re.findall(r"`(?:import |from )?([a-z][a-z_]*(?:\.\w+)*)", answer.instead)
        modules = [name for name in named if name.partition(".")[0] in sys.stdlib_module_names]
        assert all(loaded.why(name).allowed for name in modules), answer


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("profile", RESTRICTED)
def test_why_agrees_with_what_is_enforced_for_names_of_the_standard_library(profile: str) -> None:
    loaded, plan = policy(profile)
    random, seen = Random(7), 0
    for module in sorted(name for name in sys.stdlib_module_names - NOT_IMPORTED if name[0] != "_"):
        allowed = loaded.why(module).allowed
        assert allowed == (refusal(plan, f"import {module}") == ""), module
        if not allowed:
            continue
        try:
            found = dir(importlib.import_module(module))
        except ImportError:  # of another system
            continue
        names = sorted(name for name in found if name.isidentifier() and name[:1] != "_" and not iskeyword(name))
        for name in random.sample(names, min(SAMPLED, len(names))):
            answer = loaded.why(f"{module}.{name}")
            assert answer.allowed == (refusal(plan, f"import {module}\n{module}.{name}") == ""), f"{module}.{name}"
            assert answer.allowed or answer.reason, answer
            seen += 1
    assert seen > (100 if profile in ("calculator", "mathematics") else 400)


@pytest.mark.modules("numpy", "pandas")
@pytest.mark.parametrize("name", ["numpy.load", "numpy.random.default_rng", "pandas.read_csv", "numpy.no_such_name"])
def test_a_library_needs_no_row(name: str) -> None:
    loaded, plan = policy("data-analysis")
    assert loaded.why(name).allowed and not refusal(plan, f"import {name.partition('.')[0]}\n{name}")
