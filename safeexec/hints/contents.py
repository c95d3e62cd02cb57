# ruff: noqa: E501 (one sentence, one line)
"""Rules for files that are not what they are read as: an encoding, a packed file, a workbook, a table with lines above
its header. What is advised is found in the first bytes: a guess, `latin-1` or lines left out, is wrong data.
"""

from __future__ import annotations

import ast
import io
import re
import sys
from collections.abc import Iterator
from typing import Any

from safeexec.hints.columns import column_hint
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING
from safeexec.hints.rules import HintRule

_READ = 1 << 16
"""Bytes of a file that are looked at."""
_LINES = 200
_PANDAS = ("read_csv", "read_table", "read_json", "read_fwf", "read_xml", "read_pickle")
"""Readers of pandas that unpack by `compression=`."""
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\0": "lzma"}
_OTHER_LETTERS = "`'gb18030'` (Chinese), `'cp932'` (Japanese), `'cp949'` (Korean) or `'cp1251'` (Cyrillic)"
_MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def _named(failure: Failure) -> str:
    """Return the file that the failing expression reads, or an empty text."""
    call = failure.call
    trees = [*failure.operands()]
    if call is not None:
        trees += [keyword.value for keyword in call.keywords]
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call):
            trees += call.func.value.args  # open(name).read()
        trees += [inner for tree in call.args if isinstance(tree, ast.Call) for inner in tree.args]
    for found in map(failure.resolve, trees):
        if type(found) is io.TextIOWrapper:
            found = getattr(found, "name", "")
        pathlib = sys.modules.get("pathlib")
        if pathlib is not None and type(found) is pathlib.PosixPath:
            found = str(found)
        if type(found) is str and "\n" not in found and found and _head(found):
            return found
    return ""


def _head(name: str) -> bytes:
    """Return the first bytes of a file; none where it cannot be read."""
    try:
        with open(name, "rb") as file:
            return file.read(_READ)
    except (OSError, ValueError):
        return b""


def _start(failure: Failure) -> tuple[str, bytes]:
    """Return the code's name for what it read, and its first bytes: of the file, else those in the exception."""
    name = _named(failure)
    if name:
        return repr(name), _head(name)
    data = failure.exc.object[:_READ] if type(failure.exc) is UnicodeDecodeError else b""
    return "name", data if type(data) is bytes else b""


def _first_of(data: bytes, table: dict[bytes, str]) -> str:
    return next((what for mark, what in table.items() if data.startswith(mark)), "")


def kind_of(data: bytes, name: str, called: str) -> str | None:
    """Return what a file is whose bytes are packed, and how to read it; None for what may be a text."""
    packed = _first_of(data, _PACKED)
    if packed and called in _PANDAS:
        return f"The file is packed with {packed}: pass `compression={'xz' if packed == 'lzma' else packed!r}`."
    if packed:
        return f"The file is packed with {packed}: open it with `{packed}.open({name}, 'rt')` (and `import {packed}`)."
    if data.startswith(b"PK\x03\x04"):
        if b"xl/" in data or b"[Content_Types].xml" in data[:200]:
            return f"The file is an Excel file: read it with `pd.read_excel({name})`."
        return f"The file is a zip archive: `zipfile.ZipFile({name}).namelist()` says what is in it (and `import zipfile`)."
    return None


def encoding_of(data: bytes) -> str:
    """Return the encoding that the first bytes plainly say: a mark, or the zeros of UTF-16 without one; else empty."""
    marked = _first_of(data, _MARKS)
    if marked:
        return marked
    pairs = data[:400]
    for first, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = pairs[first::2], pairs[1 - first :: 2]
        if len(zeros) > 3 and zeros.count(0) > 0.7 * len(zeros) and others.count(0) < 0.1 * len(others):
            return name
    return ""


def _not_utf8(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    name, data = _start(failure)
    yield kind_of(data, name, failure.called)
    if encoding := encoding_of(data):
        yield f"The text is {encoding.upper()}: pass `encoding={encoding!r}`."
    error: Any = failure.exc
    cut = data and type(error) is UnicodeDecodeError and error.reason == "unexpected end of data"
    if cut and not error.object[: error.start].isascii():
        yield "The bytes end in the middle of a character: decode all of them, or leave the rest out with `errors='ignore'`."
    yield _eight_bits(data)


def _eight_bits(data: bytes) -> str | None:
    """Return what to say of text with letters of one byte, or of two."""
    if re.search(rb"[\0-\x08\x0e-\x1a\x7f]", data) or not (runs := re.findall(rb"[\x80-\xff]+", data)):
        return None  # no text in any encoding
    if sum(map(len, runs)) >= 2 * len(runs) and sum(map(len, runs)) >= 4:  # in western texts accents stand alone
        return f"The encoding is not known: try `encoding=` with {_OTHER_LETTERS}, and look at the first lines before you go on."
    best = (
        "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", data) or not re.search(rb"[\x80-\x9f]", data) else "cp1252"
    )
    return f"It is not UTF-8, most likely a text of Western Europe: pass `encoding={best!r}`, and look at the letters with accents."


