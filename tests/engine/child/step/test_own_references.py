"""A program may replace what it likes in its own process: our code in the child holds what it needs from before the
first step, so that results stay right, and a rollback undoes the replacement.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from safeexec import Session
from tests.conftest import OpenSession


class Case(NamedTuple):
    """What a program replaces (a dotted name), by what, and what tells that the real one is back."""

    name: str
    by: str
    probe: str
    value: object
    prints: bool = True
    """Whether the program still prints by `print`."""


NONE = "lambda *a, **k: None"
WRONG = "lambda *a, **k: 'wrong'"
FAILS = "lambda *a, **k: 1 / 0"
STANDARD = [
    Case("json.dumps", WRONG, "json.dumps([1])", "[1]"),
    Case("builtins.print", NONE, "print('back')", None, prints=False),
    Case("builtins.len", FAILS, "len([1])", 1),
    Case("builtins.repr", WRONG, "repr(1)", "1"),
    Case("builtins.isinstance", NONE, "isinstance(1, int)", True),
    Case("builtins.type", FAILS, "type(1).__name__", "int"),
    Case("builtins.getattr", FAILS, "getattr(1, 'real')", 1),
    Case("time.monotonic", "lambda: 0", "time.monotonic() > 0", True),
    Case("sys.stdout", "None", "sys.stdout is not None", True),
    Case("sys.stderr", "None", "sys.stderr is not None", True),
    Case("sys.getsizeof", FAILS, "sys.getsizeof(1) > 0", True),
    Case("os.path.join", WRONG, "os.path.join('a', 'b')", "a/b"),
    Case("os.getpid", FAILS, "os.getpid() > 0", True),
    Case("os.close", NONE, "os.close.__name__", "close"),
    Case("os.write", FAILS, "os.write.__name__", "write"),
    Case("linecache.getlines", FAILS, "linecache.getlines('nothing')", []),
    Case("linecache.cache", "None", "type(linecache.cache)().__class__.__name__", "dict"),
    Case("traceback.TracebackException", "None", "traceback.TracebackException.__name__", "TracebackException"),
    Case("io.StringIO", FAILS, "io.StringIO('a').read()", "a"),
    Case("random.seed", FAILS, "random.seed(1)", None),
    Case("gc.collect", FAILS, "gc.collect() >= 0", True),
    Case("gc.isenabled", FAILS, "gc.isenabled()", True),
    Case("re.compile", FAILS, "re.compile('a').pattern", "a"),
    Case("ast.parse", FAILS, "type(ast.parse('1')).__name__", "Module"),
    Case("ast.walk", FAILS, "len(list(ast.walk(ast.parse('1'))))", 3),
    Case("difflib.get_close_matches", FAILS, "difflib.get_close_matches('ab', ['abc'])", ["abc"]),
    Case("itertools.islice", FAILS, "list(itertools.islice('abc', 1))", ["a"]),
    Case("threading.enumerate", FAILS, "len(threading.enumerate())", 1),
    Case("warnings.showwarning", FAILS, "warnings.showwarning.__name__", "showwarning"),
    Case("pickle.dumps", FAILS, "pickle.loads(pickle.dumps(1))", 1),
    Case("contextlib.suppress", "None", "contextlib.suppress.__name__", "suppress"),
]
OF_DATA = [
    Case("pandas.DataFrame.__repr__", FAILS, "'a' in repr(pandas.DataFrame({'a': [1]}))", True),
    Case("pandas.DataFrame._repr_html_", FAILS, "'<table' in pandas.DataFrame({'a': [1]})._repr_html_()", True),
    Case("numpy.asarray", FAILS, "list(numpy.asarray([1]))", [1]),
    Case("os.getcwd", FAILS, "os.getcwd().startswith('/')", True),
    Case("builtins.open", FAILS, "open('b.txt', 'w').close()", None),
    Case("matplotlib.pyplot.get_fignums", FAILS, "matplotlib.pyplot.get_fignums()", []),
    Case("matplotlib.pyplot.show", FAILS, "matplotlib.pyplot.show()", None),
]


@pytest.mark.parametrize(
    ("profile", "case"),
    [
        pytest.param(profile, case, id=case.name, marks=pytest.mark.modules(*needed))
        for profile, needed, cases in (("standard", (), STANDARD), ("data-analysis", ("pandas", "matplotlib"), OF_DATA))
        for case in cases
    ],
)
def test_a_replacement_hurts_the_program_alone(open_session: OpenSession, profile: str, case: Case) -> None:
    """This step, the next ones and `get` say what is so; after a rollback the real one is there."""
    session, module = open_session(profile), case.name.rpartition(".")[0].partition(".DataFrame")[0]
    session.run(f"import {module}").check()
    session.checkpoint("start")
    value = {"a": [1, 2.5, None], "b": "ä", "c": (1, {2})}
    result = session.run(f"import {module}\n{case.name} = {case.by}\nx = {value!r}\nx")
    assert (result.outcome, result.value) == ("ok", value), result
    assert result.changes is not None and "x" in result.changes.created
    result = session.run("print('said')\ny = [x['b']] * 2\ny")
    assert (result.outcome, result.value, result.changes.created) == ("ok", ["ä", "ä"], ("y",)), result
    assert result.stdout == ("said\n" if case.prints else "")
    assert (session.get("y"), session.get("x")) == (["ä", "ä"], value)
    failed = session.run("def f(n):\n    return n.lenght\n\nf(y)")
    assert failed.outcome == "error" and failed.error is not None
    assert (failed.error.type, failed.error.line) == ("AttributeError", 2)
    assert "return n.lenght" in failed.error.traceback and "in f" in failed.error.traceback
    session.rollback("start")
    back = session.run(case.probe)
    assert (back.outcome, back.value) == ("ok", case.value), back


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("pandas")
def test_a_table_shows_itself_by_what_the_program_put_there(session: Session) -> None:
    session.run("import pandas\npandas.DataFrame.__repr__ = lambda self: 'mine'").check()
    result = session.run("frame = pandas.DataFrame({'a': [1]})\nprint(repr(frame))\nframe").check()
    assert result.stdout == "mine\n" and session.run("frame.shape").value == (1, 1)


def test_modules_may_vanish(session: Session) -> None:
    session.checkpoint("start")
    session.run("import sys\nkept = dict(sys.modules)\nsys.modules.clear()\nsys.modules.update(sys=sys)").check()
    result = session.run("print('said')\n[1]")
    assert (result.outcome, result.value, result.stdout) == ("ok", [1], "said\n")
    assert session.run("1 / 0").error.type == "ZeroDivisionError"  # type: ignore[union-attr]
    session.rollback("start")
    assert session.run("import json\njson.dumps([1])").value == "[1]"
