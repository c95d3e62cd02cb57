"""The tables are complete for the interpreter that runs these tests: a new Python version shows up here first."""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import AsyncGenerator, Generator

import pytest

from safeexec.compiler import names
from safeexec.compiler.rules import REFUSED, Rules
from safeexec.protocol.plan import LanguagePlan

HARMLESS = {"send", "throw", "close", "asend", "athrow", "aclose", "clear", "replace", "tb_lineno", "tb_next"}


def _generator() -> Generator[int]:
    yield 1


async def _asyncgen() -> AsyncGenerator[int]:
    yield 1


async def _coroutine() -> None: ...


@pytest.fixture
def rules() -> Rules:
    return Rules(LanguagePlan())


@pytest.mark.parametrize(
    "kind",
    [
        types.FrameType,
        types.TracebackType,
        types.CodeType,
        types.GeneratorType,
        types.CoroutineType,
        types.AsyncGeneratorType,
    ],
)
def test_every_public_attribute_of_frames_code_and_generators_is_refused(kind: type, rules: Rules) -> None:
    attributes = {name for name in dir(kind) if not name.startswith("__")} - HARMLESS
    assert attributes
    assert {name for name in attributes if rules.attribute(name) != REFUSED} == set()


@pytest.mark.parametrize(
    "value", [_generator, len, "".join, types.ModuleType("m"), object(), type, property(), ValueError()]
)
def test_dunder_attributes_of_ordinary_objects_that_lead_out_are_never_plain(value: object, rules: Rules) -> None:
    leading_out = {
        "__globals__", "__builtins__", "__code__", "__closure__", "__self__", "__func__", "__reduce__", "__reduce_ex__",
        "__subclasses__", "__loader__", "__spec__", "__dict__", "__getattribute__", "__import__",
    }  # fmt: skip
    assert {name for name in leading_out & set(dir(value)) if rules.attribute(name) == 0} == set()


def test_every_node_kind_of_this_python_is_judged() -> None:
    """A kind that is in no table is refused; that must be a decision and not an oversight."""
    kinds = {
        name
        for name, kind in vars(ast).items()
        if isinstance(kind, type)
        and issubclass(kind, ast.stmt | ast.expr | ast.pattern)
        and kind.__module__ in ("ast", "_ast")
    }
    abstract = {
        "stmt",
        "expr",
        "pattern",
        "Num",
        "Str",
        "Bytes",
        "NameConstant",
        "Ellipsis",
        "_ast_Ellipsis",
    }  # old names, gone in 3.14
    assert kinds - abstract <= set(names.CHILDREN), sys.version


def test_children_names_every_field_that_holds_nodes() -> None:
    """A field that is missing in the table would never be visited."""
    sample = ast.parse(SAMPLE if sys.version_info < (3, 12) else SAMPLE + SAMPLE_312)
    skipped = set()
    for node in ast.walk(sample):
        listed = set(names.CHILDREN.get(type(node).__name__, ()))
        for field, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            held = [item for item in items if isinstance(item, ast.AST)]
            plain = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.alias)
            if field not in listed and any(not isinstance(item, plain) for item in held):
                skipped.add((type(node).__name__, field))
    assert skipped == set()


def test_constructs_name_existing_node_kinds() -> None:
    later = {"TypeAlias"}  # 3.12
    for labels in names.CONSTRUCTS.values():
        for label in labels:
            assert hasattr(ast, label) or label in later


def test_guards_cannot_be_spelled() -> None:
    assert not any(name.isidentifier() for name in names.GUARD_NAMES)


SAMPLE = """
@dec
class A(B, metaclass=M):
    x: int = 1
    def f(self, a: int, /, b=2, *c: int, d=3, e, **g: int) -> int:
        global q
        return [i for i in x if i], {i for i in x}, {k: v for k, v in x}, (i for i in x), lambda y=1: y
async def g():
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
