"""Describes one data file: what it is read by, its columns, first rows and oddities, as plain data.

Runs in a sandbox, in which `survey.py` sends the text of this module; the host never imports it. Tables are read in
chunks, so that a large file costs time and not memory.
"""

import bz2
import codecs
import csv
import gzip
import lzma
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd

PACKERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
CHUNK_ROWS = 50_000
MAX_ROWS = 5_000_000
MAX_COLUMNS = 200
SAMPLE = 1 << 16
"""Bytes of a text table by which it is decided how to read it."""
MAX_TEXTS = 20
"""Columns, at most, that are said to stay text."""
MAX_TEXT = 200
TEXTS = (".csv", ".tsv", ".txt")
EIGHT_BIT = ("cp1252", "latin-1")
"""The first has letters and signs where the other one has control characters."""
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
DOTTED = re.compile(r"(?![+-]?\d{1,3}(?:\.\d{3})+$)[+-]?\d+(?:\.\d+)+")
PADDED = re.compile(r"0\d+")
DATE_FORMS = {
    "2024-01-31": r"\d{4}-\d\d?-\d\d?(?:[T ].*)?",
    "2024/01/31": r"\d{4}/\d\d?/\d\d?",
    "31/01/2024": r"\d\d?/\d\d?/\d{2,4}",
    "31.01.2024": r"\d\d?\.\d\d?\.\d{2,4}",
    "31-01-2024": r"\d\d?-\d\d?-\d{4}",
    "Jan 31, 2024": r"[A-Z][a-z]{2,8}\.? \d\d?,? \d{4}",
    "31 Jan 2024": r"\d\d?\.? [A-Z][a-z]{2,8}\.? \d{4}",
}
NO_NAME = re.compile(r"-?\d+[.,]\d+|-\d+|\d{5,}")
TOTAL = re.compile(r"((grand |sub ?-?)?totals?|gesamt|summe|insgesamt|sum|overall)( .{0,20})?", re.IGNORECASE)


def survey_any(name: str) -> dict[str, Any]:
    """Return the survey of a file of any kind that is known: the fields of `FileSurvey`, but for the name."""
    kind = kind_of(name)
    if kind in (".xlsx", ".xls"):
        sheets = pd.read_excel(name, sheet_name=None)
        return survey_parts({f"sheet {label!r}": frame for label, frame in sheets.items()})
    if kind in (".db", ".sqlite", ".sqlite3"):
        return survey_parts(tables_of(name))
    if kind == ".zip":
        return survey_zip(name)
    if kind not in TEXTS:
        return survey(chunks_of(name, kind), {})
    return survey_text(partial(PACKERS.get(name.lower().rpartition(".")[2], open), name, "rb"))


def kind_of(name: str) -> str:
    """Return the last suffix of a name; of a packed file, the one before it."""
    parts = name.lower().split(".")
    return "." + parts[-2 if parts[-1] in PACKERS and len(parts) > 2 else -1]


# How a text table is read


