"""SQL over a session: its DataFrames, and the CSV and Parquet files of its workspace, are the tables.

Every query has a database of DuckDB of its own, in memory, which ends with it: nothing of it is open between two steps,
so a fork copies none of it and a saved state needs none of it. The tables that the query names are put in first; then
the database is locked: no file, no extension, no other database, no setting, and only statements about tables run. What
the query made or changed comes out again as DataFrames, variables of the session: they stay, and are undone, as all
variables do. A query does all that it says or, where it fails, nothing.
"""

from __future__ import annotations

import keyword
import os
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

from safeexec.common.matching import nearest
from safeexec.engine.policy.names import GUARD_NAMES

MAX_FILES: Final = 1000
MAX_DEPTH: Final = 3
SUFFIXES: Final = (".csv", ".tsv", ".csv.gz", ".parquet")
_CONFIG: Final = {
    "threads": "1",  # a pool of threads does not survive the fork of a checkpoint
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # or `from x` finds the variables of our own frames
    "temp_directory": "",
}
_LEAST_MEMORY: Final = 32 << 20
_LOCK: Final = "SET enable_external_access = false; SET lock_configuration = true"
_CHANGE_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE_INTO"})
_CHANGE_TABLES: Final = frozenset({"CREATE", "ALTER", "DROP"})
_READ: Final = frozenset({"SELECT", "EXPLAIN", "MULTI", "PRAGMA"})
"""Kinds of statements that run. MULTI is a PIVOT; a PRAGMA only where it has a result."""
_NO_SUCH_STATEMENT: Final = (
    "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER and DROP run here. Nothing is attached, copied, loaded or set; a "
    "query is a transaction by itself."
)
_TABLES: Final = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"
_EXACT: Final = 1 << 53
"""Sums of integers are HUGEINT, which DuckDB hands to pandas as floats: exact up to here."""
_NAME: Final = r'(?:(?:"(?:[^"]|"")+"|\w+)\s*\.\s*)*("(?:[^"]|"")+"|\w+)'
_WRITTEN: Final = re.compile(
    r"\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update(?:\s+or\s+\w+)?|delete\s+from|truncate(?:\s+table)?"
    r"|merge\s+into|(?:alter|drop|create(?:\s+or\s+replace)?(?:\s+temp(?:orary)?)?)\s+table"
    rf"(?:\s+if(?:\s+not)?\s+exists)?)\s+{_NAME}",
    re.IGNORECASE,
)
"""A statement that writes, and the table it is about. What this misses is a read-only table: the engine refuses."""
_PLACE: Final = re.compile(r"\n*LINE (\d+): (.*)\n( *)\^+", re.DOTALL)
_MISSING_TABLE: Final = re.compile(r"Table with name (.+?) does not exist", re.DOTALL)
_MISSING_COLUMN: Final = re.compile(
    r'(?:Referenced column|column) "([^"]+)" (?:not found|does not exist)|have a column named "([^"]+)"'
)
_MISSING_FILE: Final = re.compile(r'Cannot access file "([^"]+)"')
_WRONG_TYPES: Final = re.compile(r"No function matches the given name and argument types '(\w+)\(([^)]*)\)'")
_READ_ONLY: Final = re.compile(r"base table|is not an? table|of type View|modify view|it is a view")
_CANDIDATES: Final = re.compile(r"\n*(?:Candidate bindings:|Did you mean) ([^\n]*)")
_READABLE: Final = (
    "SQL reads the session's DataFrames and the CSV and Parquet files of its workspace, by name (from 'sales.csv'), "
    "and writes no files: save its result with pandas."
)
_STAYS: Final = "CREATE TABLE name AS SELECT … makes a DataFrame `name`, which stays"
_NOT_UTF_8: Final = re.compile(r"not utf-8|can't decode", re.IGNORECASE)
_OTHER_TEXT: Final = (
    "Files are read as UTF-8. Read this one yourself, and query the frame: df = pd.read_csv({!r}, encoding='cp1252')."
)
_NO_EFFECT: Final = f"Views, indexes and functions end with their query. {_STAYS}."


class SqlError(Exception):
    """A query failed. `line` and `column` in the query count from 1, where they are known; `hint` says what to do."""

    __module__ = "builtins"

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        place = "" if line is None else f" (line {line}, column {column})" if column is not None else f" (line {line})"
        super().__init__(message + place)
        self.line = line
        self.column = column
        self.hint = hint


