"""A program may replace what it likes in its own process: our code in the child holds what it needs from before the
first step, so that results stay right, and a rollback undoes the replacement.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from safeexec import Session


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
    Case("json.loads", FAILS, "json.loads('[1]')", [1]),
    Case("json.JSONEncoder.default", FAILS, "json.dumps({'a': 1})", '{"a": 1}'),
    Case("builtins.print", NONE, "print('back')", None, prints=False),
    Case("builtins.len", FAILS, "len([1])", 1),
    Case("builtins.repr", WRONG, "repr(1)", "1"),
    Case("builtins.isinstance", NONE, "isinstance(1, int)", True),
    Case("builtins.type", FAILS, "type(1).__name__", "int"),
    Case("builtins.getattr", FAILS, "getattr(1, 'real')", 1),
    Case("builtins.Exception", "int", "issubclass(ValueError, Exception)", True),
    Case("time.time", "lambda: 'never'", "time.time() > 0", True),
    Case("time.monotonic", "lambda: 0", "time.monotonic() > 0", True),
    Case("time.perf_counter", FAILS, "time.perf_counter() > 0", True),
    Case("time.sleep", FAILS, "time.sleep(0)", None),
    Case("sys.stdout", "None", "sys.stdout is not None", True),
    Case("sys.stderr", "None", "sys.stderr is not None", True),
    Case("sys.displayhook", FAILS, "sys.displayhook is sys.__displayhook__", True),
    Case("sys.excepthook", FAILS, "sys.excepthook is sys.__excepthook__", True),
    Case("sys.getsizeof", FAILS, "sys.getsizeof(1) > 0", True),
    Case("os.path.join", WRONG, "os.path.join('a', 'b')", "a/b"),
    Case("os.path.exists", FAILS, "callable(os.path.exists)", True),
    Case("os.fspath", FAILS, "os.fspath('a')", "a"),
    Case("os.getpid", FAILS, "os.getpid() > 0", True),
    Case("os.close", NONE, "os.close.__name__", "close"),
    Case("os.write", FAILS, "os.write.__name__", "write"),
    Case("linecache.getlines", FAILS, "linecache.getlines('nothing')", []),
    Case("linecache.getline", WRONG, "linecache.getline('nothing', 1)", ""),
    Case("linecache.checkcache", FAILS, "linecache.checkcache('nothing')", None),
    Case("linecache.cache", "None", "type(linecache.cache)().__class__.__name__", "dict"),
    Case("traceback.format_exception", FAILS, "len(traceback.format_exception(ValueError('x')))", 1),
    Case("traceback.TracebackException", "None", "traceback.TracebackException.__name__", "TracebackException"),
    Case("traceback.extract_tb", FAILS, "list(traceback.extract_tb(None))", []),
    Case("traceback.walk_tb", FAILS, "list(traceback.walk_tb(None))", []),
    Case("io.StringIO", FAILS, "io.StringIO('a').read()", "a"),
    Case("io.BytesIO", FAILS, "io.BytesIO(b'a').read()", b"a"),
    Case("random.seed", FAILS, "random.seed(1)", None),
    Case("random.Random", "None", "random.Random(1).random() > 0", True),
    Case("gc.collect", FAILS, "gc.collect() >= 0", True),
    Case("gc.isenabled", FAILS, "gc.isenabled()", True),
    Case("gc.freeze", FAILS, "gc.freeze.__name__", "freeze"),
    Case("re.compile", FAILS, "re.compile('a').pattern", "a"),
    Case("re.sub", FAILS, "re.sub('a', 'b', 'a')", "b"),
    Case("copy.deepcopy", FAILS, "copy.deepcopy([1])", [1]),
    Case("ast.parse", FAILS, "type(ast.parse('1')).__name__", "Module"),
    Case("ast.walk", FAILS, "len(list(ast.walk(ast.parse('1'))))", 3),
    Case("inspect.signature", FAILS, "str(inspect.signature(lambda a: 1))", "(a)"),
    Case("difflib.get_close_matches", FAILS, "difflib.get_close_matches('ab', ['abc'])", ["abc"]),
    Case("itertools.islice", FAILS, "list(itertools.islice('abc', 1))", ["a"]),
    Case("functools.partial", FAILS, "functools.partial(int, '7')()", 7),
    Case("threading.Thread", "None", "threading.Thread.__name__", "Thread"),
    Case("threading.enumerate", FAILS, "len(threading.enumerate())", 1),
    Case("warnings.showwarning", FAILS, "warnings.showwarning.__name__", "showwarning"),
    Case("warnings.warn", FAILS, "warnings.warn.__name__", "warn"),
    Case("pickle.dumps", FAILS, "pickle.loads(pickle.dumps(1))", 1),
    Case("datetime.datetime", "None", "datetime.datetime(2000, 1, 1).year", 2000),
    Case("decimal.Decimal", "None", "str(decimal.Decimal(1))", "1"),
    Case("base64.b64encode", FAILS, "base64.b64encode(b'a')", b"YQ=="),
    Case("struct.pack", FAILS, "struct.pack('B', 1)", b"\1"),
    Case("collections.abc.Mapping", "None", "isinstance({}, collections.abc.Mapping)", True),
    Case("types.ModuleType", "None", "types.ModuleType('m').__name__", "m"),
    Case("contextlib.suppress", "None", "contextlib.suppress.__name__", "suppress"),
    Case("string.Formatter.parse", FAILS, "len(list(string.Formatter().parse('a')))", 1),
    Case("textwrap.dedent", FAILS, "textwrap.dedent(' a')", "a"),
    Case("keyword.iskeyword", FAILS, "keyword.iskeyword('if')", True),
    Case("atexit.register", FAILS, "atexit.register.__name__", "register"),
    Case("asyncio.run", FAILS, "asyncio.run.__name__", "run"),
]
OF_DATA = [
    Case("pandas.DataFrame.__repr__", FAILS, "'a' in repr(pandas.DataFrame({'a': [1]}))", True),
    Case("pandas.DataFrame._repr_html_", FAILS, "'<table' in pandas.DataFrame({'a': [1]})._repr_html_()", True),
    Case("pandas.DataFrame.equals", FAILS, "pandas.DataFrame({'a': [1]}).equals(pandas.DataFrame({'a': [1]}))", True),
    Case("pandas.Series.to_numpy", FAILS, "list(pandas.Series([1]).to_numpy())", [1]),
    Case("numpy.asarray", FAILS, "list(numpy.asarray([1]))", [1]),
    Case("numpy.array_equal", FAILS, "numpy.array_equal([1], [1])", True),
    Case("os.getcwd", FAILS, "os.getcwd().startswith('/')", True),
    Case("os.stat", FAILS, "os.stat('.').st_mode > 0", True),
    Case("os.listdir", FAILS, "os.listdir('.')", []),
    Case("builtins.open", FAILS, "open('b.txt', 'w').close()", None),
    Case("matplotlib.pyplot.get_fignums", FAILS, "matplotlib.pyplot.get_fignums()", []),
    Case("matplotlib.pyplot.show", FAILS, "matplotlib.pyplot.show()", None),
]


def replaced(case: Case) -> str:
    """The program: it imports the module, and puts something else in the place of one of its names."""
    module = case.name.rpartition(".")[0].partition(".DataFrame")[0].partition(".Series")[0]
    module = module.partition(".JSON")[0].partition(".Formatter")[0]
    return f"import {module}\n{case.name} = {case.by}\n"


def check(session: Session, case: Case, program: str) -> None:
    """Replace, and see that this step, the next ones and `get` say what is so; roll back, and the real one is there."""
    session.run(program.partition("\n")[0]).check()
    session.checkpoint("start")
    value = {"a": [1, 2.5, None], "b": "ä", "c": (1, {2})}
    result = session.run(f"{program}x = {value!r}\nx")
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


@pytest.mark.profile("standard")
@pytest.mark.parametrize("case", STANDARD, ids=lambda case: case.name)
def test_a_replacement_hurts_the_program_alone(session: Session, case: Case) -> None:
    check(session, case, replaced(case))


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("pandas", "matplotlib")
@pytest.mark.parametrize("case", OF_DATA, ids=lambda case: case.name)
def test_so_it_is_of_libraries(session: Session, case: Case) -> None:
    check(session, case, replaced(case))


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
