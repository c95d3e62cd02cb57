# ruff: noqa: E501 (one sentence, one line)
"""Rules for columns and labels that a table does not have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from safeexec.common.matching import did_you_mean, nearest, quoted
from safeexec.hints.failure import Failure
from safeexec.hints.objects import MISSING, attribute_of, library_class, library_kind
from safeexec.hints.rules import HintRule

_APPLIED = {
    "pandas.DataFrame": "`apply` gives the function one column after the other: for rows use `df.apply(function, axis=1)`, or compute with whole columns, `df['a'] + df['b']`.",
    "pandas.GroupBy": "`apply` of a groupby leaves out the columns that it groups by: in the function the value of the group is `group.name`.",
}
"""Kind of object → how its `apply` calls the function."""
_MOST_LABELS = 2000
_OF_NUMBERS = ("corr", "cov", "corrwith", "mean", "sum", "std", "var", "median", "quantile", "skew", "kurt", "sem")
"""Methods of a frame that take `numeric_only`."""
_DECIMAL_COMMA = r"'\s*-?(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?!\d{3}\b)\d+)\s*'"
_NO_DIGITS = r"string to float: '(?=[^']*[,$€£¥%])[-+\s\d.,$€£¥%]+'|base 10: '(?=[^']*[,$€£¥%])[-+\s\d.,$€£¥%]+'"
_IN_SENTENCE = (
    r"not in index|not found in axis|are in the|not in columns|Column\(s\)|Columns? not found|do not exist"
    r"|not present in the DataFrame|not found in columns|labels are not columns|^\['.*'\]$"
)
"""Words that tell a sentence about columns from the name of a column."""


def columns_of(frame: Any) -> list[str]:
    """Return the column names of a DataFrame that are plain strings; none for anything else."""
    if type(frame) is not library_class("DataFrame"):
        return []
    parts = [
        part for column in frame.columns[:_MOST_LABELS] for part in (column if type(column) is tuple else (column,))
    ]
    return [part for part in parts if type(part) is str]


def table_of(owner: Any) -> Any:
    """Return the table that a groupby has grouped; anything else as it is."""
    return attribute_of(owner, "obj") if library_kind(owner) == "pandas.GroupBy" else owner


def column_hint(name: str, columns: list[str], text: str = "df") -> str | None:
    """Return the column that was meant, or the ones there are."""
    if not columns:
        return None
    for column in columns:
        if "\0" in column:
            encoding = f"utf-{32 if chr(0) * 3 in column else 16}-{'be' if columns[0].startswith(chr(0)) else 'le'}"
            return f"The file is {encoding.upper()} without a mark, and was read as UTF-8: read it anew, with `encoding={encoding!r}`."
        for separator in (";", "\t", "|", ","):
            if separator in column and name in (part.strip(" '\"") for part in column.split(separator)):
                return f"The columns were not taken apart: read the file anew, with `sep={separator!r}`, and look at the numbers (`decimal=','`)."
        if column != name and column.strip() == name.strip():
            return f"The column is called `{column!r}`, with blanks around it: use that name, or first `{text}.columns = {text}.columns.str.strip()`."
    if found := nearest(name, columns, 2):
        return f"There is no column {name!r}; did you mean {' or '.join(f'`{column!r}`' for column in found)}?"
    return f"There is no column {name!r}; the columns are {quoted(map(repr, columns), 12)}."


def label_hint(name: str, series: Any) -> str | None:
    """Return the label of a Series that was meant, or those that there are, where they are texts."""
    exact = type(series) is library_class("Series")
    labels = [label for label in series.index[:_MOST_LABELS] if type(label) is str] if exact else []
    shown = nearest(name, labels, 2) or labels
    return f"The index has no label {name!r}; the labels are {quoted(map(repr, shown), 10)}." if shown else None


def applied(failure: Failure, name: str) -> str | None:
    """Return a hint for a guest's function that `apply` calls with columns, or with groups, of a frame that has a
    column `name`.
    """
    frame = failure.place.frame.f_back if failure.place is not None else None
    for _ in range(12):
        if frame is None:
            return None
        owner = frame.f_locals.get("self", MISSING)
        kind = library_kind(owner) if frame.f_code.co_name == "apply" else ""
        if kind in _APPLIED and name in columns_of(table_of(owner)):
            return _APPLIED[kind]
        frame = frame.f_back
    return None


def _frames(failure: Failure) -> list[Any]:
    """Return the DataFrames and Series among the local variables of the library, outermost first; else those named."""
    found: dict[int, Any] = {}
    for variables in (dict(frame.f_locals) for frame in failure.libraries[:40]):
        for value in [*variables.values(), table_of(variables.get("self", MISSING))]:
            if library_kind(value) in ("pandas.DataFrame", "pandas.Series"):
                found.setdefault(id(value), value)
    if not found and failure.libraries and failure.expression:  # the indexers of pandas keep their frame in a C field
        named = [failure.resolve(tree) for tree in ast.walk(failure.expression) if isinstance(tree, ast.Name)]
        return [value for value in named if library_kind(value) == "pandas.DataFrame"]
    return list(found.values())[:8]


def _first(failure: Failure, kind: str) -> Any:
    """Return the frame or series that the failing expression is about, if it is of this kind; else `MISSING`."""
    frames = _frames(failure)
    return frames[0] if frames and library_kind(frames[0]) == kind else MISSING


def _text(failure: Failure) -> str:
    """Return how the program names the frame; ``df`` if it has no short name."""
    tree: ast.AST | None = failure.expression
    while isinstance(tree, ast.Subscript | ast.Attribute | ast.Call):
        tree = tree.func if isinstance(tree, ast.Call) else tree.value
    named = isinstance(tree, ast.Name) and library_kind(failure.lookup(tree.id)) == "pandas.DataFrame"
    return tree.id if named and isinstance(tree, ast.Name) else "df"


def _wanted(failure: Failure) -> list[str]:
    """Return the names that the message or the key says are missing."""
    key = failure.argument
    if type(key) in (tuple, list):
        return [part for part in key if type(part) is str]
    if type(key) is not str:
        return re.findall(r"'([^']*)'", failure.message.partition("dtype=")[0]) if library_kind(key) else []
    if "slice bound" in key:
        return re.findall(r"label '(.*?)'", key)
    if match := re.match(r"Columns? not found: ([^']+)$", key):
        return match.group(1).split(", ")
    if re.search(_IN_SENTENCE, key):
        key = key[key.find("[") :] if "labels are not columns" in key else key
        found = re.findall(r"'((?:[^'\\]|\\.)*)'", re.sub(r"dtype='\w+'", "", key))
        return found or ([] if "[" in key else [key])  # '[5] not found in axis'
    return [key]


def _all_columns(failure: Failure) -> list[str]:
    return list(dict.fromkeys(column for frame in _frames(failure) for column in columns_of(frame)))


def _in_table(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Yield hints for a header below a title, a function that gets columns, and a label of a Series."""
    frame, wanted, key = _first(failure, "pandas.DataFrame"), _wanted(failure), failure.argument
    columns = columns_of(frame)
    if wanted and wanted[0] not in columns and ((columns and frame.index.nlevels > 1) or "Unnamed: 1" in columns):
        for number, row in enumerate(frame.iloc[:20].values.tolist(), 1):
            if any(type(cell) is str and cell.strip() == wanted[0] for cell in row):
                yield f"{wanted[0]!r} stands in row {number}, so the header is below a title: read the file anew, with `header={number}`."
    if wanted:
        yield applied(failure, wanted[0])
    series = _first(failure, "pandas.Series")
    if series is not MISSING and type(series) is library_class("Series"):
        if type(key) is int:
            yield f"The index has no label {key}: by position use `.iloc[{key}]`."
        for text, frame in failure.namespace.items():  # for _, row in df.groupby('a').sum().iterrows(): row['a']
            if type(frame) is library_class("DataFrame") and wanted and frame.index.name == wanted[0]:
                yield f"{wanted[0]!r} is the index of `{text}`, not a column: use `{text}.reset_index()` first."
        yield label_hint(wanted[0], series) if wanted else None
        if wanted and len(series) and type(series.index[0]) not in (int, str):
            yield f"The index has no label {wanted[0]!r}: it goes from `{series.index[0]}` to `{series.index[-1]}`."
        if wanted:
            yield f"A Series has one column of values, and no label {wanted[0]!r}: columns are taken from a DataFrame, values by position with `.iloc[0]`."


