"""`pandas.read_sql` of a connection of `sqlite3`: any other that pandas takes is a way to a database of the network."""

from __future__ import annotations

import sqlite3
from typing import Any

import pandas as pd


def _own(con: Any) -> sqlite3.Connection:
    if not issubclass(type(con), sqlite3.Connection):
        raise PermissionError("a connection of sqlite3 alone is read here: con = sqlite3.connect(':memory:')")
    return con  # type: ignore[no-any-return]


def read_sql(sql: str, con: Any, *args: Any, **options: Any) -> Any:
    """`pandas.read_sql`."""
    return pd.read_sql(sql, _own(con), *args, **options)


def read_sql_query(sql: str, con: Any, *args: Any, **options: Any) -> Any:
    """`pandas.read_sql_query`."""
    return pd.read_sql_query(sql, _own(con), *args, **options)


REPLACEMENTS: dict[str, Any] = {"pandas.read_sql": read_sql, "pandas.read_sql_query": read_sql_query}
