"""The database behind a query: DuckDB, in memory, for one query.

It is locked before the query runs: no file, no extension, no other database, no setting. External access is off and the
configuration locked, and only statements about tables run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_CONFIG: Final = {
    "threads": "1",  # a pool of threads does not survive the fork of a checkpoint
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # or `from x` finds the variables of our own frames
    "temp_directory": "",
}
_LOCK: Final = "SET enable_external_access = false; SET lock_configuration = true"
_CHANGE_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO"})
_CHANGE_TABLES: Final = frozenset({"CREATE", "ALTER", "DROP"})
_READ: Final = frozenset({"SELECT", "EXPLAIN", "MULTI", "PRAGMA"})
"""Kinds of statements that run. MULTI is a PIVOT; a PRAGMA only where it has a result."""
_TABLES: Final = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"
_EXACT: Final = 1 << 53
"""Sums of integers are HUGEINT, which DuckDB hands to pandas as floats: exact up to here."""
_LEAST_MEMORY: Final = 32 << 20
_NO_SUCH_STATEMENT: Final = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER and DROP run here. Nothing is attached, copied, loaded or set; a "
    "query is a transaction by itself."
)


class QueryFailed(Exception):
    """What the engine says of a query. `start`: where in the query the statement begins, in characters."""

    def __init__(self, message: str, start: int = 0, hint: str | None = None) -> None:
        super().__init__(message)
        self.start = start
        self.hint = hint


class QueryDone(NamedTuple):
    """What a query gave: the result of its last statement or None, rows changed by all, and whether tables changed."""

    frame: Any
    rows: int | None
    writes: bool


def _quoted(name: str) -> str:
    """Return `name` as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def open_duckdb(duckdb: Any, memory_bytes: int | None) -> Iterator[Database]:
    """Yield a database of the module `duckdb`, in memory, for one query, which may use `memory_bytes`."""
    config = dict(_CONFIG)
    if memory_bytes is not None:
        config["memory_limit"] = f"{max(memory_bytes, _LEAST_MEMORY) >> 10}KiB"
    with contextlib.closing(duckdb.connect(":memory:", config=config)) as connection:
        connection.execute("SET enable_progress_bar = false")  # before a file is read: that draws one, too
        yield Database(duckdb, connection)


class Database:
    """A database for one query. Tables go in, `run` once, tables come out."""

    def __init__(self, duckdb: Any, connection: Any) -> None:
        self._error = duckdb.Error
        self._out_of_memory = duckdb.OutOfMemoryException
        self._connection = connection
        self._own: set[str] = set()
        """Tables that are the files of the workspace."""

    def add(self, name: str, frame: Any, *, written: bool) -> None:
        """Put a DataFrame in as a table: read where it is, and copied only if it may be `written`."""
        with self._failing():
            if not written:
                self._connection.register(name, frame)
                return
            self._connection.register("the frame", frame)
            self._connection.execute(f'CREATE TABLE {_quoted(name)} AS SELECT * FROM "the frame"')
            self._connection.unregister("the frame")

    def add_file(self, name: str, path: str, stem: str | None) -> None:
        """Read a CSV or Parquet file into a table `name`, and give it the second name `stem`."""
        reader = "read_parquet" if path.lower().endswith(".parquet") else "read_csv"
        with self._failing():
            self._connection.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM {reader}(?)", [path])
            if stem is not None:
                self._connection.execute(f"CREATE VIEW {_quoted(stem)} AS SELECT * FROM {_quoted(name)}")
        self._own.add(name)

    def run(self, query: str) -> QueryDone:
        """Lock the database and run the statements of `query`. Raises `QueryFailed`, and MemoryError."""
        frame, rows, writes, start = None, None, False, 0
        with self._failing():
            self._connection.execute(_LOCK)
            statements = self._connection.extract_statements(query)
        for statement in statements:
            text, kind = statement.query, statement.type.name
            start = max(query.find(text, start), 0)
            allowed = kind in _CHANGE_ROWS | _CHANGE_TABLES | _READ
            if kind == "PRAGMA":
                allowed = {result.name for result in statement.expected_result_type} == {"QUERY_RESULT"}
            if not allowed:
                raise QueryFailed(f"{kind.replace('_', ' ')} is not a statement of this SQL", start, _NO_SUCH_STATEMENT)
            with self._failing(start):
                answer = self._connection.execute(text)
                names = [column[0] for column in answer.description or ()]
                if kind in _CHANGE_ROWS and names == ["Count"]:
                    frame, rows = None, (rows or 0) + int(answer.fetchone()[0])
                else:
                    frame = self._frame(answer) if names and kind not in _CHANGE_TABLES else None
                    writes |= kind not in _READ
            start += len(text)
        return QueryDone(frame, rows, writes or bool(rows))

    def tables(self) -> dict[str, Any]:
        """Return the tables that can be changed, as they are now."""
        with self._failing():
            found = self._connection.execute(_TABLES).fetchall()
            elsewhere = next((f"{schema}.{name}" for schema, name in found if schema != "main"), None)
            if elsewhere is not None:
                raise QueryFailed(
                    f"{elsewhere} would be lost", 0, "Tables are made without a schema: CREATE TABLE name …"
                )
            names = [name for _, name in found if name not in self._own]
            return {name: self._frame(self._connection.execute(f"SELECT * FROM {_quoted(name)}")) for name in names}

    @staticmethod
    def _frame(answer: Any) -> Any:
        huge = [str(column[1]) in ("HUGEINT", "UHUGEINT") for column in answer.description]
        frame = answer.df()
        for position, is_huge in enumerate(huge):
            column = frame.iloc[:, position]
            if is_huge and column.dtype.kind == "f" and column.notna().all() and (column.abs() < _EXACT).all():
                frame.isetitem(position, column.astype("int64"))
        return frame

    @contextlib.contextmanager
    def _failing(self, start: int = 0) -> Iterator[None]:
        try:
            yield
        except self._out_of_memory:
            raise MemoryError("the query needs more memory than the session has left") from None
        except (self._error, UnicodeError) as error:
            raise QueryFailed(str(error), start) from None
