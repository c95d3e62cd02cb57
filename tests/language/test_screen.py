"""The screen of byte code lets a program pass only where the visit of its tree would change and refuse nothing."""

from __future__ import annotations

import ast
import builtins
import json
import os
import warnings
from pathlib import Path
from types import CodeType

import msgspec
import pytest

from safeexec.engine.policy import names
from safeexec.engine.policy.model import Policy
from safeexec.engine.policy.plans import language_plan
from safeexec.language.judge import PolicyJudge
from safeexec.language.rules import Rules
from safeexec.language.transformer import StepTransformer
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from tests.language.grammar import Grammar

PROGRAMS = int(os.environ.get("SCREENED_PROGRAMS", "600"))
"""How many are compared for each plan; more are asked for by hand."""
PLAIN = [
    "o", "a", "b", "x", "y", "name", "self", "real", "dumps", "pi", "append", "title", "len", "str", "_own", "A",
    "E",
]  # fmt: skip
SUSPICIOUS = sorted(
    names.RESERVED | names.REFUSED_ATTRIBUTES | names.FORMAT | {
        "eval", "exec", "open", "input", "compile", "__mro__", "__class__", "import_module", "seed", "secret", "system",
        "json", "j", "random", "os", "sys", "*", "__init__", "tau", "fork", "kill", "request", "ProcessPoolExecutor",
        "{0.__globals__}", "x.__code__", "loads", "path", "log", "stdout", "stdin", "print", "__debug__", "os.system",
    }
)  # fmt: skip
MODULES = [
    "math", "json", "random", "string", "collections.abc", "operator", "typing", "os", "os.path", "urllib.request",
    "concurrent.futures", "subprocess", "a.b", "sys", "__future__",
]  # fmt: skip


def plans(plan: LanguagePlan) -> dict[str, LanguagePlan]:
    """Plans that differ in what the screen has to know."""
    chosen = {"random": ImportPlan(refused=frozenset({"seed"})), "math": ImportPlan(frozenset({"pi"}))}
    every = frozenset(dir(builtins))
    return {
        "open": plan,
        "names chosen": msgspec.structs.replace(plan, imports=plan.imports | chosen),
        "attributes": msgspec.structs.replace(
            plan, refused_attributes={"secret": "1", "json.loads": "2"}, allowed_attributes=frozenset({"__globals__"})
        ),
        "text is run": msgspec.structs.replace(plan, builtins=every),
        "constructs": msgspec.structs.replace(plan, refused_constructs={"decorator": "1"}),
        "standard": language_plan(Policy.load("standard")),
        "data-analysis": language_plan(Policy.load("data-analysis")),
    }


PLANS = [*plans(LanguagePlan())]


@pytest.mark.parametrize("name", PLANS)
def test_what_the_screen_passes_the_visit_passes_unchanged(name: str, plan: LanguagePlan) -> None:
    rules = Rules(plans(plan)[name])
    grammar = Grammar(PLANS.index(name), PLAIN, SUSPICIOUS, MODULES)
    known = {"j": json, "o": os, "x": 1, "open": 1}
    passed = visited = refused = 0
    for _ in range(PROGRAMS):
        source = grammar.program()
        code = compiled(source)
        if code is None:
            continue
        transformer = StepTransformer(rules, known)
        transformer.check(ast.parse(source))
        if PolicyJudge(rules, known).passes(source, (code,)):
            assert not transformer.findings and not transformer.rewritten, source
            passed += 1
        else:
            visited += 1
        refused += bool(transformer.findings)
    assert visited > PROGRAMS // 20 and refused > PROGRAMS // 40  # else nothing was compared
    if name != "constructs":
        assert passed > PROGRAMS // 20


def test_what_never_runs_is_in_no_byte_code(plan: LanguagePlan) -> None:
    """The one difference: CPython leaves it out, so that it is refused only where something else asks for a visit."""
    source = "def f():\n    x: y.__globals__ = 1"
    code = compiled(source)
    transformer = StepTransformer(Rules(plan))
    transformer.check(ast.parse(source))
    assert code is not None and PolicyJudge(Rules(plan), ()).passes(source, (code,)) and transformer.findings


def compiled(source: str) -> CodeType | None:
    """Its code, or None for what is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return compile(source, "<step>", "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            return None


def test_so_it_is_for_every_program_of_the_tests(plan: LanguagePlan) -> None:
    passed = dict.fromkeys(("standard", "data-analysis"), 0)
    rules = {name: Rules(plans(plan)[name]) for name in passed}
    for path in sorted(Path(__file__).parents[1].glob("**/*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        code = compiled(source)
        for name in passed:
            if code is not None and PolicyJudge(rules[name], ()).passes(source, (code,)):
                transformer = StepTransformer(rules[name])
                transformer.check(ast.parse(source))
                assert not transformer.findings and not transformer.rewritten, path
                passed[name] += 1
    assert min(passed.values()) > 50
