"""The tables are complete for the interpreter that runs these tests: a new Python version shows up here first."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import AsyncGenerator, Generator
from types import CodeType, FrameType
from typing import Any

import msgspec
import pytest
from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from safeexec.engine.policy import names
from safeexec.language.rules import Rules
from safeexec.language.transformer import StepTransformer
from safeexec.protocol.plan import LanguagePlan


def _generator() -> Generator[int]:
    yield 1


async def _asyncgen() -> AsyncGenerator[int]:
    yield 1


async def _coroutine() -> None: ...


def _error() -> Exception:
    try:
        raise ValueError
    except ValueError as error:
        return error


def samples() -> list[Any]:
    """What runs, what is run, and what remembers it."""
    coroutine = _coroutine()
    coroutine.close()
    return [sys._getframe(), _error().__traceback__, _generator(), coroutine, _asyncgen(), _generator, "".join]


@pytest.mark.parametrize("value", samples(), ids=lambda value: type(value).__name__)
def test_what_leads_to_frames_code_and_namespaces_is_refused(value: Any) -> None:
    leading = {name for name in dir(value) if _is_inside(getattr(value, name, None))}
    assert leading - names.REFUSED_ATTRIBUTES == set()
    assert leading or type(value) is not type(_generator)


def _is_inside(value: object) -> bool:
    return isinstance(value, FrameType | CodeType) or value is globals()


@pytest.mark.parametrize("name", ["__class__", "__dict__", "__mro__", "__bases__", "__self__", "__init__", "__name__"])
def test_what_honest_programs_read_is_plain(name: str) -> None:
    assert not Rules(LanguagePlan()).refuses(name)


def test_syntax_of_a_later_python_is_refused_only_where_a_policy_chooses_constructs(plan: LanguagePlan) -> None:
    """It is made of expressions and names, which are judged like all others."""

    class Novelty(ast.stmt):
        _fields = ("value", "name")

    def findings(own: LanguagePlan, name: str) -> list[tuple[str, str]]:
        tree = ast.Module([Novelty(ast.Name("x", ast.Load()), name, lineno=1, col_offset=0)], [])
        transformer = StepTransformer(Rules(own))
        transformer.check(tree)
        return [(found.kind, found.name) for found in transformer.findings]

    assert findings(plan, "a") == []
    assert findings(plan, "__builtins__") == [("builtin", "__builtins__")]
    strict = msgspec.structs.replace(plan, refused_constructs={"while": "test.yaml:7"})
    assert findings(strict, "a") == [("construct", "Novelty")]


def test_every_statement_of_this_python_is_some_construct_or_always_allowed() -> None:
    """A policy that lists constructs means to leave out the others: none is without a name by oversight."""
    named = {label for labels in names.CONSTRUCTS.values() for label in labels}
    always = {"Return", "Expr", "Pass", "Break", "Continue"}
    statements = {kind.__name__ for kind in _kinds() if issubclass(kind, ast.stmt)}
    assert statements - named == always


def _kinds() -> list[type[ast.AST]]:
    """Every node kind that the parser of this Python makes: those whose text is their own signature."""
    old = {"AugLoad", "AugStore", "Param", "Suite", "Index", "ExtSlice"}  # kept by name; no parser makes them
    found = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    signed = [kind for kind in found if re.fullmatch(rf"{kind.__name__}(\(.*\))?", kind.__doc__ or "")]
    assert len(signed) > 90
    return [kind for kind in signed if kind.__name__ not in old]


def test_every_expression_is_visited(plan: LanguagePlan) -> None:
    """Wherever the grammar has an expression, what may not be read is found."""
    reads = [
        index
        for index, node in enumerate(ast.walk(_sample()))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    assert len(reads) > 40
    for index in reads:
        tree = _sample()
        twin: Any = list(ast.walk(tree))[index]
        twin.id = "__builtins__"
        assert "__builtins__" in _found(tree, plan), ast.unparse(tree)


NOT_BOUND = {
    ("Attribute", "attr"),
    ("Global", "names"),
    ("ImportFrom", "module"),
    ("MatchClass", "kwd_attrs"),
    ("Nonlocal", "names"),
    ("alias", "name"),
    ("keyword", "arg"),
}
"""Where an identifier of the grammar is no name that the program binds by it."""


def test_no_identifier_that_is_bound_may_be_that_of_a_guard(plan: LanguagePlan) -> None:
    """CVE-2026-55830: RestrictedPython forgot one kind of parameter, which could shadow a guard."""
    places = {(kind.__name__, field) for kind in _kinds() for field in _identifiers(kind)} - NOT_BOUND
    tried = set()
    for index, node in enumerate(ast.walk(_sample())):
        for field in _identifiers(type(node)):
            tree = _sample()
            twin = list(ast.walk(tree))[index]
            if (type(node).__name__, field) in NOT_BOUND or getattr(twin, field) is None:
                continue
            setattr(twin, field, names.GUARD_FORMAT)
            assert names.GUARD_FORMAT in _found(tree, plan), (node, field)
            tried.add((type(node).__name__, field))
    assert tried == places


def _found(tree: ast.AST, plan: LanguagePlan) -> set[str]:
    transformer = StepTransformer(Rules(plan))
    transformer.check(tree)
    return {found.name for found in transformer.findings}


def _identifiers(kind: type[ast.AST]) -> list[str]:
    return re.findall(r"identifier[*?]? (\w+)", kind.__doc__ or "")


def _sample() -> ast.Module:
    return ast.parse(SAMPLE if sys.version_info < (3, 12) else SAMPLE + SAMPLE_312)


def test_names_that_inspect_documents_and_guards_are_refused_and_constructs_name_node_kinds() -> None:
    # As RestrictedPython does, but for what leads to another traceback or to a generator, whose frames are refused.
    assert set(INSPECT_ATTRIBUTES) - names.REFUSED_ATTRIBUTES == {"f_generator", "tb_next"}
    later = {"TypeAlias", "TemplateStr"}  # 3.12, 3.14
    for labels in names.CONSTRUCTS.values():
        for label in labels:
            assert hasattr(ast, label) or label in later
    assert names.GUARD_NAMES <= names.RESERVED


SAMPLE = """
@dec
class A(B, metaclass=M):
    x: int = 1
    def f(self, a: int, /, b=2, *c: int, d=3, e, **g: int) -> int:
        global q
        return [i for i in x if i], {i for i in x}, {k: v for k, v in x}, (i for i in x), lambda y=1: y
import a.b as c
from d import e as f
async def g(n):
    def h():
        nonlocal n
    async for i in x: await i
    else: pass
    async with a as b, c: yield 1
    yield from [1]
try: raise x from y
except E as e: pass
else: pass
finally: pass
try: pass
except* E: pass
with a as b: pass
match x:
    case [1, *rest] if rest: pass
    case {"k": v, **rest}: pass
    case P(1, k=2) | None: pass
    case -1 | "s" | a.b: pass
for i in x: continue
else: pass
while 1: break
else: pass
if a: pass
elif b: pass
del x[1:2:3], y.z
assert a, b
x += (yy := -1) if not a else b ** c and d < e < f
f(*a, b=1, **c)
f"{a!r:>{b}}"
"""
SAMPLE_312 = """
type T[X: int, *Y, **Z] = list[X]
def f[X: int](a: X): pass
class C[X](D): pass
"""