def options_of(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return what a table that begins with `data` needs beside the defaults of `pandas.read_csv`, and what is odd."""
    options: dict[str, Any] = {}
    if encoding := encoding_of(data):
        options["encoding"] = encoding
    text = data.decode(encoding or "utf-8-sig", "ignore")
    whole = text[: text.rfind("\n") + 1] or text
    lines = whole.splitlines()[:200]
    remarks = 0
    while remarks < len(lines) - 1 and lines[remarks].startswith("#"):
        remarks += 1
    separator, width, above = separator_of(lines[remarks:])
    notes: list[str] = []
    if above:
        title = [line[:60] for line in lines[remarks : remarks + above] if line.strip()]
        remarks += above
        notes.append(f"its header is in line {remarks + 1}, below: " + " / ".join(title)[:150])
    last: list[str] = next(csv.reader(lines[remarks - 1 : remarks], delimiter=separator), [])
    if remarks and lines[remarks - 1][:1] == "#" and 1 < width == len(last):
        remarks -= 1  # the names of the columns, the first of which begins with #
    if remarks:
        options["skiprows"] = remarks
    rows = list(csv.reader(lines[remarks:], delimiter=separator))
    notes += oddities(rows)
    texts = columns_with(PADDED, rows)
    if width > 1 and separator != ",":
        options["sep"] = separator
        commas = [cell for row in rows[1:] for cell in row if "," in cell]
        if commas and all(DECIMAL_COMMA.fullmatch(cell.strip(" %€$£")) for cell in commas):
            options["decimal"] = ","
            if any("." in cell for cell in commas):
                options["thousands"] = "."
                texts += columns_with(DOTTED, rows)
    if texts:
        options["dtype"] = dict.fromkeys(texts[:MAX_TEXTS], "str")
    return options, notes


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text; empty for UTF-8."""
    encoding = ""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        codecs.getincrementaldecoder(encoding or "utf-8")().decode(data)
    except UnicodeDecodeError:
        return EIGHT_BIT[0]
    return encoding


def separator_of(lines: list[str]) -> tuple[str, int, int]:
    """Return the separator that gives most columns, how many, and the number of lines above the header."""
    found = [(*shape_of(lines, separator), separator) for separator in ",;\t|"]
    width, above, separator = max(found, key=lambda each: (each[0], not each[1]))
    return separator, width, above


def shape_of(lines: list[str], separator: str) -> tuple[int, int]:
    """Return how many columns a table with this separator has, 0 if it is none, and the lines above its header."""
    reader = csv.reader(lines, delimiter=separator)
    rows = [(row, reader.line_num) for row in reader if row]
    counts = [len(row) for row, _ in rows]
    usual = max(set(counts), key=counts.count) if counts else 0
    width = usual if counts[:1] == [usual] else 0
    filled = [sum(1 for cell in row if cell.strip()) for row, _ in rows]
    is_padded = filled[:1] == [1] < [usual] and set(counts) == {usual}
    if is_padded:  # a spreadsheet writes as many separators into its title as into its table
        counts = filled
    first = counts.index(usual) if usual in counts else 0
    # A report has lines above its table: fewer fields than most lines have, and several lines of the table follow.
    wide = [count for count in counts if count > 1]
    is_table = usual > 1 and len(wide) > 1 and wide.count(usual) >= 0.6 * len(wide)
    if is_padded:
        is_table = first < len(rows) - 1 and not any(re.search(r"\d", cell) for cell in rows[first][0])
    if 0 < first <= 20 and is_table and max(counts[:first]) < usual:
        return usual, rows[first][1] - 1
    return width, 0


def columns_with(pattern: re.Pattern[str], rows: list[list[str]]) -> list[str]:
    """Return the columns that stay text. As a number 01234 loses its zero, and with a dot for thousands 01.02.2024 is
    read as 1022024, and so is an address or a version.
    """
    found = {at for row in rows[1:] for at, cell in enumerate(row) if pattern.fullmatch(cell.strip())}
    return [name for at, name in enumerate(rows[0]) if at in found and len(name) <= MAX_TEXT] if rows else []


# What is odd


def oddities(rows: list[list[str]]) -> list[str]:
    """Return what a reader of the table has to know and `read_csv` does not say: in words."""
    if not rows:
        return []
    found, header = [], [cell.strip() for cell in rows[0]]
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        names = ", ".join(repr(name[:40]) for name in twice[:5])
        found.append(f"several columns have one name: {names}; pandas calls the others {twice[0][:40]}.1 …")
    if data := [name for name in header if NO_NAME.fullmatch(name)]:
        found.append(f"the first row may be data and no names, as {data[0][:40]}: then read it with header=None")
    again = [number for number, row in enumerate(rows[1:], 1) if [cell.strip() for cell in row] == header]
    if again:
        found.append("the header comes again as data row " + ", ".join(map(str, again[:5])))
    firsts = [(number, cell.strip().rstrip(":")) for number, row in enumerate(rows[1:], 1) for cell in row[:2]]
    totals = [f"{number} ({cell[:30]!r})" for number, cell in firsts if TOTAL.fullmatch(cell)]
    if totals:
        found.append(f"data row {', '.join(totals[:5])} seems to be a total: leave it out of sums")
    for at, name in enumerate(header):
        found += odd_dates(name, {row[at].strip() for row in rows[1:] if at < len(row)} - {"", name})
    return found


def odd_dates(name: str, cells: set[str]) -> Iterator[str]:
    """Yield what is odd about the dates of a column."""
    forms = [form for form, pattern in DATE_FORMS.items() if any(re.fullmatch(pattern, cell) for cell in cells)]
    if len(forms) > 1:
        shown = " and ".join(forms)
        yield f"column {name[:40]!r} has dates in several forms, like {shown}: each needs its own format="
    days = [re.fullmatch(r"(\d\d?)[/.-](\d\d?)[/.-]\d{2,4}", cell) for cell in cells]
    if all(any(day and int(day[place]) > 12 for day in days) for place in (1, 2)):
        yield f"column {name[:40]!r} has dates with the day first and with the month first: which is which?"


def oddities_of(frame: Any) -> list[str]:
    """Return the same of a frame, and whether its header lies below a title."""
    labels = [str(label) for label in frame.columns]
    if len(labels) > 1 and sum(label.startswith("Unnamed:") for label in labels) * 2 >= len(labels):
        for number, row in enumerate(frame.head(20).itertuples(index=False, name=None), 1):
            if all(isinstance(cell, str) for cell in row):
                return [f"its header seems to be in row {number + 1}: read it with header={number}"]
    cells = ([str(cell) if cell == cell else "" for cell in row] for row in frame.head(1000).values.tolist())
    return oddities([labels, *cells])


# Tables


def survey_text(opened: Callable[[], Any], most: int = MAX_ROWS) -> dict[str, Any]:
    """Return the survey of a text table of which `opened` gives the bytes."""
    with opened() as file:
        options, notes = options_of(file.read(SAMPLE))

    def read() -> dict[str, Any]:
        with opened() as file:
            return survey(pd.read_csv(file, chunksize=CHUNK_ROWS, low_memory=False, **options), options, notes, most)

    for encoding in EIGHT_BIT:
        try:
            return read()
        except UnicodeDecodeError:  # behind the sample
            options["encoding"] = encoding
    return read()


def chunks_of(name: str, kind: str) -> Iterator[Any]:
    """Yield the frames of a file that is one table, but no text of columns. Raises ValueError for another one."""
    if kind in (".jsonl", ".ndjson"):
        yield from pd.read_json(name, lines=True, chunksize=CHUNK_ROWS)
    elif kind == ".json":
        yield pd.read_json(name)
    elif kind in (".parquet", ".pq"):
        try:
            yield pd.read_parquet(name)
        except ImportError:
            yield sql("select * from '" + name.replace("'", "''") + "'")  # type: ignore[name-defined]  # noqa: F821
    else:
        raise ValueError("not a table that pandas reads: .csv, .tsv, .txt, .json, .jsonl, .parquet, .xlsx, .sqlite")


def tables_of(name: str) -> dict[str, Any]:
    """Return the tables of a database, each with at most `CHUNK_ROWS` rows. Raises ValueError if there are none."""
    connection = sqlite3.connect(name)
    names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid")
    frames = {}
    for (label,) in names.fetchmany(100):
        query = 'SELECT * FROM "' + label.replace('"', '""') + f'" LIMIT {CHUNK_ROWS}'
        frames[f"table {label!r}"] = pd.read_sql(query, connection)
    connection.close()
    if not frames:
        raise ValueError("the database has no tables")
    return frames


def survey_zip(name: str) -> dict[str, Any]:
    """Return the survey of the first text table of a zip that can be read, and what the others are. Raises ValueError
    if there are none.
    """
    found: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(name) as archive:
        texts = [member for member in archive.namelist() if member.lower().endswith(TEXTS)]
        files = [member for member in texts if not member.rpartition("/")[2].startswith("._")]  # what macOS puts there
        # A .txt comes last: it may be a README. That is no table, nor is an empty file.
        for member in sorted(files, key=lambda member: member.lower().endswith(".txt"))[:20]:
            with suppress(ValueError):
                found[member] = survey_text(partial(archive.open, member), CHUNK_ROWS if found else MAX_ROWS)
    if not found:
        raise ValueError("the archive has no file that is a table: .csv, .tsv, .txt")
    said: list[str] = []
    for member, one in found.items():
        names = [facts["name"] for facts in one["columns"]]
        said.append(part_of(f"file {member!r}", one["rows"], names, complete=one["complete"], described=not said))
    return next(iter(found.values())) | {"parts": said}


def survey_parts(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the survey of the first of several tables, and what the others are."""
    first, *rest = parts
    found = survey([parts[first]], {}, oddities_of(parts[first]))
    if rest or not first.startswith("sheet"):
        for label, frame in parts.items():
            rows = len(frame)
            said = part_of(label, rows, list(frame.columns), complete=rows < CHUNK_ROWS, described=label == first)
            found["parts"].append(said)
    return found | {"parts": found["parts"][:20]}


def part_of(label: str, rows: int, columns: list[Any], *, complete: bool, described: bool) -> str:
    """Say what one of several tables is."""
    shown = " (described here)" if described else ""
    count = f"{rows} rows" if complete else f"at least {rows} rows"
    return f"{label}{shown}: {count}: {', '.join(map(str, columns[:30]))}"[:MAX_TEXT]


def survey(
    chunks: Iterable[Any], options: dict[str, Any], notes: Iterable[str] = (), most: int = MAX_ROWS
) -> dict[str, Any]:
    """Return the survey of one table, of which `chunks` are the frames, up to `most` rows and those of a chunk."""
    rows, width = 0, 0
    head: list[list[str]] = []
    columns: dict[Any, dict[str, Any]] = {}
    for chunk in chunks:
        if not head:
            top = chunk.iloc[:3, :MAX_COLUMNS].itertuples(index=False, name=None)
            head = [[str(cell)[:80] for cell in row] for row in top]
        width = len(chunk.columns)
        for label in list(chunk.columns)[:MAX_COLUMNS]:
            if label not in columns:
                columns[label] = {"missing": rows, "types": set(), "bounds": [], "distinct": set(), "dates": True}
            note_column(columns[label], chunk[label])
        rows += len(chunk)
        if rows >= most:
            break
    return {
        "rows": int(rows),
        "complete": rows < most,
        "columns": [facts_of(label, seen) for label, seen in columns.items()],
        "width": width,
        "head": head,
        "options": options,
        "parts": [],
        "notes": [note[:MAX_TEXT] for note in [*notes][:10]],
    }


def note_column(seen: dict[str, Any], column: Any) -> None:
    """Take one more chunk of a column into what was seen of it."""
    values = column.dropna()
    seen["missing"] += len(column) - len(values)
    seen["types"].add(str(column.dtype))
    if not len(values):
        return
    bounds: list[Any] = []
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        whole = pd.api.types.is_integer_dtype(column) and values.max() < 1 << 63
        plain = int if whole else float
        bounds = [plain(values.min()), plain(values.max())]
    elif pd.api.types.is_datetime64_any_dtype(column):
        bounds = [str(values.min()), str(values.max())]
    else:
        texts = values.astype(str)
        dates = seen["dates"] and ISO_DATE.fullmatch(texts.iloc[0])
        seen["dates"] = bool(dates and texts.str.fullmatch(ISO_DATE.pattern).all())
        if seen["dates"]:
            bounds = [texts.min()[:40], texts.max()[:40]]
        if len(seen["distinct"]) <= 1000:
            seen["distinct"].update(value[:80] for value in texts.unique()[:1001])
    seen["bounds"] += bounds


def facts_of(label: Any, seen: dict[str, Any]) -> dict[str, Any]:
    """Return the facts about one column: the fields of `ColumnFacts`."""
    distinct = sorted(seen["distinct"])
    bounds = seen["bounds"] if seen["dates"] or not distinct else []
    return {
        "name": str(label)[:80],
        "type": "/".join(sorted(seen["types"])),
        "missing": int(seen["missing"]),
        "low": min(bounds, default=None),
        "high": max(bounds, default=None),
        "distinct": len(distinct),
        "examples": distinct[:5],
    }