def sql(
    query: str,
    namespace: dict[str, Any],
    workspace: str | None = ".",
    *,
    given: Mapping[str, Any] | None = None,
    reserved: Container[str] = (),
    memory_bytes: int | None = None,
) -> tuple[Any, str]:
    """Run `query`, and bind the tables that it makes or changes in `namespace`. Returns the result of its last
    statement, or None and in a line what it did to which tables.

    Tables are the frames of `given`, those of `namespace` by their names, and the files below `workspace` by path
    (``'data/sales.csv'``) or, where no frame has that name, by stem (``sales``). No table may be called like a name of
    `reserved`. The engine may use `memory_bytes`. Raises `SqlError` and MemoryError; nothing is bound then.
    """
    duckdb = _engine()
    given = given or {}
    frames = _frames(namespace) | {name: _table(name, value) for name, value in given.items()}
    files = dict(_files(workspace)) if workspace is not None else {}
    unread: dict[str, SqlError] = {}
    frame, rows, writes, start, tables = None, None, False, 0, {}
    try:
        with closing(_database(duckdb, memory_bytes)) as connection:
            written = _load(connection, query, namespace, given, frames)
            stays = {name.lower() for name in frames} | _targets(query)
            unread = _load_files(connection, query, files, stays)
            connection.execute(_LOCK)
            for statement in connection.extract_statements(query):
                start = max(query.find(statement.query, start), 0)
                frame, changed, wrote = _run(connection, statement)
                rows, writes = rows if changed is None else (rows or 0) + changed, writes or wrote
                start += len(statement.query)
            tables = _tables(connection, files) if writes or rows else {}
    except duckdb.OutOfMemoryException:
        raise MemoryError("the query needs more memory than the session has left") from None
    except (duckdb.Error, UnicodeError) as failure:
        missing = _MISSING_TABLE.search(str(failure)) or _MISSING_FILE.search(str(failure))
        wanted = missing[1].strip('"').lower() if missing is not None else ""
        raise unread.get(wanted) or _explained(str(failure), start, query, frames, files) from None
    dropped = [name for name in written if (writes or rows) and name not in tables]
    for name in tables.keys() - written:
        _check_name(name, namespace, reserved)
    if frame is None and rows is None and not tables and not dropped:
        raise SqlError("the query has no result and leaves nothing behind", hint=_NO_EFFECT)
    for name in dropped:
        del namespace[name]
    namespace.update(tables)
    return (None, _summary(rows, tables, dropped)) if frame is None else (frame, "")


def _engine() -> Any:
    """Import DuckDB. Raises `SqlError` where it is not installed."""
    try:
        import duckdb
    except ImportError:
        error = "SQL needs DuckDB, which the host has not installed"
        raise SqlError(error, hint="Use the methods of pandas.") from None
    return duckdb


def _database(duckdb: Any, memory_bytes: int | None) -> Any:
    """Return a connection to an empty database in memory."""
    config = dict(_CONFIG)
    if memory_bytes is not None:
        config["memory_limit"] = f"{max(memory_bytes, _LEAST_MEMORY) >> 10}KiB"
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET enable_progress_bar = false")  # before a file is read: that draws one, too
    return connection


def _summary(rows: int | None, tables: Mapping[str, Any], dropped: Iterable[str]) -> str:
    """Return a line about a query without a result: what it changed, made and dropped."""
    said = [] if rows is None else [f"{rows} row{'' if rows == 1 else 's'} changed"]
    said += [f"{name} has {len(frame)} rows and {frame.shape[1]} columns" for name, frame in tables.items()]
    return "; ".join([*said, *(f"{name} is dropped" for name in dropped)])


def _run(connection: Any, statement: Any) -> tuple[Any, int | None, bool]:
    """Run one statement. Returns its result, how many rows it changed, and whether it may have changed tables."""
    kind = statement.type.name
    allowed = kind in _CHANGE_ROWS | _CHANGE_TABLES | _READ
    if kind == "PRAGMA":
        allowed = {result.name for result in statement.expected_result_type} == {"QUERY_RESULT"}
    if not allowed:
        raise SqlError(f"{kind.replace('_', ' ')} is not a statement of this SQL", hint=_NO_SUCH_STATEMENT)
    answer = connection.execute(statement.query)
    names = [column[0] for column in answer.description or ()]
    if kind in _CHANGE_ROWS and names == ["Count"]:
        return None, int(answer.fetchone()[0]), False
    return _frame(answer) if names and kind not in _CHANGE_TABLES else None, None, kind not in _READ


