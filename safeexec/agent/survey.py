"""Look at data files before the model does: schema, first rows, missing values and ranges, computed in the sandbox.

Files are read in chunks, so a large file costs time and not memory. What comes back is plain data about the file; it is
rendered here, and what the file says (names of columns, values) is cut and made printable first: it is data for the
model, not words to it.
"""

from __future__ import annotations

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
SUFFIXES = (*_TEXTS, *_PACKED, ".parquet", ".pq", ".xlsx", ".xls", *_DATABASES)
"""Files that are looked at."""

_PROGRAM = r"""
import bz2, codecs, csv, gzip, lzma, re, sqlite3
import pandas as pd

PACKERS = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
CHUNK_ROWS = 50_000
MAX_ROWS = 5_000_000
MAX_COLUMNS = 200
SAMPLE = 1 << 16
ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")
DECIMAL_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
DOTTED = re.compile(r"(?![+-]?\d{1,3}(?:\.\d{3})+$)[+-]?\d+(?:\.\d+)+")
PADDED = re.compile(r"0\d+")
EIGHT_BIT = ("cp1252", "latin-1")  # the first has letters and signs where the other one has control characters
MAX_TEXTS = 20
TEXTS = (".csv", ".tsv", ".txt")
MAX_TEXT = 200

def kind_of(name):
    # Its last suffix; of one that is packed, the one before it.
    parts = name.lower().split(".")
    return "." + parts[-2 if parts[-1] in PACKERS and len(parts) > 2 else -1]

def options_of(name, notes):
    # How a text table has to be read: what differs from the defaults of read_csv. What is odd goes into `notes`.
    with PACKERS.get(name.lower().rpartition(".")[2], open)(name, "rb") as file:
        data = file.read(SAMPLE)
    options = {}
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        options["encoding"] = "utf-32"
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        options["encoding"] = "utf-16"
    try:
        codecs.getincrementaldecoder(options.get("encoding", "utf-8"))().decode(data)
    except UnicodeDecodeError:
        options["encoding"] = EIGHT_BIT[0]
    text = data.decode(options.get("encoding", "utf-8-sig"), "ignore")
    whole = text[: text.rfind("\n") + 1] or text
    lines = whole.splitlines()[:200]
    remarks = 0
    while remarks < len(lines) - 1 and lines[remarks].startswith("#"):
        remarks += 1
    widths, above = {}, {}
    for separator in ",;\t|":
        reader = csv.reader(lines[remarks:], delimiter=separator)
        rows = [(row, reader.line_num) for row in reader if row]
        counts = [len(row) for row, _ in rows]
        usual = max(set(counts), key=counts.count) if counts else 0
        widths[separator] = usual if counts[:1] == [usual] else 0
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
            widths[separator], above[separator] = usual, rows[first][1] - 1
    separator = max(widths, key=lambda each: (widths[each], each not in above))
    if above.get(separator):
        title = [line[:60] for line in lines[remarks : remarks + above[separator]] if line.strip()]
        remarks += above[separator]
        notes.append(f"its header is in line {remarks + 1}, below: " + " / ".join(title)[:150])
    last = next(csv.reader(lines[remarks - 1 : remarks], delimiter=separator), [])
    if remarks and lines[remarks - 1][:1] == "#" and 1 < widths[separator] == len(last):
        remarks -= 1  # the names of the columns, the first of which begins with #
    if remarks:
        options["skiprows"] = remarks
    rows = list(csv.reader(lines[remarks:], delimiter=separator))
    notes += oddities(rows)
    texts = columns_with(PADDED, rows)
    if widths[separator] > 1 and separator != ",":
        options["sep"] = separator
        cells = [cell for row in rows[1:] for cell in row]
        commas = [cell for cell in cells if "," in cell]
        if commas and all(DECIMAL_COMMA.fullmatch(cell.strip(" %€$£")) for cell in commas):
            options["decimal"] = ","
            if any("." in cell for cell in commas):
                options["thousands"] = "."
                texts += columns_with(DOTTED, rows)
    if texts:
        options["dtype"] = dict.fromkeys(texts[:MAX_TEXTS], "str")
    return options

DATE_FORMS = {
    "2024-01-31": r"\d{4}-\d\d?-\d\d?(?:[T ].*)?", "2024/01/31": r"\d{4}/\d\d?/\d\d?",
    "31/01/2024": r"\d\d?/\d\d?/\d{2,4}", "31.01.2024": r"\d\d?\.\d\d?\.\d{2,4}", "31-01-2024": r"\d\d?-\d\d?-\d{4}",
    "Jan 31, 2024": r"[A-Z][a-z]{2,8}\.? \d\d?,? \d{4}", "31 Jan 2024": r"\d\d?\.? [A-Z][a-z]{2,8}\.? \d{4}",
}
NO_NAME = re.compile(r"-?\d+[.,]\d+|-\d+|\d{5,}")
TOTAL = re.compile(r"((grand |sub ?-?)?totals?|gesamt|summe|insgesamt|sum|overall)( .{0,20})?", re.IGNORECASE)

def oddities(rows):
    # What a reader of the table has to know and read_csv does not say: in words.
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
        cells = {row[at].strip() for row in rows[1:] if at < len(row)} - {"", name}
        forms = [form for form, pattern in DATE_FORMS.items() if any(re.fullmatch(pattern, cell) for cell in cells)]
        if len(forms) > 1:
            shown = " and ".join(forms)
            found.append(f"column {name[:40]!r} has dates in several forms, like {shown}: each needs its own format=")
        days = [re.fullmatch(r"(\d\d?)[/.-](\d\d?)[/.-]\d{2,4}", cell) for cell in cells]
        if all(any(day and int(day[place]) > 12 for day in days) for place in (1, 2)):
            found.append(f"column {name[:40]!r} has dates with the day first and with the month first: which is which?")
    return found

def columns_with(pattern, rows):
    # Columns that stay text. As a number 01234 loses its zero, and with a dot for thousands 01.02.2024 is read as
    # 1022024, and so is an address or a version.
    found = {at for row in rows[1:] for at, cell in enumerate(row) if pattern.fullmatch(cell.strip())}
    return [name for at, name in enumerate(rows[0]) if at in found and len(name) <= MAX_TEXT] if rows else []

def chunks_of(name, kind, options):
    if kind in TEXTS:
        yield from pd.read_csv(name, chunksize=CHUNK_ROWS, low_memory=False, **options)
    elif kind in (".jsonl", ".ndjson"):
        yield from pd.read_json(name, lines=True, chunksize=CHUNK_ROWS)
    elif kind == ".json":
        yield pd.read_json(name)
    elif kind in (".parquet", ".pq"):
        try:
            yield pd.read_parquet(name)
        except ImportError:
            yield sql("select * from '" + name.replace("'", "''") + "'")
    else:
        raise ValueError("not a table that pandas reads: .csv, .tsv, .txt, .json, .jsonl, .parquet, .xlsx, .sqlite")

def oddities_of(frame):
    # The same of a frame, and whether its header lies below a title.
    labels = [str(label) for label in frame.columns]
    if len(labels) > 1 and sum(label.startswith("Unnamed:") for label in labels) * 2 >= len(labels):
        for number, row in enumerate(frame.head(20).itertuples(index=False, name=None), 1):
            if all(isinstance(cell, str) for cell in row):
                return [f"its header seems to be in row {number + 1}: read it with header={number}"]
    cells = ([str(cell) if cell == cell else "" for cell in row] for row in frame.head(1000).values.tolist())
    return oddities([labels, *cells])

def tables_of(name):
    # A table has at most CHUNK_ROWS rows here.
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

def survey_parts(parts):
    # The first of several tables, and what the others are.
    first, *rest = parts
    found = survey([parts[first]], {}, oddities_of(parts[first]))
    if rest or first.startswith("table"):
        for label, frame in parts.items():
            shown = " (described here)" if label == first else ""
            count = f"{len(frame)} rows" if len(frame) < CHUNK_ROWS else f"at least {len(frame)} rows"
            said = f"{label}{shown}: {count}: " + ", ".join(map(str, list(frame.columns)[:30]))
            found["parts"].append(said[:MAX_TEXT])
    return found | {"parts": found["parts"][:20]}

def note_column(seen, column):
    values = column.dropna()
    seen["missing"] += len(column) - len(values)
    seen["types"].add(str(column.dtype))
    if not len(values):
        return
    bounds = []
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

def survey(chunks, options, notes=()):
    rows, width, head, columns = 0, 0, [], {}
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
        if rows >= MAX_ROWS:
            break
    table = []
    for label, seen in columns.items():
        distinct = sorted(seen["distinct"])
        bounds = seen["bounds"] if seen["dates"] or not distinct else []
        table.append({
            "name": str(label)[:80], "type": "/".join(sorted(seen["types"])), "missing": int(seen["missing"]),
            "low": min(bounds, default=None), "high": max(bounds, default=None),
            "distinct": len(distinct), "examples": distinct[:5],
        })
    return {
        "rows": int(rows), "complete": rows < MAX_ROWS, "columns": table, "width": width, "head": head,
        "options": options, "parts": [], "notes": [note[:MAX_TEXT] for note in notes[:10]],
    }

def survey_any(name):
    kind = kind_of(name)
    if kind in (".xlsx", ".xls"):
        sheets = pd.read_excel(name, sheet_name=None)
        return survey_parts({f"sheet {label!r}": frame for label, frame in sheets.items()})
    if kind in (".db", ".sqlite", ".sqlite3"):
        return survey_parts(tables_of(name))
    if kind not in TEXTS:
        return survey(chunks_of(name, kind, {}), {})
    notes = []
    options = options_of(name, notes)
    for encoding in (*EIGHT_BIT, None):
        try:
            return survey(chunks_of(name, kind, options), options, notes)
        except UnicodeDecodeError:
            options["encoding"] = encoding

"""


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
        if self.options:
            arguments = [repr(self.name), *(f"{name}={value!r}" for name, value in self.options.items())]
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
    """Return the program that looks at a file of the workspace. It is run apart, so that the model's session stays
    empty.
    """
    return f"{_PROGRAM}survey_any({name!r})"


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
