"""The session's variables as the host sees them: values cross, objects do not."""

from __future__ import annotations

import pytest

from safeexec import Session
from tests.conftest import OpenSession


def test_names_are_spelt_as_python_reads_them(session: Session) -> None:
    """The micro sign is the letter mu, the sign of Angstrom the letter."""
    micro, mu = "\u00b5", "\u03bc"
    session.set(micro, 3)
    assert session.run(f"{micro} = {micro} * 2\n{mu}").value == 6
    assert (session.get(micro), session.get(mu), session.namespace[micro]) == (6, 6, 6)
    assert micro in session.namespace and [*session.namespace] == [mu]
    assert session.run(f"{micro} + 1", namespace={micro: 1}).value == 2
    del session.namespace[micro]
    assert session.get(mu) is None
    session.run(f"globals()[{micro!r}] = 1")
    assert session.namespace == {micro: 1}, "a name that no program can spell is there, too"
    del session.namespace[micro]
    assert not session.namespace


@pytest.mark.parametrize("name", ["for", "None", "a b", "1a", ""])
def test_a_name_that_no_program_can_write_is_no_variable(session: Session, name: str) -> None:
    with pytest.raises(ValueError, match="is not a variable name"):
        session.set(name, 1)
    with pytest.raises(TypeError, match="thing"):
        session.set("thing", object())
    assert list(session.namespace) == []


def test_it_is_a_mapping(session: Session) -> None:
    names = session.namespace
    assert len(names) == 0
    names["rate"] = 0.08
    session.run("total = rate * 2\ndef f(): pass")
    assert set(names) == {"rate", "total", "f"}
    assert "total" in names and "missing" not in names
    assert names["total"] == 0.16 and dict(names)["rate"] == 0.08
    del names["rate"]
    assert session.run("rate").error.type == "NameError"  # type: ignore[union-attr]
    for use in (names.__getitem__, names.__delitem__):
        with pytest.raises(KeyError):
            use("rate")


def test_it_compares_copies_and_merges_as_a_dict_does(open_session: OpenSession) -> None:
    session = open_session(namespace={"x": 1, "y": [2]})
    names = session.namespace
    assert names == {"x": 1, "y": [2]} and names != {"x": 1}
    copied = names.copy()
    assert type(copied) is dict and copied == {"x": 1, "y": [2]}
    assert names | {"x": 5} == {"x": 5, "y": [2]}
    assert {"x": 5, "z": 0} | names == {"x": 1, "y": [2], "z": 0}
    names |= {"z": 3}
    assert session.run("x + z").value == 4 and session.get("nothing", 3) == 3


@pytest.mark.parametrize("name", ["__builtins__", "print", "__import__"])
def test_the_hosts_writes_cannot_take_the_language_away(session: Session, name: str) -> None:
    try:
        session.namespace[name] = 3
    except KeyError:
        pass
    assert session.run("import math\nmath.floor(1.5)").value == 1


@pytest.mark.modules("numpy", "pandas")
@pytest.mark.profile("data-analysis")
def test_arrays_and_frames_come_as_such_to_who_has_the_library(session: Session) -> None:
    import numpy
    import pandas

    session.run("import numpy as np, pandas as pd\na, s = np.arange(6).reshape(2, 3), np.float64(2.5)").check()
    session.run("f = pd.DataFrame({'x': [1, 2]})").check()
    session.set("g", session.get("f"))
    numpy.testing.assert_array_equal(session.get("a"), numpy.arange(6).reshape(2, 3))
    pandas.testing.assert_frame_equal(session.get("f"), pandas.DataFrame({"x": [1, 2]}))
    assert session.run("s").value == 2.5 and session.run("g.equals(f)").value is True


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("pandas", "duckdb")
def test_a_query_tells_which_name_it_bound_and_binds_no_other_and_guest_code_reads_its_error(session: Session) -> None:
    session.run("import pandas as pd\nsales = pd.DataFrame({'amount': [1, 2]})\nresult = 'kept'").check()
    first = session.sql("select sum(amount) as total from sales", name="totals").check()
    assert (first.changes.created, first.changes.descriptions) == (("totals",), {"totals": "DataFrame 1x1"})
    assert session.sql("select 1 as one", name="totals").changes.changed == ("totals",)
    assert session.run("int(totals['one'][0])").value == 1
    asked = session.sql("select 1 as one").check()
    assert (asked.value, asked.changes.created, asked.changes.changed) == ({"one": [1]}, (), ())
    assert session.run("result, int(_['one'][0])").value == ("kept", 1)
    with pytest.raises(KeyError, match="belongs to the sandbox"):
        session.set("_format_", 1)  # compiled code looks guards up by these names, as builtins are
    assert not session.sql("select 1 as one", name="_format_").ok
    session.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})").check()
    failed = session.run("def total():\n    return sql('select sum(b)\\nfrom df')\ntotal()")
    assert (failed.error.type, failed.error.line) == ("SqlError", 2) and "column 12" in failed.error.message
    assert failed.error.hint.startswith("Did you mean") and "Hint" not in failed.error.message
    told = session.sql("select sum(b)\nfrom df").error
    assert (told.type, told.line, told.column) == ("SqlError", 1, 12)
    assert session.run("sql('select * from local', local=pd.DataFrame({'x': [5]})).x[0]").value == 5
    for name in ("__builtins__", "_format_", "df.a"):
        assert session.sql(f'create table "{name}" as select 1 as a').error.type == "SqlError"


@pytest.mark.profile("data-analysis")
@pytest.mark.modules("pandas", "duckdb")
def test_tables_are_undone_as_variables_are(session: Session) -> None:
    """No engine is open between two steps: a rollback has nothing to forget."""
    session.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})").check()
    made = session.sql("create table t as select a * 10 as b from df").check()
    assert (made.stdout, made.changes.created) == ("t has 2 rows and 1 columns\n", ("t",))
    session.checkpoint("made")
    changed = session.run("sql('update t set b = 0')\nsql('select sum(b) as s from t')").check()
    assert changed.changes.changed == ("t",) and changed.stdout.startswith("2 rows changed")
    session.rollback("made")
    assert session.run("int(sql('select sum(b) as s from t').s[0])").value == 30
    session.run("for i in range(100): globals()[f'name{i}'] = i").check()  # more names than are all watched in a step
    assert session.sql("update t set b = 1").changes.changed == ("t",)
    assert session.sql("drop table t").changes.deleted == ("t",)


def test_a_policy_without_tables_says_so(session: Session) -> None:
    error = session.sql("select 1 as one").error
    assert (error.type, error.message) == ("SqlError", "there are no tables under this policy")
    assert error.hint is not None and "data-analysis" in error.hint
