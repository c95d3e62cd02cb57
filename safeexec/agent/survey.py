"""Look at data files before the model does: schema, first rows, missing values and ranges, computed in the sandbox.

`survey_program.py` looks at the file, in a sandbox. What comes back is plain data; it is rendered here, and what the
file says (names of columns, values) is cut and made printable first: it is data for the model, not words to it.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from safeexec.results import Result

_MAX_COLUMNS = 200
_MAX_SHOWN = 60
_MAX_CELL = 40
_MAX_TEXT = 200
_MAX_TEXTS = 200
_DATABASES = (".db", ".sqlite", ".sqlite3")
_TEXTS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson")
_PACKED = tuple(text + packed for text in _TEXTS for packed in (".gz", ".bz2", ".xz"))
SUFFIXES = (*_TEXTS, *_PACKED, ".parquet", ".pq", ".xlsx", ".xls", ".zip", *_DATABASES)
"""Files that are looked at."""

Text = Annotated[str, Meta(max_length=_MAX_TEXT)]
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Bound = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | float | Text | None
Texts = Annotated[tuple[Text, ...], Meta(max_length=_MAX_TEXTS)]
Option = Literal["skiprows", "sep", "decimal", "thousands", "dtype", "encoding"]


class ColumnFacts(TypedDict):
    """A column, as the program describes it."""

    name: Text
    type: Text
    missing: Count
    low: Bound
    high: Bound
    distinct: Count
    examples: Texts


class FileSurvey(msgspec.Struct, frozen=True):
    """The survey of one file; `problem` says why there is nothing more."""

    name: str
    rows: Count = 0
    columns: Annotated[tuple[ColumnFacts, ...], Meta(max_length=_MAX_COLUMNS)] = ()
    head: Annotated[tuple[Texts, ...], Meta(max_length=3)] = ()
    complete: bool = True
    problem: str = ""
    width: Count = 0
    """All columns; `columns` holds the first of them."""
    options: dict[Option, Text | Count | Annotated[dict[Text, Text], Meta(max_length=_MAX_TEXTS)]] = {}
    """Options of pandas.read_csv that read it."""
    notes: Texts = ()
    """Oddities: lines above the header, totals among the rows, dates in two forms, in words."""
    parts: Texts = ()
    """The sheets of a workbook, the tables of a database, in words: the columns are those of the first."""

    def render(self) -> str:
        """Return a few lines for a prompt or a report."""
        if self.problem:
            return f"{_printable(self.name)}: could not be read as a table: {self.problem}"
        rows = f"{self.rows} rows" if self.complete else f"at least {self.rows} rows"
        width = max(self.width, len(self.columns))
        lines = [f"{_printable(self.name)}: {rows}, {width} columns"]
        packed = self.name.lower().endswith(".zip")
        if self.options or packed:
            file = f"zipfile.ZipFile({self.name!r}).open(…)" if packed else repr(self.name)
            arguments = [file, *(f"{name}={value!r}" for name, value in self.options.items())]
            lines[0] += f", read by pd.read_csv({', '.join(arguments)})"
        if self.name.lower().endswith(_DATABASES):
            lines[0] += f", read by sqlite3.connect({self.name!r})"
        lines += [f"  {_printable(part)}" for part in self.parts]
        lines += [f"  note: {_printable(note)}" for note in self.notes]
        lines += [f"  {_column(column)}" for column in self.columns[:_MAX_SHOWN]]
        if width > _MAX_SHOWN:
            lines.append(f"  … and {width - _MAX_SHOWN} more columns")
        lines += [
            f"  row {number}: " + " | ".join(_cell(cell) for cell in row) for number, row in enumerate(self.head, 1)
        ]
        return "\n".join(lines)


def survey_program(name: str) -> str:
    """Return the program that looks at a file of the workspace. Run apart, so that the model's session stays empty."""
    source = (files("safeexec.agent") / "survey_program.py").read_text(encoding="utf-8")
    return f"{source}\n\nsurvey_any({name!r})"


def survey_of(name: str, result: Result | None) -> FileSurvey:
    """Return the survey from the result of that program; None: there is no session to run it in."""
    if result is None:
        return FileSurvey(name, problem="nobody looked: the session cannot be copied")
    if not result.ok:
        error = result.error
        return FileSurvey(name, problem=_printable(f"{error.type}: {error.message}" if error else result.outcome)[:300])
    try:
        found = {"rows": None, **result.value, "name": name, "problem": ""}  # without its rows it is no survey
        return msgspec.convert(found, FileSurvey)
    except (TypeError, OverflowError, msgspec.ValidationError):  # it came out of the sandbox, and may be anything
        return FileSurvey(name, problem="the survey came back damaged")


def _column(column: ColumnFacts) -> str:
    facts = [column["type"]]
    if column["low"] is not None:
        low, high = (
            f"{bound:g}" if isinstance(bound, float) else _cell(bound) for bound in (column["low"], column["high"])
        )
        facts.append(low if low == high else f"{low} to {high}")
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
