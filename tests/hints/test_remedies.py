"""Hints for refusals, syntax errors and limits, and the tables behind them."""

from __future__ import annotations

import ast
import re

import pytest

from safeexec.engine.policy import names
from safeexec.hints import choice
from safeexec.hints.limits import limit_hint
from safeexec.hints.remedies import hint_for, hint_for_missing_member
from safeexec.hints.syntax import syntax_hint
from safeexec.hints.tables.attributes import ATTRIBUTES, CONSTRUCTS, MODULE_ATTRIBUTES
from safeexec.hints.tables.foreign import BUILTINS, NAMES
from safeexec.hints.tables.modules import MODULES
from safeexec.protocol.plan import ImportPlan, LanguagePlan, LimitsPlan

SMALL = LanguagePlan(imports={"math": ImportPlan(), "json": ImportPlan()}, builtins=frozenset({"print", "len"}))
RICH = LanguagePlan(
    imports={
        name: ImportPlan()
        for name in ("math", "statistics", "pandas", "matplotlib", "inspect", "ast", "ast.literal_eval")
    },
    builtins=frozenset({"print", "open"}),
    tools=("fetch_page", "ask_user"),
    workspace="read-write",
)
NOTHING = LanguagePlan()
ANYTHING = LanguagePlan(mode="python", workspace="read-write")
EXPRESSIONS = LanguagePlan(refused_constructs=frozenset(names.CONSTRUCTS) - {"attribute", "comprehension"})


@pytest.mark.parametrize(
    ("kind", "name", "plan", "words"),
    [
        ("module", "requests", SMALL, "no network"),
        ("module", "requests", RICH, "`fetch_page(...)`"),
        ("module", "fetch_page", RICH, "without an import: `fetch_page` and `ask_user`"),
        ("module", "tools.web", RICH, "without an import: `fetch_page` and `ask_user`"),
        ("module", "shelve", SMALL, "stay alive"),
        ("module", "sys", SMALL, "ends by itself"),
        ("module", "seaborn", RICH, "matplotlib.pyplot"),
        ("module", "maths", SMALL, "`import math`"),
        ("module", "somethingelse", SMALL, "`math` and `json`"),
        ("module", "anything", NOTHING, "Nothing can be imported"),
        ("builtin", "open", SMALL, "no files"),
        ("builtin", "open", RICH, "open('name.txt')"),
        ("builtin", "input", SMALL, "no interactive user"),
        ("builtin", "input", RICH, "`ask_user(...)`"),
        ("builtin", "eval", RICH, "ast.literal_eval"),
        ("builtin", "eval", SMALL, "json.loads"),
        ("attribute", "__code__", RICH, "inspect.signature"),
        ("attribute", "math.mean", RICH, "statistics.mean"),
        ("attribute", "math.mean", SMALL, "sum(values) / len(values)"),
        ("attribute", "__something__", SMALL, "out of reach"),
        ("construct", "star-import", SMALL, "from math import sqrt"),
        ("construct", "lambda", SMALL, "`def`"),
        ("construct", "lambda", EXPRESSIONS, "Write a comprehension"),
        ("construct", "while", EXPRESSIONS, "Only expressions are allowed"),
        ("module", "somethingelse", ANYTHING, "every module that is installed; and files of the workspace"),
        ("module", "jsonn", ANYTHING, "Did you mean `import json`?"),
        ("module", "pydot", ANYTHING, "It is not installed"),
        ("module", "winreg", ANYTHING, "these modules can be imported"),
        ("module", "cPickle", ANYTHING, "Did you mean `import pickle`?"),
        ("module", "cPickle", SMALL, "stay alive"),
    ],
)
def test_hint_for(kind: str, name: str, plan: LanguagePlan, words: str) -> None:
    assert words in (hint_for(kind, name, plan) or "")


