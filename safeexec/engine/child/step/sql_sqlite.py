"""SQLite behind a query, where DuckDB is not installed. Its authorizer is asked about every act of a query."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from safeexec.engine.child.step.sql_engines import NO_SUCH_STATEMENT, QueryDone, QueryFailed, quoted

_ALLOWED: Final = """
    SELECT READ RECURSIVE INSERT UPDATE DELETE ALTER_TABLE REINDEX ANALYZE CREATE_TABLE CREATE_TEMP_TABLE
    CREATE_INDEX CREATE_TEMP_INDEX CREATE_VIEW CREATE_TEMP_VIEW DROP_TABLE DROP_TEMP_TABLE DROP_INDEX
    DROP_TEMP_INDEX DROP_VIEW DROP_TEMP_VIEW
"""
_ACTIONS: Final = frozenset(getattr(sqlite3, f"SQLITE_{name}") for name in _ALLOWED.split())
_REFUSED: Final = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "table_list"})
_CHANGES: Final = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_CATALOGUES: Final = frozenset({"sqlite_master", "sqlite_temp_master"})


@contextlib.contextmanager
def open_sqlite() -> Iterator[SQLiteEngine]:
    """A database in memory, for one query."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield SQLiteEngine(connection)


class SQLiteEngine:
    """SQLite. Frames are copied in; dates are text in ISO form there, and dates again on their way back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._frames: dict[str, Any] = {}
        self._read_only: set[str] = set()
        self._changed = False
        """Whether a statement has made, changed or dropped a table."""
        self._denied = ""
        connection.execute("PRAGMA temp_store = MEMORY")

    def add(self, name: str, frame: Any, *, written: bool) -> None:
        """As `Engine.add`."""
        with self._failing():
            columns = ", ".join(f"{quoted(str(label))} {_sqlite_type(frame[label])}" for label in frame.columns)
            self._connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
            marks = ", ".join("?" * frame.shape[1])
            values = zip(*(_sqlite_values(frame.iloc[:, at]) for at in range(frame.shape[1])), strict=True)
            self._connection.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", values)
        if written:
            self._frames[name] = frame
        else:
            self._read_only.add(name)

    def add_file(self, name: str, path: str, stem: str | None) -> None:
        """As `Engine.add_file`: pandas reads the file."""
        import pandas as pd

        try:
            if path.lower().endswith(".parquet"):
                frame = pd.read_parquet(path)
            else:
                frame = pd.read_csv(path, sep="\t" if path.lower().endswith(".tsv") else ",")
        except (ImportError, OSError, ValueError) as error:
            raise QueryFailed(str(error)) from None
        self.add(name, frame, written=False)
        if stem is not None:
            with self._failing():
                self._connection.execute(f"CREATE VIEW {quoted(stem)} AS SELECT * FROM {quoted(name)}")

    def run(self, query: str) -> QueryDone:
        """As `Engine.run`."""
        frame, rows = None, None
        self._connection.set_authorizer(self._authorize)
        for start, statement in _statements(query):
            with self._failing(start):
                answer = self._connection.execute(statement)
                frame = None
                if answer.description is not None:
                    frame = _frame(answer)
                    self._changed |= not statement.lower().startswith(("select", "values", "explain", "pragma"))
                elif answer.rowcount >= 0:
                    rows = (rows or 0) + answer.rowcount
        self._connection.set_authorizer(None)
        return QueryDone(frame, rows, self._changed or bool(rows))

    def tables(self) -> dict[str, Any]:
        """As `Engine.tables`."""
        with self._failing():
            found = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' UNION ALL "
                "SELECT name FROM sqlite_temp_master WHERE type = 'table'"
            ).fetchall()
            names = [name for (name,) in found if name not in self._read_only]
            return {
                name: _as_before(
                    _frame(self._connection.execute(f"SELECT * FROM {quoted(name)}")), self._frames.get(name)
                )
                for name in names
            }

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if str(second).lower() in _REFUSED else sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if str(first).lower() in _PRAGMAS else sqlite3.SQLITE_DENY
        if action in _CHANGES and first in self._read_only:
            self._denied = f"{first} is not a table that can be changed"
            return sqlite3.SQLITE_DENY
        if action not in _ACTIONS:
            return sqlite3.SQLITE_DENY
        self._changed |= action in _CHANGES and first in _CATALOGUES
        return sqlite3.SQLITE_OK

    @contextlib.contextmanager
    def _failing(self, start: int = 0) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            message, denied = str(error), self._denied
            refused = message in ("not authorized", "authorization denied") and not denied
            raise QueryFailed(denied or message, start, NO_SUCH_STATEMENT if refused else None) from None


def _statements(query: str) -> Iterator[tuple[int, str]]:
    """The statements of a query, each with the character at which it begins."""
    start = at = 0
    while at < len(query):
        end = query.find(";", at)
        at = len(query) if end < 0 else end + 1
        if at == len(query) or sqlite3.complete_statement(query[start:at]):
            skipped = len(query[start:at]) - len(query[start:at].lstrip())
            if query[start:at].strip(" \n\t\r;"):
                yield start + skipped, query[start + skipped : at]
            start = at


def _frame(answer: sqlite3.Cursor) -> Any:
    import pandas as pd

    return pd.DataFrame.from_records(answer.fetchall(), columns=[name for name, *_ in answer.description])


def _sqlite_type(column: Any) -> str:
    return {"i": "INTEGER", "u": "INTEGER", "b": "INTEGER", "f": "REAL"}.get(getattr(column.dtype, "kind", "O"), "")


def _sqlite_values(column: Any) -> list[Any]:
    """The cells of a column as SQLite takes them: numbers, text, bytes, and None for what is missing."""
    if getattr(column.dtype, "kind", "O") in "Mm":
        return [None if cell != cell else str(cell) for cell in column]
    cells = column.astype(object).where(column.notna(), None).tolist()
    return [cell if type(cell) in (int, float, str, bytes, bool) or cell is None else str(cell) for cell in cells]


def _as_before(frame: Any, before: Any) -> Any:
    """`frame` with the types that its columns had, as far as their values still are of them."""
    for label in () if before is None else before.columns:
        if label in frame.columns and frame[label].dtype != before[label].dtype:
            with contextlib.suppress(ValueError, TypeError):
                frame[label] = frame[label].astype(before[label].dtype)
    return frame
