"""Each refusal of the tables, under each shipped profile: what `why` says is what is enforced, with a reason and a hint
that names nothing which is itself refused.
"""

from __future__ import annotations

import re
import sys
from functools import cache
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


@pytest.mark.modules("numpy", "pandas")
@pytest.mark.parametrize("name", ["numpy.load", "numpy.random.default_rng", "pandas.read_csv", "numpy.no_such_name"])
def test_a_library_needs_no_row(name: str) -> None:
    loaded, plan = policy("data-analysis")
    assert loaded.why(name).allowed and not refusal(plan, f"import {name.partition('.')[0]}\n{name}")