def test_what_is_proposed_is_near_and_not_refused_and_the_policy_s_own_hint_wins() -> None:
    assert hint_for("attribute", "math.squrt", SMALL, candidates=["sqrt", "sin"]) == "Did you mean `math.sqrt`?"
    plan = LanguagePlan(imports={"math": ImportPlan(refused=frozenset({"sqrt"}))})
    assert hint_for("attribute", "math.sqrt", plan, candidates=["isqrt"]) is None
    assert hint_for("attribute", "math.sqrtt", SMALL, candidates=["sqrt"]) == "Did you mean `math.sqrt`?"
    plan = LanguagePlan(imports={"numpy": ImportPlan(refused=frozenset({"loadtxt"}))})
    assert hint_for("attribute", "numpy.loadtx", plan, candidates=["loadtxt"]) is None
    plan = LanguagePlan(hints={"requests": "Use `catalogue(item)`."}, tools=("fetch_page",))
    assert hint_for("module", "requests", plan) == "Use `catalogue(item)`."
    assert hint_for("module", "requests.adapters", plan) == "Use `catalogue(item)`."


def test_no_statement_is_proposed_where_expressions_alone_are_allowed() -> None:
    asked = [("construct", name) for name in EXPRESSIONS.refused_constructs]
    asked += [("builtin", name) for name in BUILTINS] + [("module", name) for name in MODULES]
    for kind, name in asked:
        hint = hint_for(kind, name, EXPRESSIONS) or ""
        assert hint, name
        for code in re.findall("`([^`]*)`", hint):
            assert code in ("+", "is") or ast.parse(code, mode="eval"), hint
        assert not re.search("^Assign|Use functions", hint), hint


def test_a_module_that_another_one_had_is_imported_by_its_own_name() -> None:
    pytest.importorskip("joblib")
    assert hint_for_missing_member("sklearn.externals", "joblib", [], (), ANYTHING).endswith("`import joblib`.")
    found = hint_for_missing_member("pandas", "json", [], (), ANYTHING)  # it is a part of pandas, and not Python's
    assert "import json" not in found


def test_every_need_is_known_every_name_has_a_hint_and_none_recommends_what_it_replaces() -> None:
    """`choose` raises on a need that it does not know; a plan without anything asks for each of the first ones."""
    for table in (MODULES, BUILTINS, ATTRIBUTES, MODULE_ATTRIBUTES, CONSTRUCTS, NAMES):
        for advice in table.values():
            for need, text in ({"": advice} if isinstance(advice, str) else advice).items():
                choice.choose({need: text}, NOTHING)
                assert text.strip() == text
                assert text[-1] in ".?"
    assert set(names.CONSTRUCTS) <= set(CONSTRUCTS)
    assert set(BUILTINS) >= {"eval", "exec", "compile", "open", "input", "breakpoint", "exit", "quit", "__import__"}
    assert all(hint_for("builtin", name, NOTHING) for name in BUILTINS)
    for module in MODULES:
        for plan in (SMALL, RICH, NOTHING):
            hint = hint_for("module", module, plan) or ""
            assert f"`import {module}`" not in hint or module in plan.imports, module
            assert "pip install" not in hint


@pytest.mark.parametrize("text", ["a && b", "x++", "// no", "let us", "fn(x) => y", "print x"])
def test_text_in_strings_is_not_taken_for_code(text: str) -> None:
    source = f"x = ['{text}' 3]"
    with pytest.raises(SyntaxError) as caught:
        compile(source, "<step 1>", "exec")
    assert "comma" in (syntax_hint(caught.value, source) or "")


def test_limit_hint() -> None:
    limits = LimitsPlan(
        memory_bytes=256 << 20, cpu_seconds=5, output_bytes=4096, processes=0, threads=0, value_bytes=0, value_depth=0
    )  # fmt: skip
    assert "256 MiB" in (limit_hint("memory", limits) or "")
    assert "2.5 s" in (limit_hint("timeout", limits, wall_seconds=2.5) or "")
    assert "condition" in (limit_hint("timeout", source_line="while True:") or "")
    assert "repetition" in (limit_hint("timeout", source_line="m = re.match(r'(a+)+$', text)") or "")
    assert "digits" in (limit_hint("timeout", source_line="x = 9 ** 9 ** 9") or "")
    assert "digits" not in (limit_hint("timeout", source_line="total += x ** 2") or "")
    assert "import it in a step" in (limit_hint("timeout", source_line="import numpy as np, pandas") or "")
    assert "digits" in (limit_hint("timeout", source_line="import math; math.factorial(10**7)") or "")
    assert "5 s of CPU" in (limit_hint("cpu", limits) or "")
    assert "4 KiB" in (limit_hint("output", limits) or "")
    assert limit_hint("ok") is None