def _tables(connection: Any, files: Container[str]) -> dict[str, Any]:
    """Return the tables that can be changed, as they are now."""
    found = connection.execute(_TABLES).fetchall()
    elsewhere = next((f"{schema}.{name}" for schema, name in found if schema != "main"), None)
    if elsewhere is not None:
        raise SqlError(f"{elsewhere} would be lost", hint="Tables are made without a schema: CREATE TABLE name …")
    names = [name for _, name in found if name not in files]
    return {name: _frame(connection.execute(f"SELECT * FROM {_quoted(name)}")) for name in names}


def _frame(answer: Any) -> Any:
    huge = [str(column[1]) in ("HUGEINT", "UHUGEINT") for column in answer.description]
    frame = answer.df()
    for position, is_huge in enumerate(huge):
        column = frame.iloc[:, position]
        if is_huge and column.dtype.kind == "f" and column.notna().all() and (column.abs() < _EXACT).all():
            frame.isetitem(position, column.astype("int64"))
    return frame


def _quoted(name: str) -> str:
    """Return `name` as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _check_name(name: str, namespace: Mapping[str, Any], reserved: Container[str]) -> None:
    """Raise `SqlError` where a new table cannot become a variable."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise SqlError(f"a table becomes a variable, and {name!r} is no name of one", hint="Give it a Python name.")
    if name in reserved or name.startswith("__") or name in GUARD_NAMES:
        raise SqlError(f"{name!r} belongs to the sandbox", hint="Give the table another name.")
    if name in namespace:
        kind = type(namespace[name]).__name__
        raise SqlError(f"{name} is a variable already, of type {kind}", hint="Give the table another name.")


