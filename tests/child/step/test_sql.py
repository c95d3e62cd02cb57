"""SQL over DataFrames and files of the workspace; nothing else is in reach, and errors say where and what instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("duckdb")

from safeexec.child.step.sql import SqlError, sql  # noqa: E402


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


def rows(query: str, workspace: str | None) -> list[tuple[Any, ...]]:
    found = sql(query, frames(), workspace)
    return [tuple(row) for row in found.itertuples(index=False)]


def test_frames_and_files_join(workspace: str) -> None:
    query = """
        select region, count(*) as n, sum(amount) as total
        from sales join people using (region) group by region order by region
    """
    found = sql(query, frames(), workspace)
    assert list(found.columns) == ["region", "n", "total"]
    assert [tuple(row) for row in found.itertuples(index=False)] == [("north", 2, 4), ("south", 1, 2)]
    assert found["total"].dtype == "int64"


def test_files_by_path_and_frames_before_files(workspace: str) -> None:
    assert rows("select cost from 'data/costs.csv'", workspace) == [(10,)]
    assert rows("select sum(value) from ages", workspace) == [(3,)]
    found = sql("select * from sales", {"sales": pd.DataFrame({"x": [9]})}, workspace)
    assert list(found.columns) == ["x"]


def test_a_statement_without_a_result(workspace: str) -> None:
    assert sql("create table t as select 1", {}, workspace) is None


def test_the_namespace_is_not_changed(workspace: str) -> None:
    namespace = frames()
    with pytest.raises(SqlError):
        sql("delete from people", namespace, workspace)
    assert namespace["people"].equals(frames()["people"])


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{secret}')",
        "select * from '{secret}'",
        "select * from glob('/*')",
        "select content from read_text('{secret}')",
        "copy people to '{secret}.out'",
        "attach '{secret}.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "select * from frames",
        "select * from namespace",
        "import database '{secret}'",
        "export database '{secret}.d'",
    ],
)
def test_nothing_else_is_reached(query: str, workspace: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("host") / "secret.csv"
    secret.write_text("a\n1\n")
    with pytest.raises(SqlError):
        sql(query.format(secret=secret), frames(), workspace)
    assert [path.name for path in secret.parent.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    ("query", "place", "hint"),
    [
        (
            "select * from sale",
            (1, 15),
            "Did you mean sales.csv? Tables are: people, ages, 'sales.csv', 'data/costs.csv'.",
        ),
        ("select nam\nfrom people", (1, 8), "Did you mean name?"),
        (
            "select * from 'sale.csv'",
            (1, 15),
            "Did you mean 'sales.csv'? Files of the workspace are: 'sales.csv', 'data/costs.csv'.",
        ),
        (
            "select sum(name) from people",
            (1, 8),
            "sum is not made for VARCHAR: convert first, as in try_cast(column as double).",
        ),
        ("select name,\n  regoin from people", (2, 3), "Did you mean region?"),
        ("select amont from 'sales.csv'", (1, 8), 'Did you mean "amount"'),
        ("select\n  foo( from people", (2, 8), None),
        ("select summ(amount) from sales", (1, 8), 'Did you mean "sum"?'),
    ],
)
def test_errors_tell_place_and_hint(query: str, place: tuple[int, int], hint: str | None, workspace: str) -> None:
    with pytest.raises(SqlError) as caught:
        sql(query, frames(), workspace)
    error = caught.value
    assert (error.line, error.column) == place
    assert (error.hint or "").startswith(hint or "") and (hint is None) == (error.hint is None)
    assert "LINE" not in str(error) and "^" not in str(error)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SqlError, match=r"^bad.parquet cannot be read: "):
        sql("select * from 'bad.parquet'", {}, str(tmp_path))
