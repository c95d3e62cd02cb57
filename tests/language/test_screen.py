"""The screen of byte code lets a program pass only where the visit of its tree would change and refuse nothing."""

from __future__ import annotations

import ast
import builtins
import os
import warnings
from pathlib import Path
from types import CodeType

import msgspec
import pytest

from safeexec.compiler import names
from safeexec.compiler.rules import Rules
from safeexec.compiler.screen import SUPPORTED, is_clean
from safeexec.compiler.transformer import StepTransformer
from safeexec.facades.build import facade
from safeexec.policy.model import Policy
from safeexec.policy.plans import language_plan
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from tests.compiler.grammar import Grammar

PROGRAMS = int(os.environ.get("SCREENED_PROGRAMS", "600"))
"""How many are compared for each plan; more are asked for by hand."""
PLAIN = ["a", "b", "x", "y", "name", "self", "real", "dumps", "pi", "append", "title", "len", "str", "_own", "A", "E"]
SUSPICIOUS = sorted(
    names.RESERVED | names.GUARDED | names.REFUSED_PLAIN_NAMES | names.DEFINABLE | {
        "eval", "exec", "open", "compile", "__mro__", "__class__", "__subclasses__", "__unheard__", "seed", "secret",
        "Formatter", "json", "j", "random", "os", "sys", "*", "__init__", "__match_args__", "tau", "attrgetter",
        "{0.__globals__}", "x.__code__", "loads", "path", "log", "stdout", "stdin", "print", "__debug__",
    }
)  # fmt: skip
MODULES = [
    "math",
    "json",
    "random",
    "string",
    "collections.abc",
    "operator",
    "typing",
    "os",
    "a.b",
    "sys",
    "__future__",
]


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


PLANS = ["open", "names chosen", "attributes", "text is run", "constructs", "standard", "data-analysis"]


@pytest.mark.parametrize("name", PLANS)
def test_what_the_screen_passes_the_visit_passes_unchanged(name: str, plan: LanguagePlan) -> None:
    rules = Rules(plans(plan)[name])
    grammar = Grammar(PLANS.index(name), PLAIN, SUSPICIOUS, MODULES)
    known = {"j": facade("json", rules.plan), "x": 1, "open": 1}
    passed = visited = refused = 0
    for _ in range(PROGRAMS):
        source = grammar.program()
        code = compiled(source)
        if code is None:
            continue
        transformer = StepTransformer(rules, known)
        transformer.check(ast.parse(source))
        if is_clean(code, rules, source):
            assert not transformer.findings and not transformer.rewritten, source
            passed += 1
        else:
            visited += 1
        refused += bool(transformer.findings)
    assert visited > PROGRAMS // 20 and refused > PROGRAMS // 20  # else nothing was compared
    if SUPPORTED and name != "constructs":
        assert passed > PROGRAMS // 20


@pytest.mark.parametrize(
    "source",
    [
        "if 0:\n    import os",
        "def f():\n    return 1\n    import os",
        "def f():\n    x: y.__globals__ = 1",
        "def f():\n    global __builtins__",
    ],
)
def test_what_never_runs_is_in_no_byte_code(source: str, plan: LanguagePlan) -> None:
    """The one difference: CPython leaves it out, so that it is refused only where something else asks for a visit."""
    code = compiled(source)
    transformer = StepTransformer(Rules(plan))
    transformer.check(ast.parse(source))
    assert code is not None and is_clean(code, Rules(plan), source) == SUPPORTED and transformer.findings


def compiled(source: str) -> CodeType | None:
    """Its code, or None for what is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return compile(source, "<step>", "exec", dont_inherit=True, optimize=0)
        except SyntaxError:
            return None


@pytest.mark.parametrize(
    "source",
    [
        "from json import JSONEncoder\ndef f():\n    JSONEncoder.x = 1",
        "from json import JSONEncoder\ndef f():\n    JSONEncoder.x += 1",
        "from json import JSONEncoder\ndef f(a):\n    a.n += 1\n    JSONEncoder.x.y += 1\n    a.n += 1",
        "from json import JSONEncoder\ndef f():\n    del JSONEncoder.x",
        "def f():\n    from json import JSONEncoder\n    class A:\n        JSONEncoder.x = 1",
        "def f():\n    from json import JSONEncoder\n    def g():\n        JSONEncoder.x += 1",
        "import json\nlambda: [json.x for json.x in y]",
    ],
)
def test_a_store_on_a_library_is_never_passed(source: str, plan: LanguagePlan) -> None:
    code = compiled(source)
    assert code is not None and not is_clean(code, Rules(plan), source)


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def f(self, n):\n        self.n = n\n        self.n += n\n        self.m -= 1",
        "def f(a):\n    del a.n",
        "def f(a):\n    a().x = 1\n    a[0].x += 1",
    ],
)
def test_a_store_on_what_a_function_was_given_needs_no_visit(source: str, plan: LanguagePlan) -> None:
    code = compiled(source)
    assert code is not None and is_clean(code, Rules(plan), source) == SUPPORTED


CELLS = {
    "class A:\n    def f(self):\n        super().f()\n        return self.__class__, A . __class__": False,
    "class A:\n    def f(self):\n        super().f()\n        return self.__class__": True,
    "class A:\n    def f(self): return __class__": False,
    "class A:\n    def f(self): return self.__class__, __class__": False,
    "class A:\n    def f(self): return f'{self.__class__}.{__class__}'": False,
    "class A:\n    def f(self): return __\uff43lass__": False,
    "class A:\n    __class__ = 1": False,
    "y = x.\\\n__class__": False,
    "# \u00e4\nclass A:\n    def f(self): self.g()": True,
}
"""Whether the screen lets them pass."""


@pytest.mark.skipif(
    not names.CLASS_CELL or not SUPPORTED, reason="this Python has no cell that a program must not read"
)
@pytest.mark.parametrize(("source", "passes"), CELLS.items())
def test_the_cell_of_a_class_is_read_by_super_alone(source: str, passes: bool, plan: LanguagePlan) -> None:
    code = compiled(source)
    assert code is not None and is_clean(code, Rules(plan), source) == passes


@pytest.mark.parametrize("name", ["standard", "data-analysis"])
def test_so_it_is_for_every_program_of_the_tests(name: str, plan: LanguagePlan) -> None:
    rules = Rules(plans(plan)[name])
    passed = 0
    for path in sorted(Path(__file__).parents[1].glob("**/*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        code = compiled(source)
        if code is not None and is_clean(code, rules, source):
            transformer = StepTransformer(rules)
            transformer.check(ast.parse(source))
            assert not transformer.findings and not transformer.rewritten, path
            passed += 1
    assert passed > 50 or not SUPPORTED