# tables of text


def _fields(line: str, separator: str) -> int:
    """Return the number of fields of a line, separators in quotes not counted."""
    if '"' in line:
        line = "".join(line.split('"')[::2])
    return line.count(separator) + 1 if line.strip() else 0


def table_of(text: str) -> tuple[str, int, int] | None:
    """Return separator, lines above the header, and fields of a table with a report around it; None where none is.

    The header is the first line with as many fields as most lines have.
    """
    lines = text.splitlines()[:_LINES]
    best: tuple[int, str, int, int] | None = None
    for separator in ",;\t|":
        counts = [_fields(line, separator) for line in lines]
        wide = [count for count in counts if count > 1]
        if len(wide) < 2:
            continue
        usual = max(set(wide), key=wide.count)
        found = (wide.count(usual) * (usual - 1), separator, counts.index(usual), usual)
        if wide.count(usual) >= 0.6 * len(wide) and (best is None or found[0] > best[0]):
            best = found
    return best and best[1:]


def _text_read(failure: Failure) -> str:
    """Return the text that the failing call reads: of a file, or of an `io.StringIO`."""
    name = _named(failure)
    if name:
        data = _head(name)
        encoding = _said(failure, "encoding")
        try:
            return data.decode(encoding if type(encoding) is str else "utf-8", "replace")
        except LookupError:
            return ""
    for tree in failure.call.args if failure.call else ():
        found = failure.resolve(tree)
        if type(found) is io.StringIO:
            return found.getvalue()[:_READ]
        if isinstance(tree, ast.Call) and tree.args and type(text := failure.resolve(tree.args[0])) is str:
            return text[:_READ]  # pd.read_csv(io.StringIO(text))
    return ""


def _said(failure: Failure, *names: str) -> Any:
    """Return what the failing call gives for one of its keywords, or `MISSING`."""
    for keyword in failure.call.keywords if failure.call else ():
        if keyword.arg in names:
            return failure.resolve(keyword.value)
    return MISSING


def _lines_above(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a table below other lines: pd.read_csv(io.StringIO('Report\\nMay\\na,b,c\\n1,2,3\\n4,5,6'))"""
    if name := _named(failure):
        yield kind_of(_head(name), repr(name), failure.called)
    table = table_of(_text_read(failure))
    if table is None or any(_said(failure, given) is not MISSING for given in ("names", "header", "skiprows")):
        return
    separator, above, fields = table
    given = _said(failure, "sep", "delimiter")
    if given is MISSING:
        given = "\t" if failure.called == "read_table" else ","
    parts = [] if separator == given else [f"sep={separator!r}"]
    if above:
        parts.append(f"skiprows={above}")
    if parts:
        where = f"begins in line {above + 1}, below a heading" if above else f"is separated by {separator!r}"
        yield f"The table {where}, and has {fields} columns: pass `{', '.join(parts)}`."


def _not_in_header(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Name the column of a file that was meant, by its first line."""
    named = match[2] or match[3]
    wanted = named.split(", ") if named else re.findall(r"'([^']*)'", match[1])
    separator = _said(failure, "sep", "delimiter")
    header = _text_read(failure).partition("\n")[0].strip()
    columns = header.split(separator if type(separator) is str and separator else ",")
    missing = [name for name in wanted if name not in columns]
    if missing and header:
        yield column_hint(missing[0], columns)


def _of_other_format(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a file that is not packed, or no workbook, as its name may say."""
    name, data = _start(failure)
    yield kind_of(data, name, failure.called)
    if data and not re.search(rb"[\0-\x08\x0e-\x1a]", data):
        yield f"The file is a text: read it with `open({name})`, or as a table with `pd.read_csv(open({name}))`."
    if "No columns" in failure.message:
        yield "There is nothing in it: check that it was written, and closed, before it is read."
    if data:
        yield f"The file is of another format: its first bytes are `{data[:8]!r}`."


_NO_COLUMNS = r"Usecols do not match columns, columns expected but not found: \[(.*)\]|[Mm]issing column provided to 'parse_dates': '(.*)'|^Index (.+) invalid$"
_OTHER_FORMAT = "not a zip|Not a gzipped|not be opened successfully|pickle data|invalid load key|Excel file format|No columns to parse|Parquet"
RULES = (
    HintRule("UnicodeDecodeError", "", _not_utf8),
    HintRule("ParserError", "", _lines_above),
    HintRule("ValueError", _NO_COLUMNS, _not_in_header),
    HintRule(
        "BadZipFile BadGzipFile ReadError UnpicklingError EmptyDataError ValueError", _OTHER_FORMAT, _of_other_format
    ),
)
