"""SQL over DataFrames and files of the workspace, by DuckDB; nothing else is in reach, and errors say where."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("duckdb")

from safeexec.engine.child.step.sql import SqlError, sql  # noqa: E402


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    (tmp_path / "sales.csv").write_text("region,amount\nnorth,1\nsouth,2\nnorth,3\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "costs.csv").write_text("region,cost\nnorth,10\n")
    return str(tmp_path)


def frames() -> dict[str, Any]:
    return {
        "people": pd.DataFrame({"name": ["a", None], "region": ["north", "south"]}),
        "ages": pd.Series([1, 2]),
        "n": 5,
    }


def rows(query: str, workspace: str | None = None, **tables: Any) -> list[tuple[Any, ...]]:
    found = sql(query, frames(), workspace, given=tables)[0]
    return [tuple(row) for row in found.itertuples(index=False)]


def test_frames_and_files_join(workspace: str) -> None:
    query = """
        select region, count(*) as n, sum(amount) as total
        from sales join people using (region) group by region order by region
    """
    found = sql(query, frames(), workspace)[0]
    assert list(found.columns) == ["region", "n", "total"] and found["total"].dtype == "int64"
    assert rows(query, workspace) == [("north", 2, 4), ("south", 1, 2)]


def test_a_given_table_comes_before_a_variable_and_that_before_a_file(workspace: str) -> None:
    assert rows("select cost from 'data/costs.csv'", workspace) == [(10,)]
    assert rows("select sum(value) from ages", workspace) == [(3,)]
    found = sql("select * from sales", {"sales": pd.DataFrame({"x": [9]})}, workspace)[0]
    assert list(found.columns) == ["x"]
    assert rows("select x from people", people=pd.DataFrame({"x": [7]})) == [(7,)]
    with pytest.raises(TypeError, match="people is list"):
        rows("select 1", people=[1])
    namespace = frames()
    with pytest.raises(SqlError):
        sql("delete from people", namespace, None, given={"people": pd.DataFrame({"x": [7]})})
    assert len(namespace["people"]) == 2


def test_a_table_that_is_created_is_a_variable_and_stays(workspace: str) -> None:
    namespace = frames()
    answer = sql("create table totals as select region, amount from sales where amount > 1", namespace, workspace)
    assert answer == (None, "totals has 2 rows and 2 columns")
    assert list(namespace["totals"]["amount"]) == [2, 3]
    assert list(sql("select sum(amount) as s from totals", namespace, workspace)[0]["s"]) == [5]
    assert sql("drop table totals", namespace, workspace)[1] == "totals is dropped"
    assert "totals" not in namespace
    made = "create temp table t (a integer); insert into t values (1), (2); select count(*) as n from t"
    assert list(sql(made, namespace, None)[0]["n"]) == [2]
    assert list(namespace["t"]["a"]) == [1, 2]


def test_a_frame_is_changed_where_the_query_says_so() -> None:
    days = pd.to_datetime(["2024-01-02", "2024-01-03"])
    namespace = {"df": pd.DataFrame({"a": [1, 2], "day": days, "ok": [True, False]}), "other": pd.DataFrame({"b": [1]})}
    other = namespace["other"]
    said = sql("update df set a = a + 10 where a = 1", namespace, None)[1]
    assert said == "1 row changed; df has 2 rows and 3 columns"
    assert list(namespace["df"]["a"]) == [11, 2] and list(namespace["df"]["day"]) == list(days)
    assert namespace["df"]["ok"].dtype == bool
    sql("insert into df select b, null, true from other; alter table df add column c integer", namespace, None)
    assert namespace["df"].shape == (3, 4) and namespace["other"] is other
    kept = namespace["df"]
    assert sql("delete from df where a = 99", namespace, None)[1] == "0 rows changed"
    assert namespace["df"] is kept


def test_a_query_that_fails_changes_nothing() -> None:
    namespace = frames()
    before = dict(namespace)
    for query in (
        "delete from people; select nothing from people",
        "create table made as select 1 as a; select * from absent",
        "create table n as select 1 as a",
        'create table "two words" as select 1 as a',
        'create table "class" as select 1 as a',
        "create table _getattr_ as select 1 as a",
        "insert into ages values (1)",
        "update/**/people set name = 'x'",
    ):
        with pytest.raises(SqlError):
            sql(query, namespace, None, reserved={"hidden", "_getattr_"})
        assert namespace.keys() == before.keys() and all(namespace[name] is before[name] for name in before)


@pytest.mark.parametrize("query", ["", "-- nothing", "create view v as select 1; create view w as select 2"])
def test_a_query_that_does_nothing_says_so(query: str) -> None:
    with pytest.raises(SqlError, match="leaves nothing behind") as caught:
        sql(query, frames(), None)
    assert caught.value.hint is not None and "CREATE TABLE" in caught.value.hint


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{secret}')",
        "select * from '{secret}'",
        "select * from glob('/*')",
        "select * from read_blob('{secret}')",
        "select * from parquet_scan('http://127.0.0.1:9/x.parquet')",
        "copy people to '{secret}.out'",
        "create table t as select 1 as a; copy t from '{secret}'",
        "attach '{secret}.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set threads = 8",
        "pragma threads = 8",
        "select * from frames",
        "import database '{secret}'",
        "export database '{secret}.d'",
        "vacuum",
        "begin",
        "checkpoint",
        "call enable_logging()",
        "select getenv('HOME')",
        "create secret s (type s3, key_id 'a', secret 'b')",
        "insert into sales values ('west', 1)",
    ],
)
def test_nothing_else_is_reached_and_no_file_is_written(
    query: str, workspace: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("host") / "secret.csv"
    secret.write_text("a\n1\n")
    with pytest.raises(SqlError):
        sql(query.format(secret=secret), frames(), workspace)
    assert [path.name for path in secret.parent.iterdir()] == ["secret.csv"]
    assert (Path(workspace) / "sales.csv").read_text().count("\n") == 4


def test_no_bar_is_drawn_in_the_output_while_a_large_file_is_read(tmp_path: Path, capfd: Any) -> None:
    pd.DataFrame({"x": range(400_000)}).to_csv(tmp_path / "large.csv")
    assert rows("select count(*) from large", str(tmp_path)) == [(400_000,)]
    assert capfd.readouterr() == ("", "")


def test_without_duckdb_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(SqlError, match="needs DuckDB"):
        sql("select 1", {}, None)


def test_a_query_stays_within_its_memory() -> None:
    with pytest.raises(MemoryError):
        sql("select list(a.x) as l from range(60000000) as a(x)", {}, None, memory_bytes=64 << 20)


CONVERT = "sum is not made for VARCHAR: convert first, as in try_cast(column as double)."
ERRORS = [
    ("select * from sale", 1, 15, "Did you mean sales.csv? Tables are: people, ages, 'sales.csv', 'data/costs.csv'."),
    ("select 1;\nselect people.nam\n  from people", 2, (8, 15), "Did you mean name?"),
    ("select * from 'sale.csv'", 1, 15, "Did you mean 'sales.csv'? Files of the workspace are: 'sales.csv', 'data/cos"),
    ("select sum(name) from people", 1, 8, CONVERT),
    ("select amont from 'sales.csv'", 1, 8, 'Did you mean "amount"'),
    ("select\n  foo( from people", 2, 8, None),
    ("select 1; select summ(amount) from sales", 1, 18, 'Did you mean "sum"?'),
]


@pytest.mark.parametrize(("query", "line", "column", "hint"), ERRORS)
def test_errors_tell_place_and_hint(query: str, line: int, column: Any, hint: str | None, workspace: str) -> None:
    with pytest.raises(SqlError) as caught:
        sql(query, frames(), workspace)
    error = caught.value
    assert error.line == line and error.column in (column if isinstance(column, tuple) else (column,))
    assert (error.hint or "").startswith(hint or "") and (hint is None) == (error.hint is None)
    assert "LINE" not in str(error) and "^" not in str(error) and "Hint" not in str(error)
    assert str(error).endswith(f" (line {error.line}, column {error.column})")


def test_a_file_that_cannot_be_read_is_named_with_how_to_read_it_and_is_no_matter_to_a_query_that_means_a_column(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SqlError, match=r"^bad.parquet cannot be read: "):
        sql("select * from 'bad.parquet'", {}, str(tmp_path))
    (tmp_path / "people.csv").write_bytes("name,age\nJosé,31\n".encode("cp1252"))
    with pytest.raises(SqlError, match="cannot be read") as caught:
        sql("select * from people", {}, str(tmp_path))
    assert "pd.read_csv('people.csv', encoding='cp1252')" in (caught.value.hint or "")
    (tmp_path / "age.csv").write_bytes("name,age\nJosé,31\n".encode("cp1252"))
    (tmp_path / "clean.csv").write_text("name,age\nJosé,31\n")
    assert rows("select sum(age) from 'clean.csv'", str(tmp_path)) == [(31,)]
    for query in ("select * from Age", "select * from 'age.csv'", "select * from clean join age using (name)"):
        with pytest.raises(SqlError, match=r"^age.csv cannot be read"):
            rows(query, str(tmp_path))
    with pytest.raises(SqlError, match="nowhere"):
        rows("select age from nowhere", str(tmp_path))