def _in_frame(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Name the column or the row that was meant, or the way to ask for it."""
    key, wanted, columns, text = failure.argument, _wanted(failure), _all_columns(failure), _text(failure)
    there = next((name for name in wanted if name in columns), "")
    if type(key) is tuple and len(wanted) > 1 and set(wanted) <= set(columns):
        yield f"Give the columns as a list, with two pairs of brackets: `{text}[[{', '.join(map(repr, wanted))}]]`."
    if there and failure.called == "drop" and "axis" in failure.message:
        yield f"`drop` removes rows unless told otherwise: use `{text}.drop(columns={there!r})`."
    if failure.called == "get_group":
        yield f"There is no group {key!r}: `.groups`, in the place of `.get_group(…)`, is a dict of those that there are."
    labels = re.search(r"\.(loc|at)\s*\[", failure.segment) is not None
    if labels and there and there == wanted[0]:
        yield f"{there!r} is a column, not a row label: use `{text}[{there!r}]` or `{text}.loc[:, {there!r}]`."
    frame = _first(failure, "pandas.DataFrame")
    if frame is MISSING:
        return
    if type(key) in (int, float) and isinstance(failure.expression, ast.Subscript):
        if labels and _behind_comma(failure, key):
            yield f"There is no column {key}; the columns are {quoted(map(repr, columns), 12)}, and by position they are `{text}.iloc[row, {key}]`."
        if labels:
            yield f"There is no row with the label {key}: `.loc` takes labels of the index; rows by position are `{text}.iloc[i]`, and `len({text})` is their number."
        yield f"Rows by position are `{text}.iloc[{key}]`; the columns are {quoted(map(repr, columns), 12)}."
    exact = type(frame) is library_class("DataFrame")
    if exact and failure.called == "drop" and not wanted and type(key) is str and len(frame):
        yield f"There is no row with that label: they go from `{frame.index[0]!r}` to `{frame.index[-1]!r}`; columns are left out with `{text}.drop(columns=['name'])`."
    yield from _in_levels_or_index(frame, wanted, text, labels=labels)
    if failure.called.startswith("merge") and wanted:
        lacking = [other for frame in _frames(failure) if (other := columns_of(frame)) and wanted[0] not in other]
        yield from (
            f"One of the two has no column {wanted[0]!r}: it has {quoted(map(repr, other), 12)}; where the keys are called differently use `left_on='a', right_on='b'`."
            for other in lacking[:1]
            if wanted[0] in columns
        )
    for missing in [name for name in wanted if name not in columns][:1]:
        if labels and not _behind_comma(failure, missing) and not nearest(missing, columns):
            yield f"There is no row with the label {missing!r}: `.loc` takes labels of the index; select rows by a condition, `{text}[{text}[column] == {missing!r}]`."
        yield column_hint(missing, columns, text)


def _in_levels_or_index(frame: Any, wanted: list[str], text: str, *, labels: bool) -> Iterator[str]:
    """Yield hints for names that columns of several levels, rows or the index have. `labels`: rows were asked for."""
    for column in [column for column in frame.columns[:_MOST_LABELS] if type(column) is tuple]:
        if wanted and wanted[0] in ("_".join(map(str, column)), " ".join(map(str, column))):
            yield f"The columns have several levels: use `{text}[{column!r}]`."
    if type(frame) is not library_class("DataFrame"):
        return
    rows = [] if labels else [label for label in frame.index[:_MOST_LABELS] if type(label) is str]
    for name in [name for name in wanted[:1] if name not in columns_of(frame)]:
        if name in rows:  # df.describe()['mean']
            yield f"{name!r} is the label of a row: rows are taken with `.loc[{name!r}]`."
    for name in wanted:
        if name in [level for level in frame.index.names if type(level) is str]:
            yield f"{name!r} is the index, not a column: use `{text}.reset_index()` first, or `{text}.index`."


def _behind_comma(failure: Failure, name: object) -> bool:
    """Return whether the name stands behind the comma of ``.loc[rows, name]``."""
    match failure.expression:
        case ast.Subscript(slice=ast.Tuple(elts=[_, second])):
            return any(isinstance(part, ast.Constant) and part.value == name for part in ast.walk(second))
    return False


def _in_names(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    """Name the column that was meant, of a function that is given a frame and names of its columns."""
    values = [
        *(failure.call.args if failure.call else []),
        *(word.value for word in getattr(failure.call, "keywords", [])),
    ]
    for tree in values:
        if columns := columns_of(failure.resolve(tree)):
            yield column_hint(match[1], columns, failure.text_of(tree, "df"))


def _in_query(failure: Failure, match: re.Match[str]) -> Iterator[str | None]:
    yield did_you_mean(nearest(match[1], _all_columns(failure), 2))


def _column_of_texts(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    """Yield hints for a column of texts that is computed with, and for a column that is compared with a text."""
    for tree in failure.operands():
        column, text = failure.resolve(tree), failure.text_of(tree, "column")
        if type(column) is str and "Invalid comparison" in failure.message:
            yield f"The column holds no texts, and {text} is one: compare it with a number, or as text, `column.astype(str)`."
        if type(column) is library_class("Series") and str(column.dtype) in ("str", "object", "string"):
            yield f"`{text}` holds texts: make numbers of them first, `pd.to_numeric({text}, errors='coerce')`; to join texts, both are texts, `.astype(str)`."


def _texts_in_table(failure: Failure, match: re.Match[str]) -> Iterator[str]:
    libraries = {frame.f_globals.get("__name__", "").partition(".")[0] for frame in failure.libraries[:3]}
    if "sklearn" in libraries:
        yield "A column holds texts, and a model takes numbers: encode them, `pd.get_dummies(X)`, or `OneHotEncoder()` of `sklearn.preprocessing` for these columns, in a `ColumnTransformer`."
    for tree in failure.call.args if failure.call and "pandas" not in libraries else ():
        if library_kind(failure.resolve(tree)) == "pandas.DataFrame":
            yield f"Some columns are text: give the numeric ones, `{failure.text_of(tree, 'df')}.select_dtypes('number')`."
    if "pandas" in libraries:
        if failure.libraries[0].f_code.co_name in _OF_NUMBERS:  # df.corr()
            yield "Some columns are text: use `numeric_only=True`, or choose the numeric columns with `df.select_dtypes('number')`."
        if re.search(_DECIMAL_COMMA, failure.message):
            yield "The numbers have a decimal comma: read the file with `decimal=','` (and `thousands='.'`), or use `column.str.replace('.', '').str.replace(',', '.').astype(float)`."
        if re.search(_NO_DIGITS, failure.message):
            yield "Leave only the digits and a point: `column.str.replace('[$€£¥%, ]', '', regex=True).astype(float)`; a percentage is divided by 100."
        yield "Some values are no numbers: use `pd.to_numeric(column, errors='coerce')`, which makes NaN of them."


_COMPUTED = "not supported for dtype|unsupported operand|can only concatenate str|comparison between dtype=(?!datetime)|string multiply"
RULES = (
    HintRule("TypeError", _COMPUTED, _column_of_texts),
    HintRule("KeyError", "", _in_table),
    HintRule("KeyError", "", _in_frame),
    HintRule("UndefinedVariableError", "name '(.*)' is not defined", _in_query),
    HintRule("ValueError", r"^Could not interpret value `(.*?)` for", _in_names),
    HintRule("PatsyError", r"NameError: name '(\w+)' is not defined", _in_names),
    HintRule("ValueError", r"invalid literal for int\(\)|could not convert string to float", _texts_in_table),
)
