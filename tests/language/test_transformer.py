"""What a program may not write, and that everything else may be written."""

from __future__ import annotations

import sys

import msgspec
import pytest

from safeexec.engine.child.step.program import Rejection, compile_program
from safeexec.language.judge import compile_step
from safeexec.language.language import RestrictedLanguage
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from tests.language.constructs import SAMPLES

REFUSED = [
    # frames, code, globals, wherever an expression can stand
    ("f.__globals__", "attribute", "__globals__"),
    ("().__class__.__base__.__subclasses__()", "attribute", "__subclasses__"),
    ("@x.__globals__\ndef f(): pass", "attribute", "__globals__"),
    ("def f(a=x.__globals__): pass", "attribute", "__globals__"),
    # every way to write
    ("x.__code__ = 1", "attribute", "__code__"),
    ("x.__code__: int = 1", "attribute", "__code__"),
    ("with a as x.__code__: pass", "attribute", "__code__"),
    ("[1 for x.__code__ in y]", "attribute", "__code__"),
    ("x.__code__ += 1", "attribute", "__code__"),
    ("for x.__code__ in y: pass", "attribute", "__code__"),
    ("a, (b, *x.__code__) = y", "attribute", "__code__"),
    ("del x.__code__", "attribute", "__code__"),
    # class patterns read attributes
    ("match f:\n    case object(__globals__=g): pass", "attribute", "__globals__"),
    # templates
    ("'{0.__globals__}'.format(f)", "attribute", "__globals__"),
    ("'{0:{1.__globals__}}'.format(f, g)", "attribute", "__globals__"),
    # identifiers of the interpreter, in every binding form
    ("__builtins__", "builtin", "__builtins__"),
    ("__import__('os')", "module", "os"),
    ("__build_class__", "builtin", "__build_class__"),
    ("import math as __builtins__", "builtin", "__builtins__"),
    ("def f():\n    global __builtins__\n    __builtins__ = 1", "builtin", "__builtins__"),
    # builtins that the policy leaves out
    ("eval('1')", "builtin", "eval"),
    ("@exec\nclass A: pass", "builtin", "exec"),
    ("class X:\n    __class_getitem__ = eval", "builtin", "eval"),
    ("open('x')", "builtin", "open"),
    # imports
    ("import os", "module", "os"),
    ("from os import *", "module", "os"),
    ("import math, posix", "module", "posix"),
    # NFKC: the parser normalises, so do the checks
    ("f._＿𝘨𝘭𝘰𝘣𝘢𝘭𝘴＿_", "attribute", "__globals__"),
]
if sys.version_info >= (3, 12):
    REFUSED += [
        ("type T = x.__globals__", "attribute", "__globals__"),
        ("def f[T: x.__globals__](): pass", "attribute", "__globals__"),
        ("f'{'{x.__globals__}'.format(f).__code__}'", "attribute", "__code__"),
    ]


@pytest.mark.parametrize(("source", "kind", "name"), REFUSED)
def test_refused(source: str, kind: str, name: str, plan: LanguagePlan) -> None:
    with pytest.raises(Rejection) as caught:
        compile_step(source, plan, filename="<step>")
    assert (kind, name) in [(found.kind, found.name) for found in caught.value.diagnostics]