def _frames(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the session's DataFrames, and its Series as tables of one column."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return {}
    kinds = (pandas.DataFrame, pandas.Series)
    return {name: _table(name, value) for name, value in list(namespace.items()) if type(value) in kinds}


def _table(name: str, value: Any) -> Any:
    import pandas

    if type(value) is pandas.Series:
        return value.to_frame(value.name if value.name is not None else "value")
    if type(value) is not pandas.DataFrame:
        raise TypeError(f"sql() takes DataFrames as tables: {name} is {type(value).__name__}")
    return value


def _targets(query: str) -> set[str]:
    return {match[1].strip('"').replace('""', '"').lower() for match in _WRITTEN.finditer(query)}


def _load(
    connection: Any, query: str, namespace: Mapping[str, Any], given: Mapping[str, Any], frames: Mapping[str, Any]
) -> set[str]:
    """Put in the frames that the query names, copies of those that it may write. Returns the names of these."""
    text, targets = query.lower(), _targets(query)
    known: dict[str, str] = {}
    for name in frames:
        if name.lower() in text and (name.lower() not in known or name in query):
            known[name.lower()] = name
    written = set()
    for lower, name in known.items():
        if lower not in targets or name in given or namespace[name] is not frames[name]:
            connection.register(name, frames[name])
            continue
        connection.register("the frame", frames[name])
        connection.execute(f'CREATE TABLE {_quoted(name)} AS SELECT * FROM "the frame"')
        connection.unregister("the frame")
        written.add(name)
    return written


def _files(workspace: str) -> Iterator[tuple[str, str]]:
    """Yield path relative to the workspace → the whole path."""
    count = 0
    for directory, below, names in os.walk(workspace):
        relative = os.path.relpath(directory, workspace)
        if relative.count(os.sep) >= MAX_DEPTH - 1:
            below.clear()
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and count < MAX_FILES:
                count += 1
                yield (name if relative == "." else os.path.join(relative, name)), os.path.join(directory, name)


def _load_files(connection: Any, query: str, files: Mapping[str, str], taken: set[str]) -> dict[str, SqlError]:
    """Read the files that the query names into tables, each by its path and, where that is free, by its stem. Under
    the same names in lower case, why those are none that cannot be read: the query may mean a column with the word.
    """
    duckdb: Any = sys.modules["duckdb"]
    text = query.lower()
    unread: dict[str, SqlError] = {}
    for path, whole in files.items():
        stem = os.path.basename(path).partition(".")[0]
        by_stem = stem.lower() not in taken and re.search(rf"(?<![\w./]){re.escape(stem.lower())}(?![\w./])", text)
        if path.lower() not in text and not by_stem:
            continue
        reader = "read_parquet" if whole.lower().endswith(".parquet") else "read_csv"
        try:
            connection.execute(f"CREATE TABLE {_quoted(path)} AS SELECT * FROM {reader}(?)", [whole])
            if by_stem:
                connection.execute(f"CREATE VIEW {_quoted(stem)} AS SELECT * FROM {_quoted(path)}")
        except duckdb.OutOfMemoryException:
            raise
        except (duckdb.Error, UnicodeError) as failure:
            hint = _OTHER_TEXT.format(path) if _NOT_UTF_8.search(str(failure)) else None
            error = SqlError(f"{path} cannot be read: {str(failure).splitlines()[0]}", hint=hint)
            unread |= {path.lower(): error, **({stem.lower(): error} if by_stem else {})}
            continue
        if by_stem:
            taken.add(stem.lower())
    return unread


def _explained(message: str, start: int, query: str, frames: Mapping[str, Any], files: Mapping[str, str]) -> SqlError:
    """Return the engine's message without its drawing, with the place in the query, and what to do instead. The
    statement that failed starts at the character `start` of the query.
    """
    statement = query[start:]
    place = _PLACE.search(message)
    at: int | None = None
    if place is not None:
        at = _offset(statement, int(place[1]), place[2], len(place[3]) - len(f"LINE {place[1]}: "))
        message = message[: place.start()] + message[place.end() :]
    else:
        missing = _MISSING_FILE.search(message)  # DuckDB does not say where
        at = statement.find(f"'{missing[1]}'") if missing is not None else -1
        at = None if at < 0 else at
    candidates = _CANDIDATES.search(message)
    message = _CANDIDATES.sub("", message).strip().replace(os.getcwd() + "/", "")
    hint = _hint(message, frames, files)
    if hint is None and candidates is not None:
        hint = f"Did you mean {candidates[1].rstrip('?')}?"
    if at is None:
        return SqlError(message, hint=hint)
    at += start
    return SqlError(message, line=query.count("\n", 0, at) + 1, column=at - query.rfind("\n", 0, at), hint=hint)


def _offset(statement: str, line: int, shown: str, caret: int) -> int | None:
    """Return where in the statement a caret points: DuckDB shows a window of a long line, with ``...`` at a cut."""
    lines = statement.split("\n")
    if line > len(lines):
        return None
    begins = sum(len(text) + 1 for text in lines[: line - 1])
    if not shown.startswith("..."):
        return begins + caret
    cut = lines[line - 1].find(shown[3:].removesuffix("..."))
    return None if cut < 0 else begins + cut - 3 + caret


def _hint(message: str, frames: Mapping[str, Any], files: Mapping[str, str]) -> str | None:
    if (missing := _MISSING_TABLE.search(message)) is not None:
        near = next(iter(nearest(missing[1].strip('"'), [*frames, *files])), None)
        known = ", ".join([*frames, *(f"'{path}'" for path in files)][:20]) or "none: make a DataFrame first"
        return f"Did you mean {near}? Tables are: {known}." if near else f"Tables are: {known}."
    if (missing := _MISSING_COLUMN.search(message)) is not None:
        columns = list(dict.fromkeys(str(name) for frame in frames.values() for name in frame.columns))
        near = next(iter(nearest(next(filter(None, missing.groups())).rpartition(".")[2], columns)), None)
        return f"Did you mean {near}?" if near else None
    missing = _MISSING_FILE.search(message)
    if missing is not None and missing[1].lower().endswith(SUFFIXES) and not os.path.isabs(missing[1]):
        near = next(iter(nearest(missing[1], files)), None)
        known = ", ".join(f"'{path}'" for path in list(files)[:20])
        return (f"Did you mean '{near}'? " if near else "") + f"Files of the workspace are: {known or 'none'}."
    if (missing := _WRONG_TYPES.search(message)) is not None:
        return f"{missing[1]} is not made for {missing[2]}: convert first, as in try_cast(column as double)."
    if _READ_ONLY.search(message):
        return f"What SQL changes are DataFrames that are variables of the session; {_STAYS}."
    if "disabled" in message or "Permission" in message or "external access" in message:
        return _READABLE
    return None
