"""The tables are complete for the interpreter that runs these tests: a new Python version shows up here first."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import AsyncGenerator, Generator

import pytest
from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from safeexec.compiler import names
from safeexec.compiler.rules import REFUSED, Rules
from safeexec.compiler.transformer import DECIDERS, NODES_IN, StepTransformer
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
    """A kind without a method is refused; that must be a decision and not an oversight."""
    undecided = {kind.__name__ for kind in _kinds() if DECIDERS[kind] is StepTransformer.generic_visit}
    assert undecided <= {"FunctionType", "TypeIgnore"}, sys.version  # of type comments, which are not parsed


def _kinds() -> list[type[ast.AST]]:
    """Every node kind that the parser of this Python makes: those whose text is their own signature."""
    old = {"AugLoad", "AugStore", "Param", "Suite", "Index", "ExtSlice"}  # kept by name; no parser makes them
    found = [kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)]
    signed = [kind for kind in found if re.fullmatch(rf"{kind.__name__}(\(.*\))?", kind.__doc__ or "")]
    assert len(signed) > 90
    return [kind for kind in signed if kind.__name__ not in old]


def test_every_node_is_visited() -> None:
    """Which fields hold nodes is read off CPython's own grammar."""
    for node in ast.walk(_sample()):
        held = {field for field, value in ast.iter_fields(node) if _holds_nodes(value)}
        assert held <= set(NODES_IN[type(node)]), type(node).__name__
    assert NODES_IN[ast.FunctionDef][:4] == ("args", "body", "decorator_list", "returns")
    assert NODES_IN[ast.Constant] == NODES_IN[ast.Global] == NODES_IN[ast.Load] == ()


def _holds_nodes(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, ast.AST) for item in items)


def test_no_identifier_of_the_grammar_may_be_that_of_a_guard(plan: LanguagePlan) -> None:
    """CVE-2026-55830: RestrictedPython forgot one kind of parameter, which could shadow a guard."""
    places = {(kind.__name__, field) for kind in _kinds() for field in _identifiers(kind)}
    tried = set()
    for index, node in enumerate(ast.walk(_sample())):
        for field in _identifiers(type(node)):
            tree = _sample()
            twin = list(ast.walk(tree))[index]
            if getattr(twin, field) in (None, []):
                continue
            setattr(twin, field, ["_getattr_"] if isinstance(getattr(twin, field), list) else "_getattr_")
            transformer = StepTransformer(Rules(plan))
            transformer.check(tree)
            assert "_getattr_" in {found.name.rpartition(".")[2] for found in transformer.findings}, (node, field)
            tried.add((type(node).__name__, field))
    assert tried == places


def _identifiers(kind: type[ast.AST]) -> list[str]:
    return re.findall(r"identifier[*?]? (\w+)", kind.__doc__ or "")


def _sample() -> ast.Module:
    return ast.parse(SAMPLE if sys.version_info < (3, 12) else SAMPLE + SAMPLE_312)


def test_what_inspect_documents_is_refused_as_restrictedpython_does(rules: Rules) -> None:
    """`tb_next` leads from one traceback to another, whose frames are refused."""
    assert {name for name in INSPECT_ATTRIBUTES if rules.attribute(name) != REFUSED} == {"tb_next"}


def test_constructs_name_existing_node_kinds() -> None:
    later = {"TypeAlias", "TemplateStr"}  # 3.12, 3.14
    for labels in names.CONSTRUCTS.values():
        for label in labels:
            assert hasattr(ast, label) or label in later


def test_no_program_may_name_a_guard() -> None:
    theirs = {"_getattr_", "_getitem_", "_getiter_", "_write_", "_print_", "_inplacevar_", "_unpack_sequence_"}
    assert theirs | names.GUARD_NAMES <= names.RESERVED
    assert all(names.is_internal(name) for name in names.GUARD_NAMES)
    assert not names.TEMPORARY.format(1).isidentifier() and names.is_internal(names.TEMPORARY.format(1))


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