ACCEPTED = [
    "class A:\n    def __init__(self): self._x = 1\n    def __len__(self): return self._x\nassert len(A()) == 1",
    "class A:\n    __slots__ = ('x',)\n    def __setattr__(self, k, v): super().__setattr__(k, v)\n"
    "a = A()\na.x = 2\nassert a.x == 2",
    "class A:\n    def __getattribute__(self, k): return object.__getattribute__(self, k)\n"
    "    y = 1\nassert A().y == 1",
    "class A:\n    def __init__(self, **kw): self.__dict__.update(kw)\nassert A(a=1).__dict__ == {'a': 1}",
    "class M(type):\n    def __new__(m, n, b, d): return super().__new__(m, n, b, d)\n"
    "class A(metaclass=M): pass\nassert type(A) is M",
    "class A:\n    def __init_subclass__(cls, tag=None): cls.tag = tag\nclass B(A, tag=1): pass\nassert B.tag == 1",
    "class A: pass\nclass B(A): pass\nassert B.__mro__[1] is A and B.__bases__ == (A,)",
    "X = type('X', (), {'y': 3})\nassert X().y == 3 and X.mro()[0] is X",
    "def f(a=[1]): return a\nassert f.__defaults__ == ([1],) and f.__name__ == 'f' and f.__doc__ is None",
    "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return [i async for i in g()]\n"
    "async def g():\n    yield 1\n",
    "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\n"
    "with C() as c, C():\n    raise ValueError",
    "try:\n    raise ValueError('x') from KeyError(1)\nexcept ValueError as e:\n"
    "    assert type(e.__cause__) is KeyError and e.args == ('x',)",
    "out = []\ntry:\n    raise ExceptionGroup('g', [ValueError(1), TypeError(2)])\n"
    "except* ValueError as e:\n    out.append('v')\n"
    "except* TypeError as e:\n    out.append('t')\nassert out == ['v', 't']",
    "class P:\n    __match_args__ = ('x', 'y')\n    def __init__(self, x, y): self.x, self.y = x, y\n"
    "match P(1, 2):\n    case P(1, y=z): pass\nassert z == 2",
    "match {'a': [1, 2]}:\n    case {'a': [int(x), *rest], **more}: pass\nassert (x, rest, more) == (1, [2], {})",
    "match 5:\n    case str() | None: r = 1\n    case int(n) if n > 3: r = n\nassert r == 5",
    "assert '{0.real:>{1}} {x!r}'.format(5, 4, x='a') == \"   5 'a'\"",
    "t = '{}-{:>3}'\nassert t.format(1, 2) == '1-  2' and list(map(t.format, [1], [2])) == ['1-  2']",
    "assert '{a}'.format_map({'a': 1}) == '1' and '%s %r' % ('a', 'b') == \"a 'b'\"",
    "sum = 0\nlist = [1]\nfor max in list: sum += max\nassert sum == 1",
    "def f(eval): return eval\nassert f(2) == 2",
    "from math import *\nassert sqrt(4) == 2 and floor(pi) == 3",
    "from __future__ import annotations\ndef f(x: Later): pass\nassert f.__annotations__ == {'x': 'Later'}",
    *(
        ["x: int\ny: list[int] = []\nassert __annotations__ == {'x': int, 'y': list[int]}"]
        if sys.version_info < (3, 14)  # then annotations are evaluated when they are asked for, and have no such name
        else []
    ),
    "assert getattr(5, 're' + 'al') == 5 and getattr(5, 'none', 7) == 7 and hasattr('', 'upper')",
    "import functools\n@functools.lru_cache\ndef f(x): return x\nassert f(1) == 1 and f.__wrapped__(2) == 2",
    "class A:\n    y = [].__class__.__name__\n    z = ('{}' + '').format(1)\nassert (A.y, A.z) == ('list', '1')",
]
if sys.version_info >= (3, 12):
    ACCEPTED += [
        "type P[T] = list[T]\ndef f[T](x: T) -> T: return x\nclass C[T]:\n    pass\n"
        "assert f(1) == 1 and P.__name__ == 'P'",
        "def f[input](x: input) -> input: return x\nclass C[*open, **vars]: pass\ntype L[eval] = list[eval]\n"
        "assert f(1) == 1 and L.__value__",
        "assert f'{'a' + f\"{1}\"}' == 'a1'",
    ]


