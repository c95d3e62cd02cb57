"""Look at data files before the model does: schema, first rows, missing values and ranges, computed in the sandbox.

Files are read in chunks, so a large file costs time and not memory. What comes back is plain data about the file; it is
rendered here, and what the file says (names of columns, values) is cut and made printable first: it is data for the
model, not words to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_MAX_COLUMNS = 60
_MAX_CELL = 40

_PROGRAM = r"""
import pandas as pd

CHUNK_ROWS = 50_000
MAX_ROWS = 5_000_000

def chunks_of(name):
    lower = name.lower()
    if lower.endswith((".csv", ".tsv", ".txt")):
        separator = "\t" if lower.endswith(".tsv") else ","
        yield from pd.read_csv(name, sep=separator, chunksize=CHUNK_ROWS, low_memory=False)
    elif lower.endswith((".jsonl", ".ndjson")):
        yield from pd.read_json(name, lines=True, chunksize=CHUNK_ROWS)
    elif lower.endswith(".json"):
        yield pd.read_json(name)
    elif lower.endswith((".parquet", ".pq")):
        yield pd.read_parquet(name)
    elif lower.endswith((".xlsx", ".xls")):
        yield pd.read_excel(name)
    else:
        raise ValueError("not a table that pandas reads: .csv, .tsv, .txt, .json, .jsonl, .parquet, .xlsx")

def smallest(a, b):
    return b if a is None else a if b is None else min(a, b)

def largest(a, b):
    return b if a is None else a if b is None else max(a, b)

def note_column(seen, column):
    values = column.dropna()
    seen["missing"] += len(column) - len(values)
    seen["types"].add(str(column.dtype))
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        if len(values):
            seen["low"] = smallest(seen["low"], float(values.min()))
            seen["high"] = largest(seen["high"], float(values.max()))
    elif len(seen["distinct"]) <= 1000:
        for value in values.astype(str).unique()[:1001]:
            seen["distinct"].add(value[:80])

def survey(name):
    rows, head, columns = 0, [], {}
    for chunk in chunks_of(name):
        if not head:
            head = [[str(cell)[:80] for cell in row] for row in chunk.head(3).values.tolist()]
        for label in list(chunk.columns)[:200]:
            if label not in columns:
                columns[label] = {"missing": rows, "types": set(), "low": None, "high": None, "distinct": set()}
            note_column(columns[label], chunk[label])
        rows += len(chunk)
        if rows >= MAX_ROWS:
            break
    table = []
    for label, seen in columns.items():
        distinct = sorted(seen["distinct"])
        table.append({
            "name": str(label)[:80], "type": "/".join(sorted(seen["types"])), "missing": int(seen["missing"]),
            "low": seen["low"], "high": seen["high"], "distinct": len(distinct), "examples": distinct[:5],
        })
    return {"rows": int(rows), "complete": rows < MAX_ROWS, "columns": table, "head": head}

"""


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """What is known about one file; `problem` says why there is nothing more."""

    name: str
    rows: int = 0
    columns: tuple[Mapping[str, Any], ...] = ()
    head: tuple[tuple[str, ...], ...] = ()
    complete: bool = True
    problem: str = ""

    def render(self) -> str:
        """A few lines for a prompt or a report."""
        if self.problem:
            return f"{self.name}: could not be read as a table: {self.problem}"
        rows = f"{self.rows} rows" if self.complete else f"at least {self.rows} rows"
        lines = [f"{self.name}: {rows}, {len(self.columns)} columns"]
        lines += [f"  {_column(column)}" for column in self.columns[:_MAX_COLUMNS]]
        if len(self.columns) > _MAX_COLUMNS:
            lines.append(f"  … and {len(self.columns) - _MAX_COLUMNS} more columns")
        lines += [
            f"  row {number}: " + " | ".join(_cell(cell) for cell in row) for number, row in enumerate(self.head, 1)
        ]
        return "\n".join(lines)


def survey_files(sandbox: Any, names: Iterable[str], timeout: float | None = None) -> list[FileSurvey]:
    """Look at each file of the workspace in a session of its own, so that the model's session stays empty."""
    return [_survey(sandbox, name, timeout) for name in names]


def _survey(sandbox: Any, name: str, timeout: float | None) -> FileSurvey:
    result = sandbox.run(f"{_PROGRAM}survey({name!r})", timeout=timeout)
    if not result.ok:
        error = result.error
        return FileSurvey(name, problem=_printable(f"{error.type}: {error.message}" if error else result.outcome)[:300])
    try:
        found = result.value
        head = tuple(tuple(str(cell) for cell in row) for row in found["head"])
        return FileSurvey(name, int(found["rows"]), tuple(found["columns"]), head, bool(found["complete"]))
    except (TypeError, KeyError, ValueError):
        return FileSurvey(name, problem="the survey came back damaged")


def _column(column: Mapping[str, Any]) -> str:
    facts = [str(column["type"])]
    if column["low"] is not None:
        facts.append(f"{column['low']:g} to {column['high']:g}")
    elif column["examples"]:
        count = f"{column['distinct']} values" if column["distinct"] <= 1000 else "over 1000 values"
        facts.append(f"{count}, such as " + ", ".join(repr(_cell(example)) for example in column["examples"]))
    if column["missing"]:
        facts.append(f"{column['missing']} missing")
    return f"{_cell(column['name'])}: {'; '.join(facts)}"


def _cell(text: object) -> str:
    plain = _printable(str(text))
    return plain if len(plain) <= _MAX_CELL else plain[: _MAX_CELL - 1] + "…"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
