"""Modules of the workspace under the language layer: imported, tested, changed, refused, and leading nowhere."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from safeexec import Policy, Result, Sandbox, Session

HELPER: Final = '''"""Numbers.

>>> add(1, 1)
2
"""
RATE = 3


def add(a, b):
    """
    >>> add(1, 2)
    4
    """
    return a + b


def share(a):
    return a / RATE


class Box:
    size = 1
'''
FILES: Final = {
    "helper.py": HELPER,
    "broken.py": "x = 1\ndef f(:\n    return 1\n",
    "refused.py": "x = 1\ndef f():\n    return f.__globals__\n",
    "failing.py": "found = {}\nfound['key']\n",
    "statistics.py": "own = 1\n",
    "socket.py": "own = 1\n",
    "data.py": (
        "from __future__ import annotations\nimport enum, typing\nfrom dataclasses import dataclass, field\n"
        "@dataclass\nclass Node:\n    x: int\n    below: list[Node] = field(default_factory=list)\n"
        "    kind: typing.ClassVar[int] = 3\n"
        "class Pair(typing.NamedTuple):\n    a: int\nclass Color(enum.Enum):\n    RED = 1\n"
    ),
    "pkg/__init__.py": "from . import first\nfrom .first import value\n__all__ = ['value', 'second']\n",
    "pkg/first.py": "value = 1\nimport pkg\nfrom pkg import second\n",
    "pkg/second.py": "from . import first\nfrom .below import third\nfrom .below.third import deep\n",
    "pkg/below/third.py": "deep = 5\nfrom .. import first\n",
    "test_helper.py": (
        "import unittest, helper\nfrom unittest import mock\ndef setUpModule():\n    print('set up')\n"
        "class Sums(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(helper.add(1, 2), 3)\n"
        "    def test_wrong(self):\n        self.assertEqual(helper.add(1, 2), 4)\n    def test_mocked(self):\n"
        "        with mock.patch('helper.add', return_value=7), mock.patch.object(helper, 'RATE', 5):\n"
        "            self.assertEqual((helper.add(1, 2), helper.RATE), (7, 5))\n"
        "        self.assertEqual(helper.RATE, 3)\n"
    ),
    "tests/test_below.py": (
        "import unittest, helper\nclass Below(unittest.TestCase):\n"
        "    def test_rate(self):\n        self.assertEqual(helper.RATE, 3)\n"
    ),
    "tests/test_refused.py": "import socket\n",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    policy = Policy.load("standard").replace(
        filesystem={"workspace": "read-write"},
        builtins={"add": ["open"]},
        imports={"os": "all", "os.path": "all", "importlib": "all", "pickle": "all", "sqlite3": "all"},
    )
    with Sandbox(policy, files={name: text.encode() for name, text in FILES.items()}) as sandbox:
        yield sandbox


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    with sandbox.session() as session:
        yield session


def value(session: Session, source: str) -> object:
    result = session.run(source)
    assert result.ok, result.error
    return result.value


def test_a_file_is_a_module(session: Session) -> None:
    assert value(session, "import helper\nhelper.add(1, 2), helper.__name__, helper.__file__") == (
        3,
        "helper",
        "helper.py",
    )
    assert value(session, "from helper import *\nadd(2, 2), RATE, Box.__module__") == (4, 3, "helper")
    assert value(session, "from helper import add as plus, Box\nplus(1, 1)") == 2
    assert session.run("helper").text == "<module 'helper' from 'helper.py'>"
    assert value(session, "import types, inspect\nisinstance(helper, types.ModuleType), inspect.ismodule(helper)") == (
        True,
        True,
    )


def test_packages_have_relative_imports_and_may_be_circular(session: Session) -> None:
    assert value(session, "import pkg.below.third as m\nimport pkg\nm.deep, pkg.value, pkg.second.third is m") == (
        5,
        1,
        True,
    )
    assert value(session, "from pkg import *\nvalue, second.deep") == (1, 5)
    assert value(session, "from pkg.below.third import deep\nimport pkg.below.third\npkg.below.third.deep + deep") == 10
    assert value(session, "__import__('pkg.below.third') is pkg")


def test_a_circle_that_cannot_be_closed_says_so(session: Session) -> None:
    session.write_file("left.py", b"from right import b\na = 1\n")
    session.write_file("right.py", b"from left import a\nb = 1\n")
    error = session.run("import left").error
    assert error is not None
    circle = "partially initialized module 'left' (most likely due to a circular import) (left.py)"
    assert error.message == f"cannot import name 'a' from {circle}"


def test_a_module_is_the_programs_own_and_may_be_changed(session: Session) -> None:
    session.run("import helper")
    session.checkpoint("before")
    session.run("helper.RATE = 2\nhelper.Box.size = 7\nsetattr(helper, 'new', 9)")
    assert value(session, "helper.share(4), helper.Box().size, helper.new") == (2.0, 7, 9)
    session.rollback("before")
    assert value(session, "hasattr(helper, 'new'), helper.RATE, helper.Box.size") == (False, 3, 1)
    assert value(session, "import helper\nexec('made = RATE + 1', vars(helper))\nhelper.made") == 4


@pytest.mark.parametrize(
    ("source", "kind", "message", "traceback", "hint"),
    [
        (
            "import helper\nhelper.RATE = 0\nhelper.share(1)",
            "ZeroDivisionError",
            "division",
            '"helper.py", line 18',
            "RATE",
        ),
        ("import broken", "SyntaxError", "(broken.py, line 2)", 'File "broken.py", line 2', "def name("),
        ("import failing", "KeyError", "'key'", 'File "failing.py", line 2', "`found` is empty"),
        (
            "import refused",
            "ImportError",
            "refused.py, line 3: attribute '__globals__' is refused",
            "import refused",
            "NAME =",
        ),
        ("from helper import none", "ImportError", "cannot import name 'none' from 'helper' (helper.py)", "", ""),
        ("import helper\nhelper.none", "AttributeError", "module 'helper' has no attribute 'none'", "", "helper"),
        (
            "import helper.below",
            "ModuleNotFoundError",
            "No module named 'helper.below'; 'helper' is not a package",
            "",
            "",
        ),
        ("from statistics import own", "ImportError", "cannot import name 'own'", "", "rename the file"),
        ("import statistics\nstatistics.own", "AttributeError", "no attribute 'own'", "", "rename the file"),
    ],
)
def test_errors_name_the_file_the_line_and_what_to_do(
    session: Session, source: str, kind: str, message: str, traceback: str, hint: str
) -> None:
    error = session.run(source).error
    assert error is not None
    assert (error.type, message in error.message, traceback in error.traceback) == (kind, True, True), error
    assert hint in (error.hint or ""), error.hint


def test_a_refused_module_names_the_rule(session: Session) -> None:
    result = session.run("import refused")
    assert result.outcome == "error" and result.error is not None and result.error.rule
    assert result.error.rule.startswith("calculator.yaml:")
    assert session.run("try:\n    import refused\nexcept ImportError as e:\n    print(e.name)").stdout == "refused\n"


def test_the_library_keeps_its_name(session: Session) -> None:
    assert value(session, "import statistics\nstatistics.mean([1, 3])") == 2
    refused = session.run("import socket")
    assert refused.outcome == "rejected" and refused.error is not None
    assert "`socket.py` of the workspace is not imported" in (refused.error.hint or "")


def test_a_module_that_nobody_has_is_refused_before_a_line_runs(session: Session) -> None:
    assert session.run("print('ran')\nimport nothere").outcome == "rejected"
    assert value(session, "open('later.py', 'w').write('z = 4')\nimport later\nlater.z") == 4
    caught = session.run("try:\n    import nothere\nexcept ModuleNotFoundError as error:\n    print(error)")
    assert caught.stdout == "No module named 'nothere'\n"


def test_an_edit_counts_after_reload_and_is_undone_with_the_step(session: Session) -> None:
    session.run("import helper, importlib\nkept = helper.add")
    session.write_file("helper.py", b"def add(a, b):\n    return a * b\n")
    assert value(session, "helper.add(3, 4)") == 7
    assert value(session, "m = importlib.reload(helper)\nm is helper, helper.add(3, 4), kept(3, 4), helper.RATE") == (
        True,
        12,
        7,
        3,
    )
    session.rollback()
    assert value(session, "helper.add(3, 4)") == 7
    error = session.run("import json\nimportlib.reload(json)").error
    assert error is not None and "libraries do not change" in error.message
    assert value(
        session, "importlib.import_module('json').dumps([1]), importlib.import_module('.first', 'pkg').value"
    ) == (
        "[1]",
        1,
    )
    error = session.run("importlib.import_module('sub' + 'process')").error
    assert error is not None and error.type == "ModuleNotFoundError"


def test_branches_have_modules_of_their_own(session: Session) -> None:
    session.run("import helper")
    left, right = session.branch(2)
    with left, right:
        left.run("helper.RATE = 10")
        assert (value(left, "helper.RATE"), value(right, "helper.RATE")) == (10, 3)


def test_data_classes_enums_and_annotations_know_their_module(session: Session) -> None:
    told = "(Node(x=1, below=[]), Pair(a=2), <Color.RED: 1>, list[data.Node])"
    source = "import data\nfrom typing import get_type_hints\n"
    assert (
        session.run(source + "data.Node(1), data.Pair(2), data.Color.RED, get_type_hints(data.Node)['below']").text
        == told
    )


def test_unittest_finds_and_runs_the_files(session: Session) -> None:
    whole = session.run("import unittest\nunittest.main(module='test_helper', exit=False, argv=['x'])")
    assert "set up" in whole.stdout and "Ran 3 tests" in whole.stderr and "FAILED (failures=1)" in whole.stderr
    assert 'File "test_helper.py", line 9, in test_wrong' in whole.stderr
    one = session.run(
        "unittest.defaultTestLoader.loadTestsFromName('test_helper.Sums.test_add').run(unittest.TestResult())"
    )
    assert one.text == "<unittest.result.TestResult run=1 errors=0 failures=0>"
    here = session.run("unittest.TextTestRunner().run(unittest.defaultTestLoader.discover('.'))")
    assert "Ran 3 tests" in here.stderr
    below = session.run("unittest.main(module=None, argv=['x', 'discover', '-s', 'tests'], exit=False)")
    assert (
        "Ran 2 tests" in below.stderr and "tests/test_refused.py, line 1: import of 'socket' is refused" in below.stderr
    )
    for outside in ("/etc", "..", "nothere"):
        error = session.run(f"unittest.defaultTestLoader.discover({outside!r})").error
        assert error is not None and error.type == "ImportError"


def test_doctest_runs_the_examples_of_a_module(session: Session) -> None:
    result = session.run("import doctest, helper\ndoctest.testmod(helper)")
    assert result.text == "TestResults(failed=1, attempted=2)"
    assert 'File "helper.py", line 11, in helper.add' in result.stdout


@pytest.mark.parametrize(
    ("make", "why"),
    [
        ("ln -s helper.py linked.py", "linked.py is a link"),
        ("mkfifo linked.py", "linked.py is no regular file"),
        ("mkdir linked.py", "linked.py is no regular file"),
    ],
)
def test_only_regular_files_are_read(session: Session, make: str, why: str) -> None:
    subprocess.run(make.split(), cwd=session.workspace, check=True)
    error = session.run("import linked").error
    assert error is not None and why in error.message


def test_a_module_may_be_as_long_as_a_step(sandbox: Sandbox) -> None:
    with sandbox.session() as session:
        session.write_file("large.py", b"#" * (2 << 20))
        error = session.run("import large").error
        assert error is not None and "is longer than the" in error.message


def test_a_folder_that_is_a_link_is_no_package(session: Session) -> None:
    Path(session.workspace or "", "linked").symlink_to("pkg")
    error = session.run("import linked.first").error
    assert error is not None and error.type == "ModuleNotFoundError"


LEADS_NOWHERE: Final = {
    "a module that calls itself os": (
        {"trick.py": "__name__ = 'os'\n"},
        "from trick import path",
        "cannot import name",
    ),
    "a star that lists what is not there": (
        {"trick.py": "__name__ = 'os'\n__all__ = ['path']\n"},
        "from trick import *",
        "no attribute 'path'",
    ),
    "a package whose part is replaced while it is imported": (
        {
            "a/__init__.py": "def g():\n    global b\n    b = O()\n"
            "class O:\n    def __init__(self):\n        self.__name__ = 'os'\n",
            "a/b/__init__.py": "",
            "a/b/path.py": "from a import g\ng()\n",
        },
        "import a.b.path as found\nprint(found)",
        "<module 'a.b.path' from 'a/b/path.py'>",
    ),
    "a star that lists the builtins": (
        {"trick.py": "__all__ = ['__builtins__']\n"},
        "from trick import *",
        "no attribute",
    ),
    "a star that lists a guard": ({"trick.py": "__all__ = ['_getattr_']\n"}, "from trick import *", "no attribute"),
    "a part that is called as the builtins are": (
        {"a/__init__.py": "", "a/__builtins__.py": ""},
        "import importlib\nimportlib.import_module('a.__builtins__')",
        "a name of the interpreter's own",
    ),
    "a part that is called as a guard is": (
        {"a/__init__.py": "", "a/_getattr_.py": ""},
        "import importlib\nimportlib.import_module('a._getattr_')",
        "a name of the interpreter's own",
    ),
    "its namespace, which a library hands out": (
        {},
        "import functools, helper\ngot = []\nclass Catch(dict):\n    def update(self, given): got.append(given)\n"
        "class Q:\n    @property\n    def __dict__(self): return Catch()\nfunctools.update_wrapper(Q(), helper)\n"
        "print('__builtins__' in got[0])\ndict.__setitem__(got[0], '_getattr_', print)\n"
        "print('_getattr_' in vars(helper))\ngot[0]['_getattr_'] = print",
        "False\nFalse\n",
    ),
    "its class": ({}, "import helper\nclass Own(type(helper)): pass", "not an acceptable base type"),
    "its class, changed": ({}, "import helper\nfor t in [type(helper)]: t.__getattr__ = print", "immutable type"),
    "a module of its class": ({}, "import helper\ntype(helper)('x')", "cannot create 'module' instances"),
    "a guard by setattr": ({}, "import helper\nsetattr(helper, '_getattr_', print)", "is refused"),
    "the builtins by getattr": ({}, "import helper\ngetattr(helper, '__builtins__')", "is refused"),
    "the loader by getattr": ({}, "import helper\ngetattr(helper, '__loader__')", "is refused"),
    "the spec by getattr": ({}, "import helper\ngetattr(helper, '__spec__')", "is refused"),
    "the builtins by a library": (
        {},
        "import helper, operator\noperator.attrgetter('__builtins__')(helper)",
        "is refused",
    ),
    "the builtins in its dict": ({}, "import helper\nvars(helper)['__builtins__']", "KeyError"),
    "its dict past its class": (
        {},
        "import helper\nobject.__getattribute__(helper, '__dict__')['__builtins__']",
        "KeyError",
    ),
    "its members": (
        {},
        "import helper, inspect\nfound = [name for name, _ in inspect.getmembers(helper)]\n"
        "print([name for name in found if name in ('__builtins__', '__spec__')])",
        "[]",
    ),
    "a copy": ({}, "import copy, helper\ncopy.copy(helper)", "cannot pickle 'module' object"),
    "the builtins of the main module": ({}, "import __main__\nvars(__main__)['__builtins__']", "KeyError"),
    "the loader of the main module": (
        {},
        "import importlib\nm = importlib.import_module('__main__')\n[getattr(m, n) for n in ('__loader__',)]",
        "is refused",
    ),
    "a name that makes classes of a library its own": (
        {},
        "__name__ = 'collections'\nimport collections\nfor c in [collections.OrderedDict]: setattr(c, 'x', 1)",
        "immutable type",
    ),
}


@pytest.mark.parametrize("way", LEADS_NOWHERE)
def test_it_leads_nowhere(session: Session, way: str) -> None:
    files, source, reason = LEADS_NOWHERE[way]
    for name, text in files.items():
        Path(session.workspace or "", name).parent.mkdir(parents=True, exist_ok=True)
        session.write_file(name, text.encode())
    result = session.run(source)
    assert reason in told(result), told(result)
    assert not re.search("<module '(os|posixpath)|<frame |<code object", told(result))


def told(result: Result) -> str:
    error = f"{result.error.type}: {result.error.message}" if result.error is not None else ""
    return result.stdout + (result.text or "") + error


PLUGINS: Final = {
    "the namespace of a module": (
        {
            "main": "import functools, util\ngot = []\n"
            "class Catch(dict):\n    def update(self, given): got.append(given)\n"
            "class Q:\n    @property\n    def __dict__(self): return Catch()\n"
            "def f():\n    functools.update_wrapper(Q(), util)\n    return '__builtins__' in got[0]\n",
            "util": "x = 1\n",
        },
        False,
    ),
    "a part that is replaced while it is imported": (
        {
            "main": "def f():\n    import a.b.path as m\n    return str(m)\n",
            "a": "def g():\n    global b\n    b = O()\n"
            "class O:\n    def __init__(self):\n        self.__name__ = 'os'\n",
            "a.b": "",
            "a.b.path": "from a import g\ng()\n",
        },
        "<module 'a.b.path'>",
    ),
}


@pytest.mark.parametrize("way", PLUGINS)
def test_nor_do_the_modules_of_a_plugin(way: str) -> None:
    modules, found = PLUGINS[way]
    with Sandbox("plugin") as sandbox, sandbox.plugin(modules, exports=["f"]) as plugin:
        assert plugin.f() == found


def test_modules_are_found_in_the_folders_of_the_path(session: Session) -> None:
    """Those of the workspace, after it; no library, and nothing outside."""
    session.write_file("lib/tool.py", b"import sys\nvalue = sys.path[-1]\n")
    session.write_file("lib/json.py", b"evil = True\n")
    session.write_file("deep/er/more.py", b"value = 2\n")
    source = "import os, sys\nsys.path.append('lib')\nsys.path.insert(0, os.getcwd() + '/deep/er')\n"
    given = "import tool, more, json\ntool.value, more.value, hasattr(json, 'evil')"
    assert value(session, source + given) == ("lib", 2, False)
    for path in ("['/etc']", "['../..']", "[7]", "7", r"['a\0']", r"['\ud800']"):
        error = session.run(f"sys.path = {path}\nimport hostname").error
        assert error is not None and "hostname" in error.message


def test_the_builtins_are_a_module_of_the_programs_own(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = (
        "import builtins, sys\nfrom builtins import len as size\n"
        "keep, told = builtins.print, []\nbuiltins.print = lambda *a: told.append(a)\nprint('x')\n"
        "builtins.print = keep\n"
        "no = []\n"
        "for name in ('__import__', '__build_class__', '__loader__', '_getattr_', '<class 1>', 'open', 'nothing'):\n"
        "    for ask in (lambda: getattr(builtins, name), lambda: vars(builtins)[name],\n"
        "                lambda: setattr(builtins, name, 1), lambda: vars(builtins).update({name: 1}),\n"
        "                lambda: delattr(builtins, 'len')):\n"
        "        try: ask()\n        except (AttributeError, KeyError): no.append(name)\n"
        "try: import builtins.len\nexcept ModuleNotFoundError as error: no.append(str(error))\n"
        "(told, size([1]), len(no), no[-1], builtins.getattr is getattr, sys.modules['builtins'] is builtins)"
    )
    absent = "No module named 'builtins.len'; 'builtins' is not a package"
    assert sandbox_for("standard").run(source).check().value == ([("x",)], 1, 36, absent, True, True)


def test_sys_modules_holds_what_the_program_has_imported(session: Session) -> None:
    source = (
        "import helper, json, sys\nno = []\n"
        "for name in ('posix', 'subprocess', 'safeexec', '_io'): assert name not in sys.modules\n"
        "for change in (lambda: sys.modules.update(json=helper), lambda: sys.modules.pop('helper'),\n"
        "               sys.modules.clear, lambda: setattr(sys, 'modules', {})):\n"
        "    try: change()\n    except (AttributeError, TypeError): no.append(change)\n"
        "me = sys.modules[__name__]\n"
        "(sys.modules['helper'] is helper, sys.modules['json'] is json, getattr(me, 'no') is no, len(no))"
    )
    assert value(session, source) == (True, True, True, 4)


def test_importlib_imports_by_a_computed_name_without_a_workspace(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = (
        "import importlib\nm = importlib.import_module('js' + 'on')\n"
        "try: importlib.import_module('sub' + 'process')\n"
        "except ModuleNotFoundError as error: print(type(error).__name__)\n"
        "m.dumps([1])"
    )
    result = sandbox_for("standard").run(source).check()
    assert (result.value, result.stdout) == ("[1]", "ModuleNotFoundError\n")