@pytest.mark.parametrize("source", ACCEPTED)
def test_accepted_and_runs(source: str, plan: LanguagePlan) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    language = RestrictedLanguage(plan)
    language.install(namespace)
    step = compile_program(source, "<step>", language.flags, language.judge)
    if step.body is not None:
        exec(step.body, namespace)


@pytest.mark.parametrize(("construct", "source"), SAMPLES.items())
def test_a_construct_that_the_policy_refuses(construct: str, source: str, plan: LanguagePlan) -> None:
    strict = msgspec.structs.replace(plan, refused_constructs={construct: "test.yaml:7"})
    with pytest.raises(Rejection) as caught:
        compile_step(source, strict, filename="<step>")
    (found,) = caught.value.diagnostics
    assert (found.kind, found.name, found.rule) == ("construct", construct, "test.yaml:7")
    compile_step(source, plan, filename="<step>")


def test_attribute_names_of_the_policy(plan: LanguagePlan) -> None:
    """A policy may refuse further names, and allow one that is refused by default."""
    own = msgspec.structs.replace(
        plan, refused_attributes={"secret": "own.yaml:4"}, allowed_attributes=frozenset({"__spec__", "__wrapped__"})
    )
    compile_step("x.__spec__.__wrapped__", own, filename="<step>")
    with pytest.raises(Rejection):
        compile_step("x.__spec__", plan, filename="<step>")
    with pytest.raises(Rejection) as caught:
        compile_step("x.secret = 1", own, filename="<step>")
    assert caught.value.diagnostics[0].rule == "own.yaml:4"


def test_names_that_the_policy_takes_from_a_module(plan: LanguagePlan) -> None:
    imports = {
        "random": ImportPlan(refused=frozenset({"seed"}), rule="own.yaml:5"),
        "math": ImportPlan(frozenset({"pi"}), rule="own.yaml:6"),
    }
    own = msgspec.structs.replace(plan, imports=imports)
    for source, name in (
        ("from random import seed", "random.seed"),
        ("import random as r\nr.seed(1)", "random.seed"),
        ("from math import sqrt", "math.sqrt"),
    ):
        with pytest.raises(Rejection) as caught:
            compile_step(source, own, filename="<step>")
        assert [found.name for found in caught.value.diagnostics] == [name]
    compile_step("import random\nfrom math import pi\nseed = random.random()", own, filename="<step>")


def test_names_of_the_session_shadow_builtins(plan: LanguagePlan) -> None:
    """`input` is left out, but the session has a function of that name from an earlier step."""
    with pytest.raises(Rejection):
        compile_step("input('x')", plan, filename="<step>")
    compile_step("input('x')", plan, filename="<step>", known_names={"input"})


def test_an_import_with_a_fallback_is_left_to_run(plan: LanguagePlan) -> None:
    compile_step("try:\n    import os\nexcept (ImportError, OSError):\n    os = None", plan, filename="<step>")
    with pytest.raises(Rejection):
        compile_step("try:\n    import os\nexcept ValueError:\n    os = None", plan, filename="<step>")


ELSEWHERE = [
    "TYPE_CHECKING", "typing.TYPE_CHECKING", "'__pypy__' in sys.builtin_module_names", "sys.platform == 'win32'",
    "sys.platform.startswith('win')", "os.name == 'nt'", "sys.version_info < (3, 8)", "sys.version_info[0] < 3",
    "'PyPy' in sys.version", "platform.python_implementation() == 'PyPy'",
]  # fmt: skip
"""What asks whether the program runs somewhere else."""


@pytest.mark.parametrize("test", ELSEWHERE)
def test_an_import_for_another_environment_is_left_to_run(plan: LanguagePlan, test: str) -> None:
    compile_step(f"if {test}:\n    import msvcrt\n    from os import nothing", plan, filename="<step>")
    for source in (f"if {test}:\n    pass\nelse:\n    import msvcrt", f"if x or {test}:\n    import msvcrt"):
        with pytest.raises(Rejection):
            compile_step(source, plan, filename="<step>")
