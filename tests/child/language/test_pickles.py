"""Pickles that a program was given: what they may name, and what they may do to it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from safeexec import Sandbox


def _global(module: str, name: str) -> bytes:
    return b"\x80\x04" + b"".join(b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)) + b"\x93"


def _call(module: str, name: str, argument: str) -> bytes:
    return _global(module, name) + b"\x8c" + bytes([len(argument)]) + argument.encode() + b"\x85R."


HOSTILE = {
    "a program": _call("os", "system", "true"),
    "the same by its real home": _call("posix", "system", "true"),
    "eval": _call("builtins", "eval", "1"),
    "getattr": _call("builtins", "getattr", "x"),
    "an import": _call("builtins", "__import__", "os"),
    "our own loader of modules": _call("safeexec.facades.replacements.attributes", "load_again", "os"),
    "a dotted name": _call("__main__", "A.__init__", "x"),
    "a dotted name of a library's class": _call("__main__", "Enum.__class__", "x"),
    "a method by getattr": _call("__main__", "A.B", "x"),
    "what leads away by getattr": _global("builtins", "getattr")
    + _global("__main__", "f")
    + b"\x8c\x0b__globals__\x86R.",
    "classes by getattr": _global("builtins", "getattr")
    + _global("builtins", "object")
    + b"\x8c\x0e__subclasses__\x86R.",
    "a call of what getattr gave": _global("builtins", "getattr") + b"\x8c\x01x\x8c\x05upper\x86R)R.",
    "a builtin of the program's namespace": _call("__main__", "print", "x"),
    "the interpreter's own entry": _call("__main__", "__builtins__", "x"),
    "cloudpickle": _call("cloudpickle.cloudpickle", "subimport", "os"),
    "a class that is changed": _global("__main__", "A") + b"}\x8c\x01xK\x01sb.",
    "a library's class that is changed": _global("fractions", "Fraction") + b"N}\x8c\x07__add__K\x01s\x86b.",
    "a call of what was not named": b"\x80\x04" + b"\x8c\x01x)R.",
    "old style": b"cos\nsystem\n(S'true'\ntR.",
    "old style, by instance": b"(S'true'\nios\nsystem\n.",
    "an extension code": b"\x80\x04\x82\x01.",
    "a persistent name": b"Pos\n.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pickle_is_an_error(name: str, sandbox_for: Callable[[str], Sandbox]) -> None:
    source = "import pickle\nfrom enum import Enum\ndef f(): pass\nclass A:\n B = len\n"
    source += f"try: print('loaded', pickle.loads({HOSTILE[name]!r}))\n"
    with sandbox_for("standard").session() as session:
        result = session.run(source + "except Exception as error: print(type(error).__name__, 'x' in vars(A))")
    assert result.ok, result.error
    assert result.stdout.endswith("False\n") and "loaded" not in result.stdout


def test_what_a_pickle_sets_obeys_the_rules(sandbox_for: Callable[[str], Sandbox]) -> None:
    made = _global("__main__", "f") + b"}\x8c\x08__code__K\x01sb."
    with sandbox_for("standard").session() as session:
        result = session.run(f"import pickle\ndef f(): pass\npickle.loads({made!r})")
    assert result.error is not None and "'__code__' is refused" in result.error.message


def test_plain_data_crosses_from_any_python(sandbox_for: Callable[[str], Sandbox]) -> None:
    data = [pickle.dumps({"a": [1, 2.5, "x"], "b": {1, 2}}, protocol) for protocol in range(6)]
    with sandbox_for("standard").session() as session:
        assert session.run(f"import pickle\nlen({{repr(pickle.loads(d)) for d in {data!r}}})").value == 1


def test_a_data_frame_comes_back(sandbox_for: Callable[[str], Sandbox]) -> None:
    pytest.importorskip("pandas")
    source = (
        "import pandas as pd, numpy as np, pickle\n"
        "frame = pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': pd.to_datetime(['2020', '2021'])})\n"
        "with open('frame.pkl', 'wb') as file: pickle.dump((frame, np.arange(3)), file)\n"
        "with open('frame.pkl', 'rb') as file: back, numbers = pickle.load(file)\n"
        "(back.equals(frame), numbers.tolist())"
    )
    with sandbox_for("data-analysis").session() as session:
        assert session.run(source).check().value == (True, [0, 1, 2])


OF_PANDAS = """
import pandas as pd
days = pd.to_datetime(['2020', '2021'])
made = [
    pd.DataFrame({'a': [1, 2]}, index=days.tz_localize('Europe/Berlin')), pd.Series(days.tz_localize('UTC')),
    pd.DataFrame({'a': pd.interval_range(0, 2)}), pd.Series(pd.period_range('2020', periods=2, freq='M')),
    pd.Series([0, 0, 1], dtype='Sparse[int]'), pd.Series([1, None], dtype='UInt8'), pd.Series(['a'], dtype='category'),
    pd.Series([1.5, None], dtype='Float32'), pd.DataFrame({'a': [1]}, index=pd.date_range('2020', periods=1, freq='h')),
    pd.Timestamp('2020', tz='UTC'), pd.Period('2020'), pd.Interval(0, 1), pd.Timedelta('1D'), pd.offsets.MonthEnd(2),
]
"""
OF_ARROW = """
import datetime, pandas as pd, pyarrow as pa
table = pa.table({
    'a': [1, 2], 'b': ['x', None], 'c': [datetime.datetime(2020, 1, 1), None], 'd': [[1], [2, 3]],
    'e': [{'x': 1}, None], 'f': pa.array(['a', 'b']).dictionary_encode(),
    'g': pa.array([1, 2], pa.timestamp('ns', 'UTC')), 'h': pa.array([None, None], pa.decimal128(5, 2)),
    'i': pa.array([[('a', 1)], None], pa.map_(pa.string(), pa.int64())),
    'j': pa.nulls(2), 'k': pa.array([b'ab', None], pa.binary(2)), 'l': pa.array(['0', 'x', 'y']).slice(1),
})
made = [
    table, table.to_batches()[0], table['b'], table.schema, pd.Series(['a', None]), pd.DataFrame({'a': []}, dtype=str),
    pd.Series([1, None], dtype='int64[pyarrow]'), table.to_pandas().drop(columns='i'), pd.Series(pd.Categorical(['a'])),
]
"""


@pytest.mark.parametrize(("library", "source"), [("pandas", OF_PANDAS), ("pyarrow", OF_ARROW)])
def test_what_libraries_of_data_make_comes_back(
    sandbox_for: Callable[[str], Sandbox], tmp_path: Path, library: str, source: str
) -> None:
    """By a pickle of the program, and in a saved state."""
    pytest.importorskip(library)
    same = "\nimport pickle\ndef same(x, y): return x.equals(y) if hasattr(x, 'equals') else x == y\n"
    twice = "again = pickle.loads(pickle.dumps(made))\n"
    lost = "[x for x, y in zip(made, again, strict=True) if type(x) is not type(y) or not same(x, y)]"
    sandbox = sandbox_for("data-analysis")
    with sandbox.session() as session:
        assert session.run(source + same + twice + lost).check().value == []
        assert session.save(tmp_path / "state") == {}
    with sandbox.restore(tmp_path / "state") as session:
        assert session.run(lost).check().value == []


def test_classes_and_functions_of_a_programs_other_modules_come_back(sandbox_for: Callable[[str], Sandbox]) -> None:
    helper = b"class B:\n    def __init__(self, x): self.x = x\n    class C: pass\ndef f(a=1): return a\n"
    source = (
        "import helper, pickle\nfrom functools import partial\nb = helper.B(3)\n"
        "back = [pickle.loads(pickle.dumps([b, b, helper.f], p)) for p in range(6)]\n"
        "class A:\n    def __reduce__(self): return getattr, (Holder, 'it')\nclass Holder: it = 5\n"
        "(all(x is y and x.x == 3 and f is helper.f for x, y, f in back),"
        " type(pickle.loads(pickle.dumps(helper.B.C()))) is helper.B.C,"
        " pickle.loads(pickle.dumps(partial(helper.f, 2)))(),"
        " pickle.loads(pickle.dumps(A())))"
    )
    with sandbox_for("data-analysis").session() as session:
        session.write_file("helper.py", helper)
        assert session.run(source).check().value == (True, True, 2, 5)
        session.write_file("late.py", b"X = print\nclass D: pass\n")
        for named in ("late", "X"), ("late", "__builtins__"), ("late", "D.__init__"):
            made = _global(*named) + b"."
            error = session.run(f"pickle.loads({made!r})").error
            assert error is not None and "it may name plain types" in error.message


def test_a_plugin_pickles_its_own_classes(sandbox_for: Callable[[str], Sandbox]) -> None:
    other = "class B:\n    def __init__(self, x): self.x = x\n"
    main = "import pickle\nfrom other import B\ndef go(): return pickle.loads(pickle.dumps(B(4))).x\n"
    with sandbox_for("standard").plugin({"main": main, "other": other}, exports=["go"]) as plugin:
        assert plugin.call("go") == 4
