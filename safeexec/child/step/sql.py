"""SQL over a session: its DataFrames and the CSV and Parquet files of its workspace, in a DuckDB that reaches no more.

Every query has a database of its own, in memory. The frames are registered by name; the files that the query names are
read into tables first; then external access is turned off and the configuration locked, so that
`read_csv('/etc/passwd')`, `COPY ... TO`, `ATTACH` and extensions are refused by DuckDB itself, before the kernel has
to.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

MAX_FILES = 1000
MAX_DEPTH = 3
_READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".csv.gz": "read_csv",
    ".parquet": "read_parquet",
}
_CONFIG = {
    "threads": "1",  # a pool of threads does not survive the fork of a checkpoint
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # or `from x` finds the variables of our own frames
    "temp_directory": "",
}
_LOCK = "SET enable_external_access = false; SET lock_configuration = true"
_PLACE = re.compile(r"\n*LINE (\d+): (.*)\n( *)\^+", re.DOTALL)
_MISSING_TABLE = re.compile(r"Table with name (.+?) does not exist", re.DOTALL)
_MISSING_COLUMN = re.compile(r'(?:Referenced column|column) "([^"]+)" (?:not found|does not exist)')
_MISSING_FILE = re.compile(r'Cannot access file "([^"]+)"')
_WRONG_TYPES = re.compile(r"No function matches the given name and argument types '(\w+)\(([^)]*)\)'")
_CANDIDATES = re.compile(r"\n*(?:Candidate bindings:|Did you mean) ([^\n]*)")
_READABLE = (
    "SQL reads the session's DataFrames and the CSV and Parquet files of its workspace, by name (from 'sales.csv'), "
    "and writes nothing: save its result with pandas."
)
_EXACT = 1 << 53
"""Sums of integers are HUGEINT, which DuckDB hands to pandas as floats: exact up to here."""


class SqlError(Exception):
    """A query failed. `line` and `column` count from 1 where DuckDB tells them; `hint` says what to do instead."""

    def __init__(
        self, message: str, *, line: int | None = None, column: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        place = f" (line {self.line}, column {self.column})" if self.line is not None else ""
        return f"{self.args[0]}{place}" + (f"\nHint: {self.hint}" if self.hint else "")


def sql(query: str, namespace: dict[str, Any], workspace: str | None = ".") -> Any:
    """The result of `query` as a DataFrame; None for a statement that has no result.

    Tables are the DataFrames of `namespace` by their names, and the files below `workspace` by path
    (``'data/sales.csv'``) or, where no frame has that name, by stem (``sales``). Raises `SqlError`.
    """
    try:
        import duckdb
    except ImportError:
        raise SqlError("duckdb is not installed", hint="Use pandas: filter, merge and groupby do the same.") from None
    frames = _frames(namespace)
    files = dict(_files(workspace)) if workspace is not None else {}
    connection = duckdb.connect(":memory:", config=dict(_CONFIG))
    try:
        for name, frame in frames.items():
            connection.register(name, frame)
        _load_files(connection, query, files, frames, workspace or ".")
        connection.execute(_LOCK)
        statements = connection.extract_statements(query)
        answer = connection.execute(query)
        if not statements or {kind.name for kind in statements[-1].expected_result_type} != {"QUERY_RESULT"}:
            return None
        huge = [str(column[1]) in ("HUGEINT", "UHUGEINT") for column in answer.description]
        return _with_integers(answer.df(), huge)
    except duckdb.Error as error:
        raise _explained(str(error), query, frames, files) from None
    finally:
        connection.close()


def _with_integers(frame: Any, huge: list[bool]) -> Any:
    for position, is_huge in enumerate(huge):
        column = frame.iloc[:, position]
        if is_huge and column.dtype.kind == "f" and column.notna().all() and (column.abs() < _EXACT).all():
            frame.isetitem(position, column.astype("int64"))
    return frame


def _frames(namespace: dict[str, Any]) -> dict[str, Any]:
    """The session's DataFrames, and its Series as tables of one column."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return {}
    frames = {}
    for name, value in list(namespace.items()):
        if type(value) is pandas.DataFrame:
            frames[name] = value
        elif type(value) is pandas.Series:
            frames[name] = value.to_frame(value.name if value.name is not None else "value")
    return frames


