"""The builtins of guest code."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_builtins_are_cpythons_own_except_the_guards(guest: Run) -> None:
    for name in ("len", "print", "type", "super", "isinstance", "ValueError", "range"):
        assert guest(name) is getattr(builtins, name)
    assert guest("getattr.__name__, getattr.__module__") == ("getattr", "builtins")


def test_what_the_policy_leaves_out_is_not_there(guest_with: Callable[..., Run]) -> None:
    run = guest_with(builtins=frozenset({"len", "getattr"}))
    assert run("len([1])") == 1
    with pytest.raises(NameError):
        run("def f():\n    return sum\nif 0:\n    sum = 1\nf()")


@pytest.mark.parametrize("name", ["__import__", "breakpoint", "__loader__", "help"])
def test_some_builtins_no_policy_can_give(name: str, guest_with: Callable[..., Run]) -> None:
    from safeexec.child.language.builtins import NEVER

    assert name in NEVER
    with pytest.raises(Exception, match=f"(?i){name}"):
        guest_with(builtins=frozenset(dir(builtins)))(name)


def test_globals_is_a_copy_whose_writes_arrive(guest: Run) -> None:
    assert guest("x = 1\ng = globals()\ng['y'] = 2\ng.update(z=3)\ng.setdefault('w', 4)\n(y, z, w, g['x'])") == (
        2,
        3,
        4,
        1,
    )
    assert guest("del globals()['x']\nglobals().pop('y')\n'x' in globals(), 'y' in globals()") == (False, False)
    assert guest("'__builtins__' in globals() or '__loader__' in globals()") is False


@pytest.mark.parametrize("key", ["__builtins__", "_getattr_", "__spec__"])
def test_globals_takes_no_write_to_the_interpreters_entries(key: str, guest: Run) -> None:
    with pytest.raises(KeyError):
        guest(f"globals()[{key!r}] = {{}}")


def test_locals_vars_and_dir_see_the_caller(guest: Run) -> None:
    assert guest("def f(a):\n    b = 2\n    return locals(), vars(), dir()\nf(1)") == (
        {"a": 1, "b": 2},
        {"a": 1, "b": 2},
        ["a", "b"],
    )
    assert guest("x = 1\n'x' in dir() and 'x' in locals() and 'x' in vars()") is True
    assert guest("class A:\n    y = 1\n    names = dir()\n'y' in A.names") is True


def test_dir_of_an_object_leaves_out_refused_names(guest: Run) -> None:
    assert guest("def f(): pass\n'__globals__' in dir(f), '__name__' in dir(f)") == (False, True)
    assert guest("[name for name in dir('') if not name.startswith('_')]") == [
        n for n in dir("") if not n.startswith("_")
    ]


def test_eval_and_exec_run_under_the_same_rules(guest: Run) -> None:
    assert guest("x = 2\neval(' x' + ' + 1')") == 3
    assert guest("def f(y):\n    return eval(f'y * {y}')\nf(4)") == 16
    assert guest("exec('z =' + '5')\nz") == 5
    assert guest("d = {'a': 1}\nexec('b = a' + '+ 1', d)\nd") == {"a": 1, "b": 2}
    assert guest("eval('a +' + 'b', {'a': 1}, {'b': 2})") == 3
    assert guest("class A:\n    exec('y =' + '1')\nA.y") == 1
    with pytest.raises(SyntaxError):
        guest("eval('1' + ' +')")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("().__class__.__base__.__subclasses__()", AttributeError),
        ("__import__('os')", ImportError),
        ("__import__('o' + 's')", NameError),
        ("f.__globals__", AttributeError),
        ("import os", ImportError),
    ],
)
def test_what_a_text_may_not_do_is_raised(guest: Run, text: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="refused") as caught:
        guest(f"text = {text!r}\ntext += ''\nexec(text)")
    assert caught.value.hint and caught.value.rule  # type: ignore[attr-defined]


def test_compiled_text_is_opaque_and_runs_under_the_rules(guest: Run) -> None:
    assert guest("exec(b'x = 1')\nc = compile('x + 1', '<c>', 'eval')\n(eval(c), eval(c, {'x': 5}))") == (2, 6)
    assert guest("[name for name in dir(c) if name[:2] == 'co']") == []
    with pytest.raises(AttributeError, match="refused"):
        guest("compile('f.__globals__', '<c>', 'eval')")
    with pytest.raises(TypeError, match="cannot create 'code' instances"):
        guest("type(c)()")
    with pytest.raises((TypeError, KeyError)):
        guest("exec(object.__new__(type(c)))")


def test_a_tree_is_compiled_as_its_text(guest: Run) -> None:
    source = "t = compile('1 + 2', '<t>', 'eval', 1024)\neval(compile(t, '<t>', 'eval'))"
    assert guest(source) == 3


def test_what_runs_in_one_dict_is_one_module(guest: Run) -> None:
    assert guest("d = {}\nexec('x = 1\\ndef f(): return x', d)\nd['x'] = 2\nexec('y = f()', d)\nd['y']") == 2


def test_the_builtins_do_not_stay_in_a_dict_of_the_guest(guest: Run) -> None:
    assert guest("d = {}\nexec('def f(): ' + 'return len([1])', d)\n(sorted(d), d['f']())") == (["f"], 1)
    assert guest("d = {'__builtins__': {'len': None}}\neval('len(' + '[1])', d)") == 1
    assert guest("d = {}\nexec('own = locals(), vars()' + '', d)\n[list(own) for own in d['own']]") == [
        ["own"],
        ["own"],
    ]


CLASS_PATTERN = """
class Anything(type):
    def __instancecheck__(cls, value): return True
class Pattern(metaclass=Anything):
    __match_args__ = ('__globals__',)
def function(): pass
match function:
    case Pattern(found): pass
"""
LIAR = """
class Name(str):
    asked = 0
    def __hash__(self): return hash('_match_class_')
    def __eq__(self, other):
        Name.asked += 1
        return Name.asked > 2
class Mapping(dict):
    def items(self): return [('_match_class_', lambda subject, *classes: subject)]
"""


@pytest.mark.parametrize(
    "namespaces",
    [
        "{'_match_class_': lambda subject, *classes: subject}",
        "{}, {'_match_class_': lambda subject, *classes: subject}",
        "{Name(): lambda subject, *classes: subject}",
        "{}, {Name(): lambda subject, *classes: subject}",
        "Mapping()",
        "{}, Mapping()",
    ],
)
def test_no_namespace_answers_for_a_guard(guest: Run, namespaces: str) -> None:
    with pytest.raises(AttributeError, match="'__globals__' is refused"):
        guest(f"{LIAR}text = {CLASS_PATTERN!r}\ntext += ''\nexec(text, {namespaces})")


def test_exit_and_quit_leave_the_step(guest: Run) -> None:
    for call in ("exit()", "quit(3)"):
        with pytest.raises(SystemExit):
            guest(call)


def test_functions_of_the_standard_library_find_what_they_need(guest: Run) -> None:
    """Code that the library generates and runs with the guest's globals: named tuples, enums, ordering."""
    assert guest("from collections import namedtuple\nnamedtuple('P', 'x y')(1, 2).y") == 2
    assert guest("import enum\nclass C(enum.Enum):\n    A = enum.auto()\nC['A'].value") == 1
    assert (
        guest("import functools\n@functools.total_ordering\nclass T:\n    def __lt__(s, o): return True\nT() > T()")
        is False
    )
