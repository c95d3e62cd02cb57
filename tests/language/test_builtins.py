"""The builtins of a program: those of the policy's list, guarded where a name or a text is computed."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest

from safeexec import Session
from safeexec.engine.child.step.program import compile_program
from safeexec.language.language import RestrictedLanguage
from safeexec.protocol.plan import ImportPlan, LanguagePlan

Run = Callable[[str], Any]
MODULES = ("math", "json", "operator", "functools", "collections", "enum", "copy", "typing")


def make_guest(**changes: Any) -> Run:
    """Return what runs steps of one session and gives the value of the last expression, under a plan that opens every
    builtin (`eval` and `exec` in their guarded form) and some modules.
    """
    plan: dict[str, Any] = {
        "profile": "test",
        "builtins": frozenset(dir(builtins)) | {"exit", "quit"},
        "imports": {name: ImportPlan(rule="test.yaml:3") for name in MODULES},
        "rules": {"imports": "test.yaml:2", "language.mode": "test.yaml:9"},
    }
    namespace: dict[str, Any] = {"__name__": "__main__"}
    language = RestrictedLanguage(LanguagePlan(**plan | changes))
    language.install(namespace)

    def run(source: str) -> Any:
        step = compile_program(source, "<step>", language.flags, language.judge)
        if step.body is not None:
            exec(step.body, namespace)
        return eval(step.tail, namespace) if step.tail is not None else None

    return run


@pytest.fixture
def guest() -> Run:
    return make_guest()


@pytest.mark.parametrize(
    "source",
    [
        "getattr(f, '__glo' + 'bals__')",
        "setattr(f, '__co' + 'de__', None)",
        "delattr(f, '__clos' + 'ure__')",
        "getattr(f, '__cl' + 'osure__', None).x",
        "('{0.__glo' + 'bals__}').format(f)",
        "('{a.__glo' + 'bals__}').format_map({'a': f})",
        "('{0:{1.gi_' + 'frame}}').format(1, f)",
        "eval('f.__globals__')",
        "exec('import os')",
        "exec(compile('f.__code__', 'a', 'eval'))",
        "eval(b'f.__globals__')",
        "import ast\ncompile(ast.parse('f.__code__', mode='eval'), 'a', 'eval')",
    ],
)
def test_a_refused_name_that_is_computed(source: str) -> None:
    run = make_guest(imports={"ast": ImportPlan(rule="test.yaml:3")})
    run("def f(): pass")
    with pytest.raises((AttributeError, ImportError)) as caught:
        run(source)
    if "None).x" not in source:  # with a default `getattr` gives that, as `hasattr` says no
        assert "refused" in str(caught.value) and caught.value.refused and caught.value.rule  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("getattr(1, 'nothing', 7)", 7),
        ("hasattr(1, 'real'), hasattr(1, 'nothing'), hasattr(len, '__globals__')", (True, False, False)),
        ("class A: pass\nsetattr(A, 'x', 1)\nA.x", 1),
        ("class A: x = 1\ndelattr(A, 'x')\nhasattr(A, 'x')", False),
        ("'{0.real} {x!r:>4}'.format(1, x='a')", "1  'a'"),
        ("t = '{' + '0.real}'\nt.format(3)", "3"),
        ("class F:\n    def format(self, x): return x\nF().format(2)", 2),
        ("eval('x', {'x': 3})", 3),
        ("def f(a):\n    return eval('a + 1')\nf(1)", 2),
        ("exec('y = 4')\ny", 4),
        ("d = {}\nexec('z = 5', d)\nd['z']", 5),
        ("eval(compile('6', 'a', 'eval'))", 6),
        ("eval(' 7')", 7),
        ("globals() is not None and isinstance(locals(), dict)", True),
        ("len.__self__.__name__", "builtins"),
        ("getattr.__name__, eval.__module__", ("getattr", "builtins")),
    ],
)
def test_all_else_is_as_in_python(guest: Run, source: str, value: object) -> None:
    assert guest(source) == value


MISTAKES = [
    "getattr(1)", "getattr(1, 2)", "setattr(1, 2, 3)", "hasattr(1, 2)", "eval(1)", "eval('1', 2)", "eval('1 +')",
    "exec('x = = 1')", "compile('1', 'a', 'nothing')", "getattr(1, 'nothing')", "eval(b'\\xff')",
]  # fmt: skip


@pytest.mark.parametrize("source", MISTAKES)
def test_mistakes_raise_what_python_raises(guest: Run, source: str) -> None:
    with pytest.raises(Exception) as expected:
        exec(source, {})
    with pytest.raises(Exception) as caught:
        guest(source)
    assert type(caught.value) is type(expected.value)


def test_a_builtin_that_the_policy_leaves_out() -> None:
    run = make_guest(builtins=frozenset(dir(builtins)) - {"open", "eval", "input"})
    with pytest.raises(NameError, match="refused"):
        run("exec('open(1)')")
    assert run("def open(x): return x\nopen(1)") == 1
    with pytest.raises(NameError, match="no standard input"):
        run("def ask():\n    return input('?')\nask()")


@pytest.mark.profile("mathematics")
@pytest.mark.modules("numpy")
@pytest.mark.parametrize("call", ["numpy.fromfile('x')", "numpy.zeros(2).tofile('x')"])
def test_c_code_that_opens_a_file_is_refused_in_words(session: Session, call: str) -> None:
    error = session.run(f"import numpy\n{call}").error
    assert error is not None and error.message == "builtin 'open' is refused"
    assert error.rule and error.hint


@pytest.mark.profile("data-analysis")
@pytest.mark.parametrize("name", ["open", "print", "input"])
def test_a_patched_builtin_is_that_of_program_and_libraries(session: Session, name: str) -> None:
    source = f"""
from unittest import mock
import builtins, pathlib
with mock.patch("builtins.{name}") as patched:
    {name}("a")
    builtins.{name}("b")
assert patched.call_args_list == [mock.call("a"), mock.call("b")]
assert {name} is builtins.{name} and not isinstance({name}, mock.Mock)
"""
    session.run(source).check()
    assert session.run("open('a.txt', 'w').close()\nopen('a.txt').read()").check().value == ""


@pytest.mark.profile("data-analysis")
def test_pandas_reads_what_a_patched_open_gives(session: Session) -> None:
    source = """
from unittest import mock
import json
def load(): return json.load(open("no-such-file.json"))
with mock.patch("builtins.open", mock.mock_open(read_data="[1]")): found = load()
found
"""
    assert session.run(source).check().value == [1]
    assert session.run("load()").error.type == "FileNotFoundError"  # type: ignore[union-attr]


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_methods_and_nested_classes_are_pickled_as_in_python(session: Session, protocol: int) -> None:
    source = f"""
import pickle
class A:
    class B:
        def f(self): return 7
pickle.loads(pickle.dumps([A.B().f, [].append, A.B], {protocol}))[0]()
"""
    assert session.run(source).check().value == 7
