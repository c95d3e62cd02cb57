"""doctest and unittest, which run as guest code: they load here, and lead nowhere that the program could not go."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from safeexec import Policy, Sandbox, Session
from safeexec.child.language import rewritten
from safeexec.child.language.language import Language
from safeexec.facades.tables.groups import REWRITTEN
from safeexec.policy.plans import language_plan
from tests.search.search import prepare, walk

WAYS = {
    "a finder's own look at the methods of type": (
        "import doctest\n"
        "class F(doctest.DocTestFinder):\n"
        "    def _from_module(self, module, thing): found.append(thing); return False\n"
        "found = []\nF().find(type, 'type')\n"
        "print([f for f in found if getattr(f, '__name__', '') == '__subclasses__'])"
    ),
    "the module that a finder is given": (
        "import doctest\n"
        "class F(doctest.DocTestFinder):\n"
        "    def _find(self, tests, obj, name, module, lines, globs, seen): found.append(module); found.append(globs)\n"
        "found = []\ndef f(): pass\nF().find(f)\n"
        "print([sorted(n for n in vars(m) if n[:2] == '__') if i == 0 else '__builtins__' in m"
        " for i, m in enumerate(found)])"
    ),
    "a test method of any name": (
        "import unittest\ndef f(): pass\n"
        "f._testMethodName = '__globals__'\nf._callTestMethod = print\nf._outcome = None\nf.setUp = f\n"
        "f.failureException = ValueError\nf.defaultTestResult = unittest.TestResult\n"
        "unittest.TestCase.run(f, unittest.TestResult())"
    ),
    "an example that names what is refused": (
        'import doctest\ndef f():\n    """\n    >>> f.__globals__\n    1\n    """\nprint(doctest.testmod().failed)'
    ),
    "text that is timed, in the program's own module": (
        "import __main__, timeit\n__main__.f = timeit\n"
        "timeit.timeit('f.__builtins__', setup='from __main__ import f', number=1)"
    ),
    "a patch of a library by a dotted name": "from unittest.mock import patch\nwith patch('os.system'): pass",
    "a patch of a library's class": (
        "from unittest.mock import patch\nimport json\nwith patch.object(json.JSONDecoder, 'decode'): pass"
    ),
    "a patch of what a module is called": (
        "from unittest.mock import patch\nimport json\nwith patch.object(json, '__name__', 'os'): pass"
    ),
    "a patch of a module below another": (
        "from unittest.mock import patch\nimport xml.etree.ElementTree\nclass X: __name__ = 'xml.etree'\n"
        "with patch('xml.etree', X()):\n    import xml.etree.ElementTree as found\n"
        "from xml.etree import ElementTree\nprint(found, found is ElementTree)\nprint(found.sys)"
    ),
    "a patch that leaves a place empty": (
        "from unittest.mock import patch\np = patch('json.dumps')\np.start()\np.is_local = False\np.stop()"
    ),
    "a patch of the import statement": "from unittest.mock import patch\npatch('builtins.__import__').start()",
    "builtins below what a patch names": (
        "from unittest.mock import patch\nfound = patch('builtins.print').getter()\n"
        "print([n for n in (*vars(found), *dir(found)) if n[:1] == '_'])\ndel found.print"
    ),
    "a mock with the spec of a function": (
        "from unittest.mock import create_autospec\ndef f(): pass\nprint(create_autospec(f).__globals__)"
    ),
    "tests found in files": "import unittest\nprint(unittest.TestLoader().discover('/etc'))",
    "a suite of another module": "import unittest\nunittest.main(module='subprocess', argv=['x'])",
}
REASONS = {
    "a finder's own look at the methods of type": "[]",
    "the module that a finder is given": "[['__doc__', '__name__', '__package__'], False]",
    "a test method of any name": "attribute '__globals__' is refused",
    "an example that names what is refused": "1",
    "text that is timed, in the program's own module": "attribute '__builtins__' is refused",
    "a patch of a library by a dotted name": "os.system is refused",
    "a patch of a library's class": "immutable type 'JSONDecoder'",
    "a patch of what a module is called": "'json.__name__' cannot be replaced",
    "a patch of a module below another": "'xml.etree.ElementTree'> True\nAttributeError: xml.etree.ElementTree.sys",
    "a patch that leaves a place empty": "modules are read-only",
    "a patch of the import statement": "does not have the attribute '__import__'",
    "builtins below what a patch names": "[]\nAttributeError: 'builtins.print' cannot be taken away",
    "a mock with the spec of a function": "attribute '__globals__' is refused",
    "tests found in files": "is refused",
    "a suite of another module": "import of subprocess is refused",
}


@pytest.mark.parametrize("way", WAYS)
def test_it_leads_nowhere(way: str, sandbox_for: Callable[[str], Sandbox]) -> None:
    with sandbox_for("standard").session() as session:
        result = session.run(WAYS[way])
    told = result.stdout + (f"{result.error.type}: {result.error.message}" if result.error else "")
    assert REASONS[way] in told


@pytest.mark.parametrize("module", sorted(REWRITTEN))
def test_the_walk_finds_nothing(module: str, searched: Session) -> None:
    assert walk(searched, module, depth=2, calls=1, limit=3000, timeout=20.0) == []


@pytest.fixture
def searched(sandbox_for: Callable[[str], Sandbox]) -> Iterator[Session]:
    """A session that has the oracle."""
    with sandbox_for("standard").session() as session:
        prepare(session)
        yield session


PATCHED = """
import io, os, random, unittest
from unittest.mock import mock_open, patch