def _files(workspace: str) -> Iterator[tuple[str, str]]:
    """Path relative to the workspace → the DuckDB function that reads it."""
    count = 0
    for directory, below, names in os.walk(workspace):
        relative = os.path.relpath(directory, workspace)
        if relative.count(os.sep) >= MAX_DEPTH - 1:
            below.clear()
        for name in sorted(names):
            reader = next((read for suffix, read in _READERS.items() if name.lower().endswith(suffix)), None)
            if reader is not None and count < MAX_FILES:
                count += 1
                yield (name if relative == "." else os.path.join(relative, name)), reader


def _load_files(connection: Any, query: str, files: dict[str, str], frames: dict[str, Any], workspace: str) -> None:
    """Read the files that the query names into tables, each by its path and, where that is free, by its stem."""
    taken = {name.lower() for name in frames}
    text = query.lower()
    for path, reader in files.items():
        stem = os.path.basename(path).partition(".")[0]
        by_stem = stem.lower() not in taken and re.search(rf"(?<![\w./]){re.escape(stem.lower())}(?![\w./])", text)
        if path.lower() not in text and not by_stem:
            continue
        try:
            found = os.path.join(os.path.abspath(workspace), path)
            connection.execute(f"CREATE TABLE {_quoted(path)} AS SELECT * FROM {reader}(?)", [found])
        except sys.modules["duckdb"].Error as error:
            raise SqlError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None
        if by_stem:
            connection.execute(f"CREATE VIEW {_quoted(stem)} AS SELECT * FROM {_quoted(path)}")
            taken.add(stem.lower())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _explained(message: str, query: str, frames: dict[str, Any], files: dict[str, str]) -> SqlError:
    """DuckDB's message without its drawing, with the place in the query, and what to do instead."""
    line = column = None
    place = _PLACE.search(message)
    if place is not None:
        line = int(place[1])
        column = _column(query, line, place[2], len(place[3]) - len(f"LINE {line}: "))
        message = message[: place.start()] + message[place.end() :]
    elif (missing := _MISSING_FILE.search(message)) is not None and (at := query.find(f"'{missing[1]}'")) >= 0:
        # DuckDB does not tell where.
        line, column = query.count("\n", 0, at) + 1, at - query.rfind("\n", 0, at)
    candidates = _CANDIDATES.search(message)
    message = _CANDIDATES.sub("", message).strip().replace(os.getcwd() + "/", "")
    hint = _hint(message, frames, files)
    if hint is None and candidates is not None:
        hint = f"Did you mean {candidates[1].rstrip('?')}?"
    return SqlError(message, line=line, column=column, hint=hint)


def _column(query: str, line: int, shown: str, caret: int) -> int | None:
    """The column in the query: DuckDB shows a window of a long line, with ``...`` where it begins in the middle."""
    lines = query.split("\n")
    if line > len(lines):
        return None
    if not shown.startswith("..."):
        return caret + 1
    start = lines[line - 1].find(shown[3:].removesuffix("..."))
    return None if start < 0 else start + caret - 3 + 1


def _hint(message: str, frames: dict[str, Any], files: dict[str, str]) -> str | None:
    missing = _MISSING_TABLE.search(message)
    tables = [*frames, *(f"'{path}'" for path in files)]
    if missing is not None:
        near = _nearest(missing[1].strip('"'), [*frames, *files])
        known = ", ".join(tables[:20]) or "none: make a DataFrame first"
        return f"Did you mean {near}? Tables are: {known}." if near else f"Tables are: {known}."
    missing = _MISSING_COLUMN.search(message)
    if missing is not None:
        columns = list(dict.fromkeys(str(name) for frame in frames.values() for name in frame.columns))
        near = _nearest(missing[1], columns)
        return f"Did you mean {near}?" if near else None
    missing = _MISSING_FILE.search(message)
    if missing is not None and missing[1].lower().endswith(tuple(_READERS)) and not os.path.isabs(missing[1]):
        near = _nearest(missing[1], list(files))
        known = ", ".join(f"'{path}'" for path in list(files)[:20])
        return (f"Did you mean '{near}'? " if near else "") + f"Files of the workspace are: {known or 'none'}."
    missing = _WRONG_TYPES.search(message)
    if missing is not None:
        return f"{missing[1]} is not made for {missing[2]}: convert first, as in try_cast(column as double)."
    if "disabled" in message or "Permission" in message or "external access" in message:
        return _READABLE
    return None


def _nearest(name: str, names: list[str]) -> str | None:
    from difflib import get_close_matches

    lower = {known.lower(): known for known in names}
    found = get_close_matches(name.lower(), lower, 1, 0.6)
    return lower[found[0]] if found else None
