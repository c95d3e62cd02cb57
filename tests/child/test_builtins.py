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


@pytest.mark.parametrize("name", ["__import__", "compile", "breakpoint", "__loader__", "help"])
def test_some_builtins_no_policy_can_give(name: str, guest_with: Callable[..., Run]) -> None:
    from safeexec.child.builtins import NEVER

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


@pytest.mark.parametrize("key", ["__builtins__", "<guard attribute>", "__spec__"])
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
    from safeexec.compiler.step import Rejection

    assert guest("x = 2\neval(' x + 1')") == 3
    assert guest("def f(y):\n    return eval('y * 2')\nf(4)") == 8
    assert guest("exec('z = 5')\nz") == 5
    assert guest("d = {'a': 1}\nexec('b = a + 1', d)\nd") == {"a": 1, "b": 2}
    assert guest("eval('a + b', {'a': 1}, {'b': 2})") == 3
    for text in ("().__class__.__base__.__subclasses__()", "__import__('os')", "f.__globals__"):
        with pytest.raises(Rejection):
            guest(f"eval({text!r})")
    with pytest.raises(Rejection):
        guest("exec('import os')")
    with pytest.raises(SyntaxError):
        guest("eval('1 +')")


def test_the_builtins_do_not_stay_in_a_dict_of_the_guest(guest: Run) -> None:
    assert guest("d = {}\nexec('def f(): return len([1])', d)\n(sorted(d), d['f']())") == (["f"], 1)
    assert guest("d = {'__builtins__': {'len': None}}\neval('len([1])', d)") == 1


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