class Patched(unittest.TestCase):
    @patch('builtins.open', new_callable=mock_open, read_data='text')
    def test_open(self, opened):
        with open('a.txt') as file:
            self.assertEqual(file.read(), 'text')
        opened.assert_called_once_with('a.txt')

    @patch('builtins.input', side_effect=['1', '2'])
    def test_input(self, _):
        self.assertEqual([input(), input('?')], ['1', '2'])

    @patch('sys.stdout', new_callable=io.StringIO)
    def test_stream(self, stream):
        print('seen')
        self.assertEqual(stream.getvalue(), 'seen\\n')

    @patch('__main__.print')
    @patch('os.path.join', return_value='joined')
    @patch.object(random, 'random', side_effect=[1, 2])
    def test_modules(self, drawn, joined, printed):
        from random import random as draw
        print(draw(), random.random(), os.path.join('a'))
        printed.assert_called_once_with(1, 2, 'joined')

    def tearDown(self):
        self.assertEqual((os.path.join('a', 'b'), random.random() < 1, type(print)), ('a/b', True, type(len)))

with patch('random.no_such_name'):
    pass
"""


def test_a_program_finds_what_it_patched_and_then_the_real_thing(sandbox_for: Callable[[str], Sandbox]) -> None:
    tests, _, missing = PATCHED.rpartition("with")
    with sandbox_for("standard").session() as session:
        result = session.run(tests + "unittest.main()", stdin="")
        assert result.stderr.endswith("\n\nOK\n") and "Ran 4 tests" in result.stderr, result.observation()
        error = session.run("from unittest.mock import patch\nwith" + missing).error
    assert error is not None and error.message == "<module 'random'> does not have the attribute 'no_such_name'"


NOTEBOOK = """
description: what a notebook shows, in a workspace
extends: standard
builtins: {add: [open]}
imports: {IPython: all}
filesystem: {workspace: read-write}
"""
PNG = "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000049454e44ae426082"


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    path = tmp_path_factory.mktemp("policy") / "notebook.yaml"
    path.write_text(NOTEBOOK)
    with Sandbox(path) as sandbox:
        yield sandbox


def test_what_a_notebook_shows_is_a_display(notebook: Sandbox) -> None:
    source = (
        "from IPython.display import *\nimport IPython.core.display as core, IPython\n"
        "assert core.HTML is IPython.display.HTML and IPython.get_ipython() is None\n"
        f"with open('p.png', 'wb') as file: n = file.write(bytes.fromhex('{PNG}'))\n"
        "display(HTML('<b>'), Markdown('*a*'), Latex('$x$'), Math('x'), SVG('<?xml?><svg></svg>'), JSON('[1]'))\n"
        "display(Image('p.png'), Image(data=open('p.png', 'rb').read(), width=9, alt='\"<'))\n"
        "display({'text/html': '<i>', 'text/plain': 'i'}, raw=True)\n"
        "handle = display('old', display_id=True)\nhandle.update('new')\n"
        "display(1, display_id='n')\nupdate_display({'text/plain': 'two'}, display_id='n', raw=True)\nPretty('end')"
    )
    shown = notebook.run(source).check().displays
    assert [next(iter(one)) for one in shown] == [
        *("text/html", "text/markdown", "text/latex", "text/latex", "image/svg+xml", "application/json"),
        *("image/png", "image/png", "text/html", "text/plain", "text/plain"),
    ]
    assert (shown[0].html, shown[1].markdown, shown[4].svg, shown[6].png) == (
        "<b>",
        "*a*",
        "<svg></svg>",
        bytes.fromhex(PNG),
    )
    assert shown[7].html is not None and shown[7].html.endswith('width="9" alt="&quot;&lt;"/>')
    assert (shown[9].text, shown[10].text) == ("'new'", "two")
    cleared = "from IPython.display import *\nfor i in range(60):\n    clear_output(wait=True)\n    display(i)"
    assert [one.text for one in notebook.run(cleared).check().displays] == ["59"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("Image(url='http://localhost/a.png')", "no network"),
        ("Image('https://localhost/a.png')", "no network"),
        ("HTML('http://localhost')", "no network"),
        ("Image('/etc/passwd')", "'/etc/passwd'"),  # absent from a root of its own, refused in the host's
        ("HTML(filename='../../etc/passwd')", "No such file"),
        ("HTML(1)", "expects text"),
        ("getattr(HTML.__init__, '__glo' + 'bals__')", "attribute '__globals__' is refused"),
        ("IPython.display._show", "underscore"),
        ("IPython.display.base64", "another module"),
        ("IPython.display.IFrame", "network"),
        ("IPython.embed", "display or a person"),
        ("HTML.data = 1; display.x = 1; vars(IPython.display)", "__dict__"),
    ],
)
def test_what_a_notebook_shows_leads_nowhere(notebook: Sandbox, source: str, why: str) -> None:
    result = notebook.run(f"import IPython\nfrom IPython.display import *\n{source}")
    assert result.error is not None
    assert why in result.error.message


def test_the_walk_of_what_a_notebook_shows_finds_nothing(notebook: Sandbox) -> None:
    with notebook.session() as session:
        prepare(session)
        assert walk(session, "IPython.display", depth=2, calls=1, limit=3000, timeout=20.0) == []


def test_a_lexer_opens_what_the_program_could(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = "import shlex\nlexer = shlex.shlex('source /etc/passwd', posix=True)\nlexer.whitespace_split = True\n"
    with sandbox_for("standard").session() as session:
        assert session.run(source + "list(lexer)").value == ["source", "/etc/passwd"]
        result = session.run(source + "lexer.source = 'source'\nlist(lexer)")
    assert result.error is not None
    assert result.error.type in ("NameError", "PermissionError")


def test_a_failing_example_is_told_with_its_place(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = 'def f():\n    """\n    >>> f()\n    2\n    """\n    return 1\nimport doctest\ndoctest.testmod()'
    with sandbox_for("standard").session() as session:
        result = session.run(source)
    assert 'File "<step 1>", line 3, in __main__.f\n' in result.stdout


def test_the_guards_and_builtins_are_no_names_of_the_programs_own_module(
    sandbox_for: Callable[[str], Sandbox],
) -> None:
    source = (
        "import __main__ as me\nno = []\n"
        "for name in ('__builtins__', '__loader__', '__spec__', '_getattr_', '_write_', '<class 1>'):\n"
        "    assert name not in vars(me) and name not in dir(me) and not hasattr(me, name)\n"
        "    for change in (lambda: getattr(me, name), lambda: setattr(me, name, 1), lambda: delattr(me, name),\n"
        "                   lambda: vars(me).update({name: 1}), lambda: vars(me).setdefault(name, 1)):\n"
        "        try:\n            change()\n"
        "        except (AttributeError, KeyError):\n            no.append(name)\n"
        "len(no)"
    )
    assert sandbox_for("standard").run(source).value == 30


def test_class_methods_that_a_class_has_from_a_library_are_passed_over(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    @classmethod\n    def zero(cls):\n"
        "        '>>> P.zero().x\\n0'\n        return cls(0)\nimport doctest\ndoctest.testmod()"
    )
    result = sandbox_for("standard").run(source)
    assert (result.text, result.refusals) == ("TestResults(failed=0, attempted=1)", ())


def test_a_failing_test_ends_the_step_with_its_status(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): self.fail('no')\nunittest.main()"
    with sandbox_for("standard").session() as session:
        result = session.run(source)
        assert session.run("T.__name__").value == "T"
    assert (result.outcome, result.exit_status) == ("error", 1)
    assert "AssertionError: no" in result.stderr


def test_a_mock_has_the_spec_of_a_librarys_class_and_function(sandbox_for: Callable[[str], Sandbox]) -> None:
    source = (
        "import fractions, json\nfrom unittest import mock\n"
        "m = mock.create_autospec(fractions.Fraction)\nm.from_float(0.5)\n"
        "try: m.from_float(1, 2, 3)\nexcept TypeError as error: print(error)\n"
        "try: m.nothing\nexcept AttributeError as error: print(error)\n"
        "d = mock.create_autospec(json.dumps, return_value='text')\nprint(d({}))\n"
    )
    with sandbox_for("standard").session() as session:
        result = session.run(source)
    assert result.outcome == "ok", result.error
    assert result.stdout == "too many positional arguments\nMock object has no attribute 'nothing'\ntext\n"


def test_what_the_zygote_compiled_no_child_compiles_again(monkeypatch: pytest.MonkeyPatch) -> None:
    language = Language(language_plan(Policy.load("standard")))
    namespace: dict[str, Any] = {}
    language.install(namespace)
    language.prepare(REWRITTEN)
    monkeypatch.setattr(rewritten, "code_of", None)
    step = language.compile("import doctest, unittest.mock\nunittest.mock.Mock(return_value=3)()", "<step>")
    assert step.body is not None and step.tail is not None
    exec(step.body, namespace)
    assert eval(step.tail, namespace) == 3


OF_OTHER_PYTHONS = {
    "unittest.load_tests",
    "unittest.mock._CODE_ATTRS",
    "unittest.mock._CODE_SIG",
    "unittest.mock.inspect.getattr_static(",
    "unittest.mock.getattr(spec, attr, None)",
}
"""What only some of the supported versions have."""


@pytest.mark.parametrize("top", sorted({name.partition(".")[0] for name in REWRITTEN}))
def test_what_is_changed_in_a_source_is_there(top: str) -> None:
    missing = set()
    for name, rewrite in rewritten.rewrites(top).items():
        source, _ = rewritten.source_of(name)
        body = ast.parse(source).body
        bound = set().union(*map(rewritten._bound, body))
        for node in body:
            if isinstance(node, ast.ClassDef):
                bound |= {f"{node.name}.{inner}" for inner in set().union(*map(rewritten._bound, node.body))}
        gone = [text for text in rewrite.swap if text not in source] + [*{*rewrite.drop.split()} - bound]
        missing |= {f"{name}.{text}" for text in gone}
    assert missing <= OF_OTHER_PYTHONS
